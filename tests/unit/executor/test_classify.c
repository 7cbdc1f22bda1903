/* classify: options, choice of the output, activations, labels; numbers worked out by hand. */
#include "help_executor.h"

#include <math.h>
#include <string.h>

#include "base/fp.h"
#include "base/option_text.h"
#include "executor/classify/classify.h"

static weft_tensor_desc picture_input(void)
{
    return desc_of("input", WEFT_DT_F32, 4, -1, 3, 224, 224);
}

/* A bench with one output of these dims and a picture in the call. */
static void start(executor_bench *b, const weft_tensor_desc *in, const weft_tensor_desc *out)
{
    bench_init(b, &weft_executor_classify, in, out, 1);
    bench_picture(b, 40, 30);
}

static void test_table_is_sound(void **state)
{
    weft_error err;
    assert_int_equal(weft_options_lint(weft_executor_classify.options, &err), WEFT_OK);
}

static void test_logits_go_through_softmax(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("logits", WEFT_DT_F32, 2, 1, 4);
    executor_bench b;
    start(&b, &in, &out);
    bench_set(&b, "postprocess.labels", "animals.txt");
    bench_set(&b, "postprocess.top_k", "3");
    b.file_path = "animals.txt";
    b.file_text = "cat\ndog\n\nwhite shark\n";
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    float logits[] = {0.0f, 0.69314718f, 1.60943791f, 2.07944154f}; /* ln 1 2 5 8: of 16 */
    weft_tensor t = tensor_of(&out, logits);
    weft_result *r;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_int_equal(r->n_items, 3);
    assert_text(r, "label", 0, "white shark");
    assert_text(r, "label", 1, "class 2"); /* an empty line has no name */
    assert_text(r, "label", 2, "dog");
    const float wanted[] = {0.5f, 0.3125f, 0.125f};
    const int32_t *index = weft_result_column(r, "index")->tensor.data;
    for (size_t i = 0; i < 3; i++)
        assert_float_equal(weft_result_f32(r, "score", i, 0), wanted[i], 1e-6);
    assert_int_equal(index[0], 3);
    assert_int_equal(index[1], 2);
    assert_int_equal(index[2], 1);
    assert_float_equal(logits[3], 2.07944154f, 0); /* the model's memory is not written to */
    weft_result_unref(r);
    bench_fini(&b);
}

/* One answer for these numbers with this activation; the score of class 0 with top_k as large as it gets. */
static float score_of_first(const char *activation, float *values, int n)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, n);
    executor_bench b;
    start(&b, &in, &out);
    bench_set(&b, "postprocess.activation", activation);
    bench_set(&b, "postprocess.top_k", "1000");
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    weft_tensor t = tensor_of(&out, values);
    weft_result *r;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_int_equal(r->n_items, n);
    const int32_t *index = weft_result_column(r, "index")->tensor.data;
    float score = NAN;
    for (size_t i = 0; i < r->n_items; i++)
        if (index[i] == 0)
            score = weft_result_f32(r, "score", i, 0);
    weft_result_unref(r);
    bench_fini(&b);
    return score;
}

static void test_activations(void **state)
{
    float probabilities[] = {0.7f, 0.2f, 0.1f}, logits[] = {1.09861229f, 0.0f, 0.0f}; /* ln 3 */
    float both[] = {0.9f, 0.8f}, one_probability[] = {0.3f}, one_logit[] = {1.09861229f};
    float masked[] = {0.0f, -INFINITY};
    assert_float_equal(score_of_first("auto", probabilities, 3), 0.7f, 0);
    assert_float_equal(score_of_first("auto", logits, 3), 0.6f, 1e-6);
    assert_float_equal(score_of_first("softmax", logits, 3), 0.6f, 1e-6);
    assert_float_equal(score_of_first("sigmoid", logits, 3), 0.75f, 1e-6);
    assert_float_equal(score_of_first("none", both, 2), 0.9f, 0);
    assert_float_equal(score_of_first("auto", both, 2), 1 / (1 + expf(-0.1f)), 1e-6); /* documented: no sum of 1, so logits */
    assert_float_equal(score_of_first("auto", one_probability, 1), 0.3f, 0);
    assert_float_equal(score_of_first("auto", one_logit, 1), 0.75f, 1e-6);
    assert_float_equal(score_of_first("softmax", masked, 2), 1.0f, 0);
}

static void test_min_score_and_parameters(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 4);
    float p[] = {0.1f, 0.4f, 0.3f, 0.2f};
    executor_bench b;
    start(&b, &in, &out);
    bench_set(&b, "postprocess.min_score", "0.25");
    assert_int_equal(bench_open(&b), WEFT_OK);
    weft_tensor t = tensor_of(&out, p);
    weft_result *r;
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_int_equal(r->n_items, 2);
    weft_result_unref(r);
    weft_param params[] = {{.name = "top_k", .kind = WEFT_PARAM_INT, .i = 3},
                           {.name = "min_score", .kind = WEFT_PARAM_FLOAT, .f = 0.15}};
    b.call.params = params;
    b.call.n_params = 2;
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_int_equal(r->n_items, 3);
    weft_result_unref(r);
    /* Nothing is sure enough: an answer without items, not an error. */
    params[1].f = 1.0;
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_int_equal(r->n_items, 0);
    assert_non_null(weft_result_column(r, "label"));
    weft_result_unref(r);
    bench_fini(&b);
}

static void test_bad_parameters(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 4);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    weft_param bad[] = {{.name = "top_k", .kind = WEFT_PARAM_INT, .i = 0},
                        {.name = "top_k", .kind = WEFT_PARAM_INT, .i = 1001},
                        {.name = "top_k", .kind = WEFT_PARAM_FLOAT, .f = 2.5},
                        {.name = "top_k", .kind = WEFT_PARAM_FLOAT, .f = NAN},
                        {.name = "top_k", .kind = WEFT_PARAM_STRING, .s = "3"},
                        {.name = "min_score", .kind = WEFT_PARAM_FLOAT, .f = 1.5},
                        {.name = "min_score", .kind = WEFT_PARAM_FLOAT, .f = -INFINITY}};
    b.call.n_params = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        b.call.params = &bad[i];
        assert_int_equal(bench_prepare(&b), WEFT_E_INVALID);
        assert_says(&b, bad[i].name);
    }
    bench_fini(&b);
}

static void test_shapes_of_the_output(void **state)
{
    weft_tensor_desc in = picture_input();
    weft_tensor_desc good[] = {desc_of("a", WEFT_DT_F32, 2, -1, 5), desc_of("b", WEFT_DT_F32, 4, 1, 5, 1, 1),
                               desc_of("c", WEFT_DT_F16, 4, 1, 1, 1, 5), desc_of("d", WEFT_DT_F32, 1, 5),
                               desc_of("e", WEFT_DT_F32, 2, -1, -1)};
    weft_tensor_desc bad[] = {desc_of("a", WEFT_DT_F32, 3, 1, 5, 7), desc_of("b", WEFT_DT_I64, 2, 1, 5),
                              desc_of("c", WEFT_DT_F32, 0), desc_of("d", WEFT_DT_F32, 2, 1, 0), desc_of("e", WEFT_DT_F32, -1)};
    executor_bench b;
    for (size_t i = 0; i < 5; i++) {
        start(&b, &in, &good[i]);
        assert_int_equal(bench_open(&b), WEFT_OK);
        bench_fini(&b);
        start(&b, &in, &bad[i]);
        assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
        assert_says(&b, bad[i].name);
        bench_fini(&b);
    }
}

static void test_output_by_name(void **state)
{
    weft_tensor_desc in = picture_input();
    weft_tensor_desc out[] = {desc_of("embedding", WEFT_DT_F32, 2, 1, 3), desc_of("prob", WEFT_DT_F32, 2, 1, 2)};
    executor_bench b;
    bench_init(&b, &weft_executor_classify, &in, out, 2);
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "postprocess.output");
    assert_says(&b, "embedding [1,3]");
    bench_set(&b, "postprocess.output", "probability");
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "no output probability");
    bench_set(&b, "postprocess.output", "prob");
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_picture(&b, 10, 10);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    float v[] = {0.25f, 0.75f};
    weft_tensor t[2] = {{.name = "embedding"}, tensor_of(&out[1], v)}; /* the other output was not asked for */
    weft_result *r;
    assert_int_equal(bench_finish(&b, t, 2, &r), WEFT_OK);
    assert_text(r, "label", 0, "class 1");
    weft_result_unref(r);
    bench_fini(&b);
}

static void test_half_precision(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F16, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    uint16_t v[] = {weft_f32_to_f16(0.25f), weft_f32_to_f16(0.625f), weft_f32_to_f16(0.125f)};
    weft_tensor t = tensor_of(&out, v);
    weft_result *r;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_float_equal(weft_result_f32(r, "score", 0, 0), 0.625f, 0);
    weft_result_unref(r);
    bench_fini(&b);
}

static void test_broken_answers(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    float nan[] = {0.1f, NAN, 0.3f}, inf[] = {0.1f, INFINITY, 0.3f}, fine[] = {0.1f, 0.2f, 0.7f};
    weft_result *r;
    weft_tensor t = tensor_of(&out, nan);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    t = tensor_of(&out, inf);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    t = tensor_of(&out, fine);
    t.data = NULL;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    t = tensor_of(&out, fine);
    t.shape[1] = 2;
    t.n_bytes = 8;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    assert_says(&b, "[1,2]");
    t = tensor_of(&out, fine);
    t.n_bytes = 8; /* fewer bytes than the shape says */
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    t = tensor_of(&out, fine);
    t.dtype = WEFT_DT_I32;
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    bench_fini(&b);
}

static void test_label_file(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    bench_set(&b, "postprocess.labels", "names.txt");
    b.file_path = "names.txt";
    b.file_text = "a\nb\n";
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "names 2 classes");
    b.file_text = NULL;
    assert_int_equal(bench_open(&b), WEFT_E_NOT_FOUND);
    assert_says(&b, "labels");
    bench_fini(&b);
}

static void test_inputs_that_take_no_picture(void **state)
{
    weft_tensor_desc out = desc_of("out", WEFT_DT_F32, 2, 1, 3), flat = desc_of("x", WEFT_DT_F32, 2, 1, 784);
    weft_tensor_desc two[] = {picture_input(), picture_input()}, fixed4 = desc_of("x", WEFT_DT_F32, 4, 4, 3, 224, 224);
    executor_bench b;
    start(&b, &flat, &out);
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    bench_fini(&b);
    start(&b, two, &out);
    b.model.n_inputs = 2;
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "one input");
    b.open.model = NULL;
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "model file");
    bench_fini(&b);
    start(&b, &fixed4, &out); /* four rows at once, but not batched: no single picture fits */
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    bench_fini(&b);
}

static void test_default_numbers_are_imagenets(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    /* Blue is 64 everywhere: (64/255 - .406) / .225. */
    const float *blue = (const float *)b.row + 2 * 224 * 224;
    for (int i = 0; i < 224 * 224; i++)
        assert_float_equal(blue[i], (64.0 / 255.0 - 0.406) / 0.225, 1e-5);
    bench_fini(&b);
}

static void test_bytes_stay_bytes(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_U8, 4, 1, 224, 224, 3), out = desc_of("out", WEFT_DT_F32, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    const uint8_t *px = b.row;
    for (int i = 0; i < 224 * 224; i++)
        assert_int_equal(px[3 * i + 2], 64);
    bench_fini(&b);
}

static void test_bad_pictures(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, 1, 3);
    executor_bench b;
    start(&b, &in, &out);
    assert_int_equal(bench_open(&b), WEFT_OK);
    b.input.bytes = "GIF89a no picture of ours";
    b.input.n_bytes = 25;
    assert_int_equal(bench_prepare(&b), WEFT_E_MEDIA_TYPE);
    b.input.n_bytes = 0;
    assert_int_equal(bench_prepare(&b), WEFT_E_INVALID);
    b.call.n_inputs = 0;
    assert_int_equal(bench_prepare(&b), WEFT_E_INVALID);
    bench_fini(&b);
}

static void test_warm_bucket_is_the_bucket_of_a_call(void **state)
{
    weft_tensor_desc in = picture_input(), out = desc_of("out", WEFT_DT_F32, 2, -1, 3);
    executor_bench b;
    start(&b, &in, &out);
    b.model.batched = true;
    b.model.max_batch = 8;
    assert_int_equal(bench_open(&b), WEFT_OK);
    weft_plan warm = {0};
    assert_true(weft_executor_classify.warm(b.state, 0, &warm));
    assert_false(weft_executor_classify.warm(b.state, 1, &warm));
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    assert_int_equal(warm.n_rows, 1);
    assert_int_equal(warm.rows[0].rank, 3);
    assert_int_equal(b.plan.rows[0].rank, 3);
    assert_memory_equal(warm.rows[0].shape, b.plan.rows[0].shape, 3 * sizeof(int64_t));
    assert_true(b.plan.host_work_bytes > 0);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_logits_go_through_softmax),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_min_score_and_parameters),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_shapes_of_the_output),
        cmocka_unit_test(test_output_by_name),
        cmocka_unit_test(test_half_precision),
        cmocka_unit_test(test_broken_answers),
        cmocka_unit_test(test_label_file),
        cmocka_unit_test(test_inputs_that_take_no_picture),
        cmocka_unit_test(test_default_numbers_are_imagenets),
        cmocka_unit_test(test_bytes_stay_bytes),
        cmocka_unit_test(test_bad_pictures),
        cmocka_unit_test(test_warm_bucket_is_the_bucket_of_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
