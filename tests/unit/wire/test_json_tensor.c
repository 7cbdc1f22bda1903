/* JSON lists <-> tensors: exact bytes of every type, nesting, ranges, bounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka_all.h"
#include "wire/json_tensor.h"

static weft_arena *arena;

static int set_up(void **state)
{
    return (arena = weft_arena_create(NULL, 0)) ? 0 : -1;
}

static int tear_down(void **state)
{
    weft_arena_destroy(&arena);
    return 0;
}

static weft_status read_tensor(const char *json, weft_dtype t, int rank, const int64_t *shape, size_t max, bool base64,
                               weft_tensor *out)
{
    weft_json_reader r;
    weft_error err = {0};
    size_t n = strlen(json);
    char *exact = malloc(n + !n);
    memcpy(exact, json, n);
    *out = (weft_tensor){.name = "x", .dtype = t, .rank = rank};
    for (int i = 0; i < rank; i++)
        out->shape[i] = shape[i];
    weft_json_read_init(&r, exact, n);
    weft_status st = weft_json_read_tensor(&r, arena, max, base64, out, &err);
    free(exact);
    assert_true(st == WEFT_OK || err.text[0]);
    return st;
}

#define DIMS(...)                                                                                                                \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                                 \
    {                                                                                                                            \
        __VA_ARGS__                                                                                                              \
    }

static void check(const char *json, weft_dtype t, int64_t n, const void *want, size_t n_bytes)
{
    weft_tensor got;
    assert_int_equal(read_tensor(json, t, 1, &n, 1 << 20, false, &got), WEFT_OK);
    assert_int_equal(got.n_bytes, n_bytes);
    assert_memory_equal(got.data, want, n_bytes);
}

static void bytes_of_every_type(void **state)
{
    check("[true,false]", WEFT_DT_BOOL, 2, "\1\0", 2);
    check("[0,255]", WEFT_DT_U8, 2, "\0\xff", 2);
    check("[-128,127]", WEFT_DT_I8, 2, "\x80\x7f", 2);
    check("[0,65535]", WEFT_DT_U16, 2, "\0\0\xff\xff", 4);
    check("[-32768,32767]", WEFT_DT_I16, 2, "\0\x80\xff\x7f", 4);
    check("[4294967295]", WEFT_DT_U32, 1, "\xff\xff\xff\xff", 4);
    check("[-2147483648]", WEFT_DT_I32, 1, "\0\0\0\x80", 4);
    check("[18446744073709551615]", WEFT_DT_U64, 1, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    check("[-9223372036854775808]", WEFT_DT_I64, 1, "\0\0\0\0\0\0\0\x80", 8);
    check("[1,-2,65504,6e-8]", WEFT_DT_F16, 4, "\0\x3c\0\xc0\xff\x7b\1\0", 8);
    check("[1,-2,0.00390625]", WEFT_DT_BF16, 3, "\x80\x3f\0\xc0\x80\x3b", 6);
    check("[1,-0.0,0.1]", WEFT_DT_F32, 3, "\0\0\x80\x3f\0\0\0\x80\xcd\xcc\xcc\x3d", 12);
    check("[0.1]", WEFT_DT_F64, 1, "\x9a\x99\x99\x99\x99\x99\xb9\x3f", 8);
    check("[\"a\\u00e9\",\"\",\"\\u0000\"]", WEFT_DT_STRING, 3, "\3\0\0\0a\xc3\xa9\0\0\0\0\1\0\0\0\0", 16);
    check("[]", WEFT_DT_F32, 0, "", 0);
    check("[]", WEFT_DT_STRING, 0, "", 0);
}

static void ranges(void **state)
{
    static const struct {
        const char *json;
        weft_dtype t;
    } cases[] = {
        {"[256]", WEFT_DT_U8},
        {"[-1]", WEFT_DT_U8},
        {"[128]", WEFT_DT_I8},
        {"[-129]", WEFT_DT_I8},
        {"[65536]", WEFT_DT_U16},
        {"[32768]", WEFT_DT_I16},
        {"[4294967296]", WEFT_DT_U32},
        {"[2147483648]", WEFT_DT_I32},
        {"[18446744073709551616]", WEFT_DT_U64},
        {"[9223372036854775808]", WEFT_DT_I64},
        {"[1.0]", WEFT_DT_I32},
        {"[1e1]", WEFT_DT_U8},
        {"[65520]", WEFT_DT_F16},
        {"[3.4e38]", WEFT_DT_BF16},
        {"[3.5e38]", WEFT_DT_F32},
        {"[1e309]", WEFT_DT_F64},
        {"[1]", WEFT_DT_BOOL},
        {"[\"true\"]", WEFT_DT_BOOL},
        {"[true]", WEFT_DT_U8},
        {"[null]", WEFT_DT_F32},
        {"[\"1\"]", WEFT_DT_F32},
        {"[1]", WEFT_DT_STRING},
        {"[[]]", WEFT_DT_F32},
        {"[{}]", WEFT_DT_F32},
        {"{}", WEFT_DT_F32},
        {"1", WEFT_DT_F32},
        {"[1", WEFT_DT_F32},
        {"[1,", WEFT_DT_F32},
        {"[\"a", WEFT_DT_STRING},
        {"", WEFT_DT_F32},
        {"[NaN]", WEFT_DT_F32},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_tensor got;
        if (read_tensor(cases[i].json, cases[i].t, DIMS(1), 1000, false, &got) != WEFT_E_INVALID)
            fail_msg("%s", cases[i].json);
    }
}

static void nesting(void **state)
{
    weft_tensor t;
    assert_int_equal(read_tensor("[[[1],[2]],[[3],[4]]]", WEFT_DT_U8, DIMS(2, 2, 1), 99, false, &t), WEFT_OK);
    assert_memory_equal(t.data, "\1\2\3\4", 4);
    assert_int_equal(read_tensor("[1,2,3,4]", WEFT_DT_U8, DIMS(2, 2, 1), 99, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[[],[]]", WEFT_DT_U8, DIMS(2, 0), 99, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[]", WEFT_DT_U8, DIMS(2, 0), 99, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[]", WEFT_DT_U8, DIMS(1LL << 50, 0), 99, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[7]", WEFT_DT_U8, 0, NULL, 99, false, &t), WEFT_OK);
    assert_int_equal(t.n_bytes, 1);
    static const char *const wrong[] = {
        "[[1,2],[3]]", "[[1,2],[3,4,5]]", "[[1,2]]",      "[[1,2],[3,4],[5,6]]", "[1,2,3]", "[1,2,3,4,5]", "[[1,2],3,4]",
        "[1,[2,3,4]]", "[[[1,2],[3,4]]]", "[[1,2],[3,4]", "[[1,2],[3,[4]]]",     "[[],[]]", "[]",          "[[1,2],[3,4]}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (read_tensor(wrong[i], WEFT_DT_U8, DIMS(2, 2), 99, false, &t) != WEFT_E_INVALID)
            fail_msg("%s", wrong[i]);
}

/* Nothing is taken for what the text cannot hold, or what is over the limit. */
static void bounds(void **state)
{
    weft_tensor t;
    assert_int_equal(read_tensor("[1]", WEFT_DT_F64, DIMS(1LL << 40), SIZE_MAX, false, &t), WEFT_E_INVALID);
    assert_int_equal(read_tensor("[1]", WEFT_DT_F64, DIMS(1LL << 62, 1LL << 62), SIZE_MAX, false, &t), WEFT_E_INVALID);
    assert_int_equal(read_tensor("[1]", WEFT_DT_STRING, DIMS(1LL << 62), SIZE_MAX, false, &t), WEFT_E_INVALID);
    assert_int_equal(read_tensor("[1,2,3]", WEFT_DT_F64, DIMS(3), 24, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[1,2,3]", WEFT_DT_F64, DIMS(3), 23, false, &t), WEFT_E_TOO_LARGE);
    assert_int_equal(read_tensor("[\"abc\"]", WEFT_DT_STRING, DIMS(1), 7, false, &t), WEFT_OK);
    assert_int_equal(read_tensor("[\"abc\"]", WEFT_DT_STRING, DIMS(1), 6, false, &t), WEFT_E_TOO_LARGE);
}

static void base64(void **state)
{
    weft_tensor t;
    assert_int_equal(read_tensor("[\"AP9B\",\"\",\"YQ==\"]", WEFT_DT_STRING, DIMS(3), 99, true, &t), WEFT_OK);
    assert_int_equal(t.n_bytes, 16);
    assert_memory_equal(t.data,
                        "\3\0\0\0\0\xff"
                        "A\0\0\0\0\1\0\0\0a",
                        16);
    assert_int_equal(read_tensor("[\"YQ\\u003d=\"]", WEFT_DT_STRING, DIMS(1), 99, true, &t), WEFT_OK);
    assert_int_equal(read_tensor("[\"YQ=\"]", WEFT_DT_STRING, DIMS(1), 99, true, &t), WEFT_E_INVALID);
    assert_int_equal(read_tensor("[\"a%b=\"]", WEFT_DT_STRING, DIMS(1), 99, true, &t), WEFT_E_INVALID);
}

static void writes(weft_dtype t, int64_t n, const void *data, size_t n_bytes, unsigned how, const char *want)
{
    weft_buffer out;
    weft_json j;
    weft_tensor x = {.name = "x", .dtype = t, .rank = 1, .shape = {n}, .data = (void *)(uintptr_t)data, .n_bytes = n_bytes};
    weft_buffer_init(&out, 0);
    weft_json_init(&j, &out);
    weft_json_object_begin(&j);
    weft_json_key(&j, "d");
    weft_json_write_tensor(&j, &x, how);
    weft_json_key_int(&j, "e", 1);
    weft_json_object_end(&j);
    assert_true(weft_json_finish(&j));
    assert_string_equal((char *)out.data, want);
    weft_buffer_fini(&out);
}

static void writing(void **state)
{
    const float f[] = {0.1f, -0.0f, INFINITY, -INFINITY, NAN};
    const int64_t i[] = {INT64_MIN, INT64_MAX};
    writes(WEFT_DT_F32, 5, f, sizeof(f), 0, "{\"d\":[0.1,-0,1e999,-1e999,null],\"e\":1}");
    writes(WEFT_DT_F32, 5, f, sizeof(f), WEFT_JSON_NAN, "{\"d\":[0.1,-0,Infinity,-Infinity,NaN],\"e\":1}");
    writes(WEFT_DT_I64, 2, i, sizeof(i), 0, "{\"d\":[-9223372036854775808,9223372036854775807],\"e\":1}");
    writes(WEFT_DT_BOOL, 2, "\0\1", 2, 0, "{\"d\":[false,true],\"e\":1}");
    writes(WEFT_DT_U8, 0, NULL, 0, 0, "{\"d\":[],\"e\":1}");
    writes(WEFT_DT_F16, 2, "\0\x3c\0\xc0", 4, 0, "{\"d\":[1,-2],\"e\":1}");
    writes(WEFT_DT_STRING, 2, "\2\0\0\0a\"\0\0\0\0", 10, 0, "{\"d\":[\"a\\\"\",\"\"],\"e\":1}");
    writes(WEFT_DT_STRING, 1, "\2\0\0\0\xff\0", 6, WEFT_JSON_BASE64, "{\"d\":[\"/wA=\"],\"e\":1}");
    weft_tensor text = {
        .dtype = WEFT_DT_STRING, .rank = 1, .shape = {2}, .data = (void *)(uintptr_t) "\2\0\0\0\xc3\xa9\1\0\0\0a", .n_bytes = 11};
    assert_true(weft_tensor_is_text(&text));
    text.data = (void *)(uintptr_t) "\2\0\0\0\xc3"
                                    "a\1\0\0\0a";
    assert_false(weft_tensor_is_text(&text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_every_type),
        cmocka_unit_test(ranges),
        cmocka_unit_test(nesting),
        cmocka_unit_test(bounds),
        cmocka_unit_test(base64),
        cmocka_unit_test(writing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
