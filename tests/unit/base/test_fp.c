#include "harness/check.h"

#include "base/fp.h"

#include <math.h>

/* The value of a binary16 from its definition (IEEE 754-2008, 3.4), in double, independent of the bit tricks under test. */
static double half_value(uint16_t h)
{
    double sign = h & 0x8000 ? -1 : 1;
    int e = (h >> 10) & 31, m = h & 1023;

    if (e == 31)
        return m ? NAN : sign * INFINITY;
    return e ? sign * ldexp(1024 + m, e - 25) : sign * ldexp(m, -24);
}

static void all_halves(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        double want = half_value((uint16_t)h);
        float got = weft_f16_to_f32((uint16_t)h);

        if (isnan(want)) {
            assert_true(isnan(got));
            assert_true(isnan(half_value(weft_f32_to_f16(got))));
            continue;
        }
        assert_true((double)got == want && !signbit(got) == !signbit(want));
        assert_int_equal(weft_f32_to_f16(got), h);
    }
}

/* Between each two neighbours: the middle goes to the even one, a hair beside it to the nearer one. With monotony this covers
 * every float. */
static void rounding(void **state)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double low = half_value((uint16_t)h), high = h == 0x7bff ? 65536.0 : half_value((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);

        assert_true((double)middle == (low + high) / 2);
        assert_int_equal(weft_f32_to_f16(middle), even);
        assert_int_equal(weft_f32_to_f16(nextafterf(middle, -INFINITY)), h);
        assert_int_equal(weft_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(weft_f32_to_f16(-middle), even | 0x8000);
    }
    assert_int_equal(weft_f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(weft_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(weft_f32_to_f16(3e38f), 0x7c00);
    assert_int_equal(weft_f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(weft_f32_to_f16(1e-30f), 0);
    assert_int_equal(weft_f32_to_f16(-1e-30f), 0x8000);
}

static void brain_floats(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = weft_bf16_to_f32((uint16_t)h);

        if (isnan(f))
            assert_true(isnan(weft_bf16_to_f32(weft_f32_to_bf16(f))));
        else
            assert_int_equal(weft_f32_to_bf16(f), h);
    }
    for (uint32_t h = 0; h < 0x7f80; h++) {
        double low = (double)weft_bf16_to_f32((uint16_t)h);
        double high = h == 0x7f7f ? ldexp(1, 128) : (double)weft_bf16_to_f32((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);

        assert_int_equal(weft_f32_to_bf16(middle), h & 1 ? h + 1 : h);
        assert_int_equal(weft_f32_to_bf16(nextafterf(middle, 0)), h);
        assert_int_equal(weft_f32_to_bf16(nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(weft_f32_to_bf16(1.0f), 0x3f80);
    assert_int_equal(weft_f32_to_bf16(-2.0f), 0xc000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_halves), cmocka_unit_test(rounding), cmocka_unit_test(brain_floats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
