/* Allocation failing at each place of the way through bytes: a call is refused with NO_MEMORY or answered exactly once, and
 * nothing leaks. */
#include "harness/alloc_fault.h"
#include "stub_engine.h"

#include "worker/loopback.h"

typedef struct answer_count {
    int n_done, n_released;
    weft_status status;
} answer_count;

static void on_done(void *cookie, weft_result *r)
{
    answer_count *c = cookie;

    c->n_done++;
    c->status = r->error.status;
    weft_result_unref(r);
}

static void on_release(void *cookie)
{
    ((answer_count *)cookie)->n_released++;
}

/* The stand-in allocates too, and asserts when it fails: only the loopback's own allocations may fail, those on the calling
 * thread before the engine takes over... */
static void refused_or_sent(void **state)
{
    int refused = 0;

    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        weft_engine e = {.how = REFUSE};
        weft_input in = weft_input_bytes("image", "picture", 7);
        weft_call call = {.model = "echo", .inputs = &in, .n_inputs = 1};
        answer_count c = {0};
        weft_async a = {.done = on_done, .release = on_release, .cookie = &c};
        weft_loopback *l = NULL;
        weft_error err;
        weft_status s;
        bool hit;

        alloc_fault_at(n, false);
        s = weft_loopback_create(&e, &l, &err);
        if (!s)
            s = weft_loopback_infer_async(l, &call, &a, NULL, &err);
        hit = alloc_fault_hit();
        alloc_fault_off();
        weft_loopback_destroy(&l);
        assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : WEFT_E_BUSY);
        assert_int_equal(c.n_done + c.n_released, 0);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
        refused++;
    }
    assert_true(refused >= 6);
}

/* ... and those of the answer, on the engine's thread: the failure itself is the answer. */
static void answered_once(void **state)
{
    int failed = 0;

    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        weft_engine e = {.how = ANSWER, .fail_at = n};
        weft_input in = weft_input_bytes("image", "picture", 7);
        weft_call call = {.model = "echo", .inputs = &in, .n_inputs = 1};
        answer_count c = {0};
        weft_async a = {.done = on_done, .release = on_release, .cookie = &c};
        weft_loopback *l;

        assert_int_equal(weft_loopback_create(&e, &l, NULL), WEFT_OK);
        assert_int_equal(weft_loopback_infer_async(l, &call, &a, NULL, NULL), WEFT_OK);
        weft_loopback_destroy(&l);
        join(&e);
        assert_int_equal(c.n_done, 1);
        assert_int_equal(c.n_released, 1);
        assert_int_equal(c.status, e.hit ? WEFT_E_NO_MEMORY : WEFT_OK);
        assert_int_equal(alloc_outstanding(), before);
        if (!e.hit)
            break;
        failed++;
    }
    assert_true(failed >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_or_sent), cmocka_unit_test(answered_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
