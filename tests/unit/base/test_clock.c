#include "harness/check.h"

#include "base/clock.h"

#include <math.h>

static void arithmetic(void **state)
{
    assert_int_equal(weft_time_add(1, 2), 3);
    assert_int_equal(weft_time_add(WEFT_NEVER, -5), WEFT_NEVER);
    assert_int_equal(weft_time_add(-5, WEFT_NEVER), WEFT_NEVER);
    assert_int_equal(weft_time_add(WEFT_NEVER - 1, 2), WEFT_NEVER);
    assert_int_equal(weft_time_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(weft_ms_to_ns(1.5), 1500000);
    assert_int_equal(weft_ms_to_ns(0), 0);
    assert_int_equal(weft_ms_to_ns(-3), 0);
    assert_int_equal(weft_ms_to_ns(NAN), 0);
    assert_int_equal(weft_ms_to_ns(INFINITY), WEFT_NEVER);
    assert_int_equal(weft_ms_to_ns(1e300), WEFT_NEVER);
}

static void clocks_run(void **state)
{
    weft_clock *c = weft_clock_system();
    int64_t a = c->now(c), b = weft_now_ns(), cpu = weft_thread_cpu_ns();
    volatile double x = 1;

    assert_true(a > 0 && b >= a);
    assert_true(weft_unix_ns() > 1600000000LL * WEFT_S); /* later than 2020 */
    while (weft_thread_cpu_ns() == cpu)
        x = x * 1.1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arithmetic), cmocka_unit_test(clocks_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
