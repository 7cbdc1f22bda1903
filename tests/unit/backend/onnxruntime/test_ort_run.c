#include "ort_models.h"

#include <stdio.h>

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"

static backend_rig r;

static int open_backend(void **state)
{
    return rig_open(&r, &weft_backend_onnxruntime, NULL) ? -1 : 0;
}

static int close_backend(void **state)
{
    rig_close(&r);
    return 0;
}

static int unload(void **state)
{
    rig_unload(&r);
    r.wanted = NULL;
    r.refuse_alloc = false;
    r.log[0] = 0;
    return 0;
}

static void load(const char *path)
{
    if (rig_load_path(&r, path, NULL))
        fail_msg("%s", r.err.text);
}

static void run(const weft_tensor *in, size_t n)
{
    if (rig_run(&r, in, n))
        fail_msg("%s", r.err.text);
    assert_int_equal(r.fault, WEFT_FAULT_NONE);
}

static void refused(const weft_tensor *in, size_t n, const char *text)
{
    assert_int_equal(rig_run(&r, in, n), WEFT_E_INVALID);
    assert_int_equal(r.fault, WEFT_FAULT_REQUEST);
    assert_string_equal(r.err.text, text);
}

static void test_every_dtype_comes_back(void **state)
{
    static const char *const names[] = {"bool", "u8",  "u16", "u32",  "u64", "i8", "i16",
                                        "i32",  "i64", "f16", "bf16", "f32", "f64"};
    uint8_t bytes[4 * 8];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[300];
        weft_tensor in;
        size_t one;

        snprintf(path, sizeof path, "%s/models/identity_%s.onnx", WEFT_TEST_DATA, names[i]);
        load(path);
        one = weft_dtype_bytes(r.desc.inputs->dtype);
        for (size_t k = 0; k < sizeof bytes; k++) /* any pattern is a number, only a BOOL has two values */
            bytes[k] = (uint8_t)(i == 0 ? k & 1 : k * 37 + 200);
        in = rig_tensor(r.desc.inputs->dtype, bytes, 4 * one, 2, 2, 2);
        run(&in, 1);
        assert_int_equal(r.outputs[0].dtype, in.dtype);
        assert_int_equal(r.outputs[0].n_bytes, 4 * one);
        assert_memory_equal(r.outputs[0].data, bytes, 4 * one);
        assert_string_equal(r.outputs[0].name, "y");
        rig_unload(&r);
    }
}

static void test_strings(void **state)
{
    /* "a", "", "b NUL c", 300 bytes */
    static uint8_t text[4 + 1 + 4 + 4 + 3 + 4 + 300] = "\1\0\0\0a\0\0\0\0\3\0\0\0b\0c\x2c\1\0\0";
    weft_tensor in = rig_tensor(WEFT_DT_STRING, text, sizeof text, 1, 4), none = rig_tensor(WEFT_DT_STRING, NULL, 0, 1, 0);

    memset(text + sizeof text - 300, 'z', 300);
    load(MODEL("strings"));
    for (int i = 0; i < 3; i++) {
        run(&in, 1);
        assert_int_equal(r.outputs[0].shape[0], 8);
        assert_int_equal(r.outputs[0].n_bytes, 2 * sizeof text);
        assert_memory_equal(r.outputs[0].data, text, sizeof text);
        assert_memory_equal((uint8_t *)r.outputs[0].data + sizeof text, text, sizeof text);
    }
    run(&none, 1);
    assert_int_equal(r.outputs[0].shape[0], 0);
    assert_int_equal(r.outputs[0].n_bytes, 0);
    in.n_bytes -= 1;
    refused(&in, 1, "string 3 of tensor \"x\" is said to have 300 bytes, but 299 are left");
}

static void test_many_strings(void **state)
{
    static uint8_t text[1000 * 6];
    weft_tensor in = rig_tensor(WEFT_DT_STRING, text, sizeof text, 1, 1000);

    for (int i = 0; i < 1000; i++) {
        text[i * 6] = 2;
        text[i * 6 + 4] = (uint8_t)('a' + i % 26);
        text[i * 6 + 5] = (uint8_t)('a' + i / 26 % 26);
    }
    load(MODEL("strings"));
    run(&in, 1);
    assert_int_equal(r.outputs[0].n_bytes, 12000);
    assert_memory_equal(r.outputs[0].data, text, 6000);
}

static void test_ranks(void **state)
{
    float one = 21, wide[3] = {1, 2, 3};
    weft_tensor scalar = rig_tensor(WEFT_DT_F32, &one, 4, 0),
                eight = rig_tensor(WEFT_DT_F32, wide, 12, 8, 1, 1, 1, 1, 1, 1, 1, 3);

    load(MODEL("scalar"));
    run(&scalar, 1);
    assert_int_equal(r.outputs[0].rank, 0);
    assert_int_equal(r.outputs[0].n_bytes, 4);
    assert_float_equal(*(float *)r.outputs[0].data, 42, 0);
    eight.rank = 1;
    eight.n_bytes = 4;
    if (weft_ort.call.tensor_has_shape) /* an older library does not tell a scalar from an unknown shape */
        refused(&eight, 1, "input \"x\" must be FP32[], but FP32[1] came");
    rig_unload(&r);
    load(MODEL("rank8"));
    eight = rig_tensor(WEFT_DT_F32, wide, 12, 8, 1, 1, 1, 1, 1, 1, 1, 3);
    run(&eight, 1);
    assert_int_equal(r.outputs[0].rank, 8);
    assert_float_equal(((float *)r.outputs[0].data)[2], -3, 0);
    rig_unload(&r);
    load(MODEL("no_inputs"));
    run(NULL, 0);
    assert_float_equal(((float *)r.outputs[0].data)[1], 4, 0);
}

static void test_no_elements(void **state)
{
    weft_tensor in[2] = {rig_tensor(WEFT_DT_F32, NULL, 0, 2, 0, 4), rig_tensor(WEFT_DT_F32, (float[4]){0}, 16, 1, 4)};

    load(MODEL("add"));
    run(in, 2);
    assert_int_equal(r.outputs[0].rank, 2);
    assert_int_equal(r.outputs[0].shape[0], 0);
    assert_int_equal(r.outputs[0].shape[1], 4);
    assert_int_equal(r.outputs[0].n_bytes, 0);
}

static void test_runtime_size(void **state)
{
    float x[6] = {1, 0, 2, 0, 0, 3};
    weft_tensor in = rig_tensor(WEFT_DT_F32, x, sizeof x, 1, 6);

    load(MODEL("nonzero"));
    for (int i = 0; i < 6; i++) { /* the same input shape, another output shape each time: guesses must never be believed */
        x[3] = (float)(i & 1);
        run(&in, 1);
        assert_int_equal(r.outputs[0].shape[0], 1);
        assert_int_equal(r.outputs[0].shape[1], 3 + (i & 1));
        assert_int_equal(((int64_t *)r.outputs[0].data)[2 + (i & 1)], 5);
    }
    x[3] = 0;
    for (int i = 0; i < 4; i++)
        run(&in, 1);
    x[4] = 9; /* after the size has been seen often: the guess is wrong, the answer is not */
    run(&in, 1);
    assert_int_equal(r.outputs[0].shape[1], 4);
    assert_int_equal(((int64_t *)r.outputs[0].data)[2], 4);
    assert_int_equal(((int64_t *)r.outputs[0].data)[3], 5);
    assert_true(atomic_load(&((weft_ort_model *)r.model)->unbound[0]));
    x[4] = 0;
    run(&in, 1);
    assert_int_equal(r.outputs[0].shape[1], 3);
}

static void test_unknown_rank(void **state)
{
    float x[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[3] = {1, 2, 3};
    weft_tensor in[2] = {rig_tensor(WEFT_DT_F32, x, sizeof x, 1, 6), rig_tensor(WEFT_DT_I64, shape, sizeof shape, 1, 3)};

    load(MODEL("unknown_rank"));
    run(in, 2);
    assert_int_equal(r.outputs[0].rank, 3);
    assert_int_equal(r.outputs[0].shape[2], 3);
    in[1] = rig_tensor(WEFT_DT_I64, (int64_t[2]){3, 2}, 16, 1, 2);
    run(in, 2);
    assert_int_equal(r.outputs[0].rank, 2);
    assert_memory_equal(r.outputs[0].data, x, sizeof x);
}

static void test_lying_file(void **state)
{
    float x[4] = {1, 2, 3, 4};
    weft_tensor in = rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 2);

    load(MODEL("lying")); /* says that y has the rows of x; it has twice as many */
    for (int i = 0; i < 3; i++) {
        run(&in, 1);
        assert_int_equal(r.outputs[0].shape[0], 4);
        assert_int_equal(r.outputs[0].n_bytes, 32);
        assert_memory_equal(r.outputs[0].data, x, 16);
        assert_memory_equal((char *)r.outputs[0].data + 16, x, 16);
    }
}

static void test_in_place(void **state)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[4] = {10, 20, 30, 40}, y[12];
    weft_tensor in[2] = {rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 4), rig_tensor(WEFT_DT_F32, b, sizeof b, 1, 4)};

    load(MODEL("add"));
    r.outputs[0] = (weft_tensor){.data = y, .n_bytes = sizeof y};
    assert_int_equal(rig_run_kept(&r, in, 2), WEFT_OK);
    assert_int_equal(r.n_allocs, 0);
    assert_ptr_equal(r.outputs[0].data, y);
    assert_int_equal(r.outputs[0].n_bytes, 32);
    assert_float_equal(y[7], 48, 0);
    /* The values change, the places do not: what was kept of the last run must read them anew. */
    x[7] = 100;
    r.outputs[0].n_bytes = sizeof y;
    assert_int_equal(rig_run_kept(&r, in, 2), WEFT_OK);
    assert_float_equal(y[7], 140, 0);
    /* Another number of rows at the same places. */
    in[0] = rig_tensor(WEFT_DT_F32, x, 16, 2, 1, 4);
    r.outputs[0].n_bytes = sizeof y;
    assert_int_equal(rig_run_kept(&r, in, 2), WEFT_OK);
    assert_int_equal(r.outputs[0].n_bytes, 16);
    assert_int_equal(r.outputs[0].shape[0], 1);
    /* Too small a buffer: a new one is asked for. */
    in[0] = rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 4);
    r.outputs[0] = (weft_tensor){.data = y, .n_bytes = 31};
    assert_int_equal(rig_run_kept(&r, in, 2), WEFT_OK);
    assert_int_equal(r.n_allocs, 1);
    assert_ptr_not_equal(r.outputs[0].data, y);
    assert_float_equal(((float *)r.outputs[0].data)[0], 11, 0);
}

/* After two runs with one input shape the output of `renamed` is computed in place although its file does not tell its size. */
static void test_learned_in_place(void **state)
{
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
    weft_tensor in = rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 3);
    weft_backend_memory before, after;

    load(MODEL("renamed"));
    for (int i = 0; i < 5; i++) {
        r.backend->memory(r.self, r.model, &before);
        r.outputs[0] = (weft_tensor){.data = y, .n_bytes = sizeof y};
        memset(y, 0, sizeof y);
        assert_int_equal(rig_run_kept(&r, &in, 1), WEFT_OK);
        assert_ptr_equal(r.outputs[0].data, y);
        assert_int_equal(r.outputs[0].shape[0], 2);
        assert_int_equal(r.outputs[0].shape[1], 3);
        assert_float_equal(y[5], -6, 0);
    }
    r.backend->memory(r.self, r.model, &after);
    assert_true(after.peak_work_bytes > 0); /* the first two runs had ORT allocate the output */
    /* The other shape at once, with the old lesson in mind. */
    in = rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 3, 2);
    r.outputs[0] = (weft_tensor){.data = y, .n_bytes = sizeof y};
    assert_int_equal(rig_run_kept(&r, &in, 1), WEFT_OK);
    assert_int_equal(r.outputs[0].shape[0], 3);
}

static void test_wanted(void **state)
{
    float x[3] = {-1, 2, -3};
    weft_tensor in = rig_tensor(WEFT_DT_F32, x, sizeof x, 1, 3);
    static const bool second[3] = {false, true, false}, none[3] = {false, false, false};

    load(MODEL("outputs3"));
    r.wanted = second;
    run(&in, 1);
    assert_int_equal(r.n_allocs, 1);
    assert_null(r.outputs[0].data);
    assert_null(r.outputs[2].data);
    assert_float_equal(((float *)r.outputs[1].data)[2], 3, 0);
    r.wanted = none;
    run(&in, 1);
    assert_int_equal(r.n_allocs, 0);
    r.wanted = NULL;
    run(&in, 1);
    assert_int_equal(((int64_t *)r.outputs[2].data)[0], 3);
    assert_float_equal(((float *)r.outputs[0].data)[0], 1, 0);
}

static void test_wrong_inputs(void **state)
{
    float x[8] = {0}, b[4] = {0};
    weft_tensor good[2] = {rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 4), rig_tensor(WEFT_DT_F32, b, sizeof b, 1, 4)}, in[2];

    load(MODEL("add"));
    refused(good, 1, "the model has 2 inputs, but 1 came");
    refused(NULL, 0, "the model has 2 inputs, but 0 came");
    memcpy(in, good, sizeof in);
    in[1] = (weft_tensor){0};
    refused(in, 2, "input \"b\" is required, but it is missing");
    in[1] = good[1];
    in[1].dtype = WEFT_DT_F64;
    refused(in, 2, "input \"b\" must be FP32[4] (-1 = any size), but FP64[4] came");
    in[1] = rig_tensor(WEFT_DT_F32, b, 12, 1, 3);
    refused(in, 2, "input \"b\" must be FP32[4] (-1 = any size), but FP32[3] came");
    in[1] = good[1];
    in[0].n_bytes = 28;
    refused(in, 2, "tensor \"x\" of FP32[2,4] needs 32 bytes, but 28 came");
    in[0] = good[0];
    in[0].shape[0] = -2;
    refused(in, 2, "tensor \"x\" has the impossible shape [-2,4]");
    in[0].shape[0] = INT64_MAX / 2;
    refused(in, 2, "tensor \"x\" has the impossible shape [4611686018427387903,4]");
    in[0].shape[0] = INT64_MAX / 8;
    refused(in, 2, "tensor \"x\" of FP32[1152921504606846975,4] needs 18446744073709551600 bytes, but 32 came");
    in[0] = good[0];
    in[0].rank = 12;
    refused(in, 2, "input \"x\" has 12 dimensions; 0 to 8 are possible");
    run(good, 2);
}

static void test_bools(void **state)
{
    uint8_t x[4] = {0, 1, 2, 1};
    weft_tensor in = rig_tensor(WEFT_DT_BOOL, x, 4, 2, 2, 2);

    load(MODEL("identity_bool"));
    refused(&in, 1, "input \"x\" is BOOL, but its element 2 is 2; 0 or 1 is possible");
    x[2] = 1;
    run(&in, 1);
}

static void test_misaligned(void **state)
{
    static _Alignas(8) uint8_t place[40], room[40];
    double x[4] = {1.5, -2, 3, 1e300};
    weft_tensor in = rig_tensor(WEFT_DT_F64, place + 1, sizeof x, 2, 2, 2);

    memcpy(place + 1, x, sizeof x);
    load(MODEL("identity_f64"));
    for (int i = 0; i < 2; i++) {
        r.outputs[0] = (weft_tensor){.data = room + 3, .n_bytes = 32};
        assert_int_equal(rig_run_kept(&r, &in, 1), WEFT_OK);
        assert_ptr_equal(r.outputs[0].data, room + 3);
        assert_memory_equal(room + 3, x, sizeof x);
    }
}

static void test_no_memory_for_outputs(void **state)
{
    float x[6] = {1, 0, 2, 0, 0, 3};
    weft_tensor in = rig_tensor(WEFT_DT_F32, x, sizeof x, 1, 6), text = rig_tensor(WEFT_DT_STRING, "\1\0\0\0a", 5, 1, 1);
    static const char *const models[] = {MODEL("nonzero"), MODEL("outputs3"), MODEL("strings")};

    for (int i = 0; i < 3; i++) {
        load(models[i]);
        r.refuse_alloc = true;
        assert_int_equal(rig_run(&r, i == 2 ? &text : &in, 1), WEFT_E_NO_MEMORY);
        assert_int_equal(r.fault, WEFT_FAULT_MEMORY);
        r.refuse_alloc = false;
        run(i == 2 ? &text : &in, 1);
        rig_unload(&r);
    }
}

static void test_files_by_shape(void **state)
{
    static const char *const sizes[] = {MODEL("side8"), MODEL("side16")}, *const batches[] = {MODEL("batch4"), MODEL("batch1"),
                                                                                              MODEL("batch2")};
    static float x[3 * 16 * 16];
    weft_model_source src = {.name = "sizes", .paths = sizes, .n_paths = 2, .threads = 1, .max_batch = 1};
    weft_tensor in;

    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = 2;
    assert_int_equal(rig_load(&r, &src), WEFT_OK);
    in = rig_tensor(WEFT_DT_F32, x, 3 * 16 * 16 * 4, 4, 1, 3, 16, 16);
    run(&in, 1);
    assert_float_equal(((float *)r.outputs[0].data)[2], 2, 0);
    in = rig_tensor(WEFT_DT_F32, x, 3 * 8 * 8 * 4, 4, 1, 3, 8, 8);
    run(&in, 1);
    in = rig_tensor(WEFT_DT_F32, x, 3 * 8 * 16 * 4, 4, 1, 3, 8, 16);
    refused(&in, 1, "input \"x\" has the shape [1,3,8,16]; the model is compiled for [1,3,8,8], [1,3,16,16]");
    rig_unload(&r);
    src = (weft_model_source){.name = "batches", .paths = batches, .n_paths = 3, .threads = 1, .max_batch = 8};
    assert_int_equal(rig_load(&r, &src), WEFT_OK);
    for (int rows = 1; rows <= 4; rows++) {
        in = rig_tensor(WEFT_DT_F32, (float[12]){1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, (size_t)rows * 12, 2, rows, 3);
        if (rows == 3) {
            refused(&in, 1, "input \"x\" has the shape [3,3]; the model is compiled for [4,3], [1,3], [2,3]");
            continue;
        }
        run(&in, 1);
        assert_int_equal(r.outputs[0].shape[0], rows);
        assert_float_equal(((float *)r.outputs[0].data)[0], 1, 0);
        assert_float_equal(((float *)r.outputs[0].data)[rows * 2 - 1], rows == 1 ? 2 : rows == 2 ? 4 : 12, 0);
    }
}

static void test_kernel_error(void **state)
{
    int64_t index[2] = {2, 3};
    weft_tensor in = rig_tensor(WEFT_DT_I64, index, sizeof index, 1, 2);

    load(MODEL("gather"));
    assert_int_equal(rig_run(&r, &in, 1), WEFT_E_RUN_FAILED);
    assert_int_equal(r.fault, WEFT_FAULT_UNKNOWN);
    assert_non_null(strstr(r.err.text, "indices element out of data bounds"));
    assert_null(strstr(r.err.text, "/onnxruntime")); /* no place in a source file */
    assert_null(strchr(r.err.text, '\n'));
    index[1] = 0;
    run(&in, 1);
    assert_float_equal(((float *)r.outputs[0].data)[0], 30, 0);
    assert_string_equal(r.log, ""); /* it came back as an error: not in the log as well */
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------------------------------------
 */

static float row[4096];

static void test_account_and_limit(void **state)
{
    const char *path = MODEL("outer");
    weft_model_source src = {.name = "outer", .paths = &path, .n_paths = 1, .threads = 1, .max_batch = 1};
    weft_tensor small = rig_tensor(WEFT_DT_F32, row, 1000 * 4, 1, 1000), large = rig_tensor(WEFT_DT_F32, row, 4096 * 4, 1, 4096);
    weft_backend_memory m;

    for (size_t i = 0; i < 4096; i++)
        row[i] = 1;
    load(path);
    run(&small, 1);
    assert_float_equal(*(float *)r.outputs[0].data, 1000 * 1000, 0);
    r.backend->memory(r.self, r.model, &m);
    assert_int_equal(m.work_bytes, 0);
    assert_in_range(m.peak_work_bytes, 4000000, 9000000); /* one or two matrices of 1000 x 1000 floats */
    rig_unload(&r);

    src.memory_limit = (uint64_t)32 << 20;
    assert_int_equal(rig_load(&r, &src), WEFT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_run(&r, &large, 1), WEFT_E_NO_MEMORY); /* 64 MiB a matrix */
        assert_int_equal(r.fault, WEFT_FAULT_MEMORY);
        run(&small, 1); /* the model works on */
    }
    r.backend->memory(r.self, r.model, &m);
    assert_int_equal(m.work_bytes, 0);
    assert_true(m.peak_work_bytes < 32 << 20);
}

static void test_every_allocation_fails_once(void **state)
{
    weft_tensor small = rig_tensor(WEFT_DT_F32, row, 100 * 4, 1, 100);
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    weft_tensor other = rig_tensor(WEFT_DT_F32, x, sizeof x, 2, 2, 4);
    static const char *const models[] = {MODEL("outer"), MODEL("sum_rows")};
    weft_backend_memory m;

    for (int k = 0; k < 2; k++) {
        int failed = 0;

        load(models[k]);
        for (int64_t n = 1;; n++) {
            weft_status s;

            weft_ort_fail_allocation(r.model, n);
            s = rig_run(&r, k ? &other : &small, 1);
            weft_ort_fail_allocation(r.model, 0);
            if (s == WEFT_OK)
                break;
            assert_int_equal(s, WEFT_E_NO_MEMORY);
            assert_int_equal(r.fault, WEFT_FAULT_MEMORY);
            r.backend->memory(r.self, r.model, &m);
            assert_int_equal(m.work_bytes, 0);
            failed++;
        }
        assert_true(failed >= 1);
        run(k ? &other : &small, 1);
        rig_unload(&r);
    }
}

static void test_size_from_a_value(void **state)
{
    int64_t n = (int64_t)1 << 50;
    weft_tensor in = rig_tensor(WEFT_DT_I64, &n, 8, 1, 1);

    load(MODEL("ones")); /* n floats, n being a number in the request: more than any machine has */
    assert_int_equal(rig_run(&r, &in, 1), WEFT_E_NO_MEMORY);
    assert_int_equal(r.fault, WEFT_FAULT_MEMORY);
    n = 10;
    run(&in, 1);
    assert_float_equal(*(float *)r.outputs[0].data, 10, 0);
    n = -1;
    assert_int_not_equal(rig_run(&r, &in, 1), WEFT_OK);
    n = 3;
    run(&in, 1);
}

static void test_release_memory(void **state)
{
    weft_ort_options o = {.graph_optimization = ORT_OPTIMIZE_ALL, .log_level = ORT_LOG_WARNING, .release_memory = true};
    weft_tensor large = rig_tensor(WEFT_DT_F32, row, 2000 * 4, 1, 2000);
    weft_ort_scratch_counts c;

    weft_ort_scratch_trim(false);
    assert_int_equal(rig_load_path(&r, MODEL("outer"), &o), WEFT_OK);
    run(&large, 1);
    weft_ort_scratch_count(&c);
    assert_true(c.touched_bytes < 1 << 20);
    rig_unload(&r);
    load(MODEL("outer"));
    run(&large, 1);
    weft_ort_scratch_count(&c);
    assert_true(c.touched_bytes >= 16000000); /* kept for the next run ... */
    rig_unload(&r);
    weft_ort_scratch_count(&c);
    assert_int_equal(c.touched_bytes, 0); /* ... until a model goes */
}

/* ---- terminate
 * ------------------------------------------------------------------------------------------------------------------------------------
 */

static int64_t turns;

static void run_loop(void *arg)
{
    weft_tensor in = rig_tensor(WEFT_DT_I64, &turns, 8, 0);

    *(weft_status *)arg = rig_run(&r, &in, 1);
}

static void test_terminate(void **state)
{
    weft_thread t;
    weft_status s = WEFT_OK;

    load(MODEL("loop"));
    turns = 3;
    run_loop(&s);
    assert_int_equal(s, WEFT_OK);
    assert_float_equal(*(float *)r.outputs[0].data, 64, 0);
    r.backend->terminate(r.self, r.instance); /* nothing runs: nothing happens */
    run_loop(&s);
    assert_int_equal(s, WEFT_OK);
    for (int i = 0; i < 3; i++) {
        turns = INT64_MAX;
        assert_int_equal(weft_thread_start(&t, "run", run_loop, &s, NULL), WEFT_OK);
        /* Into the run, at one place or another of it; again, because it may not have begun. */
        usleep((useconds_t)(20000 * (i + 1)));
        r.backend->terminate(r.self, r.instance);
        r.backend->terminate(r.self, r.instance);
        weft_thread_join(&t);
        assert_int_equal(s, WEFT_E_DEADLINE);
        assert_int_equal(r.fault, WEFT_FAULT_TIMEOUT);
        turns = 3;
        run_loop(&s);
        assert_int_equal(s, WEFT_OK); /* usable again */
    }
}

/* ---- threads
 * --------------------------------------------------------------------------------------------------------------------------------------
 */

typedef struct runner {
    weft_thread thread;
    void *instance;
    int number, failed;
    float y[4000];
} runner;

static void *no_alloc(void *cookie, size_t output, size_t n_bytes)
{
    return NULL;
}

static void run_many(void *arg)
{
    runner *me = arg;
    float x[4000];
    bool wanted = true;

    for (int i = 0; i < 300; i++) {
        int rows = 1 + (i + me->number) % 40;
        weft_tensor in[2] = {rig_tensor(WEFT_DT_F32, x, (size_t)rows * 16, 2, rows, 4),
                             rig_tensor(WEFT_DT_F32, (float[4]){1, 2, 3, 4}, 16, 1, 4)};
        weft_tensor out = {.data = me->y, .n_bytes = sizeof me->y};
        weft_run w = {
            .inputs = in, .n_inputs = 2, .outputs = &out, .n_outputs = 1, .wanted = &wanted, .alloc = no_alloc, .n_rows = rows};

        for (int k = 0; k < rows * 4; k++)
            x[k] = (float)(k + i + me->number * 1000);
        if (r.backend->run(r.self, me->instance, &w, NULL))
            me->failed++;
        for (int k = 0; k < rows * 4; k++)
            me->failed += me->y[k] != x[k] + (float)(1 + k % 4);
    }
}

static void test_instances_in_parallel(void **state)
{
    static runner w[4];

    load(MODEL("add"));
    for (int i = 0; i < 4; i++) {
        w[i] = (runner){.number = i};
        assert_int_equal(r.backend->instance_create(r.self, r.model, &w[i].instance, &r.err), WEFT_OK);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(weft_thread_start(&w[i].thread, "run", run_many, &w[i], NULL), WEFT_OK);
    for (int i = 0; i < 4; i++) {
        weft_thread_join(&w[i].thread);
        assert_int_equal(w[i].failed, 0);
        r.backend->instance_destroy(r.self, w[i].instance);
    }
}

static void test_more_threads_in_a_run(void **state)
{
    const char *path = MODEL("outer");
    weft_model_source src = {.name = "wide", .paths = &path, .n_paths = 1, .threads = 3, .max_batch = 1};
    weft_tensor in = rig_tensor(WEFT_DT_F32, row, 4096 * 4, 1, 4096);
    weft_backend_memory m;

    for (size_t i = 0; i < 4096; i++)
        row[i] = 1;
    assert_int_equal(rig_load(&r, &src), WEFT_OK);
    for (int i = 0; i < 3; i++) {
        run(&in, 1);
        assert_float_equal(*(float *)r.outputs[0].data, 4096.0f * 4096.0f, 0);
    }
    r.backend->memory(r.self, r.model, &m);
    assert_int_equal(m.work_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_dtype_comes_back, unload),
        cmocka_unit_test_teardown(test_strings, unload),
        cmocka_unit_test_teardown(test_many_strings, unload),
        cmocka_unit_test_teardown(test_ranks, unload),
        cmocka_unit_test_teardown(test_no_elements, unload),
        cmocka_unit_test_teardown(test_runtime_size, unload),
        cmocka_unit_test_teardown(test_unknown_rank, unload),
        cmocka_unit_test_teardown(test_lying_file, unload),
        cmocka_unit_test_teardown(test_in_place, unload),
        cmocka_unit_test_teardown(test_learned_in_place, unload),
        cmocka_unit_test_teardown(test_wanted, unload),
        cmocka_unit_test_teardown(test_wrong_inputs, unload),
        cmocka_unit_test_teardown(test_bools, unload),
        cmocka_unit_test_teardown(test_misaligned, unload),
        cmocka_unit_test_teardown(test_no_memory_for_outputs, unload),
        cmocka_unit_test_teardown(test_files_by_shape, unload),
        cmocka_unit_test_teardown(test_kernel_error, unload),
        cmocka_unit_test_teardown(test_account_and_limit, unload),
        cmocka_unit_test_teardown(test_every_allocation_fails_once, unload),
        cmocka_unit_test_teardown(test_size_from_a_value, unload),
        cmocka_unit_test_teardown(test_release_memory, unload),
        cmocka_unit_test_teardown(test_terminate, unload),
        cmocka_unit_test_teardown(test_instances_in_parallel, unload),
        cmocka_unit_test_teardown(test_more_threads_in_a_run, unload),
    };

    skip_without_library();
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
