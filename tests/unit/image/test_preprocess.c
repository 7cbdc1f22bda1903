/* The preprocess block: numbers by hand, every rule of the options, what is refused and with which words. */
#include "base/fp.h"
#include "base/option_text.h"
#include "image/preprocess.h"
#include "unit/image/help_golden.h"

#include <math.h>

/* 2 x 1 pixels: (0, 128, 255), (51, 102, 204) */
static uint8_t pixels[6] = {0, 128, 255, 51, 102, 204};

static weft_picture picture(void)
{
    return weft_picture_wrap(pixels, 2, 1, 3, 6);
}

static weft_tensor_desc desc_of(weft_dtype dtype, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    weft_tensor_desc t = {.name = "x", .dtype = dtype, .rank = rank, .shape = {a, b, c, d}};
    return t;
}

static weft_preprocess_plan open_ok(const weft_preprocess_options *o, const weft_preprocess_defaults *def, weft_tensor_desc d)
{
    weft_preprocess_plan plan;
    weft_error err = {0};
    if (weft_preprocess_open(o, def, &d, &plan, &err) != WEFT_OK)
        fail_msg("%s", err.text);
    return plan;
}

static void open_fails(const weft_preprocess_options *o, weft_tensor_desc d, const char *word)
{
    weft_preprocess_plan plan;
    weft_error err = {0};
    assert_int_equal(weft_preprocess_open(o, NULL, &d, &plan, &err), WEFT_E_CONFIG);
    if (!strstr(err.text, word))
        fail_msg("expected '%s' in: %s", word, err.text);
}

static void assert_floats(const float *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        if (fabs((double)got[i] - want[i]) > 1e-6 * fmax(1, fabs(want[i])))
            fail_msg("element %d is %.9g, not %.9g", i, (double)got[i], want[i]);
}

static void run(const weft_preprocess_plan *plan, void *dst)
{
    weft_picture p = picture();
    weft_error err = {0};
    if (weft_preprocess_run_picture(plan, &p, dst, NULL, &err) != WEFT_OK)
        fail_msg("%s", err.text);
}

static void test_option_table(void **state)
{
    weft_error err = {0};
    weft_preprocess_options o;
    if (weft_options_lint(weft_preprocess_option_table, &err) != WEFT_OK)
        fail_msg("%s", err.text);
    memset(&o, 1, sizeof(o));
    assert_int_equal(weft_options_defaults(weft_preprocess_option_table, &o, NULL, &err), WEFT_OK);
    assert_int_equal(o.input_size.width, 0);
    assert_int_equal(o.normalize, WEFT_TRI_AUTO);
    assert_int_equal(o.pad_value, -1);
    assert_int_equal(o.max_picture_bytes, WEFT_PICTURE_MAX_BYTES);
    assert_int_equal(o.max_picture_pixels, WEFT_PICTURE_MAX_PIXELS);
    assert_int_equal(o.max_picture_side_px, WEFT_PICTURE_MAX_SIDE_PX);
    assert_int_equal(o.mean.n, 0);
}

/* What each way to give numbers means; first value of the planes is R of pixel 0 = 0, second R of pixel 1 = 51. */
static void test_numbers(void **state)
{
    static double half[1] = {0.5}, bytes[1] = {127.5}, three[3] = {1, 2, 3};
    static const weft_preprocess_defaults def = {
        .has_numbers = true, .scale = 1 / 127.5, .mean = {1, 1, 1, 1}, .std = {1, 1, 1, 1}};
    const struct {
        weft_preprocess_options o;
        const weft_preprocess_defaults *def;
        double of_0, of_51;
    } cases[] = {
        {{.scale = 0}, NULL, 0, 51},                                                 /* nothing: the pixel */
        {{.scale = 0}, &def, -1, -0.6},                                              /* nothing: the executor's */
        {{.normalize = WEFT_TRI_FALSE}, &def, 0, 51},                                /* false: the pixel, also then */
        {{.normalize = WEFT_TRI_TRUE}, &def, -0.485 / 0.229, (0.2 - 0.485) / 0.229}, /* true: ImageNet */
        {{.normalize = WEFT_TRI_FALSE, .scale = 0.5}, NULL, 0, 25.5},
        {{.scale = 1 / 255.0}, &def, 0, 0.2},    /* scale alone replaces the executor's numbers */
        {{.mean = {1, half}}, NULL, -0.5, -0.3}, /* small: scale 1/255 */
        {{.mean = {1, half}, .std = {1, half}}, NULL, -1, -0.6},
        {{.std = {1, half}}, NULL, 0, 0.4},
        {{.mean = {1, bytes}, .std = {1, bytes}}, NULL, -1, -0.6},          /* in grey levels: scale 1 */
        {{.mean = {3, three}}, NULL, -1, 50},                               /* one is above 1: all are in grey levels */
        {{.mean = {1, half}, .std = {1, half}, .scale = 1}, NULL, -1, 101}, /* scale given wins */
        {{.normalize = WEFT_TRI_TRUE, .mean = {1, half}}, NULL, -0.5 / 0.229, (0.2 - 0.5) / 0.229},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float out[6];
        weft_preprocess_plan plan = open_ok(&cases[i].o, cases[i].def, desc_of(WEFT_DT_F32, 4, -1, 3, 1, 2));
        run(&plan, out);
        const double want[2] = {cases[i].of_0, cases[i].of_51};
        assert_floats(out, want, 2);
    }
}

static void test_layout_and_order(void **state)
{
    float out[8];
    weft_preprocess_options o = {0};
    weft_preprocess_plan plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, 1, 3, 1, 2));
    int64_t dims[3];
    weft_preprocess_row_shape(&plan, dims);
    assert_true(dims[0] == 3 && dims[1] == 1 && dims[2] == 2);
    assert_int_equal(weft_preprocess_row_bytes(&plan), 24);
    run(&plan, out);
    assert_floats(out, (const double[]){0, 51, 128, 102, 255, 204}, 6);
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, 1, 1, 2, 3));
    weft_preprocess_row_shape(&plan, dims);
    assert_true(dims[0] == 1 && dims[1] == 2 && dims[2] == 3);
    run(&plan, out);
    assert_floats(out, (const double[]){0, 128, 255, 51, 102, 204}, 6);
    o.channel_order = WEFT_CHANNELS_BGR;
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 3, 1, 2, 3, 0));
    run(&plan, out); /* rank 3: no batch axis */
    assert_floats(out, (const double[]){255, 128, 0, 204, 102, 51}, 6);
    o = (weft_preprocess_options){.input_size = {2, 1}};
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, -1, -1, -1, -1));
    run(&plan, out); /* nothing fixed: planes of RGB */
    assert_floats(out, (const double[]){0, 51, 128, 102, 255, 204}, 6);
    o.layout = WEFT_LAYOUT_NHWC;
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, -1, -1, -1, -1));
    run(&plan, out);
    assert_floats(out, (const double[]){0, 128, 255, 51, 102, 204}, 6);
    o = (weft_preprocess_options){.layout = WEFT_LAYOUT_NHWC};
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, -1, 1, 2, 1));
    run(&plan, out); /* grey: 0.299 R + 0.587 G + 0.114 B */
    assert_floats(out, (const double[]){104, 98}, 2);
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, -1, 1, 2, 4));
    run(&plan, out); /* four channels: alpha 255 */
    assert_floats(out, (const double[]){0, 128, 255, 255, 51, 102, 204, 255}, 8);
}

static void test_mean_order(void **state)
{
    /* ImageNet's numbers follow the colours into BGR; numbers from the file stand in the tensor's order */
    float out[6];
    static double mean[3] = {0.1, 0.2, 0.3}, one[3] = {1, 1, 1};
    weft_preprocess_options o = {.channel_order = WEFT_CHANNELS_BGR, .normalize = WEFT_TRI_TRUE};
    weft_preprocess_plan plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, 1, 1, 2, 3));
    run(&plan, out);
    assert_floats(out, (const double[]){(1 - 0.406) / 0.225, (128 / 255.0 - 0.456) / 0.224, -0.485 / 0.229}, 3);
    o.mean = (weft_list){3, mean};
    o.std = (weft_list){3, one};
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, 1, 1, 2, 3));
    run(&plan, out);
    assert_floats(out, (const double[]){0.9, 128 / 255.0 - 0.2, -0.3}, 3);
}

static void test_dtypes(void **state)
{
    static double mean[1] = {128}, std[1] = {1};
    weft_preprocess_options o = {0}, centred = {.mean = {1, mean}, .std = {1, std}}, normal = {.normalize = WEFT_TRI_TRUE};
    uint8_t bytes[6];
    uint16_t halves[6];
    weft_preprocess_plan plan = open_ok(&o, NULL, desc_of(WEFT_DT_U8, 4, 1, 1, 2, 3));
    run(&plan, bytes);
    assert_memory_equal(bytes, pixels, 6);
    plan = open_ok(&centred, NULL, desc_of(WEFT_DT_I8, 4, 1, 1, 2, 3));
    run(&plan, bytes);
    assert_memory_equal(bytes, ((int8_t[]){-128, 0, 127, -77, -26, 76}), 6);
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_I8, 4, 1, 1, 2, 3)); /* out of range: saturates */
    run(&plan, bytes);
    assert_memory_equal(bytes, ((int8_t[]){0, 127, 127, 51, 102, 127}), 6);
    plan = open_ok(&normal, NULL, desc_of(WEFT_DT_F16, 4, 1, 1, 2, 3));
    run(&plan, halves);
    assert_true(fabsf(weft_f16_to_f32(halves[0]) + 2.1179f) < 2e-3f && fabsf(weft_f16_to_f32(halves[2]) - 2.64f) < 2e-3f);
    plan = open_ok(&normal, NULL, desc_of(WEFT_DT_BF16, 4, 1, 1, 2, 3));
    run(&plan, halves);
    assert_true(fabsf(weft_bf16_to_f32(halves[0]) + 2.1179f) < 2e-2f);
    o.aipp = true; /* numbers and order only describe the model */
    o.normalize = WEFT_TRI_TRUE;
    o.channel_order = WEFT_CHANNELS_BGR;
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_U8, 4, 1, 1, 2, 3));
    run(&plan, bytes);
    assert_memory_equal(bytes, pixels, 6);
}

static void test_letterbox_pad(void **state)
{
    /* 2x1 into 4x4: scale 2, rows 1 and 2; borders are the pad value after the numbers */
    float out[4 * 4 * 3];
    weft_fit fit;
    weft_error err;
    weft_picture p = picture();
    weft_preprocess_options o = {
        .resize_mode = WEFT_RESIZE_LETTERBOX, .interpolation = WEFT_INTERPOLATION_NEAREST, .pad_value = 114, .scale = 2};
    weft_preprocess_plan plan = open_ok(&o, NULL, desc_of(WEFT_DT_F32, 4, 1, 4, 4, 3));
    assert_int_equal(weft_preprocess_run_picture(&plan, &p, out, &fit, &err), WEFT_OK);
    assert_int_equal(fit.y, 1);
    for (int i = 0; i < 48; i++) {
        int row = i / 12, column = i / 3 % 4, c = i % 3;
        double want = row == 0 || row == 3 ? 228 : 2 * pixels[column / 2 * 3 + c];
        assert_floats(&out[i], &want, 1);
    }
    static const weft_preprocess_defaults def = {.pad_value = 7, .resize_mode = WEFT_RESIZE_TOP_LEFT};
    o = (weft_preprocess_options){.pad_value = -1};
    plan = open_ok(&o, &def, desc_of(WEFT_DT_F32, 4, 1, 4, 4, 3));
    run(&plan, out);
    assert_true(out[47] == 7 && out[0] == 0 && out[24] == 7);
}

static void test_from_bytes(void **state)
{
    size_t n;
    weft_fit fit;
    weft_error err = {0};
    uint8_t *bytes = help_read_file(GOLDEN_DIR "/exif-6.png", &n);
    uint8_t out[40 * 24 * 3], short_out[12];
    weft_preprocess_options o = {0};
    weft_preprocess_plan plan = open_ok(&o, NULL, desc_of(WEFT_DT_U8, 4, 1, 24, 40, 3));
    assert_int_equal(weft_preprocess_run(&plan, bytes, n, out, &fit, &err), WEFT_OK);
    weft_picture got = weft_picture_wrap(out, 40, 24, 3, 120), want = help_golden("decoded-exif-6.png-3.png");
    assert_int_equal(help_difference(&got, &want), 0);
    assert_int_equal(fit.src_width, 40); /* upright */
    assert_int_equal(weft_preprocess_run(&plan, bytes, n - 40, out, &fit, &err), WEFT_E_UNPROCESSABLE);
    o.max_picture_pixels = 100;
    plan = open_ok(&o, NULL, desc_of(WEFT_DT_U8, 4, 1, 2, 2, 3));
    assert_int_equal(weft_preprocess_run(&plan, bytes, n, short_out, &fit, &err), WEFT_E_TOO_LARGE);
    weft_picture_destroy(&want);
    free(bytes);
}

static void test_refused(void **state)
{
    static double two[2] = {1, 1}, zero[1] = {0}, infinite[1] = {INFINITY}, one[1] = {1};
    weft_preprocess_options o = {.input_size = {224, 224}};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 256, 256), "224");
    open_fails(&o, desc_of(WEFT_DT_F32, 2, 1, 3, 0, 0), "rank 2");
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 5, 224, 224), "channels");
    open_fails(&o, desc_of(WEFT_DT_I64, 4, 1, 3, 224, 224), "INT64");
    o = (weft_preprocess_options){0};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, -1, -1), "input_size");
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 20000, 20000), "16384");
    o = (weft_preprocess_options){.layout = WEFT_LAYOUT_NHWC};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "layout");
    o = (weft_preprocess_options){.normalize = WEFT_TRI_FALSE, .mean = {1, one}};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "mean");
    o = (weft_preprocess_options){.mean = {2, two}};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "mean has 2 numbers");
    o = (weft_preprocess_options){.std = {1, zero}};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "std");
    o = (weft_preprocess_options){.std = {1, infinite}};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "finite");
    o = (weft_preprocess_options){.normalize = WEFT_TRI_TRUE};
    open_fails(&o, desc_of(WEFT_DT_U8, 4, 1, 3, 224, 224), "aipp");
    o = (weft_preprocess_options){.aipp = true};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "UINT8");
    o = (weft_preprocess_options){.dtype = WEFT_INPUT_DTYPE_FP16};
    open_fails(&o, desc_of(WEFT_DT_F32, 4, 1, 3, 224, 224), "FP16");
}

/* ---- to_tensor alone ------------------------------------------------------------------------------------------------------ */
static void test_put_clips(void **state)
{
    weft_to_tensor t;
    float out[3 * 5 * 4];
    uint8_t src[3 * 3 * 3];
    for (int i = 0; i < 27; i++)
        src[i] = (uint8_t)(i + 1);
    weft_picture p = weft_picture_wrap(src, 3, 3, 3, 9);
    assert_int_equal(weft_to_tensor_init(&t, WEFT_DT_F32, WEFT_LAYOUT_NCHW, WEFT_CHANNELS_RGB, 3, 1, NULL, NULL, NULL), WEFT_OK);
    for (int32_t oy = -4; oy <= 5; oy++)
        for (int32_t ox = -4; ox <= 6; ox++) {
            for (int i = 0; i < 60; i++)
                out[i] = -1;
            weft_to_tensor_put(&t, &p, out, 5, 4, ox, oy);
            for (int c = 0; c < 3; c++)
                for (int y = 0; y < 4; y++)
                    for (int x = 0; x < 5; x++) {
                        bool in = x >= ox && x < ox + 3 && y >= oy && y < oy + 3;
                        float want = in ? (float)src[((y - oy) * 3 + x - ox) * 3 + c] : -1;
                        assert_true(out[(c * 4 + y) * 5 + x] == want);
                    }
        }
    weft_to_tensor_zero(&t, out, 5, 4, 3, -5, 100, 100);
    assert_true(out[3] == 0 && out[4] == 0 && out[2] == -1);
    weft_to_tensor_fill(&t, (const uint8_t[]){9, 8, 7, 6}, out, 5, 4, -3, 3, 4, 9);
    assert_true(out[15] == 9 && out[16] == -1 && out[20 + 15] == 8 && out[40 + 15] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option_table), cmocka_unit_test(test_numbers), cmocka_unit_test(test_layout_and_order),
        cmocka_unit_test(test_mean_order),   cmocka_unit_test(test_dtypes),  cmocka_unit_test(test_letterbox_pad),
        cmocka_unit_test(test_from_bytes),   cmocka_unit_test(test_refused), cmocka_unit_test(test_put_clips)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
