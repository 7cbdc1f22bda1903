/* Resizing: properties that hold whatever the numbers (windows, strides, order of rows), hand-computed values, refusals. */
#include "image/resize.h"
#include "unit/image/help_golden.h"

static const weft_interpolation all[] = {WEFT_INTERPOLATION_AUTO, WEFT_INTERPOLATION_NEAREST, WEFT_INTERPOLATION_BILINEAR,
                                         WEFT_INTERPOLATION_AREA, WEFT_INTERPOLATION_BICUBIC};

/* A window is exactly that part of the whole result, whatever the order of rows. */
static void test_window(void **state)
{
    uint64_t seed = 7;
    weft_picture src = help_golden("src-61x47-3.png"), full = {0};
    for (int i = 0; i < 200; i++) {
        int32_t w = 1 + (int32_t)(test_random(&seed) % 130), h = 1 + (int32_t)(test_random(&seed) % 100);
        int32_t x = (int32_t)(test_random(&seed) % (uint64_t)w), y = (int32_t)(test_random(&seed) % (uint64_t)h);
        int32_t window[4] = {x, y, 1 + (int32_t)(test_random(&seed) % (uint64_t)(w - x)),
                             1 + (int32_t)(test_random(&seed) % (uint64_t)(h - y))};
        weft_interpolation how = all[i % 5];
        weft_resizer *r;
        assert_int_equal(weft_picture_resize(&src, w, h, how, &full, NULL), WEFT_OK);
        assert_int_equal(weft_resizer_create(&r, &src, w, h, window, how, NULL), WEFT_OK);
        size_t n = (size_t)window[2] * 3;
        uint8_t *row = malloc(n);
        for (int32_t k = 0; k < window[3]; k++) {
            int32_t at = i % 3 == 0 ? window[3] - 1 - k : i % 3 == 1 ? k : (int32_t)(test_random(&seed) % (uint64_t)window[3]);
            weft_resizer_row(r, at, row);
            assert_memory_equal(row, full.data + (size_t)(y + at) * full.stride_bytes + (size_t)x * 3, n);
        }
        free(row);
        weft_resizer_destroy(&r);
        assert_null(r);
    }
    weft_picture_destroy(&src);
    weft_picture_destroy(&full);
}

/* A view resizes as its copy does, and a view as target gets only its own pixels. */
static void test_strides(void **state)
{
    weft_picture src = help_golden("src-61x47-4.png"), copy = {0}, a = {0}, canvas = {0};
    weft_picture view = weft_picture_view(&src, 10, 8, 33, 21);
    assert_int_equal(weft_picture_convert(&view, 4, &copy, NULL), WEFT_OK);
    assert_int_equal(weft_picture_create(&canvas, 70, 60, 4, NULL), WEFT_OK);
    for (int i = 0; i < 5; i++) {
        memset(canvas.data, 77, canvas.capacity_bytes);
        weft_picture target = weft_picture_view(&canvas, 5, 6, 50, 40);
        assert_int_equal(weft_picture_resize_into(&view, all[i], &target, NULL), WEFT_OK);
        assert_int_equal(weft_picture_resize(&copy, 50, 40, all[i], &a, NULL), WEFT_OK);
        assert_int_equal(help_difference(&a, &target), 0);
        for (int32_t y = 0; y < 60; y++)
            for (int32_t x = 0; x < 70; x++)
                if (x < 5 || x >= 55 || y < 6 || y >= 46)
                    assert_int_equal(canvas.data[(size_t)y * canvas.stride_bytes + (size_t)x * 4], 77);
    }
    weft_picture_destroy(&src);
    weft_picture_destroy(&copy);
    weft_picture_destroy(&a);
    weft_picture_destroy(&canvas);
}

/* Plain pictures stay plain and the same size is a copy, for every filter. */
static void test_constant(void **state)
{
    for (int level = 0; level <= 255; level += 51) {
        weft_picture p = {0}, out = {0};
        assert_int_equal(weft_picture_create(&p, 37, 23, 3, NULL), WEFT_OK);
        memset(p.data, level, p.capacity_bytes);
        for (int i = 0; i < 5; i++)
            for (int32_t w = 1; w < 90; w += 11) {
                assert_int_equal(weft_picture_resize(&p, w, 60 - w / 2, all[i], &out, NULL), WEFT_OK);
                for (int32_t k = 0; k < out.width * out.height * 3; k++)
                    assert_in_range(out.data[k], level > 0 ? level - (i == 4) : 0, level);
            }
        weft_picture_destroy(&p);
        weft_picture_destroy(&out);
    }
    weft_picture src = help_golden("src-61x47-3.png"), same = {0};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(weft_picture_resize(&src, 61, 47, all[i], &same, NULL), WEFT_OK);
        assert_int_equal(help_difference(&src, &same), 0);
    }
    weft_picture_destroy(&src);
    weft_picture_destroy(&same);
}

/* By hand: 2 pixels to 4 are 0, 1/4, 3/4, 1 of the way; 4 to 2 by area are means; 3 to 2 by area weighs the middle pixel half. */
static void test_by_hand(void **state)
{
    uint8_t two[2] = {0, 200}, four[4] = {10, 20, 100, 200}, three[3] = {30, 90, 150};
    weft_picture p = weft_picture_wrap(two, 2, 1, 1, 2), out = {0};
    assert_int_equal(weft_picture_resize(&p, 4, 1, WEFT_INTERPOLATION_BILINEAR, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){0, 50, 150, 200}), 4);
    assert_int_equal(weft_picture_resize(&p, 4, 1, WEFT_INTERPOLATION_NEAREST, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){0, 0, 200, 200}), 4);
    p = weft_picture_wrap(four, 4, 1, 1, 4);
    assert_int_equal(weft_picture_resize(&p, 2, 1, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){15, 150}), 2);
    p = weft_picture_wrap(three, 3, 1, 1, 3);
    assert_int_equal(weft_picture_resize(&p, 2, 1, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){50, 130}), 2); /* (30 + 45) / 1.5, (45 + 150) / 1.5 */
    weft_picture_destroy(&out);
}

/* Means of many pixels do not overflow. */
static void test_large_area(void **state)
{
    weft_picture p = {0}, out = {0};
    assert_int_equal(weft_picture_create(&p, 5000, 4000, 1, NULL), WEFT_OK);
    memset(p.data, 255, p.capacity_bytes);
    assert_int_equal(weft_picture_resize(&p, 1, 1, WEFT_INTERPOLATION_AREA, &out, NULL),
                     WEFT_OK); /* 20 million times 255 is over 32 bits */
    assert_int_equal(out.data[0], 255);
    memset(p.data, 100, 5000 * 2000);
    memset(p.data + 5000 * 2000, 200, 5000 * 2000);
    assert_int_equal(weft_picture_resize(&p, 1, 1, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_OK);
    assert_in_range(out.data[0], 149, 151);
    assert_int_equal(weft_picture_resize(&p, 2, 2, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_OK);
    assert_memory_equal(out.data, ((uint8_t[]){100, 100, 200, 200}), 4);
    weft_picture_destroy(&p);
    weft_picture_destroy(&out);
}

static void test_refuses(void **state)
{
    weft_picture src = help_golden("src-7x5-3.png"), out = {0}, grey = {0};
    weft_resizer *r;
    static const int32_t windows[][4] = {{0, 0, 11, 10}, {-1, 0, 5, 5}, {0, 6, 5, 5}, {0, 0, 0, 5}, {2147483647, 0, 5, 5}};
    assert_int_equal(weft_picture_resize(&src, 0, 5, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_resize(&src, 5, 70000, WEFT_INTERPOLATION_AREA, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_resize(&src, 5, 5, (weft_interpolation)9, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_create(&grey, 5, 5, 1, NULL), WEFT_OK);
    assert_int_equal(weft_picture_resize_into(&src, WEFT_INTERPOLATION_AREA, &grey, NULL), WEFT_E_INVALID);
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        assert_int_equal(weft_resizer_create(&r, &src, 10, 10, windows[i], WEFT_INTERPOLATION_BILINEAR, NULL), WEFT_E_INVALID);
        assert_null(r);
    }
    weft_picture_destroy(&src);
    weft_picture_destroy(&out);
    weft_picture_destroy(&grey);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window),     cmocka_unit_test(test_strides),
                                       cmocka_unit_test(test_constant),   cmocka_unit_test(test_by_hand),
                                       cmocka_unit_test(test_large_area), cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
