#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/tensor_match.h"

static float f32[12];
static const weft_tensor_desc desc = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {-1, 3}};

static void refused(const weft_tensor_desc *d, weft_tensor t, const char *expected_text)
{
    weft_error err;

    assert_int_equal(weft_tensor_match(d, &t, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, expected_text);
    assert_int_equal(weft_tensor_match(d, &t, NULL), WEFT_E_INVALID);
}

static void test_match(void **state)
{
    weft_tensor good = {.name = "anything", .dtype = WEFT_DT_F32, .rank = 2, .shape = {4, 3}, .data = f32, .n_bytes = 48};
    weft_tensor t = good;

    assert_int_equal(weft_tensor_match(&desc, &good, NULL), WEFT_OK);
    t.dtype = WEFT_DT_I64;
    refused(&desc, t, "input \"x\" must be FP32[-1,3] (-1 = any size), but INT64[4,3] came");
    t = good;
    t.shape[1] = 4;
    refused(&desc, t, "input \"x\" must be FP32[-1,3] (-1 = any size), but FP32[4,4] came");
    t = good;
    t.rank = 1;
    refused(&desc, t, "input \"x\" must be FP32[-1,3] (-1 = any size), but FP32[4] came");
    t = good;
    t.rank = 9;
    refused(&desc, t, "input \"x\" has 9 dimensions; 0 to 8 are possible");
    t.rank = -1;
    refused(&desc, t, "input \"x\" has -1 dimensions; 0 to 8 are possible");
    t = good;
    t.n_bytes = 47;
    refused(&desc, t, "tensor \"x\" of FP32[4,3] needs 48 bytes, but 47 came");
    t = good;
    t.shape[0] = -1;
    refused(&desc, t, "tensor \"x\" has the impossible shape [-1,3]");
    t.shape[0] = INT64_MAX;
    refused(&desc, t, "tensor \"x\" has the impossible shape [9223372036854775807,3]");
}

static void test_ranks(void **state)
{
    weft_tensor_desc any = {.name = "a", .dtype = WEFT_DT_F32, .rank = -1};
    weft_tensor_desc scalar = {.name = "s", .dtype = WEFT_DT_F32};
    weft_tensor t = {.dtype = WEFT_DT_F32, .rank = 3, .shape = {1, 2, 3}, .data = f32, .n_bytes = 24};

    assert_int_equal(weft_tensor_match(&any, &t, NULL), WEFT_OK);
    refused(&scalar, t, "input \"s\" must be FP32[], but FP32[1,2,3] came");
    t.dtype = WEFT_DT_U8;
    refused(&any, t, "input \"a\" must be FP32 of any shape, but UINT8[1,2,3] came");
    t = (weft_tensor){.dtype = WEFT_DT_F32, .data = f32, .n_bytes = 4};
    assert_int_equal(weft_tensor_match(&scalar, &t, NULL), WEFT_OK);
}

static void test_whole_run(void **state)
{
    weft_tensor_desc descs[2] = {desc, {.name = "bias", .dtype = WEFT_DT_F32, .rank = 1, .shape = {1}, .optional = true}};
    weft_tensor in[2] = {{.dtype = WEFT_DT_F32, .rank = 2, .shape = {4, 3}, .data = f32, .n_bytes = 48}, {0}};
    weft_error err;

    assert_int_equal(weft_tensors_match(descs, 2, in, 2, &err), WEFT_OK);
    descs[1].optional = false;
    assert_int_equal(weft_tensors_match(descs, 2, in, 2, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "input \"bias\" is required, but it is missing");
    assert_int_equal(weft_tensors_match(descs, 2, in, 1, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "the model has 2 inputs, but 1 came");
    /* No elements need no data: that is not a missing input. */
    in[1] = (weft_tensor){.dtype = WEFT_DT_F32, .rank = 1};
    assert_false(weft_tensor_absent(&in[1]));
    descs[1].shape[0] = -1;
    assert_int_equal(weft_tensors_match(descs, 2, in, 2, &err), WEFT_OK);
    in[1].shape[0] = 2;
    assert_true(weft_tensor_absent(&in[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_whole_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
