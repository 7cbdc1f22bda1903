/* detect: every family with made-up outputs, worked out by hand; choice of the family; limits; bounded work. */
#include "help_executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_text.h"
#include "executor/detect/detect.h"

/* One model with up to two outputs whose memory is zeroed. */
typedef struct rig {
    executor_bench b;
    weft_tensor_desc in, out[2];
    float *data[2];
    weft_tensor outputs[2];
    size_t n;
} rig;

static rig *rig_create(weft_tensor_desc in, weft_tensor_desc first, weft_tensor_desc second)
{
    rig *r = calloc(1, sizeof *r);
    r->in = in;
    r->out[0] = first;
    r->out[1] = second;
    r->n = second.name ? 2 : 1;
    for (size_t i = 0; i < r->n; i++) {
        int64_t n = 1;
        for (int k = 0; k < r->out[i].rank; k++)
            n *= r->out[i].shape[k] > 0 ? r->out[i].shape[k] : 1;
        r->data[i] = calloc((size_t)n, sizeof(float));
        bool dynamic = !weft_shape_elements(r->out[i].shape, r->out[i].rank, &n);
        if (!dynamic)
            r->outputs[i] = tensor_of(&r->out[i], r->data[i]);
    }
    bench_init(&r->b, &weft_executor_detect, &r->in, r->out, r->n);
    return r;
}

static void rig_destroy(rig *r)
{
    bench_fini(&r->b);
    free(r->data[0]);
    free(r->data[1]);
    free(r);
}

static weft_result *answer(rig *r)
{
    weft_result *res;
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    assert_int_equal(bench_finish(&r->b, r->outputs, r->n, &res), WEFT_OK);
    return res;
}

static void assert_object(const weft_result *r, size_t i, const char *label, int index, float score, float x1, float y1, float x2,
                          float y2)
{
    const float wanted[] = {x1, y1, x2, y2};
    assert_text(r, "label", i, label);
    assert_int_equal(((const int32_t *)weft_result_column(r, "index")->tensor.data)[i], index);
    assert_float_equal(weft_result_f32(r, "score", i, 0), score, 1e-6);
    for (size_t k = 0; k < 4; k++)
        assert_float_equal(weft_result_f32(r, "box", i, k), wanted[k], 1e-3);
}

static const weft_tensor_desc none;

static void test_table_is_sound(void **state)
{
    weft_error err;
    assert_int_equal(weft_options_lint(weft_executor_detect.options, &err), WEFT_OK);
}

/* ---- CenterNet ------------------------------------------------------------------------------------------------------- */

static rig *centernet(void)
{
    rig *r = rig_create(desc_of("input", WEFT_DT_F32, 4, 1, 512, 512, 3), desc_of("keypoints", WEFT_DT_F32, 4, 1, 128, 128, 80),
                        desc_of("wh", WEFT_DT_F32, 4, 1, 128, 128, 4));
    bench_picture(&r->b, 256, 1024); /* stretched: x * 2, y / 2 */
    return r;
}

static void set_cell(rig *r, int y, int x, int c, float score, float left, float top, float right, float bottom)
{
    const float d[4] = {left, top, right, bottom};
    r->data[0][(y * 128 + x) * 80 + c] = score;
    memcpy(&r->data[1][(y * 128 + x) * 4], d, sizeof d);
}

static void test_centernet(void **state)
{
    rig *r = centernet();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_cell(r, 20, 10, 16, 0.8f, 8, 16, 24, 32); /* (40, 80): 32..64 x 64..112 in the input */
    set_cell(r, 21, 11, 16, 0.7f, -90, 16, 120,
             32);                              /* corner to corner with a hotter cell: no peak, although its box is far off */
    set_cell(r, 60, 60, 0, 0.29f, 9, 9, 9, 9); /* below the threshold */
    set_cell(r, 127, 127, 79, 0.5f, 10, 10, 60, 60);
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 2);
    assert_object(res, 0, "dog", 16, 0.8f, 16, 128, 32, 224);
    assert_object(res, 1, "toothbrush", 79, 0.5f, 249, 996, 256, 1024); /* cut at the edge of the picture */
    weft_result_unref(res);
    /* The numbers the model is given: plain 0..255. */
    assert_float_equal(((const float *)r->b.row)[2], 64, 0);
    rig_destroy(r);
}

/* Neighbouring peaks of one class with a valley between them: suppression by overlap; of two classes: both stay. */
static void test_centernet_suppression(void **state)
{
    rig *r = centernet();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_cell(r, 20, 10, 2, 0.8f, 40, 40, 40, 40);
    set_cell(r, 20, 12, 2, 0.7f, 40, 40, 40, 40); /* 8 px to the right: 72/88 overlap */
    set_cell(r, 20, 14, 7, 0.6f, 40, 40, 40, 40); /* 16 px to the right, another class: 64/96 */
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 2);
    assert_text(res, "label", 0, "car");
    assert_text(res, "label", 1, "truck");
    weft_result_unref(res);
    bench_set(&r->b, "postprocess.class_agnostic", "true");
    res = answer(r);
    assert_int_equal(res->n_items, 1);
    weft_result_unref(res);
    bench_set(&r->b, "postprocess.iou", "0.9");
    res = answer(r);
    assert_int_equal(res->n_items, 3);
    weft_result_unref(res);
    rig_destroy(r);
}

static void test_centernet_channels_first(void **state)
{
    rig *r = rig_create(desc_of("x", WEFT_DT_F32, 4, 1, 3, 64, 64), desc_of("wh", WEFT_DT_F32, 4, 1, 4, 16, 16),
                        desc_of("hm", WEFT_DT_F32, 4, 1, 2, 16, 16));
    bench_picture(&r->b, 64, 64);
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    r->data[1][1 * 256 + 5 * 16 + 7] = 0.9f; /* class 1, row 5, column 7: (28, 20) */
    for (int k = 0; k < 4; k++)
        r->data[0][k * 256 + 5 * 16 + 7] = (float)(k + 1);
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 1);
    assert_object(res, 0, "class 1", 1, 0.9f, 27, 18, 31, 24);
    weft_result_unref(res);
    rig_destroy(r);
}

static void test_centernet_broken(void **state)
{
    rig *r = centernet();
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_cell(r, 20, 10, 2, 0.8f, NAN, 40, 40, 40); /* no box: left out */
    set_cell(r, 90, 10, 2, 0.8f, -40, 40, -40, 40);
    res = answer(r);
    assert_int_equal(res->n_items, 0);
    weft_result_unref(res);
    r->data[0][100000] = NAN;
    assert_int_equal(bench_finish(&r->b, r->outputs, 2, &res), WEFT_E_RUN_FAILED);
    r->data[0][100000] = 4.2f; /* a logit: the sentence says what is missing */
    for (int k = 0; k < 4; k++)
        r->data[1][100000 / 80 * 4 + k] = 50;
    assert_int_equal(bench_finish(&r->b, r->outputs, 2, &res), WEFT_E_RUN_FAILED);
    assert_says(&r->b, "sigmoid");
    rig_destroy(r);
}

/* All 1.3 million values hot and equal: every one is a peak, the work is still bounded. */
static void test_centernet_everything_hot(void **state)
{
    rig *r = centernet();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    for (int i = 0; i < 128 * 128 * 80; i++)
        r->data[0][i] = 0.5f;
    for (int i = 0; i < 128 * 128 * 4; i++)
        r->data[1][i] = 1.0f;
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 100);
    weft_result_unref(res);
    rig_destroy(r);
}

/* ---- YOLO ------------------------------------------------------------------------------------------------------------ */

static rig *yolov8(void)
{
    rig *r = rig_create(desc_of("images", WEFT_DT_F32, 4, 1, 3, 640, 640), desc_of("output0", WEFT_DT_F32, 3, 1, 84, 8400), none);
    bench_picture(&r->b, 320, 160); /* letterbox: * 2, 160 rows above and below */
    return r;
}

static void set_column(rig *r, int position, float cx, float cy, float w, float h, int c, float score)
{
    const float v[4] = {cx, cy, w, h};
    for (int k = 0; k < 4; k++)
        r->data[0][k * 8400 + position] = v[k];
    r->data[0][(4 + c) * 8400 + position] = score;
}

static void test_yolov8(void **state)
{
    rig *r = yolov8();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_column(r, 8399, 300, 320, 100, 60, 2, 0.9f); /* 250..350 x 290..350 */
    set_column(r, 17, 305, 320, 100, 60, 2, 0.8f);   /* the same car */
    set_column(r, 99, 100, 100, 50, 50, 0, 0.95f);   /* wholly in the border: no object of the picture */
    set_column(r, 4000, 600, 470, 60, 60, 5, 0.4f);
    r->data[0][(4 + 7) * 8400 + 4000] = 0.35f; /* the second best class of a position does not count */
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 2);
    assert_object(res, 0, "car", 2, 0.9f, 125, 65, 175, 95);
    assert_object(res, 1, "bus", 5, 0.4f, 285, 140, 315, 160);
    weft_result_unref(res);
    const float *px = r->b.row;
    assert_float_equal(px[0], 114.0 / 255.0, 1e-6); /* grey border, 0..1 */
    assert_float_equal(px[2 * 640 * 640 + 320 * 640], 64.0 / 255.0, 1e-6);
    rig_destroy(r);
}

static rig *yolov5(void)
{
    rig *r = rig_create(desc_of("images", WEFT_DT_F32, 4, 1, 3, 640, 640), desc_of("output", WEFT_DT_F32, 3, 1, 25200, 85), none);
    bench_picture(&r->b, 640, 640);
    return r;
}

static void set_row(rig *r, int position, float cx, float cy, float w, float h, float objectness, int c, float score)
{
    const float v[5] = {cx, cy, w, h, objectness};
    memcpy(&r->data[0][position * 85], v, sizeof v);
    r->data[0][position * 85 + 5 + c] = score;
}

static void test_yolov5(void **state)
{
    rig *r = yolov5();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_row(r, 25199, 300, 320, 100, 60, 0.9f, 15, 0.8f);
    set_row(r, 0, 100, 100, 50, 50, 0.5f, 16, 0.5f); /* .25: below the threshold only as a product */
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 1);
    assert_object(res, 0, "cat", 15, 0.9f * 0.8f, 250, 290, 350, 350);
    weft_result_unref(res);
    rig_destroy(r);
}

/* YOLOv8 and v5 with their long axis unknown, v8 turned, finished rows. */
static void test_other_shapes(void **state)
{
    weft_tensor_desc in = desc_of("images", WEFT_DT_F32, 4, 1, 3, 320, 320);
    struct shape {
        weft_tensor_desc d;
        const char *family;
        int64_t came[2];
        float values[12];
        const char *label;
        float score;
    } shapes[] = {
        {desc_of("o", WEFT_DT_F32, 3, 1, 6, -1),
         "auto",
         {6, 2},
         {100, 9, 120, 9, 40, 9, 20, 9, 0.1f, 0, 0.7f, 0},
         "class 1",
         0.7f},
        {desc_of("o", WEFT_DT_F32, 3, 1, -1, 7), "auto", {1, 7}, {100, 120, 40, 20, 0.8f, 0.1f, 0.5f}, "class 1", 0.4f},
        {desc_of("o", WEFT_DT_F32, 3, 1, 8400, 6), "yolov8", {8400, 6}, {100, 120, 40, 20, 0.1f, 0.7f}, "class 1", 0.7f},
        {desc_of("o", WEFT_DT_F32, 3, 1, 300, 6), "auto", {300, 6}, {80, 110, 120, 130, 0.7f, 1.0f}, "class 1", 0.7f},
        {desc_of("o", WEFT_DT_F32, 3, -1, -1, 6),
         "rows",
         {2, 6},
         {80, 110, 120, 130, 0.7f, 1.0f, 80, 110, 120, 130, 0.2f, 1.0f},
         "class 1",
         0.7f},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct shape *s = &shapes[i];
        rig *r = rig_create(in, s->d, none);
        bench_picture(&r->b, 320, 320);
        bench_set(&r->b, "postprocess.family", s->family);
        assert_int_equal(bench_open(&r->b), WEFT_OK);
        weft_tensor_desc came = desc_of("o", WEFT_DT_F32, 3, 1, (int)s->came[0], (int)s->came[1]);
        float *data = calloc((size_t)(s->came[0] * s->came[1]), sizeof *data);
        memcpy(data, s->values, sizeof(float) * (size_t)(s->came[0] * s->came[1] < 12 ? s->came[0] * s->came[1] : 12));
        r->outputs[0] = tensor_of(&came, data);
        weft_result *res = answer(r);
        assert_int_equal(res->n_items, 1);
        assert_object(res, 0, s->label, 1, s->score, 80, 110, 120, 130);
        weft_result_unref(res);
        free(data);
        rig_destroy(r);
    }
}

/* Segmentation exports carry 32 mask values behind the classes. */
static void test_mask_values_are_no_classes(void **state)
{
    rig *r =
        rig_create(desc_of("images", WEFT_DT_F32, 4, 1, 3, 640, 640), desc_of("output0", WEFT_DT_F32, 3, 1, 4 + 80 + 32, 8400),
                   desc_of("output1", WEFT_DT_F32, 4, 1, 32, 160, 160));
    bench_picture(&r->b, 640, 640);
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_column(r, 5, 300, 320, 100, 60, 79, 0.9f);
    for (int k = 84; k < 116; k++)
        r->data[0][k * 8400 + 5] = 3.0f;
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 1);
    assert_object(res, 0, "toothbrush", 79, 0.9f, 250, 290, 350, 350);
    weft_result_unref(res);
    rig_destroy(r);
}

static void test_unknown_family(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 64, 64);
    rig *r = rig_create(in, desc_of("prob", WEFT_DT_F32, 2, 1, 1000), none);
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    assert_says(&r->b, "prob [1,1000]");
    assert_says(&r->b, "YOLOv8");
    rig_destroy(r);
    r = rig_create(in, desc_of("output0", WEFT_DT_F32, 3, 1, 84, 8400), none);
    bench_set(&r->b, "postprocess.family", "centernet");
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    assert_says(&r->b, "postprocess.family");
    rig_destroy(r);
    /* Two maps of four channels: either could be the distances. */
    r = rig_create(in, desc_of("a", WEFT_DT_F32, 4, 1, 4, 16, 16), desc_of("b", WEFT_DT_F32, 4, 1, 4, 16, 16));
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    rig_destroy(r);
}

/* ---- labels, classes, limits ----------------------------------------------------------------------------------------- */

static void test_class_filter(void **state)
{
    rig *r = yolov8();
    bench_set(&r->b, "postprocess.classes", "traffic light,0");
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_column(r, 1, 300, 320, 40, 40, 0, 0.5f);
    set_column(r, 2, 100, 320, 40, 40, 9, 0.6f);
    set_column(r, 3, 500, 320, 40, 40, 2, 0.9f);
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 2);
    assert_text(res, "label", 0, "traffic light");
    assert_text(res, "label", 1, "person");
    weft_result_unref(res);
    bench_set(&r->b, "postprocess.classes", "persn");
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    assert_says(&r->b, "did you mean person");
    bench_set(&r->b, "postprocess.classes", "80");
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    bench_set(&r->b, "postprocess.classes", "-1");
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    rig_destroy(r);
}

static void test_labels(void **state)
{
    weft_tensor_desc in = desc_of("images", WEFT_DT_F32, 4, 1, 3, 640, 640);
    rig *r = rig_create(in, desc_of("o", WEFT_DT_F32, 3, 1, 6, 8400), none);
    bench_set(&r->b, "postprocess.labels", "l.txt");
    r->b.file_path = "l.txt";
    r->b.file_text = "helmet\nvest\n";
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    bench_picture(&r->b, 640, 640);
    set_column(r, 1, 300, 320, 40, 40, 1, 0.5f);
    weft_result *res = answer(r);
    assert_text(res, "label", 0, "vest");
    weft_result_unref(res);
    r->b.file_text = "helmet\nvest\nglove\n";
    assert_int_equal(bench_open(&r->b), WEFT_E_CONFIG);
    assert_says(&r->b, "names 3 classes, but the model has 2");
    rig_destroy(r);
}

static void test_parameters(void **state)
{
    rig *r = yolov8();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    for (int i = 0; i < 5; i++)
        set_column(r, i, 100.0f + 100.0f * (float)i, 320, 40, 40, 0, 0.1f + 0.2f * (float)i); /* .1 .3 .5 .7 .9 */
    weft_param p[] = {{.name = "min_confidence", .kind = WEFT_PARAM_FLOAT, .f = 0.05},
                      {.name = "max_detections", .kind = WEFT_PARAM_INT, .i = 2}};
    r->b.call.params = p;
    r->b.call.n_params = 1;
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 5);
    weft_result_unref(res);
    r->b.call.n_params = 2;
    res = answer(r);
    assert_int_equal(res->n_items, 2);
    assert_float_equal(weft_result_f32(res, "score", 0, 0), 0.9f, 1e-6);
    weft_result_unref(res);
    p[0].f = 2;
    assert_int_equal(bench_prepare(&r->b), WEFT_E_INVALID);
    rig_destroy(r);
}

/* 25,200 overlapping candidates: only the best 4,096 are compared, each at most with the 100 that are kept. */
static void test_many_candidates(void **state)
{
    rig *r = yolov5();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    for (int i = 0; i < 25200; i++)
        set_row(r, i, (float)(i % 160) * 4, (float)(i / 160) * 4, 3, 3, 1.0f, i % 80, 0.5f + (float)i / 100000.0f);
    weft_result *res = answer(r);
    assert_int_equal(res->n_items, 100);
    assert_float_equal(weft_result_f32(res, "score", 0, 0), 0.5f + 25199 / 100000.0f, 1e-6);
    assert_float_equal(weft_result_f32(res, "score", 99, 0), 0.5f + 25100 / 100000.0f, 1e-6);
    weft_result_unref(res);
    rig_destroy(r);
}

static void test_broken_yolo(void **state)
{
    rig *r = yolov8();
    weft_result *res;
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    set_column(r, 1, NAN, 320, 40, 40, 0, 0.5f);
    set_column(r, 2, 300, 320, -40, 40, 0, 0.5f);
    set_column(r, 3, 300, 320, INFINITY, 40, 0, 0.5f);
    res = answer(r);
    assert_int_equal(res->n_items, 0);
    weft_result_unref(res);
    set_column(r, 4, 300, 320, 40, 40, 0, NAN);
    assert_int_equal(bench_finish(&r->b, r->outputs, 1, &res), WEFT_E_RUN_FAILED);
    r->outputs[0].shape[2] = 8399;
    r->outputs[0].n_bytes = 84 * 8399 * sizeof(float);
    assert_int_equal(bench_finish(&r->b, r->outputs, 1, &res), WEFT_E_RUN_FAILED);
    assert_says(&r->b, "8399");
    rig_destroy(r);
    r = yolov5();
    assert_int_equal(bench_open(&r->b), WEFT_OK);
    assert_int_equal(bench_prepare(&r->b), WEFT_OK);
    set_row(r, 7, 1, 1, 1, 1, NAN, 0, 0.5f);
    assert_int_equal(bench_finish(&r->b, r->outputs, 1, &res), WEFT_E_RUN_FAILED);
    set_row(r, 7, 1, 1, 1, 1, 0.9f, 0, INFINITY);
    assert_int_equal(bench_finish(&r->b, r->outputs, 1, &res), WEFT_E_RUN_FAILED);
    rig_destroy(r);
}

/* Finished rows whose class is no number of a class. */
static void test_broken_rows(void **state)
{
    const float bad[] = {-1, NAN, INFINITY, 1e9f};
    weft_tensor_desc in = desc_of("images", WEFT_DT_F32, 4, 1, 3, 320, 320);
    for (size_t i = 0; i < 4; i++) {
        rig *r = rig_create(in, desc_of("o", WEFT_DT_F32, 3, 1, 300, 6), none);
        weft_result *res;
        bench_picture(&r->b, 320, 320);
        assert_int_equal(bench_open(&r->b), WEFT_OK);
        assert_int_equal(bench_prepare(&r->b), WEFT_OK);
        const float row[6] = {10, 10, 20, 20, 0.9f, bad[i]};
        memcpy(r->data[0], row, sizeof row);
        assert_int_equal(bench_finish(&r->b, r->outputs, 1, &res), WEFT_E_RUN_FAILED);
        rig_destroy(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_centernet),
        cmocka_unit_test(test_centernet_suppression),
        cmocka_unit_test(test_centernet_channels_first),
        cmocka_unit_test(test_centernet_broken),
        cmocka_unit_test(test_centernet_everything_hot),
        cmocka_unit_test(test_yolov8),
        cmocka_unit_test(test_yolov5),
        cmocka_unit_test(test_other_shapes),
        cmocka_unit_test(test_mask_values_are_no_classes),
        cmocka_unit_test(test_unknown_family),
        cmocka_unit_test(test_class_filter),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_many_candidates),
        cmocka_unit_test(test_broken_yolo),
        cmocka_unit_test(test_broken_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
