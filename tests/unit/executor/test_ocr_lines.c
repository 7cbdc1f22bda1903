/* ocr: lines as model inputs: widths, padding, what the options and the model may say, cutting and turning. */
#include "executor/ocr/ocr_line_input.h"
#include "harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rig {
    weft_tensor_desc in;
    weft_model_view model;
    weft_ocr_lines_block lines;
    weft_ocr_line_input input;
    weft_error err;
} rig;

static rig *rig_of(rig *r, weft_dtype dtype, int64_t n, int64_t a, int64_t b, int64_t c)
{
    *r = (rig){.in = {.name = "x", .dtype = dtype, .rank = 4, .shape = {n, a, b, c}}, .lines = {160, 32, 3200, {0}, 0}};
    r->model = (weft_model_view){.name = "rec", .inputs = &r->in, .n_inputs = 1, .max_batch = 1, .batched = n < 0};
    return r;
}

static weft_status open_input(rig *r)
{
    return weft_ocr_line_input_open(&r->input, "the recogniser", &r->model, &r->lines, 0, &r->err);
}

static void test_width_depends_on_the_line_alone(void **state)
{
    rig r;
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1)), WEFT_OK);
    assert_int_equal(weft_ocr_line_width(&r.input, 10, 20), 160);   /* 24 wide at height 48 */
    assert_int_equal(weft_ocr_line_width(&r.input, 100, 30), 160);  /* exactly 160 */
    assert_int_equal(weft_ocr_line_width(&r.input, 101, 30), 192);  /* 161.6 */
    assert_int_equal(weft_ocr_line_width(&r.input, 500, 24), 1024); /* 1000 */
    assert_int_equal(weft_ocr_line_width(&r.input, 65536, 1), 3200);
    assert_int_equal(weft_ocr_line_width(&r.input, 1, 65536), 160);
    r.lines.max_width = 1000; /* no multiple of the step: the cap itself */
    assert_int_equal(open_input(&r), WEFT_OK);
    assert_int_equal(weft_ocr_line_width(&r.input, 65536, 1), 1000);
}

static void test_listed_widths(void **state)
{
    rig r;
    int64_t widths[] = {320, 640, 1280};
    rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1);
    r.lines.widths = (weft_list){3, widths};
    assert_int_equal(open_input(&r), WEFT_OK);
    assert_int_equal(weft_ocr_line_width(&r.input, 100, 48), 320);
    assert_int_equal(weft_ocr_line_width(&r.input, 320, 48), 320);
    assert_int_equal(weft_ocr_line_width(&r.input, 321, 48), 640);
    assert_int_equal(weft_ocr_line_width(&r.input, 5000, 48), 1280);
    widths[1] = 320;
    assert_int_equal(open_input(&r), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "must rise"));
}

static void test_the_model_fixes_sizes(void **state)
{
    rig r;
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, 1, 3, 32, 100)), WEFT_OK);
    assert_int_equal(r.input.height, 32);
    assert_int_equal(weft_ocr_line_width(&r.input, 5, 100), 100);
    assert_int_equal(weft_ocr_line_width(&r.input, 5000, 10), 100);
    assert_int_equal(r.input.max_bytes, 3 * 32 * 100 * 4);
    weft_tensor t = {.name = "x"};
    weft_ocr_line_tensor(&r.input, 100, NULL, &t);
    const int64_t shape[] = {1, 3, 32, 100};
    assert_int_equal(t.rank, 4);
    assert_memory_equal(t.shape, shape, sizeof shape);
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, -1, 2, 48, 4)), WEFT_E_CONFIG);
}

static void test_models_that_do_not_fit(void **state)
{
    rig r;
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_I64, -1, 3, 48, -1)), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "INT64"));
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, -1, 1, 48, -1)), WEFT_E_CONFIG);
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, 6, 3, 48, 320)), WEFT_E_CONFIG); /* six at once */
    rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1)->model.n_inputs = 2;
    assert_int_equal(open_input(&r), WEFT_E_CONFIG);
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, -1, 3, 4800, -1)), WEFT_E_CONFIG);
    rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1)->lines.min_width = 4000;
    assert_int_equal(open_input(&r), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "3200"));
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

static weft_picture plain(int32_t width, int32_t height, uint8_t red, uint8_t green, uint8_t blue)
{
    weft_picture p = {0};
    assert_int_equal(weft_picture_create(&p, width, height, 3, NULL), WEFT_OK);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint8_t *at = p.data + (size_t)y * p.stride_bytes + (size_t)x * 3;
            at[0] = red;
            at[1] = green;
            at[2] = blue;
        }
    return p;
}

static void test_bgr_planes_with_zeros_after_the_line(void **state)
{
    rig r;
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1)), WEFT_OK);
    weft_picture p = plain(60, 24, 255, 0, 51); /* 120 wide at 48 */
    float *data = malloc(3 * 48 * 160 * sizeof *data);
    memset(data, 0x55, 3 * 48 * 160 * sizeof *data); /* what an earlier line left */
    assert_int_equal(weft_ocr_line_write(&r.input, &p, 160, data, NULL), WEFT_OK);
    const float wanted[3] = {-0.6f, -1, 1}; /* blue 51 / 255 = 0.2 -> -0.6 */
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 48; y++)
            for (int x = 0; x < 160; x++)
                assert_true(fabsf(data[(c * 48 + y) * 160 + x] - (x < 120 ? wanted[c] : 0)) < 1e-6f);
    free(data);
    weft_picture_destroy(&p);
}

static void test_pixels_for_an_8_bit_model(void **state)
{
    rig r;
    assert_int_equal(open_input(rig_of(&r, WEFT_DT_U8, 1, 48, 200, 3)), WEFT_OK);
    weft_picture p = plain(100, 48, 10, 20, 30);
    uint8_t *data = malloc(48 * 200 * 3);
    assert_int_equal(weft_ocr_line_write(&r.input, &p, 200, data, NULL), WEFT_OK);
    for (int i = 0; i < 48 * 200; i++) {
        const uint8_t inside[3] = {30, 20, 10}, outside[3] = {127, 127, 127};
        assert_memory_equal(data + 3 * i, i % 200 < 100 ? inside : outside, 3);
    }
    free(data);
    weft_picture_destroy(&p);
}

static void test_a_line_that_is_too_long_is_squeezed(void **state)
{
    rig r;
    rig_of(&r, WEFT_DT_F32, -1, 3, 48, -1)->lines.max_width = 320;
    assert_int_equal(open_input(&r), WEFT_OK);
    weft_picture p = plain(4000, 20, 255, 255, 255);
    float *data = malloc(r.input.max_bytes);
    assert_int_equal(weft_ocr_line_width(&r.input, 4000, 20), 320);
    assert_int_equal(weft_ocr_line_write(&r.input, &p, 320, data, NULL), WEFT_OK);
    for (size_t i = 0; i < 3 * 48 * 320; i++)
        assert_true(data[i] == 1);
    free(data);
    weft_picture_destroy(&p);
}

/* ---- cutting ----------------------------------------------------------------------------------------------------------------
 */

/* A page whose red is x and green is y. */
static weft_picture ramp(int32_t width, int32_t height)
{
    weft_picture p = plain(width, height, 0, 0, 0);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            p.data[(size_t)y * p.stride_bytes + (size_t)x * 3] = (uint8_t)x;
            p.data[(size_t)y * p.stride_bytes + (size_t)x * 3 + 1] = (uint8_t)y;
        }
    return p;
}

static void assert_pixel(const weft_picture *p, int32_t x, int32_t y, int red, int green)
{
    const uint8_t *at = p->data + (size_t)y * p->stride_bytes + (size_t)x * 3;
    if (abs(at[0] - red) > 1 || abs(at[1] - green) > 1)
        fail_msg("pixel (%d,%d) is (%d,%d), not (%d,%d)", x, y, at[0], at[1], red, green);
}

static void test_cut_upright_flipped_and_standing(void **state)
{
    weft_picture page = ramp(200, 150);
    weft_ocr_cutter c = {0};
    const weft_picture *line;
    float quad[4][2] = {{20, 30}, {120, 30}, {120, 60}, {20, 60}};
    int32_t w, h;
    weft_ocr_line_size(quad, &w, &h);
    assert_true(w == 100 && h == 30);
    assert_int_equal(weft_ocr_line_cut(&c, &page, quad, false, &line, NULL), WEFT_OK);
    assert_true(line->width == 100 && line->height == 30);
    assert_pixel(line, 0, 0, 20, 30);
    assert_pixel(line, 99, 29, 119, 59);
    assert_int_equal(weft_ocr_line_cut(&c, &page, quad, true, &line, NULL), WEFT_OK);
    assert_pixel(line, 0, 0, 119, 59);
    assert_pixel(line, 99, 29, 20, 30);
    /* 20 wide, 30 high: exactly one and a half times, so it is turned counter-clockwise: its right side comes to the top. */
    float tall[4][2] = {{20, 30}, {40, 30}, {40, 60}, {20, 60}};
    weft_ocr_line_size(tall, &w, &h);
    assert_true(w == 30 && h == 20);
    assert_int_equal(weft_ocr_line_cut(&c, &page, tall, false, &line, NULL), WEFT_OK);
    assert_true(line->width == 30 && line->height == 20);
    assert_pixel(line, 0, 0, 39, 30);
    assert_pixel(line, 29, 0, 39, 59);
    assert_pixel(line, 0, 19, 20, 30);
    float almost[4][2] = {{20, 30}, {40, 30}, {40, 59}, {20, 59}};
    weft_ocr_line_size(almost, &w, &h);
    assert_true(w == 20 && h == 29);
    assert_int_equal(weft_ocr_line_cut(&c, &page, NULL, false, &line, NULL), WEFT_OK); /* the page itself */
    assert_true(line->width == 200 && line->height == 150);
    weft_ocr_cutter_destroy(&c);
    weft_ocr_cutter_destroy(&c);
    weft_picture_destroy(&page);
}

static void test_a_quad_without_area(void **state)
{
    weft_picture page = ramp(50, 50);
    weft_ocr_cutter c = {0};
    const weft_picture *line;
    float point[4][2] = {{5, 5}, {5, 5}, {5, 5}, {5, 5}};
    int32_t w, h;
    weft_ocr_line_size(point, &w, &h);
    assert_true(w == 1 && h == 1);
    assert_int_equal(weft_ocr_line_cut(&c, &page, point, false, &line, NULL), WEFT_E_INVALID);
    weft_ocr_cutter_destroy(&c);
    weft_picture_destroy(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width_depends_on_the_line_alone),
        cmocka_unit_test(test_listed_widths),
        cmocka_unit_test(test_the_model_fixes_sizes),
        cmocka_unit_test(test_models_that_do_not_fit),
        cmocka_unit_test(test_bgr_planes_with_zeros_after_the_line),
        cmocka_unit_test(test_pixels_for_an_8_bit_model),
        cmocka_unit_test(test_a_line_that_is_too_long_is_squeezed),
        cmocka_unit_test(test_cut_upright_flipped_and_standing),
        cmocka_unit_test(test_a_quad_without_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
