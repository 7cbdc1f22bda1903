/* Out of memory at every allocation of the picture part: reported, nothing leaked, and it works again afterwards. */
#include "base/arena.h"
#include "harness/alloc_fault.h"
#include "image/decode.h"
#include "image/draw_result.h"
#include "image/encode.h"
#include "image/geometry.h"
#include "image/preprocess.h"
#include "unit/image/help_golden.h"
#include "weft/builder.h"

#include <stdio.h>

typedef weft_status (*work)(void *arg, weft_error *err);

/* Fails the 1st, 2nd, ... allocation until all have failed once. */
static void fail_each(const char *name, work f, void *arg)
{
    long n = 1;
    for (;; n++) {
        weft_error err = {0};
        long before = alloc_outstanding();
        alloc_fault_at(n, false);
        weft_status s = f(arg, &err);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        if (alloc_outstanding() != before)
            fail_msg("%s: %ld blocks leaked when allocation %ld failed", name, alloc_outstanding() - before, n);
        if (!hit) {
            assert_int_equal(s, WEFT_OK);
            break;
        }
        if (s != WEFT_E_NO_MEMORY || err.status != WEFT_E_NO_MEMORY)
            fail_msg("%s: allocation %ld failed, but the answer is %s: %s", name, n, weft_status_name(s), err.text);
    }
    printf("%s: %ld allocations\n", name, n - 1);
    assert_true(n > 1);
}

typedef struct file {
    uint8_t *bytes;
    size_t n;
    int channels;
} file;

static file open_file(const char *name, int channels)
{
    char path[512];
    file f = {.channels = channels};
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
    f.bytes = help_read_file(path, &f.n);
    return f;
}

static weft_status decode_it(void *arg, weft_error *err)
{
    const file *f = arg;
    weft_picture p = {0};
    weft_status s = weft_picture_decode(f->bytes, f->n, NULL, f->channels, &p, err);
    weft_picture_destroy(&p);
    return s;
}

static void test_decode(void **state)
{
    static const struct {
        const char *name;
        int channels;
    } cases[] = {{"jpeg-420.jpg", 3}, {"jpeg-cmyk.jpg", 3},   {"jpeg-progressive.jpg", 4},
                 {"exif-6.jpg", 3},   {"png-rgb8.png", 1},    {"png-palette4i.png", 3},
                 {"exif-6.png", 4},   {"webp-lossy.webp", 1}, {"exif-6.webp", 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file f = open_file(cases[i].name, cases[i].channels);
        fail_each(cases[i].name, decode_it, &f);
        free(f.bytes);
    }
}

static weft_status encode_it(void *arg, weft_error *err)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_status s = weft_picture_encode_png(arg, 6, &out, err);
    if (s == WEFT_OK)
        s = weft_picture_encode_jpeg(arg, 90, WEFT_CHROMA_420, &out, err);
    weft_buffer_fini(&out);
    return s;
}

static weft_status shape_it(void *arg, weft_error *err)
{
    const weft_picture *src = arg;
    weft_picture a = {0}, b = {0};
    const float quad[4][2] = {{1, 1}, {30, 2}, {31, 20}, {0, 25}};
    const uint8_t black[4] = {0};
    weft_status s = weft_picture_resize(src, 20, 20, WEFT_INTERPOLATION_AREA, &a, err);
    if (s == WEFT_OK)
        s = weft_picture_resize(&a, 45, 20, WEFT_INTERPOLATION_BICUBIC, &b, err);
    if (s == WEFT_OK)
        s = weft_picture_warp_quad(src, quad, 50, 50, WEFT_INTERPOLATION_BICUBIC, &a, err);
    if (s == WEFT_OK)
        s = weft_picture_rotate(&a, 1, &b, err);
    if (s == WEFT_OK)
        s = weft_picture_pad(src, 9, 9, 9, 9, black, &b, err);
    if (s == WEFT_OK)
        s = weft_picture_convert(&b, 4, &a, err);
    weft_picture_destroy(&a);
    weft_picture_destroy(&b);
    return s;
}

static weft_status preprocess_it(void *arg, weft_error *err)
{
    const file *f = arg;
    float out[3 * 16 * 16];
    const weft_preprocess_options o = {.normalize = WEFT_TRI_TRUE};
    const weft_tensor_desc d = {.name = "x", .dtype = WEFT_DT_F32, .rank = 4, .shape = {1, 3, 16, 16}};
    weft_preprocess_plan plan;
    weft_status s = weft_preprocess_open(&o, NULL, &d, &plan, err);
    return s == WEFT_OK ? weft_preprocess_run(&plan, f->bytes, f->n, out, NULL, err) : s;
}

static void test_operations(void **state)
{
    weft_picture src = help_golden("src-61x47-3.png"), rgba = help_golden("src-61x47-4.png");
    fail_each("encode RGB", encode_it, &src);
    fail_each("encode RGBA", encode_it, &rgba);
    fail_each("resize, warp, turn, pad", shape_it, &src);
    file f = open_file("jpeg-444.jpg", 3);
    fail_each("preprocess", preprocess_it, &f);
    free(f.bytes);
    weft_picture_destroy(&src);
    weft_picture_destroy(&rgba);
}

/* Glyphs that cannot be kept are left out, which is no failure; so only leaks and the status of what must be reported are checked
 * here. */
static void draw_each(const weft_result *r)
{
    for (long n = 1;; n++) {
        weft_picture p = {0};
        weft_error err = {0};
        long before = alloc_outstanding();
        alloc_fault_at(n, false);
        weft_status s = weft_picture_create(&p, 200, 100, 3, &err);
        if (s == WEFT_OK) {
            memset(p.data, 50, p.capacity_bytes);
            s = weft_draw_result(&p, r, NULL, &err);
        }
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        weft_picture_destroy(&p);
        assert_int_equal(alloc_outstanding(), before);
        assert_true(s == WEFT_OK || (hit && s == WEFT_E_NO_MEMORY));
        if (!hit)
            break;
    }
}

static void test_draw(void **state)
{
    static const weft_field_decl fields[] = {{"quad", WEFT_FIELD_QUAD, WEFT_DT_F32, true, 0, "px"},
                                             {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, "t"},
                                             {"label", WEFT_FIELD_LABEL, WEFT_DT_STRING, true, 0, "l"}};
    static float quads[16] = {10, 10, 150, 20, 150, 50, 10, 40, 160, 5, 180, 5, 180, 90, 160, 90};
    static const char *const texts[2] = {"weft", "ab"};
    weft_tensor t = {
        .name = "quad", .dtype = WEFT_DT_F32, .rank = 3, .shape = {2, 4, 2}, .data = quads, .n_bytes = sizeof(quads)};
    weft_arena *arena = weft_arena_create(NULL, 0);
    for (int kind = 0; kind < 3; kind++) { /* paper, tags, list */
        weft_builder *b;
        assert_int_equal(weft_builder_create(arena, fields, 3, NULL, NULL, &b, NULL), WEFT_OK);
        weft_builder_items(b, 2);
        if (kind < 2)
            assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_QUAD, true, &t, true, NULL), WEFT_OK);
        assert_int_equal(weft_builder_strings(b, kind == 0 ? "text" : "label", texts, NULL, 2, NULL), WEFT_OK);
        draw_each(weft_builder_finish(b, "", "m", "1", NULL, NULL));
    }
    weft_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decode), cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_draw)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
