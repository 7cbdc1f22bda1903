/* Outputs full of rubbish (NaN, infinities, huge and tiny numbers, plausible ones): whatever a model gives, an answer is either
 * refused as RUN_FAILED or sound: scores in 0..1 and falling, boxes inside the picture, points finite. Seeds are fixed, so a
 * failure can be repeated. */
#include "help_executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "executor/classify/classify.h"
#include "executor/detect/detect.h"
#include "executor/face/face.h"
#include "harness/check.h"

#define WIDTH 50
#define HEIGHT 40

/* `wild` of 100 numbers are rubbish, the rest lies in low..high. */
static float draw(uint64_t *seed, unsigned wild, float low, float high)
{
    const float rubbish[] = {NAN, INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 1e-45f, -0.0f, 1e30f};
    uint64_t r = test_random(seed);
    if (r % 100 < wild)
        return rubbish[(r >> 8) % 8];
    return low + (high - low) * (float)((r >> 16) & 0xffff) / 65535.0f;
}

static void check_answer(const weft_result *r)
{
    for (size_t i = 0; i < r->n_items; i++) {
        float score = weft_result_f32(r, "score", i, 0);
        assert_true(score >= 0 && score <= 1);
        assert_true(i == 0 || weft_result_f32(r, "score", i - 1, 0) >= score);
        if (weft_result_column(r, "box")) {
            float b[4];
            for (size_t k = 0; k < 4; k++)
                b[k] = weft_result_f32(r, "box", i, k);
            assert_true(b[0] >= 0 && b[1] >= 0 && b[2] <= WIDTH && b[3] <= HEIGHT && b[0] < b[2] && b[1] < b[3]);
        }
        for (size_t k = 0; weft_result_column(r, "points") && k < 12; k++)
            assert_true(isfinite(weft_result_f32(r, "points", i, k)));
    }
}

/* One model whose output i holds numbers from low[i] to high[i]. `wild`: percent of rubbish in output i. */
static void try(const weft_executor *x, const char *family, const weft_tensor_desc *in, const weft_tensor_desc *out, size_t n_out,
                const float low[], const float high[], const unsigned wild[])
{
    size_t n_sound = 0, n_refused = 0, n_items = 0;
    weft_tensor t[4];
    executor_bench b;
    bench_init(&b, x, in, out, n_out);
    if (family) {
        bench_set(&b, "postprocess.family", family);
        bench_set(&b, "preprocess.resize_mode", "stretch"); /* boxes within 0..1 lie in the corner, not in a border */
    }
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_picture(&b, WIDTH, HEIGHT);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    for (size_t i = 0; i < n_out; i++) {
        t[i] = tensor_of(&out[i], NULL);
        t[i].data = malloc(t[i].n_bytes);
    }
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t s = seed;
        for (size_t i = 0; i < n_out; i++)
            for (size_t k = 0; k < t[i].n_bytes / 4; k++)
                ((float *)t[i].data)[k] = draw(&s, wild[i], low[i], high[i]);
        weft_result *r;
        weft_status status = bench_finish(&b, t, n_out, &r);
        assert_true(status == WEFT_OK || status == WEFT_E_RUN_FAILED);
        n_refused += status != WEFT_OK;
        n_sound += status == WEFT_OK;
        if (r) {
            check_answer(r);
            n_items += r->n_items;
        }
        weft_result_unref(r);
    }
    for (size_t i = 0; i < n_out; i++)
        free(t[i].data);
    bench_fini(&b);
    /* Rubbish among the scores is always noticed; rubbish among the boxes alone never refuses an answer. */
    if (wild[0] > 0)
        assert_int_equal(n_sound, 0);
    else
        assert_int_equal(n_refused, 0);
    assert_true(wild[0] > 0 || n_items > 0);
}

static void test_face(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 128, 128, 3);
    weft_tensor_desc out[] = {desc_of("s", WEFT_DT_F32, 3, 1, 896, 1), desc_of("b", WEFT_DT_F32, 3, 1, 896, 16)};
    const float low[] = {-9, -40}, high[] = {9, 60};
    try(&weft_executor_face, NULL, &in, out, 2, low, high, (const unsigned[]){0, 0});
    try(&weft_executor_face, NULL, &in, out, 2, low, high, (const unsigned[]){0, 5});
    try(&weft_executor_face, NULL, &in, out, 2, low, high, (const unsigned[]){0, 60});
    try(&weft_executor_face, NULL, &in, out, 2, low, high, (const unsigned[]){90, 5});
}

static void test_centernet(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 64, 64, 3);
    weft_tensor_desc out[] = {desc_of("h", WEFT_DT_F32, 4, 1, 16, 16, 3), desc_of("d", WEFT_DT_F32, 4, 1, 16, 16, 4)};
    const float low[] = {0, -5}, high[] = {1, 40};
    try(&weft_executor_detect, NULL, &in, out, 2, low, high, (const unsigned[]){0, 0});
    try(&weft_executor_detect, NULL, &in, out, 2, low, high, (const unsigned[]){0, 30});
    try(&weft_executor_detect, NULL, &in, out, 2, low, high, (const unsigned[]){90, 30});
}

/* Boxes and scores share one output here, so rubbish is always among the scores too. */
static void test_yolo(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 64, 64);
    weft_tensor_desc v8 = desc_of("o", WEFT_DT_F32, 3, 1, 7, 300), v5 = desc_of("o", WEFT_DT_F32, 3, 1, 300, 8),
                     rows = desc_of("o", WEFT_DT_F32, 3, 1, 300, 6);
    const float low[] = {0}, high[] = {1};
    try(&weft_executor_detect, "yolov8", &in, &v8, 1, low, high, (const unsigned[]){0});
    try(&weft_executor_detect, "yolov5", &in, &v5, 1, low, high, (const unsigned[]){0});
    try(&weft_executor_detect, "rows", &in, &rows, 1, low, high, (const unsigned[]){0});
    try(&weft_executor_detect, "yolov8", &in, &v8, 1, low, high, (const unsigned[]){30});
    try(&weft_executor_detect, "yolov5", &in, &v5, 1, low, high, (const unsigned[]){30});
    try(&weft_executor_detect, "rows", &in, &rows, 1, low, high, (const unsigned[]){30});
}

static void test_classify(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 64, 64), out = desc_of("o", WEFT_DT_F32, 2, 1, 50);
    const float low[] = {-80}, high[] = {80};
    try(&weft_executor_classify, NULL, &in, &out, 1, low, high, (const unsigned[]){0});
    try(&weft_executor_classify, NULL, &in, &out, 1, low, high, (const unsigned[]){60});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_face),
        cmocka_unit_test(test_centernet),
        cmocka_unit_test(test_yolo),
        cmocka_unit_test(test_classify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
