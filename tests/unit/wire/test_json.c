#include "harness/check.h"

#include "wire/json.h"

#include <math.h>

static weft_buffer out;
static weft_json j;

static weft_json *start(void)
{
    weft_buffer_fini(&out);
    weft_buffer_init(&out, 0);
    weft_json_init(&j, &out);
    return &j;
}

static const char *done(void)
{
    assert_true(weft_json_finish(&j));
    assert_int_equal(strlen((char *)out.data), out.n_bytes);
    return (char *)out.data;
}

static void structure(void **state)
{
    start();
    weft_json_object_begin(&j);
    weft_json_key(&j, "a");
    weft_json_array_begin(&j);
    weft_json_int(&j, -1);
    weft_json_array_begin(&j);
    weft_json_array_end(&j);
    weft_json_object_begin(&j);
    weft_json_object_end(&j);
    weft_json_null(&j);
    weft_json_array_end(&j);
    weft_json_key_bool(&j, "b", true);
    weft_json_key_double(&j, "c", 0.25);
    weft_json_key_string(&j, "d", NULL);
    weft_json_key_uint(&j, "e", UINT64_MAX);
    weft_json_key_int(&j, "f", INT64_MIN);
    assert_false(weft_json_finish(&j));
    weft_json_object_end(&j);
    assert_string_equal(
        done(), "{\"a\":[-1,[],{},null],\"b\":true,\"c\":0.25,\"d\":null,\"e\":18446744073709551615,\"f\":-9223372036854775808}");
    weft_json_string(start(), "only");
    assert_string_equal(done(), "\"only\"");
}

static void indented(void **state)
{
    start()->indent = 2;
    weft_json_object_begin(&j);
    weft_json_key_int(&j, "a", 1);
    weft_json_key(&j, "b");
    weft_json_array_begin(&j);
    weft_json_int(&j, 2);
    weft_json_int(&j, 3);
    weft_json_array_end(&j);
    weft_json_key(&j, "c");
    weft_json_object_begin(&j);
    weft_json_object_end(&j);
    weft_json_object_end(&j);
    assert_string_equal(done(), "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ],\n  \"c\": {}\n}");
}

static const char *string(const char *s, size_t n)
{
    weft_json_text(start(), s, n);
    return done();
}

static void strings(void **state)
{
    assert_string_equal(string("", 0), "\"\"");
    assert_string_equal(string("a\"b\\c/", 6), "\"a\\\"b\\\\c/\"");
    assert_string_equal(string("\b\f\n\r\t", 5), "\"\\b\\f\\n\\r\\t\"");
    assert_string_equal(string("x\0\x1f\x7f", 4), "\"x\\u0000\\u001f\x7f\"");
    assert_string_equal(string("\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80", 11), "\"\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80\"");
    assert_string_equal(string("\xef\xbf\xbd", 3), "\"\xef\xbf\xbd\"");
    /* Malformed bytes become U+FFFD, one each: a lone one, a cut character, a surrogate. */
    assert_string_equal(string("a\xff"
                               "b",
                               3),
                        "\"a\xef\xbf\xbd"
                        "b\"");
    assert_string_equal(string("\xe4\xb8", 2), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_string_equal(string("\xed\xa0\x80", 3), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void numbers(void **state)
{
    start();
    weft_json_array_begin(&j);
    weft_json_float(&j, 0.1f);
    weft_json_double(&j, 0.1);
    weft_json_float(&j, NAN);
    weft_json_double(&j, INFINITY);
    weft_json_base64(&j, "foob", 4);
    weft_json_array_end(&j);
    assert_string_equal(done(), "[0.1,0.1,null,null,\"Zm9vYg==\"]");
}

static void limits_are_remembered(void **state)
{
    weft_buffer small;

    weft_buffer_init(&small, 8);
    weft_json_init(&j, &small);
    weft_json_string(&j, "0123456789");
    assert_false(weft_json_finish(&j));
    weft_buffer_fini(&small);
}

static void value_without_key(void *arg)
{
    weft_json_object_begin(start());
    weft_json_int(&j, 1);
}
static void key_in_array(void *arg)
{
    weft_json_array_begin(start());
    weft_json_key(&j, "a");
}
static void wrong_end(void *arg)
{
    weft_json_array_begin(start());
    weft_json_object_end(&j);
}
static void end_after_key(void *arg)
{
    weft_json_object_begin(start());
    weft_json_key(&j, "a");
    weft_json_object_end(&j);
}
static void two_values(void *arg)
{
    weft_json_null(start());
    weft_json_null(&j);
}
static void too_deep(void *arg)
{
    start();
    for (int i = 0; i <= WEFT_JSON_MAX_DEPTH; i++)
        weft_json_array_begin(&j);
}

static void deepest(void *arg)
{
    start();
    for (int i = 0; i < WEFT_JSON_MAX_DEPTH; i++)
        weft_json_array_begin(&j);
    for (int i = 0; i < WEFT_JSON_MAX_DEPTH; i++)
        weft_json_array_end(&j);
    assert_true(weft_json_finish(&j));
    weft_buffer_fini(&out);
}

static void misuse_aborts(void **state)
{
    weft_buffer_fini(&out);
    assert_true(dies(value_without_key, NULL));
    assert_true(dies(key_in_array, NULL));
    assert_true(dies(wrong_end, NULL));
    assert_true(dies(end_after_key, NULL));
    assert_true(dies(two_values, NULL));
    assert_true(dies(too_deep, NULL));
    deepest(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure),
        cmocka_unit_test(indented),
        cmocka_unit_test(strings),
        cmocka_unit_test(numbers),
        cmocka_unit_test(limits_are_remembered),
        cmocka_unit_test(misuse_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
