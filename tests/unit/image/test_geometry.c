/* Fits and their way back, crops, borders, turns, refusals of the perspective crop. */
#include "image/geometry.h"
#include "unit/image/help_golden.h"

#include <math.h>

static void test_fit_by_hand(void **state)
{
    weft_fit f;
    weft_fit_plan(&f, WEFT_RESIZE_LETTERBOX, 500, 375, 416, 416, 0);
    assert_int_equal(f.scaled_width, 416);
    assert_int_equal(f.scaled_height, 312);
    assert_int_equal(f.x, 0);
    assert_int_equal(f.y, 52);
    weft_fit_plan(&f, WEFT_RESIZE_TOP_LEFT, 375, 500, 416, 416, 0);
    assert_int_equal(f.scaled_width, 312);
    assert_int_equal(f.x, 0);
    weft_fit_plan(&f, WEFT_RESIZE_STRETCH, 500, 375, 640, 320, 0);
    assert_true(f.scale_x == 1.28f && f.scale_y == 320.f / 375);
    /* torchvision: Resize(256) of 500x375 is 341x256, CenterCrop(224) starts at round(58.5) = 58, 16 */
    weft_fit_plan(&f, WEFT_RESIZE_CROP, 500, 375, 224, 224, 0.875f);
    assert_int_equal(f.scaled_width, 341);
    assert_int_equal(f.scaled_height, 256);
    assert_int_equal(f.x, -58);
    assert_int_equal(f.y, -16);
    weft_fit_plan(&f, WEFT_RESIZE_CROP, 1, 10000, 224, 112, 0);
    assert_int_equal(f.scaled_width, 224);
    assert_int_equal(f.scaled_height, 65536); /* bounded */
}

static void test_fit_back(void **state)
{
    static const weft_resize_mode modes[] = {WEFT_RESIZE_STRETCH, WEFT_RESIZE_LETTERBOX, WEFT_RESIZE_CROP, WEFT_RESIZE_TOP_LEFT};
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        weft_fit f;
        int32_t sw = 1 + (int32_t)(test_random(&seed) % 3000), sh = 1 + (int32_t)(test_random(&seed) % 3000);
        int32_t w = 1 + (int32_t)(test_random(&seed) % 700), h = 1 + (int32_t)(test_random(&seed) % 700);
        weft_fit_plan(&f, modes[i % 4], sw, sh, w, h, i % 8 < 4 ? 0.875f : 0);
        if (i % 4 == 1 || i % 4 == 3) /* inside, and touching on one axis */
            assert_true(f.x >= 0 && f.y >= 0 && f.scaled_width + f.x <= w && f.scaled_height + f.y <= h &&
                        (f.scaled_width == w || f.scaled_height == h));
        if (i % 4 == 2) /* covers the input */
            assert_true(f.x <= 0 && f.y <= 0 && f.x + f.scaled_width >= w && f.y + f.scaled_height >= h);
        float xy[4] = {(float)sw * 0.25f, (float)sh * 0.5f, (float)sw, (float)sh}, before[4];
        memcpy(before, xy, sizeof(xy));
        weft_fit_points(&f, xy, 2);
        weft_fit_points_back(&f, xy, 2, false);
        for (int k = 0; k < 4; k++)
            assert_true(fabsf(xy[k] - before[k]) <= 2e-3f * fmaxf(1, (float)(k & 1 ? sh : sw) / 100));
    }
    weft_fit f;
    weft_fit_plan(&f, WEFT_RESIZE_LETTERBOX, 100, 50, 200, 200, 0);
    float box[4] = {150, 300, -20, 60}, bad[4] = {NAN, -INFINITY, INFINITY, NAN};
    weft_fit_box_back(&f, box); /* scale 2, y offset 50; swapped and outside */
    assert_true(box[0] == 0 && box[1] == 5 && box[2] == 75 && box[3] == 50);
    weft_fit_box_back(&f, bad);
    assert_true(bad[0] == 0 && bad[1] == 0 && bad[2] == 100 && bad[3] == 0);
}

static void test_crop_and_pad(void **state)
{
    weft_picture src = help_golden("src-61x47-3.png"), a = {0}, b = {0};
    const uint8_t color[4] = {1, 2, 3, 4};
    assert_int_equal(weft_picture_crop(&src, -5, 40, 20, 100, &a, NULL), WEFT_OK);
    assert_int_equal(a.width, 15);
    assert_int_equal(a.height, 7);
    assert_memory_equal(a.data, src.data + 40 * src.stride_bytes, 45);
    assert_int_equal(weft_picture_crop(&src, 61, 0, 5, 5, &a, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_crop(&src, 0, 0, -5, 5, &a, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_crop(&src, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, &a, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_crop(&src, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX, &a, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_pad(&src, 3, 2, 1, 4, color, &a, NULL), WEFT_OK);
    assert_int_equal(a.width, 65);
    assert_int_equal(a.height, 53);
    assert_memory_equal(a.data, color, 3);
    assert_memory_equal(a.data + 52 * a.stride_bytes + 64 * 3, color, 3);
    assert_int_equal(weft_picture_crop(&a, 3, 2, 61, 47, &b, NULL), WEFT_OK);
    assert_int_equal(help_difference(&src, &b), 0);
    assert_int_equal(weft_picture_pad(&src, -1, 0, 0, 0, color, &a, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_pad(&src, 65536, 0, 65536, 0, color, &a, NULL), WEFT_E_INVALID);
    weft_picture_destroy(&src);
    weft_picture_destroy(&a);
    weft_picture_destroy(&b);
}

/* Each orientation undone by its inverse; numbers by hand for a 3x2 picture. */
static void test_orient(void **state)
{
    static const uint8_t expected[9][6] = {{0},
                                           {1, 2, 3, 4, 5, 6},
                                           {3, 2, 1, 6, 5, 4},
                                           {6, 5, 4, 3, 2, 1},
                                           {4, 5, 6, 1, 2, 3},
                                           {1, 4, 2, 5, 3, 6},
                                           {4, 1, 5, 2, 6, 3},
                                           {6, 3, 5, 2, 4, 1},
                                           {3, 6, 2, 5, 1, 4}};
    uint8_t pixels[6] = {1, 2, 3, 4, 5, 6};
    weft_picture p = weft_picture_wrap(pixels, 3, 2, 1, 3), out = {0};
    for (int o = 1; o <= 8; o++) {
        assert_int_equal(weft_picture_orient(&p, o, &out, NULL), WEFT_OK);
        assert_int_equal(out.width, o >= 5 ? 2 : 3);
        assert_memory_equal(out.data, expected[o], 6);
    }
    for (int o = -1; o < 12; o += 10) {
        assert_int_equal(weft_picture_orient(&p, o, &out, NULL), WEFT_OK);
        assert_memory_equal(out.data, expected[1], 6);
    }
    for (int turns = -8; turns <= 8; turns++) {
        static const int same_as[4] = {1, 6, 3, 8};
        assert_int_equal(weft_picture_rotate(&p, turns, &out, NULL), WEFT_OK);
        assert_memory_equal(out.data, expected[same_as[turns & 3]], 6);
    }
    weft_picture_destroy(&out);
}

static void test_convert(void **state)
{
    uint8_t rgb[6] = {255, 255, 255, 200, 100, 50}, rgba[4] = {200, 100, 50, 128};
    weft_picture p = weft_picture_wrap(rgb, 2, 1, 3, 6), out = {0};
    assert_int_equal(weft_picture_convert(&p, 1, &out, NULL), WEFT_OK);
    assert_int_equal(out.data[0], 255);
    assert_int_equal(out.data[1], 124); /* 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2 */
    assert_int_equal(weft_picture_convert(&p, 4, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){255, 255, 255, 255, 200, 100, 50, 255}), 8);
    p = weft_picture_wrap(rgba, 1, 1, 4, 4);
    weft_picture_flatten(&p, 255, 0, 50);
    assert_memory_equal(rgba, ((uint8_t[]){227, 50, 50, 255}),
                        4); /* (200 * 128 + 255 * 127) / 255 = 227.4, 100 * 128 / 255 = 50.2 */
    weft_picture_destroy(&out);
    assert_int_equal(weft_picture_create(&out, 0, 5, 3, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_create(&out, 5, 65537, 3, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_create(&out, 5, 5, 2, NULL), WEFT_E_INVALID);
    weft_picture empty = {0};
    assert_int_equal(weft_picture_view(&empty, 0, 0, 5, 5).width, 0);
}

static void test_warp_refuses(void **state)
{
    weft_picture src = help_golden("src-61x47-3.png"), out = {0};
    const float line[4][2] = {{0, 0}, {10, 0}, {20, 0}, {30, 0}}, point[4][2] = {{5, 5}, {5, 5}, {5, 5}, {5, 5}};
    const float not_a_number[4][2] = {{0, 0}, {NAN, 0}, {10, 10}, {0, 10}}, far[4][2] = {{0, 0}, {1e30f, 0}, {10, 10}, {0, 10}};
    const float good[4][2] = {{0, 0}, {10, 0}, {10, 10}, {0, 10}};
    assert_int_equal(weft_picture_warp_quad(&src, line, 10, 10, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, point, 10, 10, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, not_a_number, 10, 10, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, far, 10, 10, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, good, 0, 10, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, good, 10, 70000, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, good, 10, 10, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_warp_quad(&src, good, 10, 10, WEFT_INTERPOLATION_BICUBIC, &out, NULL), WEFT_OK);
    for (int32_t y = 0; y < 10; y++) /* a plain crop is the picture itself */
        assert_memory_equal(out.data + (size_t)y * out.stride_bytes, src.data + (size_t)y * src.stride_bytes, 30);
    weft_picture_destroy(&src);
    weft_picture_destroy(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit_by_hand),  cmocka_unit_test(test_fit_back),
                                       cmocka_unit_test(test_crop_and_pad), cmocka_unit_test(test_orient),
                                       cmocka_unit_test(test_convert),      cmocka_unit_test(test_warp_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
