/* Every allocation of load, instance and a large run fails once: an error, and nothing stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/alloc_fault.h"
#include "help_fake.h"

static float rows[100 * 4];

static weft_status work(void)
{
    int64_t shape[2] = {-1, 4}, gears[2] = {1, 100};
    double poison = 9;
    weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = {2, shape}},
                     out = {.name = "y", .dtype = WEFT_DT_STRING, .shape = {1, shape}};
    weft_fake_fault f = {.kind = WEFT_FAKE_UNKNOWN, .when_value = {1, &poison}, .message = "poison"};
    weft_fake_options o = {.inputs = {1, &in}, .outputs = {1, &out}, .batch_sizes = {2, gears}, .faults = {1, &f}};
    weft_tensor x = rows_of(rows, 100);
    fake_rig r;
    weft_status s = rig_open(&r, "alloc", &o, NULL);

    if (!s)
        s = rig_run(&r, &x, 1);
    rig_close(&r);
    return s;
}

static void test_every_allocation(void **state)
{
    int failed = 0;

    for (long n = 1;; n++) {
        long before;
        weft_status s;
        bool hit;

        weft_fake_reset();
        before = alloc_outstanding();
        alloc_fault_at(n, false);
        s = work();
        hit = alloc_fault_hit();
        alloc_fault_off();
        weft_fake_reset();
        assert_int_equal(alloc_outstanding(), before);
        if (!hit) {
            assert_int_equal(s, WEFT_OK);
            break;
        }
        assert_int_equal(s, WEFT_E_NO_MEMORY);
        failed++;
    }
    assert_true(failed >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
