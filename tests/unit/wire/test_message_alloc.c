#include "harness/alloc_fault.h"
#include "harness/check.h"
#include "help_messages.h"

#include "wire/message.h"
#include "wire/result_json.h"

static weft_wire_limits limits;

static weft_status through_bytes(const weft_call *call, const weft_result *r, weft_buffer *b, weft_arena **a, weft_error *err)
{
    const weft_call *got_call;
    weft_result *got;
    uint64_t ticket;
    weft_status s;

    if ((s = weft_wire_encode_call(call, 1, &limits, b, err)))
        return s;
    if (!(*a = weft_arena_create(NULL, 1)))
        return weft_fail(err, WEFT_E_NO_MEMORY, "no arena");
    if ((s = weft_wire_decode_call(b->data, b->n_bytes, &limits, *a, &got_call, &ticket, err)) ||
        (s = weft_wire_encode_result(r, 1, &limits, b, err)) ||
        (s = weft_wire_decode_result(b->data, b->n_bytes, &limits, *a, NULL, NULL, &got, &ticket, err)))
        return s;
    return WEFT_OK;
}

static void messages(void **state)
{
    weft_arena *own = weft_arena_create(NULL, 0);
    uint64_t seed = 4;
    int failures = 0;

    weft_wire_limits_init(&limits);
    for (int round = 0; round < 30; round++) {
        weft_call *call = random_call(own, &seed);
        weft_result *r = random_result(&seed);

        for (long n = 1;; n++) {
            long before = alloc_outstanding();
            weft_arena *a = NULL;
            weft_error err;
            weft_buffer b;
            weft_status s;
            bool hit;

            weft_buffer_init(&b, 0);
            alloc_fault_at(n, n % 2);
            s = through_bytes(call, r, &b, &a, &err);
            hit = alloc_fault_hit();
            alloc_fault_off();
            assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
            weft_buffer_fini(&b);
            weft_arena_destroy(&a);
            assert_int_equal(alloc_outstanding(), before);
            if (!hit)
                break;
            failures++;
        }
        weft_result_unref(r);
    }
    assert_true(failures > 100);
    weft_arena_destroy(&own);
}

static void json(void **state)
{
    uint64_t seed = 9;
    weft_result *r = random_result(&seed);
    int failures = 0;

    for (long n = 1;; n++) {
        weft_buffer b;
        bool hit;

        weft_buffer_init(&b, 0);
        alloc_fault_at(n, false);
        weft_result_json(&b, r);
        hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(b.failed, hit);
        weft_buffer_fini(&b);
        if (!hit)
            break;
        failures++;
    }
    assert_true(failures >= 2);
    weft_result_unref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages), cmocka_unit_test(json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
