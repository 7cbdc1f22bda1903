/* The strict JSON reader: what RFC 8259 allows and forbids, written by hand from its grammar; numbers against the C library;
 * tensors. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fp.h"
#include "harness/cmocka_all.h"
#include "wire/json_read.h"

/* Events as letters: { } [ ] k s # t f n, then . for the end or ! for an error. The text lies in memory of its exact size. */
static const char *events(const char *text, size_t n, char *out, size_t n_out, weft_json_reader *last)
{
    static const char letters[] = ".{}[]ks#tfn";
    char *exact = malloc(n + !n);
    size_t k = 0;
    weft_json_event e;
    weft_json_reader r;
    memcpy(exact, text, n);
    weft_json_read_init(&r, exact, n);
    do {
        e = weft_json_read(&r);
        if (k + 1 < n_out)
            out[k++] = e == WEFT_JSON_ERROR ? '!' : letters[e];
    } while (e > WEFT_JSON_END);
    out[k] = 0;
    if (e == WEFT_JSON_ERROR)
        assert_int_equal(weft_json_read(&r), WEFT_JSON_ERROR); /* it stays */
    if (last)
        *last = r;
    free(exact);
    return out;
}

static void accepts(void **state)
{
    static const struct {
        const char *text, *events;
    } cases[] = {
        {"0", "#."},
        {"-0", "#."},
        {" \t\r\n1 \t\r\n", "#."},
        {"123.456e-78", "#."},
        {"1E+2", "#."},
        {"0.0", "#."},
        {"-1e0", "#."},
        {"0e5", "#."},
        {"true", "t."},
        {"false", "f."},
        {"null", "n."},
        {"\"\"", "s."},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"", "s."},
        {"\"\\ud83d\\ude00\"", "s."},
        {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", "s."},
        {"\"\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbf\"", "s."},
        {"\"\\u0000\"", "s."},
        {"[]", "[]."},
        {"[ ]", "[]."},
        {"{}", "{}."},
        {"[1,2,3]", "[###]."},
        {"[[],{},[[]]]", "[[]{}[[]]]."},
        {"{\"a\":1,\"a\":2,\"\":null}", "{k#k#kn}."},
        {"{ \"a\" : [ true , false ] }", "{k[tf]}."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[64];
        assert_string_equal(events(cases[i].text, strlen(cases[i].text), out, sizeof(out), NULL), cases[i].events);
    }
}

static void rejects(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* 0 = strlen */
    } cases[] = {
        {"", 0},
        {" ", 0},
        {"[", 0},
        {"]", 0},
        {"}", 0},
        {"{", 0},
        {"[1", 0},
        {"[1,", 0},
        {"[1,]", 0},
        {"[,1]", 0},
        {"[1 2]", 0},
        {"[1,,2]", 0},
        {"[1}", 0},
        {"{1:2}", 0},
        {"{\"a\"}", 0},
        {"{\"a\":}", 0},
        {"{\"a\":1,}", 0},
        {"{\"a\" 1}", 0},
        {"{\"a\":1]", 0},
        {"{a:1}", 0},
        {"{'a':1}", 0},
        {"{\"a\":1 \"b\":2}", 0},
        {"{,}", 0},
        {"1 2", 0},
        {"[]]", 0},
        {"{}{}", 0},
        {"\"a\" \"b\"", 0},
        {"nul", 0},
        {"True", 0},
        {"nulll", 0},
        {"tru", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"-Infinity", 0},
        {"-", 0},
        {"+1", 0},
        {"01", 0},
        {"-01", 0},
        {"00", 0},
        {"1.", 0},
        {".5", 0},
        {"-.5", 0},
        {"1.e5", 0},
        {"1e", 0},
        {"1e+", 0},
        {"1e1.5", 0},
        {"0x10", 0},
        {"1_000", 0},
        {"1a", 0},
        {"--1", 0},
        {"1-1", 0},
        {"\"", 0},
        {"\"a", 0},
        {"\"\\\"", 0},
        {"\"\\x41\"", 0},
        {"\"\\u12\"", 0},
        {"\"\\u12g4\"", 0},
        {"\"\\U0041\"", 0},
        {"\"\\ud800\"", 0},
        {"\"\\udc00\"", 0},
        {"\"\\ud800\\u0041\"", 0},
        {"\"\\ud800x\"", 0},
        {"\"\\ud83d\\ud83d\"", 0},
        {"\"\t\"", 0},
        {"\"\n\"", 0},
        {"\"\x1f\"", 0},
        {"\"\xff\"", 0},
        {"\"\x80\"", 0},
        {"\"\xc0\xaf\"", 0},
        {"\"\xe0\x80\xaf\"", 0},
        {"\"\xed\xa0\x80\"", 0},
        {"\"\xf4\x90\x80\x80\"", 0},
        {"\"\xc3\"", 0},
        {"\"\xf0\x9f\x98\"", 0},
        {"\xef\xbb\xbf[]", 0},
        {"/* */1", 0},
        {"1//", 0},
        {"#1", 0},
        {"[1\v]", 0},
        {"\xc2\xa0[]", 0},
        {"\0", 1},
        {"1\0", 2},
        {"\"\0\"", 3},
        {"[\"a\",\n\"b\n\"]", 0},
        {"'a'", 0},
        {"[undefined]", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[64];
        weft_json_reader r;
        size_t n = cases[i].n ? cases[i].n : strlen(cases[i].text);
        events(cases[i].text, n, out, sizeof(out), &r);
        if (!strchr(out, '!'))
            fail_msg("accepted: %s", cases[i].text);
        assert_non_null(r.problem);
        assert_true(r.problem_at <= n);
    }
}

/* Every prefix of a valid text is refused, not read past. */
static void prefixes(void **state)
{
    static const char text[] = "{\"inputs\":[{\"a\\u0041\":[1.5e3,-2,true,null,\"\\ud83d\\ude00\xc3\xa9\"]}],\"b\":false}";
    for (size_t n = 0; n + 1 < sizeof(text); n++) {
        char out[64];
        assert_non_null(strchr(events(text, n, out, sizeof(out), NULL), '!'));
    }
}

static void limits(void **state)
{
    char text[300], out[300];
    for (int depth = 1; depth <= 40; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        events(text, (size_t)depth * 2, out, sizeof(out), NULL);
        assert_int_equal(!strchr(out, '!'), depth <= WEFT_JSON_READ_DEPTH);
    }
    weft_json_reader r;
    weft_json_read_init(&r, "\"abcd\"", 6);
    r.max_string_bytes = 3;
    assert_int_equal(weft_json_read(&r), WEFT_JSON_ERROR);
    weft_json_read_init(&r, "\"abc\"", 5);
    r.max_string_bytes = 3;
    assert_int_equal(weft_json_read(&r), WEFT_JSON_STRING);
    char number[WEFT_JSON_READ_NUMBER_BYTES + 2];
    memset(number, '1', sizeof(number));
    weft_json_read_init(&r, number, WEFT_JSON_READ_NUMBER_BYTES);
    assert_int_equal(weft_json_read(&r), WEFT_JSON_NUMBER);
    weft_json_read_init(&r, number, WEFT_JSON_READ_NUMBER_BYTES + 1);
    assert_int_equal(weft_json_read(&r), WEFT_JSON_ERROR);
}

static void texts(void **state)
{
    static const struct {
        const char *json, *text;
        size_t n;
    } cases[] = {
        {"\"plain\"", "plain", 5},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6},
        {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!", 5},
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\"", "", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_json_reader r;
        char out[64];
        weft_json_read_init(&r, cases[i].json, strlen(cases[i].json));
        assert_int_equal(weft_json_read(&r), WEFT_JSON_STRING);
        assert_int_equal(weft_json_read_text(&r, out), cases[i].n);
        assert_memory_equal(out, cases[i].text, cases[i].n);
        bool has_nul = strlen(cases[i].text) != cases[i].n;
        assert_int_equal(weft_json_read_string(&r, out, cases[i].n + 1), !has_nul);
        assert_false(weft_json_read_string(&r, out, cases[i].n));
        assert_int_equal(weft_json_read_is(&r, cases[i].text), !has_nul);
        assert_false(weft_json_read_is(&r, "other"));
    }
}

static void skipping_and_coming_back(void **state)
{
    static const char text[] = "[{\"a\":[1,[2]]},3,[],\"x\"]";
    weft_json_reader r, place;
    weft_json_read_init(&r, text, sizeof(text) - 1);
    assert_int_equal(weft_json_read(&r), WEFT_JSON_ARRAY);
    place = r;
    assert_true(weft_json_skip(&r, weft_json_read(&r)));
    assert_int_equal(weft_json_read(&r), WEFT_JSON_NUMBER);
    assert_true(weft_json_skip(&r, WEFT_JSON_NUMBER));
    assert_true(weft_json_skip(&r, weft_json_read(&r)));
    assert_int_equal(weft_json_read(&r), WEFT_JSON_STRING);
    assert_int_equal(weft_json_read(&place), WEFT_JSON_OBJECT);
    assert_int_equal(weft_json_read(&place), WEFT_JSON_KEY);
    weft_json_read_init(&r, "[1,[2}", 6);
    assert_false(weft_json_skip(&r, weft_json_read(&r)));
}

static weft_json_reader number(const char *text)
{
    weft_json_reader r;
    weft_json_read_init(&r, text, strlen(text));
    assert_int_equal(weft_json_read(&r), WEFT_JSON_NUMBER);
    return r;
}

static void whole_numbers(void **state)
{
    int64_t i;
    uint64_t u;
    weft_json_reader r = number("9223372036854775807");
    assert_true(weft_json_read_i64(&r, &i) && i == INT64_MAX);
    r = number("-9223372036854775808");
    assert_true(weft_json_read_i64(&r, &i) && i == INT64_MIN);
    assert_false(weft_json_read_u64(&r, &u));
    r = number("9223372036854775808");
    assert_false(weft_json_read_i64(&r, &i));
    assert_true(weft_json_read_u64(&r, &u) && u == 9223372036854775808u);
    r = number("-9223372036854775809");
    assert_false(weft_json_read_i64(&r, &i));
    r = number("18446744073709551615");
    assert_true(weft_json_read_u64(&r, &u) && u == UINT64_MAX);
    r = number("18446744073709551616");
    assert_false(weft_json_read_u64(&r, &u));
    r = number("-0");
    assert_true(weft_json_read_i64(&r, &i) && i == 0);
    assert_true(weft_json_read_u64(&r, &u) && u == 0);
    r = number("1.0");
    assert_false(weft_json_read_i64(&r, &i));
    r = number("1e2");
    assert_false(weft_json_read_i64(&r, &i));
}

static void check_real(const char *text)
{
    double d, want = strtod(text, NULL);
    float f, wantf = strtof(text, NULL);
    weft_json_reader r = number(text);
    bool ok = weft_json_read_double(&r, &d), okf = weft_json_read_float(&r, &f);
    assert_int_equal(ok, isfinite(want));
    assert_int_equal(okf, isfinite(wantf));
    if (memcmp(&d, &want, sizeof(d)) != 0 || memcmp(&f, &wantf, sizeof(f)) != 0)
        fail_msg("%s: %a %a, expected %a %a", text, d, (double)f, want, (double)wantf);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void real_numbers(void **state)
{
    static const char *const cases[] = {
        "0",
        "-0",
        "0.0e0",
        "1",
        "-1.5",
        "0.1",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992.9999999999999999",
        "1e308",
        "1e309",
        "-1e400",
        "4.9e-324",
        "2.4e-324",
        "1e-400",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "2.2250738585072011e-308",
        "3.4028234663852886e38",
        "3.4028235677973366e38",
        "1.17549429e-38",
        "1.4e-45",
        "7e-46",
        "16777217",
        "16777217.0000001",
        "0.50000002980232239",
        "0.5000000298023224",
        "8589973000",
        "1.00000017881393421514957253748434595763683319091796875001",
        "0.000000000000000000000000000000000000001e39",
        "123456789012345678901234567890",
        "1e-22",
        "1e-23",
        "0e999",
        "5e-1",
        "100000000000000000000000000000000000000000e-41",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_real(cases[i]);
    uint64_t seed = 42;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t a = next_random(&seed);
        double d;
        float f;
        memcpy(&d, &a, sizeof(d));
        memcpy(&f, &a, sizeof(f));
        if (isfinite(d)) {
            snprintf(text, sizeof(text), "%.17g", d);
            check_real(text);
        }
        if (isfinite(f)) {
            snprintf(text, sizeof(text), "%.9g", (double)f);
            check_real(text);
            /* halfway between two floats, and just beside: where a second rounding would go wrong */
            double half = ((double)f + (double)nextafterf(f, INFINITY)) / 2;
            snprintf(text, sizeof(text), "%.17g", half);
            check_real(text);
        }
        snprintf(text, sizeof(text), "%llu.%llue%d", (unsigned long long)(a >> 40), (unsigned long long)(a & 0xffff),
                 (int)(a >> 20 & 63) - 32);
        check_real(text);
    }
}

/* The decimal point is '.', whatever the process's locale says. */
static void locale_does_not_matter(void **state)
{
    double d;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    weft_json_reader r = number("1.23456789012345678901e-5");
    assert_true(weft_json_read_double(&r, &d));
    setlocale(LC_NUMERIC, "C");
    assert_true(d == 1.23456789012345678901e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),       cmocka_unit_test(rejects),      cmocka_unit_test(prefixes),
        cmocka_unit_test(limits),        cmocka_unit_test(texts),        cmocka_unit_test(skipping_and_coming_back),
        cmocka_unit_test(whole_numbers), cmocka_unit_test(real_numbers), cmocka_unit_test(locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
