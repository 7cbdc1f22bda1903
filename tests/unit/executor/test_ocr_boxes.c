/* ocr: contours, hulls, rectangles, scores and reading order; by hand and against OpenCV 4.6 (tests/data/ocr/make_goldens.py). */
#include "executor/ocr/ocr_boxes.h"
#include "harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contours by hand ------------------------------------------------------------------------------------------------ */

#define MAX_SEEN 64
typedef struct seen {
    size_t n;
    weft_ocr_extents e[MAX_SEEN];
    int32_t min_x[MAX_SEEN][16], max_x[MAX_SEEN][16];
    size_t stop_after;
} seen;

static bool remember(void *cookie, const weft_ocr_extents *e)
{
    seen *s = cookie;
    assert_true(s->n < MAX_SEEN && e->y1 - e->y0 < 16);
    s->e[s->n] = *e;
    for (int32_t i = 0; i <= e->y1 - e->y0; i++) {
        s->min_x[s->n][i] = e->min_x[i];
        s->max_x[s->n][i] = e->max_x[i];
    }
    s->n++;
    return s->n != s->stop_after;
}

/* Rows of '#' and '.' separated by newlines. */
static void trace(const char *picture, seen *s)
{
    int32_t width = (int32_t)strcspn(picture, "\n"), height = 0;
    for (const char *p = picture; *p; p++)
        height += *p == '\n';
    int8_t *marks = calloc((size_t)(height + 2), (size_t)(width + 2));
    int32_t *rows = calloc((size_t)(2 * height), sizeof *rows);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            marks[(y + 1) * (width + 2) + x + 1] = picture[y * (width + 1) + x] == '#';
    weft_ocr_contours(marks, width, height, rows, remember, s);
    free(marks);
    free(rows);
}

static void assert_extents(const seen *s, size_t i, int x0, int y0, int x1, int y1)
{
    const weft_ocr_extents *e = &s->e[i];
    assert_int_equal(e->x0, x0);
    assert_int_equal(e->y0, y0);
    assert_int_equal(e->x1, x1);
    assert_int_equal(e->y1, y1);
}

static void test_contour_of_a_ring_and_its_hole(void **state)
{
    seen s = {0};
    trace("......\n"
          ".###..\n"
          ".#.#..\n"
          ".###..\n"
          "......\n",
          &s);
    assert_int_equal(s.n, 2);
    assert_extents(&s, 0, 1, 1, 3, 3);
    assert_extents(&s, 1, 1, 1, 3, 3);
    /* The outer border holds the corners, the hole's border only the four pixels beside the hole. */
    assert_int_equal(s.min_x[0][0], 1);
    assert_int_equal(s.max_x[0][0], 3);
    assert_int_equal(s.min_x[1][0], 2);
    assert_int_equal(s.max_x[1][0], 2);
    assert_int_equal(s.min_x[1][1], 1);
    assert_int_equal(s.max_x[1][1], 3);
}

static void test_contours_touch_the_edges(void **state)
{
    seen s = {0};
    trace("#..#\n"
          "....\n"
          "#..#\n",
          &s);
    assert_int_equal(s.n, 4);
    assert_extents(&s, 0, 0, 0, 0, 0);
    assert_extents(&s, 3, 3, 2, 3, 2);
    s = (seen){0};
    trace("####\n"
          "####\n",
          &s);
    assert_int_equal(s.n, 1);
    assert_extents(&s, 0, 0, 0, 3, 1);
}

static void test_diagonals_belong_together(void **state)
{
    seen s = {0};
    trace("#...\n"
          ".#..\n"
          "..#.\n"
          ".#..\n",
          &s);
    assert_int_equal(s.n, 1);
    assert_extents(&s, 0, 0, 0, 2, 3);
    assert_int_equal(s.min_x[0][3], 1);
}

static void test_contours_stop_when_told(void **state)
{
    seen s = {.stop_after = 2};
    trace("#.#.#.#\n", &s);
    assert_int_equal(s.n, 2);
}

/* ---- hull and rectangle by hand ---------------------------------------------------------------------------------------- */

static weft_ocr_extents extents_of(const int32_t *min_x, const int32_t *max_x, int n)
{
    weft_ocr_extents e = {.y0 = 0, .y1 = n - 1, .min_x = min_x, .max_x = max_x};
    return e;
}

static void test_hull_of_a_diamond(void **state)
{
    const int32_t min_x[] = {3, 2, 1, 0, 1, 2, 3}, max_x[] = {3, 4, 5, 6, 5, 4, 3};
    weft_ocr_extents e = extents_of(min_x, max_x, 7);
    int32_t hull[14][2];
    assert_int_equal(weft_ocr_hull(&e, hull), 4);
    const int32_t wanted[4][2] = {{3, 0}, {6, 3}, {3, 6}, {0, 3}};
    assert_memory_equal(hull, wanted, sizeof wanted);
    weft_ocr_rect r;
    weft_ocr_min_rect(hull, 4, &r);
    assert_true(fabs(r.width - 3 * sqrt(2)) < 1e-9 && fabs(r.height - 3 * sqrt(2)) < 1e-9);
    assert_true(fabs(r.cx - 3) < 1e-9 && fabs(r.cy - 3) < 1e-9);
}

static void test_rectangle_of_a_slanted_bar(void **state)
{
    /* The parallelogram-free case: a 3-4-5 bar with corners (4,0) (20,12) (17,16) (1,4): 20 x 5. */
    int32_t hull[][2] = {{4, 0}, {20, 12}, {17, 16}, {1, 4}};
    weft_ocr_rect r;
    weft_ocr_min_rect(hull, 4, &r);
    assert_true(fabs(fmax(r.width, r.height) - 20) < 1e-9 && fabs(fmin(r.width, r.height) - 5) < 1e-9);
    float q[4][2];
    weft_ocr_rect_quad(&r, 0, q);
    const float corners[4][2] = {{4, 0}, {20, 12}, {17, 16}, {1, 4}}; /* left pair: (1,4) and (4,0), upper first */
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(q[i][0] - corners[i][0]) < 1e-4f && fabsf(q[i][1] - corners[i][1]) < 1e-4f);
    weft_ocr_rect_quad(&r, 5, q); /* corners move by 5 along both axes: (-0.8,-0.6)*5 + (0.6,-0.8)*5 from (4,0) */
    assert_true(fabsf(q[0][0] - 3) < 1e-4f && fabsf(q[0][1] + 7) < 1e-4f);
}

static void test_a_point_and_a_line_have_no_height(void **state)
{
    int32_t point[][2] = {{7, 9}}, line[][2] = {{1, 2}, {4, 6}};
    weft_ocr_rect r;
    weft_ocr_min_rect(point, 1, &r);
    assert_true(r.width == 0 && r.height == 0 && r.cx == 7 && r.cy == 9);
    weft_ocr_min_rect(line, 2, &r);
    assert_true(fabs(r.width - 5) < 1e-12 && r.height == 0);
}

/* ---- scores --------------------------------------------------------------------------------------------------------------- */

static weft_ocr_map map_of(const float *p, int width, int height)
{
    return (weft_ocr_map){.p = p,
                          .stride = (size_t)width,
                          .width = width,
                          .height = height,
                          .scale_x = 1,
                          .scale_y = 1,
                          .picture_width = width,
                          .picture_height = height};
}

static void test_score_is_the_mean_inside_with_the_border(void **state)
{
    float p[8 * 6];
    for (int i = 0; i < 48; i++)
        p[i] = (float)i;
    weft_ocr_map map = map_of(p, 8, 6);
    int32_t rows[12];
    float upright[4][2] = {{2, 1}, {5, 1}, {5, 3}, {2, 3}};
    /* rows 1..3, columns 2..5: mean of 8 y + x = 16 + 3.5 */
    assert_true(fabsf(weft_ocr_quad_score(&map, upright, rows) - 19.5f) < 1e-5f);
    float diamond[4][2] = {{0, 2}, {2, 0}, {4, 2}, {2, 4}}; /* 13 pixels around (2,2) */
    assert_true(fabsf(weft_ocr_quad_score(&map, diamond, rows) - 18.0f) < 1e-5f);
    float beyond[4][2] = {{-5, -5}, {20, -5}, {20, 20}, {-5, 20}};
    assert_true(fabsf(weft_ocr_quad_score(&map, beyond, rows) - 23.5f) < 1e-5f);
}

/* ---- whole maps ------------------------------------------------------------------------------------------------------------ */

static const weft_ocr_box_options usual = {0.3f, 0.6f, 1.5f, 3, 1000};

/* Runs with a guard behind the work block. */
static weft_status find(const weft_ocr_map *map, const weft_ocr_box_options *o, weft_ocr_box *boxes, size_t *n, weft_error *err)
{
    size_t bytes = weft_ocr_boxes_work_bytes(map->width, map->height);
    unsigned char *work = malloc(bytes + 64);
    memset(work, 0xA5, bytes + 64);
    weft_status s = weft_ocr_boxes_find(map, o, work, boxes, n, err);
    for (int i = 0; i < 64; i++)
        assert_int_equal(work[bytes + (size_t)i], 0xA5);
    free(work);
    return s;
}

static void test_a_bar_grows_by_the_unclip_distance(void **state)
{
    /* Core 40 x 10 between pixel centres: d = 400 * 1.5 / 100 = 6, so 52 x 22. */
    static float p[100 * 60];
    memset(p, 0, sizeof p);
    for (int y = 20; y <= 30; y++)
        for (int x = 30; x <= 70; x++)
            p[y * 100 + x] = 0.9f;
    weft_ocr_map map = map_of(p, 100, 60);
    map.scale_x = 2;
    map.scale_y = 3;
    map.picture_width = 200;
    map.picture_height = 180;
    weft_ocr_box box[1000];
    size_t n;
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    assert_int_equal(n, 1);
    const float wanted[4][2] = {{48, 42}, {152, 42}, {152, 108}, {48, 108}};
    assert_memory_equal(box[0].quad, wanted, sizeof wanted);
    assert_true(fabsf(box[0].score - 0.9f) < 1e-5f);
    map.border = 20; /* a frame of 20 picture pixels was around it */
    map.picture_width = 160;
    map.picture_height = 140;
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    assert_true(box[0].quad[0][0] == 28 && box[0].quad[0][1] == 22 && box[0].quad[2][0] == 132 && box[0].quad[2][1] == 88);
    map.picture_width = 100; /* clamped to the picture */
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    assert_true(box[0].quad[2][0] == 100);
}

static void test_low_scores_and_small_cores_are_dropped(void **state)
{
    static float p[100 * 60];
    memset(p, 0, sizeof p);
    for (int x = 10; x < 60; x++) {
        for (int y = 10; y < 13; y++) /* 3 pixels high: 2 between centres */
            p[y * 100 + x] = 1;
        for (int y = 30; y < 40; y++)
            p[y * 100 + x] = 0.5f;
    }
    weft_ocr_map map = map_of(p, 100, 60);
    weft_ocr_box box[1000];
    size_t n;
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    assert_int_equal(n, 0);
    weft_ocr_box_options loose = usual;
    loose.box_threshold = 0.4f;
    loose.min_side = 2;
    assert_int_equal(find(&map, &loose, box, &n, NULL), WEFT_OK);
    assert_int_equal(n, 2);
}

static void test_padding_outside_the_window_is_ignored(void **state)
{
    static float p[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        p[i] = i % 64 >= 40 ? NAN : 0;
    weft_ocr_map map = map_of(p, 64, 64);
    map.width = 40;
    weft_ocr_box box[1000];
    size_t n;
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    assert_int_equal(n, 0);
}

static void test_not_a_number_is_a_failed_run(void **state)
{
    static float p[64 * 64];
    weft_ocr_map map = map_of(p, 64, 64);
    weft_ocr_box box[1000];
    size_t n;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        weft_error err = {0};
        memset(p, 0, sizeof p);
        p[33 * 64 + 63] = bad[i];
        assert_int_equal(find(&map, &usual, box, &n, &err), WEFT_E_RUN_FAILED);
        assert_non_null(strstr(err.text, "finite"));
        assert_int_equal(n, 0);
    }
}

/* Maps that no detector should give: the work stays bounded by the map and by max_boxes, and every box lies in the picture. */
static void test_hostile_maps(void **state)
{
    enum { SIDE = 960 };
    float *p = malloc(SIDE * SIDE * sizeof *p);
    weft_ocr_box *box = malloc(1000 * sizeof *box);
    uint64_t seed = 7;
    for (int kind = 0; kind < 6; kind++) {
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                float v = 0;
                switch (kind) {
                case 0: /* all text */
                    v = 1;
                    break;
                case 1: /* white noise */
                    v = (float)(test_random(&seed) >> 40) / (float)(1 << 24);
                    break;
                case 2: /* chequers: one region full of holes */
                    v = (x + y) & 1 ? 1 : 0;
                    break;
                case 3: /* comb */
                    v = y == 0 || x % 2 == 0 ? 1 : 0;
                    break;
                case 4: /* rings within rings */
                    v = (x < y ? (x < SIDE - y ? x : SIDE - y) : (y < SIDE - x ? y : SIDE - x)) % 8 < 4 ? 1 : 0;
                    break;
                default: /* a field of boxes, more than max_boxes */
                    v = x % 12 < 8 && y % 12 < 8 ? 1 : 0;
                    break;
                }
                p[y * SIDE + x] = v;
            }
        weft_ocr_map map = map_of(p, SIDE, SIDE);
        size_t n;
        assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
        assert_true(n <= 1000);
        if (kind == 0)
            assert_int_equal(n, 1);
        if (kind == 5)
            assert_int_equal(n, 1000);
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < 8; k++)
                assert_true(box[i].quad[k / 2][k % 2] >= 0 && box[i].quad[k / 2][k % 2] <= SIDE);
        weft_ocr_boxes_sort(box, n, WEFT_OCR_LEFT_TO_RIGHT, 10, false);
    }
    free(p);
    free(box);
}

/* ---- reading order ------------------------------------------------------------------------------------------------------- */

static weft_ocr_box box_at(float x, float y)
{
    return (weft_ocr_box){.quad = {{x, y}, {x + 50, y}, {x + 50, y + 20}, {x, y + 20}}, .score = 1};
}

static void assert_order(const weft_ocr_box *boxes, size_t n, const float (*wanted)[2])
{
    for (size_t i = 0; i < n; i++)
        if (boxes[i].quad[0][0] != wanted[i][0] || boxes[i].quad[0][1] != wanted[i][1])
            fail_msg("box %zu is (%g,%g), not (%g,%g)", i, (double)boxes[i].quad[0][0], (double)boxes[i].quad[0][1],
                     (double)wanted[i][0], (double)wanted[i][1]);
}

static void test_reading_order(void **state)
{
    /* Two rows; within the first the tops differ by up to 9. */
    weft_ocr_box b[5] = {box_at(200, 100), box_at(10, 109), box_at(100, 104), box_at(10, 160), box_at(100, 155)};
    const float rows[][2] = {{10, 109}, {100, 104}, {200, 100}, {10, 160}, {100, 155}};
    weft_ocr_boxes_sort(b, 5, WEFT_OCR_LEFT_TO_RIGHT, 10, false);
    assert_order(b, 5, rows);
    const float right[][2] = {{200, 100}, {100, 104}, {10, 109}, {100, 155}, {10, 160}};
    weft_ocr_boxes_sort(b, 5, WEFT_OCR_RIGHT_TO_LEFT, 10, false);
    assert_order(b, 5, right);
    const float columns[][2] = {{200, 100}, {100, 104}, {100, 155}, {10, 109}, {10, 160}};
    weft_ocr_boxes_sort(b, 5, WEFT_OCR_COLUMNS, 10, false);
    assert_order(b, 5, columns);
    const float turned[][2] = {{100, 155}, {10, 160}, {200, 100}, {100, 104}, {10, 109}};
    weft_ocr_boxes_sort(b, 5, WEFT_OCR_LEFT_TO_RIGHT, 10, true);
    assert_order(b, 5, turned);
    const float strict[][2] = {{200, 100}, {100, 104}, {10, 109}, {100, 155}, {10, 160}};
    weft_ocr_boxes_sort(b, 5, WEFT_OCR_LEFT_TO_RIGHT, 0, false);
    assert_order(b, 5, strict);
}

/* ---- against OpenCV ------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    unsigned char *data;
    size_t at, n;
} reader;

static void take(reader *r, void *to, size_t n)
{
    assert_true(r->at + n <= r->n);
    memcpy(to, r->data + r->at, n);
    r->at += n;
}

typedef struct golden_contours {
    reader *r;
    int32_t left;
} golden_contours;

static bool compare_contour(void *cookie, const weft_ocr_extents *e)
{
    golden_contours *g = cookie;
    int32_t bounds[4];
    double area;
    assert_true(g->left-- > 0);
    take(g->r, bounds, sizeof bounds);
    take(g->r, &area, sizeof area);
    assert_int_equal(e->x0, bounds[0]);
    assert_int_equal(e->y0, bounds[1]);
    assert_int_equal(e->x1, bounds[2]);
    assert_int_equal(e->y1, bounds[3]);
    int32_t hull[512][2];
    weft_ocr_rect r;
    weft_ocr_min_rect(hull, weft_ocr_hull(e, hull), &r);
    assert_true(fabs(r.width * r.height - area) <= 1e-3 * (1 + area));
    return true;
}

static void compare_map(reader *r)
{
    int32_t head[6];
    take(r, head, sizeof head);
    size_t w = (size_t)head[0], h = (size_t)head[1];
    float *p = malloc(w * h * sizeof *p);
    int8_t *marks = calloc(h + 2, w + 2);
    int32_t *rows = malloc(2 * h * sizeof *rows);
    for (size_t i = 0; i < w * h; i++) {
        unsigned char v;
        take(r, &v, 1);
        p[i] = (float)v / 255.0f;
        marks[(i / w + 1) * (w + 2) + i % w + 1] = p[i] > 0.3f;
    }
    golden_contours g = {r, head[4]};
    weft_ocr_contours(marks, head[0], head[1], rows, compare_contour, &g);
    assert_int_equal(g.left, 0);
    weft_ocr_map map = map_of(p, head[0], head[1]);
    map.scale_x = (double)head[2] / head[0];
    map.scale_y = (double)head[3] / head[1];
    map.picture_width = head[2];
    map.picture_height = head[3];
    weft_ocr_box box[1000];
    size_t n;
    assert_int_equal(find(&map, &usual, box, &n, NULL), WEFT_OK);
    weft_ocr_boxes_sort(box, n, WEFT_OCR_LEFT_TO_RIGHT, 10, false);
    assert_int_equal(n, head[5]);
    for (size_t i = 0; i < n; i++) {
        int32_t quad[8];
        float score;
        take(r, quad, sizeof quad);
        take(r, &score, sizeof score);
        for (int k = 0; k < 8; k++)
            assert_true(fabsf(box[i].quad[k / 2][k % 2] - (float)quad[k]) <= 0.5f);
        assert_true(fabsf(box[i].score - score) < 0.03f);
    }
    free(p);
    free(marks);
    free(rows);
}

static void test_equal_to_opencv(void **state)
{
    FILE *f = fopen(WEFT_TEST_DATA "/ocr/boxes.gold", "rb");
    reader r = {malloc(1 << 20), 0, 0};
    int32_t n_maps;
    char magic[4];
    assert_non_null(f);
    r.n = fread(r.data, 1, 1 << 20, f);
    fclose(f);
    take(&r, magic, 4);
    assert_memory_equal(magic, "OCRG", 4);
    take(&r, &n_maps, sizeof n_maps);
    assert_true(n_maps >= 8);
    for (int32_t i = 0; i < n_maps; i++)
        compare_map(&r);
    assert_int_equal(r.at, r.n);
    free(r.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contour_of_a_ring_and_its_hole),
        cmocka_unit_test(test_contours_touch_the_edges),
        cmocka_unit_test(test_diagonals_belong_together),
        cmocka_unit_test(test_contours_stop_when_told),
        cmocka_unit_test(test_hull_of_a_diamond),
        cmocka_unit_test(test_rectangle_of_a_slanted_bar),
        cmocka_unit_test(test_a_point_and_a_line_have_no_height),
        cmocka_unit_test(test_score_is_the_mean_inside_with_the_border),
        cmocka_unit_test(test_a_bar_grows_by_the_unclip_distance),
        cmocka_unit_test(test_low_scores_and_small_cores_are_dropped),
        cmocka_unit_test(test_padding_outside_the_window_is_ignored),
        cmocka_unit_test(test_not_a_number_is_a_failed_run),
        cmocka_unit_test(test_hostile_maps),
        cmocka_unit_test(test_reading_order),
        cmocka_unit_test(test_equal_to_opencv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
