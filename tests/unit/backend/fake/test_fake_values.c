/* What the fake backend answers, against numbers worked out by hand from fake_backend.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "help_fake.h"

static const float two_rows[8] = {1, 2, 3, 4, 10, 20, 30, 40}; /* sums 10 and 100 */

static void expect_f32(const weft_tensor *t, const float *want, size_t n)
{
    assert_int_equal(t->dtype, WEFT_DT_F32);
    assert_int_equal(t->n_bytes, n * 4);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(((const float *)t->data)[i], want[i], 0);
}

static void test_default_model(void **state)
{
    static const float want[8] = {10, 11, 12, 13, 100, 101, 102, 103};
    weft_tensor in = rows_of(two_rows, 2);
    fake_rig r;
    char text[64];

    assert_int_equal(rig_open(&r, "plain", NULL, NULL), WEFT_OK);
    assert_int_equal(r.desc.n_inputs, 1);
    assert_string_equal(r.desc.inputs[0].name, "x");
    assert_int_equal(r.desc.outputs[0].shape[0], -1);
    assert_int_equal(r.backend->describe(r.self, text, sizeof text), WEFT_OK);
    assert_string_equal(text, "fake CPU, for tests");
    assert_int_equal(rig_run(&r, &in, 1), WEFT_OK);
    assert_int_equal(r.outputs[0].rank, 2);
    assert_int_equal(r.outputs[0].shape[0], 2);
    assert_int_equal(r.outputs[0].shape[1], 4);
    expect_f32(&r.outputs[0], want, 8);
    rig_close(&r);
}

#define SHAPE(...)                                                                                                               \
    {                                                                                                                            \
        sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                                          \
        {                                                                                                                        \
            __VA_ARGS__                                                                                                          \
        }                                                                                                                        \
    }

static void test_every_dtype(void **state)
{
    /* Row sums are 258 and 3: u8 and i8 wrap (2), BOOL is odd (false, true), FP16 and BF16 hold them exactly (BF16 has 8 bits:
     * 258 = 1.0000001b * 2^8 is 258). */
    static const float in_data[8] = {255, 1, 1, 1, 1, 1, 1, 0};
    weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, 4)};
    weft_fake_tensor out[8] = {
        {.name = "u8", .dtype = WEFT_DT_U8, .shape = SHAPE(-1)},
        {.name = "i8", .dtype = WEFT_DT_I8, .shape = SHAPE(-1)},
        {.name = "bool", .dtype = WEFT_DT_BOOL, .shape = SHAPE(-1)},
        {.name = "f16", .dtype = WEFT_DT_F16, .shape = SHAPE(-1)},
        {.name = "bf16", .dtype = WEFT_DT_BF16, .shape = SHAPE(-1)},
        {.name = "f64", .dtype = WEFT_DT_F64, .shape = SHAPE(-1)},
        {.name = "i64", .dtype = WEFT_DT_I64, .shape = SHAPE(-1)},
        {.name = "text", .dtype = WEFT_DT_STRING, .shape = SHAPE(-1, 2)},
    };
    weft_fake_options o = {.inputs = {1, &in}, .outputs = {8, out}};
    weft_tensor x = rows_of(in_data, 2);
    fake_rig r;

    assert_int_equal(rig_open(&r, "dtypes", &o, NULL), WEFT_OK);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_memory_equal(r.outputs[0].data, "\x02\x03", 2);
    assert_memory_equal(r.outputs[1].data, "\x02\x03", 2);
    assert_memory_equal(r.outputs[2].data, "\x00\x01", 2);
    assert_memory_equal(r.outputs[3].data, "\x08\x5c\x00\x42", 4); /* binary16: 258 = 0x5c08, 3 = 0x4200 */
    assert_memory_equal(r.outputs[4].data, "\x81\x43\x40\x40",
                        4); /* upper half of binary32: 258.0f = 0x43810000, 3.0f = 0x40400000 */
    assert_float_equal(((double *)r.outputs[5].data)[0], 258, 0);
    assert_int_equal(((int64_t *)r.outputs[6].data)[1], 3);
    assert_int_equal(r.outputs[7].n_bytes, 7 + 7 + 5 + 5);
    assert_memory_equal(r.outputs[7].data, "\3\0\0\000258\3\0\0\000259\1\0\0\0003\1\0\0\0004", 24);
    rig_close(&r);
}

static void test_inputs_are_weighted(void **state)
{
    /* S(r) = 1 * x(r) + 2 * (sum of the shared bias) + 3 * string bytes of row r */
    weft_fake_tensor in[3] = {
        {.name = "x", .dtype = WEFT_DT_I32, .shape = SHAPE(-1)},
        {.name = "bias", .dtype = WEFT_DT_U8, .shape = SHAPE(2), .optional = true},
        {.name = "text", .dtype = WEFT_DT_STRING, .shape = SHAPE(-1)},
    };
    weft_fake_tensor out = {.name = "y", .dtype = WEFT_DT_I64, .shape = SHAPE(-1)};
    weft_fake_options o = {.inputs = {3, in}, .outputs = {1, &out}};
    int32_t x[2] = {-5, 7};
    uint8_t bias[2] = {1, 2};
    weft_tensor t[3] = {
        {.dtype = WEFT_DT_I32, .rank = 1, .shape = {2}, .data = x, .n_bytes = 8},
        {.dtype = WEFT_DT_U8, .rank = 1, .shape = {2}, .data = bias, .n_bytes = 2},
        {.dtype = WEFT_DT_STRING, .rank = 1, .shape = {2}, .data = (void *)"\2\0\0\0\001\002\0\0\0\0", .n_bytes = 10},
    };
    fake_rig r;

    assert_int_equal(rig_open(&r, "weighted", &o, NULL), WEFT_OK);
    assert_int_equal(rig_run(&r, t, 3), WEFT_OK);
    assert_int_equal(((int64_t *)r.outputs[0].data)[0], -5 + 2 * 3 + 3 * 3);
    assert_int_equal(((int64_t *)r.outputs[0].data)[1], 7 + 2 * 3);
    t[1] = (weft_tensor){0}; /* left out */
    assert_int_equal(rig_run(&r, t, 3), WEFT_OK);
    assert_int_equal(((int64_t *)r.outputs[0].data)[0], -5 + 3 * 3);
    t[2].shape[0] = 1;
    t[2].n_bytes = 6;
    assert_int_equal(rig_run(&r, t, 3), WEFT_E_INVALID);
    assert_string_equal(r.err.text, "input \"text\" has 1 rows, but input \"x\" has 2");
    assert_int_equal(r.fault, WEFT_FAULT_REQUEST);
    rig_close(&r);
}

static void test_other_values(void **state)
{
    weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, 4)};
    weft_fake_tensor out[4] = {
        {.name = "copy", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, 4), .values = WEFT_FAKE_COPY},
        {.name = "rows", .dtype = WEFT_DT_I32, .shape = SHAPE(1), .values = WEFT_FAKE_ROWS},
        {.name = "mix", .dtype = WEFT_DT_F32, .shape = SHAPE(-1), .values = WEFT_FAKE_MIX},
        {.name = "run", .dtype = WEFT_DT_I64, .shape = SHAPE(-1), .values = WEFT_FAKE_RUN},
    };
    weft_fake_options o = {.inputs = {1, &in}, .outputs = {4, out}};
    static const float mix[2] = {110, 110};
    weft_tensor x = rows_of(two_rows, 2);
    fake_rig r;

    out[3].shape.n = 0; /* a scalar */
    assert_int_equal(rig_open(&r, "values", &o, NULL), WEFT_OK);
    for (int64_t n = 1; n <= 3; n++) {
        assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
        expect_f32(&r.outputs[0], two_rows, 8);
        assert_int_equal(((int32_t *)r.outputs[1].data)[0], 2);
        expect_f32(&r.outputs[2], mix, 2);
        assert_int_equal(r.outputs[3].rank, 0);
        assert_int_equal(((int64_t *)r.outputs[3].data)[0], n);
    }
    rig_close(&r);
}

static void test_sizes(void **state)
{
    weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, -1)};
    weft_fake_tensor out[4] = {
        {.name = "follows", .dtype = WEFT_DT_U8, .shape = SHAPE(-1, -1)},
        {.name = "runtime", .dtype = WEFT_DT_U8, .shape = SHAPE(2, -1), .size = WEFT_SIZE_RUNTIME},
        {.name = "bounded", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, -1), .size = WEFT_SIZE_BOUNDED, .max_bytes = 12},
        {.name = "flat", .dtype = WEFT_DT_U8, .shape = SHAPE(-1), .size = WEFT_SIZE_RUNTIME},
    };
    weft_fake_options o = {.inputs = {1, &in}, .outputs = {4, out}};
    float data[4] = {1, 2, 3, 7}; /* total 13: 13 mod 8 = 5 */
    weft_tensor x = {.dtype = WEFT_DT_F32, .rank = 2, .shape = {2, 2}, .data = data, .n_bytes = 16};
    fake_rig r;

    assert_int_equal(rig_open(&r, "sizes", &o, NULL), WEFT_OK);
    assert_int_equal(r.desc.outputs[1].size_kind, WEFT_SIZE_RUNTIME);
    assert_int_equal(r.desc.outputs[2].max_bytes, 12);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.outputs[0].shape[0], 2);
    assert_int_equal(r.outputs[0].shape[1], 2);
    assert_int_equal(r.outputs[1].shape[0], 2);
    assert_int_equal(r.outputs[1].shape[1], 5);
    assert_int_equal(r.outputs[1].n_bytes, 10);
    assert_int_equal(r.outputs[2].shape[1], 3); /* cut to 12 bytes a row */
    assert_int_equal(r.outputs[2].n_bytes, 24);
    assert_int_equal(r.outputs[3].shape[0], 5);
    data[3] = 2; /* total 8: nothing comes out */
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.outputs[3].shape[0], 0);
    assert_int_equal(r.outputs[3].n_bytes, 0);
    rig_close(&r);
}

static void test_buffers_and_wanted(void **state)
{
    weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, 4)};
    weft_fake_tensor out[2] = {
        {.name = "a", .dtype = WEFT_DT_F32, .shape = SHAPE(-1)},
        {.name = "b", .dtype = WEFT_DT_F32, .shape = SHAPE(-1)},
    };
    weft_fake_options o = {.inputs = {1, &in}, .outputs = {2, out}};
    weft_tensor x = rows_of(two_rows, 2);
    float room[2];
    bool wanted[2] = {true, false};
    weft_tensor outputs[2] = {{.data = room, .n_bytes = sizeof room}, {.data = room, .n_bytes = sizeof room}};
    weft_run run = {.inputs = &x, .n_inputs = 1, .outputs = outputs, .n_outputs = 2, .wanted = wanted, .n_rows = 2};
    fake_rig r;

    assert_int_equal(rig_open(&r, "buffers", &o, NULL), WEFT_OK);
    assert_int_equal(r.backend->run(r.self, r.instance, &run, &r.err), WEFT_OK); /* alloc is NULL: it must not be called */
    assert_ptr_equal(outputs[0].data, room);
    assert_float_equal(room[0], 10, 0);
    assert_float_equal(room[1], 100, 0);
    assert_null(outputs[1].data);
    run.n_outputs = 1;
    assert_int_equal(r.backend->run(r.self, r.instance, &run, &r.err), WEFT_E_INVALID);
    rig_close(&r);
}

static void test_bad_descriptions(void **state)
{
    weft_fake_tensor in[2] = {{.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(-1, 4)},
                              {.name = "x", .dtype = WEFT_DT_F32, .shape = SHAPE(1)}};
    weft_fake_tensor out = {.name = "y", .dtype = WEFT_DT_I32, .shape = SHAPE(-1, 4), .values = WEFT_FAKE_COPY};
    int64_t gears[3] = {1, 4, 4};
    weft_fake_options o = {.inputs = {2, in}};
    fake_rig r;

    assert_int_equal(rig_open(&r, "bad", &o, NULL), WEFT_E_CONFIG);
    assert_string_equal(r.err.text, "the fake model \"bad\" has the name \"x\" twice");
    o = (weft_fake_options){.inputs = {1, in}, .outputs = {1, &out}};
    assert_int_equal(rig_open(&r, "bad", &o, NULL), WEFT_E_CONFIG);
    o = (weft_fake_options){.batch_sizes = {3, gears}};
    assert_int_equal(rig_open(&r, "bad", &o, NULL), WEFT_E_CONFIG);
    o = (weft_fake_options){.inputs = {1, &in[1]}, .batch_sizes = {2, gears}};
    assert_int_equal(rig_open(&r, "bad", &o, NULL), WEFT_E_CONFIG);
    assert_int_equal(rig_open(&r, "bad", NULL, "/nonexistent/x.fake"), WEFT_E_NOT_FOUND);
}

static void test_compiled_batches(void **state)
{
    int64_t gears[2] = {1, 4};
    weft_fake_options o = {.batch_sizes = {2, gears}};
    weft_tensor x = rows_of(two_rows, 2);
    fake_rig r;

    assert_int_equal(rig_open(&r, "gears", &o, NULL), WEFT_OK);
    assert_int_equal(r.desc.n_batch_sizes, 2);
    assert_int_equal(r.desc.batch_sizes[1], 4);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_INVALID);
    assert_string_equal(r.err.text, "the model is not compiled for 2 rows");
    x = rows_of(two_rows, 1);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_model),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_inputs_are_weighted),
        cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_buffers_and_wanted),
        cmocka_unit_test(test_bad_descriptions),
        cmocka_unit_test(test_compiled_batches),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weft_fake_reset();
    return failed;
}
