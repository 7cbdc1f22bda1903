#include "harness/check.h"

#include "weft/tensor.h"

static void dtypes(void **state)
{
    /* Names and sizes as the Open Inference Protocol, section "Tensor Data Types", gives them. */
    static const struct {
        weft_dtype t;
        const char *oip, *np;
        size_t bytes;
    } want[] = {
        {WEFT_DT_BOOL, "BOOL", "bool", 1},    {WEFT_DT_U8, "UINT8", "uint8", 1},      {WEFT_DT_U16, "UINT16", "uint16", 2},
        {WEFT_DT_U32, "UINT32", "uint32", 4}, {WEFT_DT_U64, "UINT64", "uint64", 8},   {WEFT_DT_I8, "INT8", "int8", 1},
        {WEFT_DT_I16, "INT16", "int16", 2},   {WEFT_DT_I32, "INT32", "int32", 4},     {WEFT_DT_I64, "INT64", "int64", 8},
        {WEFT_DT_F16, "FP16", "float16", 2},  {WEFT_DT_BF16, "BF16", "bfloat16", 2},  {WEFT_DT_F32, "FP32", "float32", 4},
        {WEFT_DT_F64, "FP64", "float64", 8},  {WEFT_DT_STRING, "BYTES", "string", 0},
    };

    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_string_equal(weft_dtype_name(want[i].t), want[i].oip);
        assert_string_equal(weft_dtype_np_name(want[i].t), want[i].np);
        assert_int_equal(weft_dtype_bytes(want[i].t), want[i].bytes);
        assert_int_equal(weft_dtype_from_name(want[i].oip), want[i].t);
        assert_int_equal(weft_dtype_from_name(want[i].np), want[i].t);
    }
    assert_int_equal(weft_dtype_from_name("FP8"), WEFT_DT_NONE);
    assert_int_equal(weft_dtype_from_name(NULL), WEFT_DT_NONE);
    assert_string_equal(weft_dtype_name(WEFT_DT_NONE), "?");
    assert_int_equal(weft_dtype_bytes((weft_dtype)99), 0);
}

static void elements_and_bytes(void **state)
{
    int64_t n;
    size_t bytes;

    assert_true(weft_shape_elements(NULL, 0, &n));
    assert_int_equal(n, 1);
    assert_true(weft_shape_elements((int64_t[]){1, 3, 640, 640}, 4, &n));
    assert_int_equal(n, 1228800);
    assert_true(weft_shape_elements((int64_t[]){INT64_MAX, INT64_MAX, 0}, 3, &n));
    assert_int_equal(n, 0);
    assert_false(weft_shape_elements((int64_t[]){INT64_MAX, 2}, 2, &n));
    assert_false(weft_shape_elements((int64_t[]){0, -1}, 2, &n));
    assert_false(weft_shape_elements((int64_t[]){1}, -1, &n));
    assert_false(weft_shape_elements((int64_t[9]){1}, 9, &n));
    assert_true(weft_tensor_dense_bytes(WEFT_DT_F32, (int64_t[]){2, 3}, 2, &bytes));
    assert_int_equal(bytes, 24);
    assert_false(weft_tensor_dense_bytes(WEFT_DT_F32, (int64_t[]){INT64_MAX}, 1, &bytes));
    assert_false(weft_tensor_dense_bytes(WEFT_DT_STRING, (int64_t[]){1}, 1, &bytes));
    assert_false(weft_tensor_dense_bytes(WEFT_DT_NONE, (int64_t[]){1}, 1, &bytes));
}

static void print_shape(void **state)
{
    char buf[64], small[6];

    assert_string_equal(weft_shape_print((int64_t[]){1, 3, -1, 640}, 4, buf, sizeof buf), "[1,3,-1,640]");
    assert_string_equal(weft_shape_print(NULL, 0, buf, sizeof buf), "[]");
    assert_string_equal(weft_shape_print((int64_t[]){7}, 1, buf, sizeof buf), "[7]");
    assert_string_equal(weft_shape_print((int64_t[]){123456, 3}, 2, small, sizeof small), "[1234");
    buf[0] = 'x';
    weft_shape_print((int64_t[]){7}, 1, buf, 0);
    assert_int_equal(buf[0], 'x');
}

static weft_error err;

static weft_status check(weft_dtype t, int rank, int64_t d0, void *data, size_t n_bytes)
{
    weft_tensor v = {.name = "in", .dtype = t, .rank = rank, .shape = {d0}, .data = data, .n_bytes = n_bytes};

    weft_error_clear(&err);
    return weft_tensor_check(&v, &err);
}

static void check_dense(void **state)
{
    float data[4] = {0};

    assert_int_equal(check(WEFT_DT_F32, 1, 4, data, 16), WEFT_OK);
    assert_int_equal(check(WEFT_DT_F32, 0, 0, data, 4), WEFT_OK);
    assert_int_equal(check(WEFT_DT_F32, 1, 0, NULL, 0), WEFT_OK);
    assert_int_equal(check(WEFT_DT_F32, 1, 4, data, 15), WEFT_E_INVALID);
    assert_string_equal(err.text, "tensor \"in\" of FP32[4] needs 16 bytes, but 15 came");
    assert_int_equal(check(WEFT_DT_F32, 1, 4, NULL, 16), WEFT_E_INVALID);
    assert_int_equal(check(WEFT_DT_F32, 1, -1, data, 0), WEFT_E_INVALID);
    assert_int_equal(check(WEFT_DT_F32, 1, INT64_MAX, data, 16), WEFT_E_INVALID);
    assert_int_equal(check(WEFT_DT_F32, 9, 1, data, 4), WEFT_E_INVALID);
    assert_int_equal(check(WEFT_DT_F32, -1, 1, data, 4), WEFT_E_INVALID);
    assert_int_equal(check(WEFT_DT_NONE, 1, 1, data, 4), WEFT_E_INVALID);
    assert_int_equal(check((weft_dtype)15, 1, 1, data, 4), WEFT_E_INVALID);
}

static void check_strings(void **state)
{
    char two[] = "\2\0\0\0ab\0\0\0\0";

    assert_int_equal(check(WEFT_DT_STRING, 1, 2, two, 10), WEFT_OK);
    assert_int_equal(check(WEFT_DT_STRING, 1, 0, NULL, 0), WEFT_OK);
    assert_int_equal(check(WEFT_DT_STRING, 1, 2, two, 9), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "holds 1 of the 2 strings"));
    assert_int_equal(check(WEFT_DT_STRING, 1, 1, two, 10), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "4 bytes after the last"));
    assert_int_equal(check(WEFT_DT_STRING, 1, INT64_MAX, two, 10), WEFT_E_INVALID);
    two[3] = (char)0xff; /* a length of nearly 4 GiB */
    assert_int_equal(check(WEFT_DT_STRING, 1, 2, two, 10), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "4278190082"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes),      cmocka_unit_test(elements_and_bytes), cmocka_unit_test(print_shape),
        cmocka_unit_test(check_dense), cmocka_unit_test(check_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
