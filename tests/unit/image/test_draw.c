/* Drawing: where pixels change and where they must not, by hand; every kind of column; results that break the promises of
 * result.h. */
#include "base/arena.h"
#include "image/draw_result.h"
#include "image/encode.h"
#include "unit/image/help_golden.h"
#include "weft/builder.h"

#include <math.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITH_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITH_SANITIZER 1
#endif
#endif

static weft_picture plain(int32_t width, int32_t height, uint8_t level)
{
    weft_picture p = {0};
    assert_int_equal(weft_picture_create(&p, width, height, 3, NULL), WEFT_OK);
    memset(p.data, level, p.capacity_bytes);
    return p;
}

static const uint8_t *at(const weft_picture *p, int32_t x, int32_t y)
{
    return p->data + (size_t)y * p->stride_bytes + 3 * (size_t)x;
}

static int n_changed(const weft_picture *p, uint8_t level)
{
    int n = 0;
    for (int32_t i = 0; i < p->width * p->height; i++)
        n += p->data[3 * i] != level || p->data[3 * i + 1] != level || p->data[3 * i + 2] != level;
    return n;
}

static const weft_color red = {255, 0, 0, 255}, half_red = {255, 0, 0, 128};

static void test_fill(void **state)
{
    weft_picture p = plain(20, 10, 100);
    weft_canvas c;
    assert_int_equal(weft_canvas_init(&c, &p, NULL, NULL), WEFT_OK);
    weft_draw_fill(&c, 3, 2, 7, 5, 0, red);
    assert_int_equal(n_changed(&p, 100), 12);
    assert_memory_equal(at(&p, 3, 2), ((uint8_t[]){255, 0, 0}), 3);
    assert_memory_equal(at(&p, 6, 4), ((uint8_t[]){255, 0, 0}), 3);
    weft_draw_fill(&c, 10.5f, 2, 12, 3, 0, red); /* half a pixel: half the colour */
    assert_in_range(at(&p, 10, 2)[0], 176, 179);
    weft_draw_fill(&c, 15, 5, 16, 6, 0, half_red);
    assert_memory_equal(at(&p, 15, 5), ((uint8_t[]){178, 50, 50}), 3);
    int before = n_changed(&p, 100);
    weft_draw_fill(&c, 30, 30, 40, 40, 0, red);
    weft_draw_fill(&c, NAN, 0, 40, 40, 0, red);
    weft_draw_fill(&c, 0, 0, INFINITY, 40, 0, red);
    assert_int_equal(n_changed(&p, 100), before);
    weft_draw_fill(&c, -1e9f, -1e9f, 1e9f, 1e9f, 3, red);
    assert_int_equal(n_changed(&p, 255), 200);
    assert_memory_equal(at(&p, 0, 0), ((uint8_t[]){255, 0, 0}), 3);
    weft_canvas_fini(&c);
    weft_canvas_fini(&c);
    weft_picture_destroy(&p);
}

static void test_box(void **state)
{
    weft_picture p = plain(60, 40, 100);
    weft_canvas c;
    const weft_draw_options o = {.line_px = 2};
    assert_int_equal(weft_canvas_init(&c, &p, &o, NULL), WEFT_OK);
    const float box[4] = {50, 30, 10, 10}; /* any order of corners */
    weft_draw_box(&c, box, 2, red);
    assert_memory_equal(at(&p, 30, 10), ((uint8_t[]){255, 0, 0}), 3); /* both sides of the edge */
    assert_memory_equal(at(&p, 30, 9), ((uint8_t[]){255, 0, 0}), 3);
    assert_memory_equal(at(&p, 9, 20), ((uint8_t[]){255, 0, 0}), 3);
    assert_memory_equal(at(&p, 50, 20), ((uint8_t[]){255, 0, 0}), 3);
    assert_true(at(&p, 30, 8)[0] < 100);                                  /* halo */
    assert_memory_equal(at(&p, 30, 20), ((uint8_t[]){100, 100, 100}), 3); /* inside and outside untouched */
    assert_memory_equal(at(&p, 30, 6), ((uint8_t[]){100, 100, 100}), 3);
    assert_memory_equal(at(&p, 19, 19), ((uint8_t[]){100, 100, 100}), 3);
    weft_canvas_fini(&c);
    weft_picture_destroy(&p);
}

static void test_polygon_and_lines(void **state)
{
    weft_picture p = plain(30, 30, 100), q = plain(30, 30, 100);
    weft_canvas c, d;
    const float square[8] = {5, 5, 15, 5, 15, 20, 5, 20}, one[4] = {3, 3, 3, 3}, bad[6] = {1, 1, NAN, 5, 9, 9};
    assert_int_equal(weft_canvas_init(&c, &p, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_canvas_init(&d, &q, NULL, NULL), WEFT_OK);
    weft_draw_polygon(&c, square, 4, red);
    weft_draw_fill(&d, 5, 5, 15, 20, 0, red);
    assert_int_equal(help_difference(&p, &q), 0);
    weft_draw_polygon(&c, bad, 3, red);
    weft_draw_lines(&c, bad, 3, true, 3, red);
    weft_draw_polygon(&c, square, 2, red);
    weft_draw_lines(&c, square, 4, true, 0, red);
    assert_int_equal(help_difference(&p, &q), 0);
    weft_draw_lines(&c, one, 2, false, 4, red); /* a point: a dot */
    assert_memory_equal(at(&p, 3, 3), ((uint8_t[]){255, 0, 0}), 3);
    const float across[4] = {-100, 15, 200, 15};
    weft_draw_lines(&c, across, 2, false, 2, half_red);
    for (int x = 0; x < 5; x++)
        assert_memory_equal(at(&p, x, 15), at(&p, 20, 15), 3);
    assert_true(at(&p, 20, 15)[0] > 150);
    weft_canvas_fini(&c);
    weft_canvas_fini(&d);
    weft_picture_destroy(&p);
    weft_picture_destroy(&q);
}

static void test_text(void **state)
{
    weft_picture p = plain(200, 40, 0);
    weft_canvas c;
    float w1, w2, h, w3;
    static const char chinese[] = "\xe6\xad\xa3\xe5\xa4\xa7";
    assert_int_equal(weft_canvas_init(&c, &p, NULL, NULL), WEFT_OK);
    weft_draw_text_size(&c, "weft", 4, 20, &w1, &h);
    weft_draw_text_size(&c, "weftweft", 8, 20, &w2, &h);
    assert_true(w1 > 20 && w1 < 80 && fabsf(w2 - 2 * w1) < 0.1f && h >= 20 && h < 30);
    weft_draw_text_size(&c, "weft", 4, 40, &w3, &h);
    assert_true(fabsf(w3 - 2 * w1) < 5);
    const weft_color white = {255, 255, 255, 255};
    weft_draw_text(&c, 5, 5, "weft", 4, 20, 0, white);
    int n = n_changed(&p, 0);
    assert_in_range(n, 60, 800);
    for (int32_t y = 0; y < 40; y++) /* only in its box */
        for (int32_t x = 0; x < 200; x++)
            if (x < 4 || (float)x > 6 + w1 || y < 5 || y > 30)
                assert_int_equal(at(&p, x, y)[0], 0);
    memset(p.data, 0, p.capacity_bytes);
    weft_draw_text(&c, 0, 0, "a rather long line that is cut", 30, 20, 60, white);
    for (int32_t y = 0; y < 40; y++)
        for (int32_t x = 64; x < 200; x++)
            assert_int_equal(at(&p, x, y)[0], 0);
    weft_draw_text(&c, 190, 30, chinese, 6, 20, 0, white); /* clipped at the corner */
    weft_draw_text(&c, -30, -10, chinese, 6, 20, 0, white);
    weft_draw_text(&c, NAN, 0, "x", 1, 20, 0, white);
    weft_draw_text(&c, 0, 0, "\xff\xfe\xe6", 3, 20, 0, white);
    weft_draw_text(&c, 0, 0, "", 0, 20, 0, white);
    weft_draw_text(&c, 0, 0, "x", 1, NAN, 0, white);
    weft_canvas_fini(&c);
    weft_picture_destroy(&p);
}

static void test_font(void **state)
{
    weft_font *f;
    weft_glyph g;
    weft_error err;
    assert_int_equal(weft_font_create(&f, "/no/such/font.ttf", &err), WEFT_E_NOT_FOUND);
    assert_null(f);
    assert_int_equal(weft_font_create(&f, GOLDEN_DIR "/src-7x5-3.png", &err), WEFT_E_UNPROCESSABLE);
    assert_null(f);
    assert_int_equal(weft_font_create(&f, NULL, &err), WEFT_OK);
    assert_int_equal(weft_font_glyph(f, 'A', 20, &g, &err), WEFT_OK);
    assert_true(g.coverage && g.height >= 12 && g.height <= 18 && g.top == g.height && g.advance_px > 8 && g.advance_px < 18);
    assert_int_equal(weft_font_glyph(f, ' ', 20, &g, &err), WEFT_OK);
    assert_true(!g.coverage && g.advance_px > 2);
    assert_int_equal(weft_font_glyph(f, 0x10ffff, 20, &g, &err), WEFT_OK); /* nobody has it: a hollow box */
    assert_non_null(g.coverage);
    assert_int_equal(weft_font_glyph(f, 'A', 1e9f, &g, &err), WEFT_OK);
    assert_true(g.height <= 520);
    assert_int_equal(weft_font_glyph(f, 'A', -5, &g, &err), WEFT_OK);
    for (uint32_t cp = 32; cp < 3000; cp++) /* more than the cache holds */
        assert_int_equal(weft_font_glyph(f, cp, 12, &g, &err), WEFT_OK);
    weft_font_destroy(&f);
    assert_null(f);
    weft_font_destroy(&f);
    weft_font_destroy(NULL);
}

static void test_canvas_refuses(void **state)
{
    weft_picture grey = {0};
    weft_canvas c;
    assert_int_equal(weft_canvas_init(&c, &grey, NULL, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_create(&grey, 5, 5, 1, NULL), WEFT_OK);
    assert_int_equal(weft_canvas_init(&c, &grey, NULL, NULL), WEFT_E_INVALID);
    weft_canvas_fini(&c);
    weft_picture_destroy(&grey);
}

static void test_label_place(void **state)
{
    weft_picture p = plain(300, 200, 50);
    weft_canvas c;
    float placed[4], second[4], w, h;
    assert_int_equal(weft_canvas_init(&c, &p, NULL, NULL), WEFT_OK);
    weft_draw_tag_size(&c, "person", 6, &w, &h);
    static const float boxes[][4] = {{100, 100, 180, 160}, {100, 2, 180, 60},      {-50, -50, 400, 300},
                                     {280, 150, 320, 260}, {150, -500, 160, -400}, {1e6f, 1e6f, 2e6f, 2e6f}};
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        weft_draw_label(&c, boxes[i], "person", 6, red, NULL, 0, placed);
        assert_true(placed[0] >= 0 && placed[1] >= 0 && placed[2] <= 300 && placed[3] <= 200); /* always in the picture */
        if (i == 0)
            assert_true(placed[3] <= 100 && placed[3] > 95); /* above the box */
        if (i == 1)
            assert_true(placed[1] >= 2 && placed[3] <= 60); /* no room above: inside */
    }
    weft_draw_label(&c, boxes[0], "person", 6, red, NULL, 0, placed);
    weft_draw_label(&c, boxes[0], "person", 6, red, (const float(*)[4])placed, 1, second);
    assert_true(second[0] >= placed[2] || second[2] <= placed[0] || second[1] >= placed[3] || second[3] <= placed[1]);
    weft_canvas_fini(&c);
    weft_picture_destroy(&p);
}

/* ---- results ------------------------------------------------------------------------------------------------------------- */
typedef struct columns {
    const float *boxes, *quads, *points, *scores;
    const char *const *labels, *const *texts;
    size_t n, n_points;
} columns;

static void add_floats(weft_builder *b, weft_field_kind kind, const char *name, const float *v, int rank, int64_t n, int64_t k,
                       int64_t m)
{
    weft_tensor t = {.name = name, .dtype = WEFT_DT_F32, .rank = rank, .shape = {n, k, m}, .data = (void *)(uintptr_t)v};
    t.n_bytes = (size_t)(n * k * m) * sizeof(float);
    if (v)
        assert_int_equal(weft_builder_tensor(b, kind, true, &t, true, NULL), WEFT_OK);
}

static const weft_field_decl fields[] = {
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, "px"},       {"quad", WEFT_FIELD_QUAD, WEFT_DT_F32, true, 0, "px"},
    {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 0, "px"}, {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1"},
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, "t"},   {"label", WEFT_FIELD_LABEL, WEFT_DT_STRING, true, 0, "l"},
    {"matte", WEFT_FIELD_MATTE, WEFT_DT_U8, false, 0, "m"},    {"picture", WEFT_FIELD_PICTURE, WEFT_DT_STRING, false, 0, "p"},
};

static weft_result *result_of(weft_arena *arena, const columns *c)
{
    weft_builder *b;
    assert_int_equal(weft_builder_create(arena, fields, sizeof(fields) / sizeof(fields[0]), NULL, NULL, &b, NULL), WEFT_OK);
    weft_builder_items(b, c->n);
    int64_t n = (int64_t)c->n;
    add_floats(b, WEFT_FIELD_BOX, "box", c->boxes, 2, n, 4, 1);
    add_floats(b, WEFT_FIELD_QUAD, "quad", c->quads, 3, n, 4, 2);
    add_floats(b, WEFT_FIELD_POINTS, "points", c->points, 3, n, (int64_t)c->n_points, 2);
    add_floats(b, WEFT_FIELD_SCORE, "score", c->scores, 1, n, 1, 1);
    if (c->texts)
        assert_int_equal(weft_builder_strings(b, "text", c->texts, NULL, c->n, NULL), WEFT_OK);
    if (c->labels)
        assert_int_equal(weft_builder_strings(b, "label", c->labels, NULL, c->n, NULL), WEFT_OK);
    return weft_builder_finish(b, "", "m", "1", NULL, NULL);
}

static void draw(weft_picture *p, const columns *c)
{
    weft_error err = {0};
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_result *r = result_of(arena, c);
    if (weft_draw_result(p, r, &(weft_draw_options){.line_px = 3}, &err) != WEFT_OK)
        fail_msg("%s", err.text);
    weft_result_unref(r);
    weft_arena_destroy(&arena);
}

static void test_result_shapes(void **state)
{
    static const float boxes[8] = {40, 40, 120, 110, 150, 50, 250, 150}, scores[2] = {0.9f, NAN},
                       points[8] = {60, 60, 90, 60, 170, 80, 200, 80};
    static const char *const labels[2] = {"person", "\xe7\x8c\xab"};
    weft_picture p = plain(300, 200, 128);
    draw(&p, &(columns){.boxes = boxes, .scores = scores, .points = points, .labels = labels, .n = 2, .n_points = 2});
    assert_int_equal(p.width, 300); /* stays the same size */
    assert_int_equal(p.height, 200);
    weft_color first = weft_palette(0), second = weft_palette(1);
    assert_memory_equal(at(&p, 80, 110), &first, 3);
    assert_memory_equal(at(&p, 200, 150), &second, 3);
    assert_memory_equal(at(&p, 60, 60), &first, 3);
    assert_memory_equal(at(&p, 290, 10), ((uint8_t[]){128, 128, 128}), 3);
    weft_picture_destroy(&p);
}

static void test_result_same_label_same_color(void **state)
{
    static const float boxes[12] = {10, 40, 60, 90, 100, 40, 150, 90, 200, 40, 250, 90};
    static const char *const labels[3] = {"a", "b", "a"};
    weft_picture p = plain(300, 120, 128);
    draw(&p, &(columns){.boxes = boxes, .labels = labels, .n = 3});
    assert_memory_equal(at(&p, 35, 90), at(&p, 225, 90), 3);
    assert_memory_not_equal(at(&p, 35, 90), at(&p, 125, 90), 3);
    weft_picture_destroy(&p);
}

static void test_result_text(void **state)
{
    static const float quads[16] = {20, 20, 180, 20, 180, 50, 20, 50, 220, 30, 250, 30, 250, 180, 220, 180};
    static const char *const texts[2] = {"Hello weft", "\xe6\xad\xa3\xe5\xa4\xa7\xe5\x85\x89\xe6\x98\x8e"};
    weft_picture p = plain(300, 200, 128);
    draw(&p, &(columns){.quads = quads, .texts = texts, .n = 2});
    assert_int_equal(p.width, 600); /* the paper */
    assert_int_equal(p.height, 200);
    int dark = 0;
    for (int32_t y = 20; y < 50; y++)
        for (int32_t x = 320; x < 480; x++)
            dark += at(&p, x, y)[1] < 80;
    assert_in_range(dark, 150, 2500); /* the line is written at its place */
    assert_memory_equal(at(&p, 590, 190), ((uint8_t[]){237, 237, 234}),
                        3); /* elsewhere 30/255 of the picture, 225/255 of paper */
    weft_picture_destroy(&p);
}

/* A turned quad a thousand times larger than the picture once asked for a strip of gigabytes. */
static void test_result_huge_quad(void **state)
{
    static const float quads[8] = {0, 0, 50000, 20000, 30000, 40000, -20000, 20000};
    static const char *const texts[1] = {"text"};
    weft_picture p = plain(50, 50, 128);
#ifndef WITH_SANITIZER /* they need more memory than the limit leaves them */
    struct rlimit before, small = {(rlim_t)3 << 30, 0};
    getrlimit(RLIMIT_DATA, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_DATA, &small);
#endif
    draw(&p, &(columns){.quads = quads, .texts = texts, .n = 1});
#ifndef WITH_SANITIZER
    setrlimit(RLIMIT_DATA, &before);
#endif
    assert_int_equal(p.width, 100);
    weft_picture_destroy(&p);
}

static void test_result_list(void **state)
{
    static const float scores[3] = {0.9f, 0.08f, 0.02f};
    static const char *const labels[3] = {
        "tabby cat", "dog", "a very long name of a class that does not fit into the panel at all, whatever one does"};
    weft_picture p = plain(100, 80, 128);
    draw(&p, &(columns){.scores = scores, .labels = labels, .n = 3});
    assert_true(p.width == 420 && p.height > 140 && p.height < 260);
    assert_memory_equal(at(&p, 160 + 50, 40), ((uint8_t[]){128, 128, 128}), 3); /* the picture in the middle, untouched */
    weft_picture_destroy(&p);
}

static void test_result_matte_and_picture(void **state)
{
    weft_builder *b;
    uint8_t matte[4] = {255, 255, 0, 0};
    weft_tensor t = {.name = "matte", .dtype = WEFT_DT_U8, .rank = 2, .shape = {2, 2}, .data = matte, .n_bytes = 4};
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_picture p = plain(64, 64, 30), red_one = plain(20, 10, 0);
    assert_int_equal(weft_builder_create(arena, fields, 8, NULL, NULL, &b, NULL), WEFT_OK);
    assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_MATTE, false, &t, true, NULL), WEFT_OK);
    assert_int_equal(weft_draw_result(&p, weft_builder_finish(b, "", "m", "1", NULL, NULL), NULL, NULL), WEFT_OK);
    assert_int_equal(at(&p, 30, 2)[0], 30);
    assert_true(at(&p, 30, 60)[0] > 200);
    weft_buffer png;
    weft_buffer_init(&png, 0);
    for (int i = 0; i < 200; i++)
        red_one.data[3 * i] = 255;
    assert_int_equal(weft_picture_encode_png(&red_one, 6, &png, NULL), WEFT_OK);
    const char *bytes = (const char *)png.data;
    for (int good = 0; good < 2; good++) {
        size_t n = good ? png.n_bytes : png.n_bytes / 2;
        assert_int_equal(weft_builder_create(arena, fields, 8, NULL, NULL, &b, NULL), WEFT_OK);
        assert_int_equal(weft_builder_strings(b, "picture", &bytes, &n, 1, NULL), WEFT_OK);
        assert_int_equal(weft_draw_result(&p, weft_builder_finish(b, "", "m", "1", NULL, NULL), NULL, NULL),
                         good ? WEFT_OK : WEFT_E_UNPROCESSABLE);
    }
    assert_int_equal(p.width, 20);
    assert_memory_equal(at(&p, 5, 5), ((uint8_t[]){255, 0, 0}), 3);
    weft_buffer_fini(&png);
    weft_picture_destroy(&p);
    weft_picture_destroy(&red_one);
    weft_arena_destroy(&arena);
}

/* One number for the whole answer gets a row in the list, also when nothing else was found. */
static void test_result_whole_scores(void **state)
{
    static float unsafe[1] = {0.25f}, blurred[1] = {NAN};
    weft_tensor t = {.name = "unsafe", .dtype = WEFT_DT_F32, .rank = 1, .shape = {1}, .data = unsafe, .n_bytes = 4}, u = t;
    u.name = "blurred";
    u.data = blurred;
    weft_column cols[2] = {{WEFT_FIELD_SCORE, false, t}, {WEFT_FIELD_SCORE, false, u}};
    weft_result r = {.n_columns = 1, .columns = cols};
    weft_picture one = plain(500, 300, 9), two = plain(500, 300, 9), none = plain(500, 300, 9);
    assert_int_equal(weft_draw_result(&one, &r, NULL, NULL), WEFT_OK);
    r.n_columns = 2;
    assert_int_equal(weft_draw_result(&two, &r, NULL, NULL), WEFT_OK);
    assert_true(one.height > 300 && two.height > one.height && one.width == 500);
    cols[0].kind = cols[1].kind = WEFT_FIELD_NUMBER;
    assert_int_equal(weft_draw_result(&none, &r, NULL, NULL), WEFT_OK);
    assert_int_equal(none.height, 300);
    weft_picture_destroy(&one);
    weft_picture_destroy(&two);
    weft_picture_destroy(&none);
}

/* Chinese can be drawn whatever comes first, when any font of the machine can. */
static void test_font_for_chinese(void **state)
{
    static const char *const latin[] = {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                                        "/usr/share/fonts/dejavu/DejaVuSans.ttf"},
                             *const chinese[] = {"/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
                                                 "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
                                                 "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"};
    const char *first = NULL;
    bool any = false;
    weft_font *f;
    weft_error err;
    for (size_t i = 0; i < 2 && !first; i++)
        first = access(latin[i], R_OK) == 0 ? latin[i] : NULL;
    for (size_t i = 0; i < 3; i++)
        any |= access(chinese[i], R_OK) == 0;
    if (!first || !any)
        skip();
    setenv("WEFT_FONT", first, 1);
    assert_int_equal(weft_font_create(&f, NULL, &err), WEFT_OK);
    assert_true(weft_font_has(f, 0x4e2d) && weft_font_has(f, 'A'));
    weft_font_destroy(&f);
    unsetenv("WEFT_FONT");
}

/* Columns that are not what result.h says (a worker is another program) are left out, never read past their end. */
static void test_result_broken(void **state)
{
    static float values[2] = {10, 10};
    weft_tensor boxes = {.name = "box", .dtype = WEFT_DT_F32, .rank = 1, .shape = {2}, .data = values, .n_bytes = 8};
    weft_tensor scores = {.name = "score", .dtype = WEFT_DT_F64, .rank = 1, .shape = {1}, .data = values, .n_bytes = 8};
    weft_column cols[3] = {{WEFT_FIELD_BOX, true, boxes}, {WEFT_FIELD_SCORE, true, scores}, {WEFT_FIELD_POINTS, true, boxes}};
    weft_result r = {.n_items = 2, .n_columns = 3, .columns = cols};
    weft_picture p = plain(50, 50, 9);
    assert_int_equal(weft_draw_result(&p, &r, NULL, NULL), WEFT_OK);
    assert_int_equal(n_changed(&p, 9), 0);
    weft_picture grey = {0};
    assert_int_equal(weft_draw_result(&grey, &r, NULL, NULL), WEFT_E_INVALID);
    weft_picture_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_polygon_and_lines),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_font),
        cmocka_unit_test(test_canvas_refuses),
        cmocka_unit_test(test_label_place),
        cmocka_unit_test(test_result_shapes),
        cmocka_unit_test(test_result_same_label_same_color),
        cmocka_unit_test(test_result_text),
        cmocka_unit_test(test_result_huge_quad),
        cmocka_unit_test(test_result_list),
        cmocka_unit_test(test_result_matte_and_picture),
        cmocka_unit_test(test_result_whole_scores),
        cmocka_unit_test(test_font_for_chinese),
        cmocka_unit_test(test_result_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
