/* face: BlazeFace decoding with one or a few hot anchors, worked out by hand. */
#include "help_executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_text.h"
#include "executor/face/face.h"

#define COLD (-20.0f)

/* The outputs of a front (128) or back (256) model in the order of the packaged files. */
typedef struct rig {
    executor_bench b;
    weft_tensor_desc in, out[4];
    float scores0[512], scores1[384], values0[512 * 16], values1[384 * 16];
    weft_tensor outputs[4];
} rig;

static rig *rig_create(int size)
{
    rig *r = calloc(1, sizeof *r);
    r->in = desc_of("input:0", WEFT_DT_F32, 4, 1, size, size, 3);
    r->out[0] = desc_of("Identity:0", WEFT_DT_F32, 3, 1, 512, 1);
    r->out[1] = desc_of("Identity_1:0", WEFT_DT_F32, 3, 1, 384, 1);
    r->out[2] = desc_of("Identity_2:0", WEFT_DT_F32, 3, 1, 512, 16);
    r->out[3] = desc_of("Identity_3:0", WEFT_DT_F32, 3, 1, 384, 16);
    float *data[] = {r->scores0, r->scores1, r->values0, r->values1};
    for (int i = 0; i < 4; i++)
        r->outputs[i] = tensor_of(&r->out[i], data[i]);
    for (int i = 0; i < 512; i++)
        r->scores0[i] = COLD;
    for (int i = 0; i < 384; i++)
        r->scores1[i] = COLD;
    bench_init(&r->b, &weft_executor_face, &r->in, r->out, 4);
    return r;
}

static void rig_destroy(rig *r)
{
    bench_fini(&r->b);
    free(r);
}

static float logit(float p)
{
    return logf(p / (1 - p));
}

/* Writes one anchor: offset of the centre, size, and points at +k, -k from the anchor. */
static void heat(float *score, float *value, float p, float dx, float dy, float w, float h)
{
    *score = logit(p);
    const float box[4] = {dx, dy, w, h};
    memcpy(value, box, sizeof box);
    for (int k = 0; k < 6; k++) {
        value[4 + 2 * k] = (float)k;
        value[5 + 2 * k] = (float)-k;
    }
}

static void heat1(rig *r, int anchor, float p, float dx, float dy, float w, float h)
{
    heat(&r->scores1[anchor], &r->values1[anchor * 16], p, dx, dy, w, h);
}

static void assert_box(const weft_result *r, size_t i, float x1, float y1, float x2, float y2)
{
    const float wanted[] = {x1, y1, x2, y2};
    for (size_t k = 0; k < 4; k++)
        assert_float_equal(weft_result_f32(r, "box", i, k), wanted[k], 1e-3);
}

static void test_table_is_sound(void **state)
{
    weft_error err;
    assert_int_equal(weft_options_lint(weft_executor_face.options, &err), WEFT_OK);
}

/* Row 2, column 3 of the 8x8 grid, second of six: anchor 115, centre (3.5, 2.5) * 16 = (56, 40) of 128. */
static void test_one_anchor_and_letterbox(void **state)
{
    rig *r = rig_create(128);
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 256, 128); /* half size, 32 rows of border above and below */
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    heat1(r, 115, 0.9f, 4, -8, 20, 30); /* 50..70 x 17..47 in the input */
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_OK);
    assert_int_equal(res->n_items, 1);
    assert_float_equal(weft_result_f32(res, "score", 0, 0), 0.9f, 1e-5);
    assert_box(res, 0, 100, 0, 140, 30); /* top: (17 - 32) * 2 lies above the picture */
    for (size_t k = 0; k < 6; k++) {
        assert_float_equal(weft_result_f32(res, "points", 0, 2 * k), 112 + 2 * (float)k, 1e-3);
        assert_float_equal(weft_result_f32(res, "points", 0, 2 * k + 1), 16 - 2 * (float)k, 1e-3);
    }
    weft_result_unref(res);
    rig_destroy(r);
}

/* Row 15, column 0 of the 16x16 grid, first of two: anchor 480, centre (.5, 15.5) * 16 = (8, 248) of 256. */
static void test_first_grid_at_256(void **state)
{
    rig *r = rig_create(256);
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 256, 256);
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    heat(&r->scores0[480], &r->values0[480 * 16], 0.8f, 2, -3, 10, 12);
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_OK);
    assert_int_equal(res->n_items, 1);
    assert_box(res, 0, 5, 239, 15, 251);
    weft_result_unref(res);
    rig_destroy(r);
}

/* Two boxes of one face, 50..70 with .9 and 53..73 with .6 (overlap 17/23): x1 = 50 + 3 * .6/1.5 = 51.2. */
static void test_blending(void **state)
{
    const char *kinds[] = {"weighted", "greedy"};
    const float x1[] = {51.2f, 50.0f};
    for (int i = 0; i < 2; i++) {
        rig *r = rig_create(128);
        weft_result *res;
        bench_set(&r->b, "postprocess.nms", kinds[i]);
        assert_int_equal(bench_open(&r->b), WEFT_OK);
        bench_picture(&r->b, 128, 128);
        assert_int_equal(bench_prepare(&r->b), WEFT_OK);
        heat1(r, 117, 0.6f, 7, -8, 20, 30);
        heat1(r, 115, 0.9f, 4, -8, 20, 30);
        r->values1[117 * 16 + 4] += 5; /* the second right eye lies 5 to the right */
        assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_OK);
        assert_int_equal(res->n_items, 1);
        assert_float_equal(weft_result_f32(res, "score", 0, 0), 0.9f, 1e-5);
        assert_box(res, 0, x1[i], 17, x1[i] + 20, 47);
        assert_float_equal(weft_result_f32(res, "points", 0, 0), i == 0 ? 58.0f : 56.0f, 1e-3);
        weft_result_unref(res);
        rig_destroy(r);
    }
}

/* The second anchor of a face has a point that is no number: the face is that of the first alone, not lost with it. */
static void test_a_broken_point_does_not_spoil_the_face(void **state)
{
    rig *r = rig_create(128);
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 128, 128);
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    heat1(r, 115, 0.9f, 4, -8, 20, 30);
    heat1(r, 117, 0.6f, 7, -8, 20, 30);
    r->values1[117 * 16 + 6] = NAN;
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_OK);
    assert_int_equal(res->n_items, 1);
    assert_box(res, 0, 50, 17, 70, 47);
    assert_float_equal(weft_result_f32(res, "points", 0, 2), 57, 1e-3);
    weft_result_unref(res);
    rig_destroy(r);
}

static size_t count_faces(rig *r)
{
    weft_result *res;
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_OK);
    for (size_t i = 1; i < res->n_items; i++)
        assert_true(weft_result_f32(res, "score", i - 1, 0) >= weft_result_f32(res, "score", i, 0));
    size_t n = res->n_items;
    weft_result_unref(res);
    return n;
}

/* Four far apart faces: .95 (8 px), .9, .7, .5. */
static void test_limits(void **state)
{
    rig *r = rig_create(128);
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 128, 128);
    heat1(r, 0 * 6, 0.7f, 0, 0, 14, 14);
    heat1(r, 7 * 6, 0.5f, 0, 0, 14, 14);
    heat1(r, 56 * 6, 0.9f, 0, 0, 14, 14);
    heat1(r, 63 * 6, 0.95f, 0, 0, 8, 14);
    assert_int_equal(count_faces(r), 3);
    weft_param p[] = {{.name = "min_confidence", .kind = WEFT_PARAM_FLOAT, .f = 0.45},
                      {.name = "max_faces", .kind = WEFT_PARAM_INT, .i = 2}};
    r->b.call.params = p;
    r->b.call.n_params = 1;
    assert_int_equal(count_faces(r), 4);
    r->b.call.n_params = 2;
    assert_int_equal(count_faces(r), 2);
    p[1].i = 0;
    assert_int_equal(bench_prepare(&r->b), WEFT_E_INVALID);
    assert_says(&r->b, "max_faces");
    r->b.call.n_params = 0;
    bench_set(&r->b, "postprocess.min_size", "10");
    assert_int_equal(count_faces(r), 2);
    rig_destroy(r);
}

/* The same anchors through one joined pair of outputs, in the other order. */
static void test_joined_outputs(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 128, 128, 3);
    weft_tensor_desc out[] = {desc_of("regressors", WEFT_DT_F32, 3, 1, 896, 16),
                              desc_of("classificators", WEFT_DT_F32, 3, 1, 896, 1)};
    executor_bench b;
    bench_init(&b, &weft_executor_face, &in, out, 2);
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_picture(&b, 128, 128);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    float *values = calloc(896 * 16, sizeof *values), *scores = malloc(896 * sizeof *scores);
    for (int i = 0; i < 896; i++)
        scores[i] = COLD;
    int anchor = 512 + 115;
    heat(&scores[anchor], &values[anchor * 16], 0.9f, 4, -8, 20, 30);
    weft_tensor t[] = {tensor_of(&out[0], values), tensor_of(&out[1], scores)};
    weft_result *res;
    assert_int_equal(bench_finish(&b, t, 2, &res), WEFT_OK);
    assert_int_equal(res->n_items, 1);
    assert_box(res, 0, 50, 17, 70, 47);
    weft_result_unref(res);
    free(values);
    free(scores);
    bench_fini(&b);
}

/* 48x48 cells of 4 pixels: anchor 48 + 2 has its centre at (2.5, 1.5) * 4 = (10, 6) of 192. */
static void test_full_range(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 192, 192, 3);
    weft_tensor_desc out[] = {desc_of("regressors", WEFT_DT_F32, 3, 1, 2304, 16),
                              desc_of("classificators", WEFT_DT_F32, 3, 1, 2304, 1)};
    executor_bench b;
    bench_init(&b, &weft_executor_face, &in, out, 2);
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_picture(&b, 192, 192);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    float *values = calloc(2304 * 16, sizeof *values), *scores = malloc(2304 * sizeof *scores);
    for (int i = 0; i < 2304; i++)
        scores[i] = COLD;
    heat(&scores[50], &values[50 * 16], 0.9f, 1, 2, 10, 8);
    weft_tensor t[] = {tensor_of(&out[0], values), tensor_of(&out[1], scores)};
    weft_result *res;
    assert_int_equal(bench_finish(&b, t, 2, &res), WEFT_OK);
    assert_int_equal(res->n_items, 1);
    assert_box(res, 0, 6, 4, 16, 12);
    weft_result_unref(res);
    free(values);
    free(scores);
    bench_fini(&b);
}

static void test_unknown_family(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 416, 416, 3);
    weft_tensor_desc out[] = {desc_of("boxes", WEFT_DT_F32, 3, 1, 3549, 4), desc_of("scores", WEFT_DT_F32, 3, 1, 3549, 1)};
    executor_bench b;
    bench_init(&b, &weft_executor_face, &in, out, 2);
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "boxes [1,3549,4]");
    assert_says(&b, "scores [1,3549,1]");
    assert_says(&b, "BlazeFace");
    b.open.model = NULL;
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    bench_fini(&b);
}

static void test_input_of_another_size(void **state)
{
    rig *r = rig_create(256);
    bench_set(&r->b, "preprocess.input_size", "416x416");
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    rig_destroy(r);
}

static void test_pixels_run_from_minus_one_to_one(void **state)
{
    rig *r = rig_create(128);
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 256, 128);
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    const float *px = r->b.row;
    assert_float_equal(px[0], -1, 0); /* border: black */
    assert_float_equal(px[(64 * 128 + 64) * 3 + 2], 64 / 127.5 - 1, 1e-6);
    rig_destroy(r);
}

static void test_broken_numbers(void **state)
{
    rig *r = rig_create(128);
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 128, 128);
    heat1(r, 0, 0.9f, NAN, 0, 20, 20); /* a box that is no box is left out */
    heat1(r, 100, 0.9f, 0, 0, -5, 20); /* negative width */
    heat1(r, 200, 0.9f, 0, 0, 20, 20); /* a point that is no point: the face is left out */
    r->values1[200 * 16 + 9] = INFINITY;
    heat1(r, 380, 0.9f, 1e30f, 1e30f, 20, 20); /* far outside */
    heat1(r, 300, 0.8f, 0, 0, 3e38f, 3e38f);   /* everything: its area is no float */
    assert_int_equal(count_faces(r), 1);
    r->scores0[500] = NAN;
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_E_RUN_FAILED);
    assert_says(&r->b, "500");
    r->scores0[500] = COLD;
    r->outputs[3].shape[1] = 383;
    r->outputs[3].n_bytes -= 64;
    assert_int_equal(bench_finish(&r->b, r->outputs, 4, &res), WEFT_E_RUN_FAILED);
    assert_says(&r->b, "Identity_3:0");
    rig_destroy(r);
}

/* Every anchor hot: the answer stays bounded. */
static void test_everything_is_a_face(void **state)
{
    rig *r = rig_create(128);
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 128, 128);
    for (int i = 0; i < 512; i++)
        heat(&r->scores0[i], &r->values0[i * 16], 0.99f, 0, 0, 1, 1);
    for (int i = 0; i < 384; i++)
        heat1(r, i, 0.98f, 0, 0, 1, 1);
    assert_int_equal(count_faces(r), 100);
    weft_param p = {.name = "max_faces", .kind = WEFT_PARAM_INT, .i = 1000};
    r->b.call.params = &p;
    r->b.call.n_params = 1;
    assert_int_equal(count_faces(r), 256 + 64); /* one for each cell: those of a cell coincide */
    rig_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_one_anchor_and_letterbox),
        cmocka_unit_test(test_first_grid_at_256),
        cmocka_unit_test(test_blending),
        cmocka_unit_test(test_a_broken_point_does_not_spoil_the_face),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_joined_outputs),
        cmocka_unit_test(test_full_range),
        cmocka_unit_test(test_unknown_family),
        cmocka_unit_test(test_input_of_another_size),
        cmocka_unit_test(test_pixels_run_from_minus_one_to_one),
        cmocka_unit_test(test_broken_numbers),
        cmocka_unit_test(test_everything_is_a_face),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
