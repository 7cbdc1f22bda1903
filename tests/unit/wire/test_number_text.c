#include "harness/check.h"

#include "wire/number_text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

static char text[WEFT_NUMBER_BYTES];

static const char *of_float(float v)
{
    weft_print_float(v, text);
    return text;
}

static const char *of_double(double v)
{
    weft_print_double(v, text);
    return text;
}

static void integers(void **state)
{
    weft_print_int(INT64_MIN, text);
    assert_string_equal(text, "-9223372036854775808");
    weft_print_int(0, text);
    assert_string_equal(text, "0");
    weft_print_uint(UINT64_MAX, text);
    assert_string_equal(text, "18446744073709551615");
}

/* What other languages print for these (Python's repr, JavaScript; the first figures are known from the literature on shortest
 * printing). */
static void known_values(void **state)
{
    assert_string_equal(of_float(0.1f), "0.1");
    assert_string_equal(of_float(0.3f), "0.3");
    assert_string_equal(of_float(-0.98765f), "-0.98765");
    assert_string_equal(of_float(1.0f / 3), "0.33333334");
    assert_string_equal(of_float(123456.79f), "123456.79");
    assert_string_equal(of_float(1), "1");
    assert_string_equal(of_float(0), "0");
    assert_string_equal(of_float(-0.0f), "-0");
    assert_string_equal(of_float(640), "640");
    assert_string_equal(of_float(0.5f), "0.5");
    assert_string_equal(of_float(16777216), "16777216");
    assert_string_equal(of_float(FLT_MAX), "3.4028235e+38");
    assert_string_equal(of_float(FLT_MIN), "1.1754944e-38");
    assert_string_equal(of_float(0x1p-149f), "1e-45");
    assert_string_equal(of_double(0.1), "0.1");
    assert_string_equal(of_double(1.0 / 3), "0.3333333333333333");
    assert_string_equal(of_double(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(of_double(12.345678), "12.345678");
    assert_string_equal(of_double(5e-324), "5e-324");
    assert_string_equal(of_double(DBL_MAX), "1.7976931348623157e+308");
    assert_string_equal(of_double(123456789012.0), "123456789012");
    assert_false(weft_print_float(NAN, text));
    assert_false(weft_print_double(-INFINITY, text));
    assert_string_equal(text, "");
}

/* Digits that carry information. */
static int n_digits(const char *s)
{
    int n = 0, zeros = 0;

    for (; *s && *s != 'e'; s++) {
        if (*s < '0' || *s > '9' || (*s == '0' && !n))
            continue;
        n++;
        zeros = *s == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

static void check_float(float v)
{
    char reference[64];
    int n = 1;

    if (!isfinite(v))
        return;
    of_float(v);
    if (strtof(text, NULL) != v)
        fail_msg("%a is printed as %s", (double)v, text);
    if (v == 0)
        return;
    for (;; n++) {
        snprintf(reference, sizeof reference, "%.*e", n - 1, (double)v);
        if (strtof(reference, NULL) == v)
            break;
    }
    if (n_digits(text) > n_digits(reference))
        fail_msg("%a is printed as %s, but %s is enough", (double)v, text, reference);
}

static void shortest_and_exact(void **state)
{
    uint64_t seed = 20;

    for (int i = 0; i < 60000; i++) { /* any bits, then what scores and coordinates look like */
        uint64_t r = test_random(&seed);
        uint32_t bits = (uint32_t)r;
        float v;

        memcpy(&v, &bits, 4);
        check_float(v);
        check_float((float)(r >> 40) / 16777216.0f);
        check_float((float)(r >> 40) / 4096.0f);
        check_float((float)(r % 1000000) / 1000.0f);
        check_float((float)(r % 100000) / 1e9f);
    }
    for (float v = 1e-5f; v < 1e6f; v *= 10) /* the edges of the fast way */
        for (int i = -3; i <= 3; i++) {
            float w = v;

            for (int k = 0; k < abs(i); k++)
                w = nextafterf(w, i < 0 ? 0 : INFINITY);
            check_float(w);
        }
    for (int e = -149; e < 128; e++)
        check_float(ldexpf(1, e));
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = test_random(&seed);
        double v;

        memcpy(&v, &bits, 8);
        if (isfinite(v))
            assert_true(strtod(of_double(v), NULL) == v);
    }
}

static void comma_locale(void **state)
{
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    bool any = false;

    for (size_t i = 0; i < 4 && !any; i++)
        any = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!any)
        skip();
    assert_string_equal(of_double(1.0 / 3), "0.3333333333333333");
    assert_string_equal(of_float(1e-7f), "1e-07");
    assert_string_equal(of_double(1.5e300), "1.5e+300");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers), cmocka_unit_test(known_values),
                                       cmocka_unit_test(shortest_and_exact), cmocka_unit_test(comma_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
