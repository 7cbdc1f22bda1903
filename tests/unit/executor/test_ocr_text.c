/* ocr: the dictionary and greedy CTC decoding, by hand. */
#include "base/arena.h"
#include "base/fp.h"
#include "executor/ocr/ocr_text.h"
#include "harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rig {
    weft_arena *arena;
    weft_open open;
    const char *text;
    size_t n_bytes;
    weft_ocr_dictionary d;
    weft_error err;
} rig;

static void *rig_alloc(const weft_open *o, size_t n_bytes)
{
    return weft_arena_zalloc(((rig *)o->internal)->arena, n_bytes);
}

static weft_status rig_read(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                            weft_error *err)
{
    rig *r = o->internal;
    if (!r->text)
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no file %s", path);
    *text = r->text;
    *n_bytes = r->n_bytes;
    return WEFT_OK;
}

static weft_status open_bytes(rig *r, const char *text, size_t n_bytes, int64_t n_classes)
{
    r->arena = weft_arena_create(NULL, 0);
    r->open = (weft_open){.name = "ocr", .read_file = rig_read, .alloc = rig_alloc, .internal = r};
    r->text = text;
    r->n_bytes = n_bytes;
    return weft_ocr_dictionary_open(&r->open, "keys.txt", n_classes, &r->d, &r->err);
}

static weft_status open_text(rig *r, const char *text, int64_t n_classes)
{
    return open_bytes(r, text, strlen(text), n_classes);
}

static void assert_word(const rig *r, int64_t class, const char *wanted)
{
    assert_int_equal(r->d.words[class].n_bytes, strlen(wanted));
    assert_memory_equal(r->d.words[class].text, wanted, strlen(wanted));
}

static void test_dictionary_with_and_without_space(void **state)
{
    rig r = {0};
    assert_int_equal(open_text(&r, "'\n正\nab", 5), WEFT_OK); /* 3 lines, blank, space; no newline at the end */
    assert_int_equal(r.d.n_classes, 5);
    assert_word(&r, 0, "");
    assert_word(&r, 1, "'");
    assert_word(&r, 2, "正");
    assert_word(&r, 3, "ab");
    assert_word(&r, 4, " ");
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_text(&r, "'\n正\nab\n", 4), WEFT_OK);
    assert_int_equal(r.d.n_classes, 4);
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_text(&r, "\xEF\xBB\xBF a\r\n \r\n", -1), WEFT_OK); /* mark, blanks and line ends */
    assert_int_equal(r.d.n_classes, 4);
    assert_word(&r, 1, " a");
    assert_word(&r, 2, " ");
    weft_arena_destroy(&r.arena);
}

static void test_dictionary_that_does_not_fit(void **state)
{
    rig r = {0};
    assert_int_equal(open_text(&r, "a\nb\nc\n", 97), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "keys.txt has 3 lines"));
    assert_non_null(strstr(r.err.text, "5 classes"));
    assert_non_null(strstr(r.err.text, "97 classes"));
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_text(&r, "a\nb\nc\n", 6), WEFT_E_CONFIG);
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_text(&r, "a\nb\nc\n", -1), WEFT_OK);
    assert_int_equal(weft_ocr_dictionary_check(&r.d, 5, &r.err), WEFT_OK);
    assert_int_equal(weft_ocr_dictionary_check(&r.d, 6, &r.err), WEFT_E_RUN_FAILED);
    weft_arena_destroy(&r.arena);
}

static void test_dictionary_that_is_no_text(void **state)
{
    rig r = {0};
    assert_int_equal(open_text(&r, "", 2), WEFT_E_CONFIG);
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_text(&r, "a\n\xff\xfe\n", 4), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "line 2"));
    weft_arena_destroy(&r.arena);
    assert_int_equal(open_bytes(&r, "a\nb\0c\n", 6, 4), WEFT_E_CONFIG);
    weft_arena_destroy(&r.arena);
    char *longest = malloc(302);
    memset(longest, 'x', 300);
    memcpy(longest + 300, "\n", 2);
    assert_int_equal(open_text(&r, longest, 3), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "too long"));
    weft_arena_destroy(&r.arena);
    free(longest);
    r = (rig){0};
    r.open = (weft_open){.read_file = rig_read, .alloc = rig_alloc, .internal = &r};
    assert_int_equal(weft_ocr_dictionary_open(&r.open, "gone.txt", 3, &r.d, &r.err), WEFT_E_NOT_FOUND);
    assert_non_null(strstr(r.err.text, "gone.txt"));
}

/* ---- CTC ----------------------------------------------------------------------------------------------------------------- */

#define CLASSES 5 /* blank, a, b, c, space */

static weft_status decode(const float *scores, int64_t steps, uint32_t *classes, weft_ocr_path *path, weft_error *err)
{
    float row[CLASSES];
    *path = (weft_ocr_path){.classes = classes};
    return weft_ocr_ctc(scores, WEFT_DT_F32, steps, CLASSES, row, path, err);
}

static void test_repeats_and_blanks(void **state)
{
    /* a a - a b b - : "aab", scores .9 (first a), .8 (second), .5 (first b) */
    const float p[7][CLASSES] = {{.05f, .9f, .05f, 0, 0}, {.3f, .7f, 0, 0, 0}, {.6f, .4f, 0, 0, 0}, {.1f, .8f, .1f, 0, 0},
                                 {.2f, .3f, .5f, 0, 0},   {0, 0, 1, 0, 0},     {1, 0, 0, 0, 0}};
    uint32_t classes[7];
    weft_ocr_path path;
    assert_int_equal(decode(&p[0][0], 7, classes, &path, NULL), WEFT_OK);
    assert_int_equal(path.n, 3);
    assert_int_equal(classes[0], 1);
    assert_int_equal(classes[1], 1);
    assert_int_equal(classes[2], 2);
    assert_true(fabsf(path.score - (.9f + .8f + .5f) / 3) < 1e-6f);
}

static void test_only_blanks_and_no_steps(void **state)
{
    const float p[2][CLASSES] = {{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}};
    uint32_t classes[2];
    weft_ocr_path path;
    assert_int_equal(decode(&p[0][0], 2, classes, &path, NULL), WEFT_OK);
    assert_true(path.n == 0 && path.score == 0);
    assert_int_equal(decode(&p[0][0], 0, classes, &path, NULL), WEFT_OK);
    assert_true(path.n == 0 && path.score == 0);
}

static void test_equal_scores_take_the_smallest_class(void **state)
{
    const float p[2][CLASSES] = {{.5f, .5f, 0, 0, 0}, {0, 0, .5f, .5f, 0}};
    uint32_t classes[2];
    weft_ocr_path path;
    assert_int_equal(decode(&p[0][0], 2, classes, &path, NULL), WEFT_OK);
    assert_int_equal(path.n, 1);
    assert_int_equal(classes[0], 2);
}

static void test_logits_become_probabilities(void **state)
{
    /* softmax of (1, 3, 0, 0, 0): e^3 / (e + e^3 + 3) */
    const float p[1][CLASSES] = {{1, 3, 0, 0, 0}};
    uint32_t classes[1];
    weft_ocr_path path;
    assert_int_equal(decode(&p[0][0], 1, classes, &path, NULL), WEFT_OK);
    assert_int_equal(path.n, 1);
    assert_true(fabs((double)path.score - exp(3) / (exp(1) + exp(3) + 3)) < 1e-6);
}

static void test_broken_scores(void **state)
{
    float p[2][CLASSES] = {{1, 0, 0, 0, 0}, {NAN, NAN, NAN, NAN, NAN}};
    uint32_t classes[2];
    weft_ocr_path path;
    weft_error err = {0};
    assert_int_equal(decode(&p[0][0], 2, classes, &path, &err), WEFT_E_RUN_FAILED);
    assert_non_null(strstr(err.text, "finite"));
    p[1][2] = INFINITY;
    assert_int_equal(decode(&p[0][0], 2, classes, &path, &err), WEFT_E_RUN_FAILED);
    p[1][2] = 1;
    assert_int_equal(decode(&p[0][0], 2, classes, &path, &err), WEFT_OK); /* one good number is enough to go on */
}

/* Every position of the best class in a long row, with half-precision and double scores too: argmax is the largest, first one. */
static void test_long_rows_of_every_type(void **state)
{
    enum { N = 131 };
    float f32[N], row[N];
    uint16_t f16[N], bf16[N];
    double f64[N];
    uint32_t classes[1];
    const struct {
        weft_dtype dtype;
        const void *data;
    } kinds[] = {{WEFT_DT_F32, f32}, {WEFT_DT_F16, f16}, {WEFT_DT_BF16, bf16}, {WEFT_DT_F64, f64}};
    for (size_t at = 1; at < N; at++) {
        for (size_t i = 0; i < N; i++) {
            f32[i] = i == at || i == at + 3 ? 0.5f : 0;
            f64[i] = (double)f32[i];
            f16[i] = weft_f32_to_f16(f32[i]);
            bf16[i] = weft_f32_to_bf16(f32[i]);
        }
        for (size_t k = 0; k < 4; k++) {
            weft_ocr_path path = {.classes = classes};
            assert_int_equal(weft_ocr_ctc(kinds[k].data, kinds[k].dtype, 1, N, row, &path, NULL), WEFT_OK);
            assert_int_equal(path.n, 1);
            assert_int_equal(classes[0], at);
        }
    }
}

static void test_text_forwards_and_backwards(void **state)
{
    rig r = {0};
    assert_int_equal(open_text(&r, "a\n正\nxyz\n", 5), WEFT_OK);
    uint32_t classes[] = {2, 4, 3, 1};
    weft_ocr_path path = {.classes = classes, .n = 4};
    char text[32];
    assert_int_equal(weft_ocr_path_bytes(&r.d, &path), 8);
    weft_ocr_path_write(&r.d, &path, false, text);
    assert_memory_equal(text, "正 xyza", 8);
    weft_ocr_path_write(&r.d, &path, true, text);
    assert_memory_equal(text, "axyz 正", 8);
    weft_arena_destroy(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dictionary_with_and_without_space), cmocka_unit_test(test_dictionary_that_does_not_fit),
        cmocka_unit_test(test_dictionary_that_is_no_text),        cmocka_unit_test(test_repeats_and_blanks),
        cmocka_unit_test(test_only_blanks_and_no_steps),          cmocka_unit_test(test_equal_scores_take_the_smallest_class),
        cmocka_unit_test(test_logits_become_probabilities),       cmocka_unit_test(test_broken_scores),
        cmocka_unit_test(test_long_rows_of_every_type),           cmocka_unit_test(test_text_forwards_and_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
