/* ocr with the real models through the whole engine: character errors on rendered pages (ocr_pages.py, known text), words of
 * scene pictures, the same lines as an independent program (tests/data/ocr/texts.tsv, made by bench/ocr_pages.py), batched equal
 * to single bit for bit, many pages at once, ends in time, and what a single file does. Needs what script/fetch --test brings;
 * exits with 77 without it. */
#include "harness/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "weft/engine.h"

#define MODELS WEFT_CACHE_DIR "/models/ocr/"
#define PICTURES WEFT_CACHE_DIR "/pictures/"
#define PAGES WEFT_BINARY_DIR "/ocr-pages/"
#define MAX_TEXT 8192

static weft_engine *engine; /* the usual one: ocr, with orientation */

/* ---- small tools
 * -------------------------------------------------------------------------------------------------------------------- */

typedef struct file {
    char *bytes; /* NUL-terminated */
    size_t n_bytes;
} file;

static file read_file(const char *path)
{
    file out = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing; run script/fetch --test", path);
    fseek(f, 0, SEEK_END);
    out.n_bytes = (size_t)ftell(f);
    rewind(f);
    out.bytes = malloc(out.n_bytes + 1);
    assert_int_equal(fread(out.bytes, 1, out.n_bytes, f), out.n_bytes);
    out.bytes[out.n_bytes] = 0;
    fclose(f);
    return out;
}

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

/* An engine from a configuration that is written to a file of its own. */
static weft_status open_engine(const char *name, const char *yaml, weft_engine **e, weft_error *err)
{
    char path[512];
    snprintf(path, sizeof path, "%s/ocr_%s_%d.yaml", WEFT_BINARY_DIR, name, (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(yaml, f);
    fclose(f);
    weft_status s = weft_engine_open(path, e, err);
    unlink(path);
    return s;
}

static weft_engine *must_open(const char *name, const char *yaml)
{
    weft_engine *e;
    weft_error err;
    weft_error_clear(&err);
    if (open_engine(name, yaml, &e, &err) != WEFT_OK)
        fail_msg("%s: %s", name, err.text);
    return e;
}

static weft_result *read_with(weft_engine *e, const char *model, const char *path)
{
    file f = read_file(path);
    weft_input in = weft_input_bytes("image", f.bytes, f.n_bytes);
    weft_call call = {.model = model, .inputs = &in, .n_inputs = 1};
    weft_result *r = NULL;
    weft_error err;
    weft_error_clear(&err);
    if (weft_infer(e, &call, &r, &err) != WEFT_OK)
        fail_msg("%s of %s: %s", model, path, err.text);
    free(f.bytes);
    return r;
}

/* All lines without blanks, cut at MAX_TEXT. */
static void add_text(char *to, const char *text, size_t n)
{
    size_t at = strlen(to);
    for (size_t i = 0; i < n && at + 1 < MAX_TEXT; i++)
        if (!strchr(" \t\r\n", text[i]))
            to[at++] = text[i];
    to[at] = 0;
}

static void text_of(const weft_result *r, char *to)
{
    *to = 0;
    for (size_t i = 0; i < r->n_items; i++) {
        size_t n;
        const char *t = weft_result_text(r, "text", i, &n);
        add_text(to, t, n);
    }
}

static size_t points_of(const char *s, uint32_t *to)
{
    size_t left = strlen(s), n = 0;
    while (left > 0)
        to[n++] = weft_utf8_next(&s, &left);
    return n;
}

/* Edit distance in characters. */
static size_t distance(const char *a, const char *b, size_t *n_b)
{
    static uint32_t x[MAX_TEXT], y[MAX_TEXT];
    static size_t row[MAX_TEXT + 1];
    size_t nx = points_of(a, x), ny = points_of(b, y);
    *n_b = ny;
    for (size_t j = 0; j <= ny; j++)
        row[j] = j;
    for (size_t i = 1; i <= nx; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= ny; j++) {
            size_t best = corner + (x[i - 1] != y[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[ny];
}

/* ---- accuracy
 * ------------------------------------------------------------------------------------------------------------------------ */

static const char *const page_names[] = {"notice", "letter", "mixed", "book", "report", "tilted", "reversed", "small"};
#define N_PAGES (sizeof page_names / sizeof *page_names)

static void test_rendered_pages(void **state)
{
    size_t errors = 0, total = 0;
    if (!exists(PAGES "pages.lst"))
        skip();
    for (size_t i = 0; i < N_PAGES; i++) {
        char path[512], wanted[MAX_TEXT] = "", got[MAX_TEXT];
        size_t n;
        snprintf(path, sizeof path, PAGES "%s.txt", page_names[i]);
        file f = read_file(path);
        add_text(wanted, f.bytes, f.n_bytes);
        free(f.bytes);
        snprintf(path, sizeof path, PAGES "%s.png", page_names[i]);
        weft_result *r = read_with(engine, "ocr", path);
        text_of(r, got);
        weft_result_unref(r);
        size_t d = distance(got, wanted, &n);
        printf("page %-9s %4zu characters, %2zu errors\n", page_names[i], n, d);
        errors += d;
        total += n;
    }
    printf("rendered pages: %zu errors in %zu characters, %.2f %%\n", errors, total, 100.0 * (double)errors / (double)total);
    assert_true(total > 1000);
    assert_true(errors * 100 <= total);
}

/* Words of OpenCV's scene text pictures (models-and-data facts of the package); `core` are the 24 by which recognisers are
 * compared. */
static const struct {
    const char *picture, *words;
    bool core;
} scenes[] = {
    {"scenetext01", "NOTICE DOUBLE PARKING PROHIBITED AT ALL TIMES", true},
    {"scenetext02", "Sports Centre Wivenhoe Park Conference Centre Car Parks", true},
    {"scenetext03", "the copy centre", true},
    {"scenetext04", "GM 125", true},
    {"scenetext05", "NO PARKING", true},
    {"scenetext06", "priory galleries", true},
    {"scenetext06", "at the ship", false},
    {"scenetext_segmented_word01", "HOTEL", false},
    {"scenetext_segmented_word02", "Stationery Box", false},
    {"scenetext_segmented_word03", "Customer Freephone Private Hire Service", false},
    {"scenetext_segmented_word04", "FOSTER'S", false},
    {"scenetext_segmented_word05", "SANYO PROxtraX MULTIMEDIA PROJECTOR", false},
    {"scenetext_word01", "CHINA", false},
    {"scenetext_word02", "HERE", false},
    {"scenetext_word03", "riser", false},
    {"scenetext_word04", "Produkt", false},
};

static void lower(char *s)
{
    for (; *s; s++)
        *s = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
}

static void test_scene_words(void **state)
{
    size_t found[2] = {0, 0}, total[2] = {0, 0};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        char path[512], text[MAX_TEXT], words[128], *save = NULL;
        snprintf(path, sizeof path, PICTURES "opencv/text/%s.jpg", scenes[i].picture);
        weft_result *r = read_with(engine, "ocr", path);
        text_of(r, text);
        weft_result_unref(r);
        lower(text);
        snprintf(words, sizeof words, "%s", scenes[i].words);
        lower(words);
        for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
            char *at = strstr(text, w);
            total[scenes[i].core]++;
            found[scenes[i].core] += at != NULL;
            if (at)
                memset(at, '|', strlen(w)); /* a word is found once */
            else
                printf("%s: \"%s\" is not in \"%s\"\n", scenes[i].picture, w, text);
        }
    }
    printf("scene words: %zu of %zu, and %zu of %zu others\n", found[1], total[1], found[0], total[0]);
    assert_int_equal(total[1], 24);
    assert_true(found[1] >= 22);
    assert_true(found[0] + 1 >= total[0]);
}

static void test_printed_pages(void **state)
{
    static const struct {
        const char *path, *text;
        size_t most;
    } pages[] = {
        {PICTURES "skimage/page.png",
         "Region-based segmentation Let us first determine markers of the coins and the background. These markers are pixels "
         "that we can label unambiguously as either object "
         "or background. Here, the markers are found at the two extreme parts of the histogram of grey values: >>> markers = "
         "np.zeros_like(coins)",
         12}, /* curved lines, small letters */
        {PICTURES "opencv/data/imageTextN.png",
         "technical details are too complex to cover in the book itself. In teaching our courses, we have found it useful for "
         "the students to attempt a number of small "
         "implementation projects, which often build on one another, in order to get them used to working with real-world images "
         "and the challenges that these present. The "
         "students are then asked to choose an individual topic for each of their small-group, final projects. (Sometimes these "
         "projects even turn into conference papers!) The "
         "exercises at the end of each chapter contain numerous suggestions for smaller mid-term projects, as well as more "
         "open-ended problems whose solutions are still active "
         "research topics. Wherever possible, I encourage students to try their algorithms on their own personal photographs, "
         "since this better motivates them, often leads to "
         "creative variants on the problems, and better acquaints them with the variety and complexity of real-world imagery. In "
         "formulating and solving computer vision problems, "
         "I have often found it useful to draw inspiration from three high-level approaches:",
         5},
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char wanted[MAX_TEXT] = "", got[MAX_TEXT];
        size_t n;
        weft_result *r = read_with(engine, "ocr", pages[i].path);
        add_text(wanted, pages[i].text, strlen(pages[i].text));
        text_of(r, got);
        weft_result_unref(r);
        size_t d = distance(got, wanted, &n);
        printf("%s: %zu errors in %zu characters\n", pages[i].path, d, n);
        assert_true(d <= pages[i].most);
    }
}

/* ---- the independent program
 * -------------------------------------------------------------------------------------------------------- */

typedef struct golden {
    char picture[128], text[256];
    float quad[8], score;
} golden;

static bool parse_golden(const char *line, golden *g)
{
    int at = 0;
    return line[0] != '#' &&
           sscanf(line, "%127[^\t]\t%f\t%f\t%f\t%f\t%f\t%f\t%f\t%f\t%f\t%n", g->picture, &g->quad[0], &g->quad[1], &g->quad[2],
                  &g->quad[3], &g->quad[4], &g->quad[5], &g->quad[6], &g->quad[7], &g->score, &at) == 10 &&
           at > 0 && snprintf(g->text, sizeof g->text, "%.*s", (int)strcspn(line + at, "\n"), line + at) > 0;
}

/* 0 = no such box, 1 = the box with another text, 2 = the same. */
static int look_up(const weft_result *r, const golden *g)
{
    for (size_t i = 0; i < r->n_items; i++) {
        float off = 0;
        size_t n;
        for (size_t k = 0; k < 8; k++)
            off = fmaxf(off, fabsf(weft_result_f32(r, "quad", i, k) - g->quad[k]));
        if (off > 3)
            continue;
        const char *t = weft_result_text(r, "text", i, &n);
        bool same = n == strlen(g->text) && memcmp(t, g->text, n) == 0;
        if (!same)
            printf("%s: \"%.*s\" (%.3f), the independent program reads \"%s\" (%.3f)\n", g->picture, (int)n, t,
                   (double)weft_result_f32(r, "score", i, 0), g->text, (double)g->score);
        else if (fabsf(weft_result_f32(r, "score", i, 0) - g->score) > 0.03f)
            fail_msg("%s: \"%s\" has score %g, the independent program has %g", g->picture, g->text,
                     (double)weft_result_f32(r, "score", i, 0), (double)g->score);
        return same ? 2 : 1;
    }
    printf("%s: the independent program reads \"%s\" at (%g,%g), weft has no such box\n", g->picture, g->text, (double)g->quad[0],
           (double)g->quad[1]);
    return 0;
}

static void test_same_lines_as_the_independent_program(void **state)
{
    char line[2048], picture[128] = "";
    size_t n = 0, boxes = 0, texts = 0, extra = 0;
    weft_result *r = NULL;
    FILE *f = fopen(WEFT_TEST_DATA "/ocr/texts.tsv", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        golden g;
        if (!parse_golden(line, &g))
            continue;
        if (strcmp(picture, g.picture)) {
            char path[512];
            weft_result_unref(r);
            snprintf(picture, sizeof picture, "%s", g.picture);
            snprintf(path, sizeof path, PICTURES "%s", g.picture);
            r = read_with(engine, "plain", path);
            extra += r->n_items;
        }
        int found = look_up(r, &g);
        n++;
        boxes += found > 0;
        texts += found == 2;
    }
    fclose(f);
    weft_result_unref(r);
    printf("independent program: %zu lines, the same box %zu, the same text %zu; weft has %zu lines\n", n, boxes, texts, extra);
    assert_true(n > 60);
    assert_true(boxes + 1 >= n && extra <= n + 1);
    assert_true(texts * 100 >= n * 97);
}

/* ---- batches, many at once
 * ----------------------------------------------------------------------------------------------------------- */

static const char *const crowd[] = {"opencv/text/scenetext01.jpg", "opencv/text/scenetext_segmented_word03.jpg",
                                    "skimage/page.png", "opencv/data/imageTextN.png"};
#define N_CROWD (sizeof crowd / sizeof *crowd)

static void assert_same_result(const weft_result *a, const weft_result *b)
{
    assert_int_equal(a->n_items, b->n_items);
    assert_int_equal(a->n_columns, b->n_columns);
    for (size_t i = 0; i < a->n_columns; i++) {
        const weft_tensor *x = &a->columns[i].tensor, *y = &b->columns[i].tensor;
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->n_bytes, y->n_bytes);
        assert_memory_equal(x->data, y->data, x->n_bytes);
    }
}

typedef struct caller {
    pthread_t thread;
    weft_engine *engine;
    const char *path;
    weft_result *result;
} caller;

static void *call_twice(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < 2; i++) {
        weft_result *r = read_with(c->engine, "ocr", c->path);
        weft_result_unref(c->result);
        c->result = r;
    }
    return NULL;
}

/* Pages from eight callers at once. */
static void read_crowd(weft_engine *e, weft_result *results[2 * N_CROWD])
{
    caller callers[2 * N_CROWD] = {0};
    char paths[N_CROWD][512];
    for (size_t i = 0; i < 2 * N_CROWD; i++) {
        snprintf(paths[i % N_CROWD], sizeof paths[0], PICTURES "%s", crowd[i % N_CROWD]);
        callers[i].engine = e;
        callers[i].path = paths[i % N_CROWD];
    }
    for (size_t i = 0; i < 2 * N_CROWD; i++)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_twice, &callers[i]), 0);
    for (size_t i = 0; i < 2 * N_CROWD; i++) {
        pthread_join(callers[i].thread, NULL);
        results[i] = callers[i].result;
    }
}

static uint64_t runs_of_several_rows(weft_engine *e, const char *model)
{
    weft_model_stats stats;
    uint64_t n = 0;
    assert_int_equal(weft_engine_model_stats(e, model, &stats, NULL), WEFT_OK);
    for (int i = 1; i < WEFT_STAT_BATCH_BUCKETS; i++)
        n += stats.batch_rows[i];
    return n;
}

/* The recogniser forms batches of lines of all pages (a step of 256 px makes them meet, a window makes them wait): every byte of
 * every answer is as alone. */
static void test_batched_equals_single_bit_for_bit(void **state)
{
    static const char yaml[] = "models:\n"
                               "  - name: ocr\n"
                               "    type: ocr\n"
                               "    detect: " MODELS "ch_PP-OCRv4_det_infer.onnx\n"
                               "    recognise:\n"
                               "      path: " MODELS "ch_PP-OCRv4_rec_infer.onnx\n"
                               "      max_batch: %d\n"
                               "      batch_window_ms: %d\n"
                               "    dictionary: " MODELS "ppocr_keys_v1.txt\n"
                               "    lines: {width_step: 256}\n"
                               "    concurrency: 8\n";
    char text[2048];
    snprintf(text, sizeof text, yaml, 1, 0);
    weft_engine *single = must_open("single", text);
    snprintf(text, sizeof text, yaml, 8, 100);
    weft_engine *batched = must_open("batched", text);
    weft_result *crowded[2 * N_CROWD];
    read_crowd(batched, crowded);
    uint64_t shared = runs_of_several_rows(batched, "ocr.recognise");
    printf("runs of several lines: %llu\n", (unsigned long long)shared);
    assert_true(shared > 0);
    assert_int_equal(runs_of_several_rows(single, "ocr.recognise"), 0);
    for (size_t i = 0; i < 2 * N_CROWD; i++) {
        char path[512];
        snprintf(path, sizeof path, PICTURES "%s", crowd[i % N_CROWD]);
        weft_result *alone = read_with(single, "ocr", path);
        assert_true(alone->n_items > 0);
        assert_same_result(alone, crowded[i]);
        weft_result_unref(alone);
        weft_result_unref(crowded[i]);
    }
    weft_engine_destroy(&single);
    weft_engine_destroy(&batched);
}

static void test_many_pages_at_once(void **state)
{
    weft_result *crowded[2 * N_CROWD];
    read_crowd(engine, crowded);
    for (size_t i = 0; i < 2 * N_CROWD; i++) {
        char path[512];
        snprintf(path, sizeof path, PICTURES "%s", crowd[i % N_CROWD]);
        weft_result *alone = read_with(engine, "ocr", path);
        assert_same_result(alone, crowded[i]);
        weft_result_unref(alone);
        weft_result_unref(crowded[i]);
    }
}

/* ---- ends
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static void test_deadlines_and_cancels(void **state)
{
    file f = read_file(PICTURES "opencv/data/imageTextN.png");
    weft_input in = weft_input_bytes("image", f.bytes, f.n_bytes);
    size_t late = 0;
    for (int64_t ms = 1; ms <= 256; ms *= 2) {
        weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1, .timeout_ms = ms};
        weft_result *r;
        weft_error err;
        weft_status s = weft_infer(engine, &call, &r, &err);
        if (s != WEFT_OK)
            assert_true(s == WEFT_E_DEADLINE || s == WEFT_E_BUSY); /* it may also be refused at once */
        late += s != WEFT_OK;
        weft_result_unref(r);
    }
    assert_true(late > 0);
    weft_result *r = read_with(engine, "ocr", PICTURES "opencv/data/imageTextN.png"); /* nothing is stuck */
    assert_int_equal(r->n_items, 13);
    weft_result_unref(r);
    free(f.bytes);
}

static void test_refusals(void **state)
{
    weft_input in = weft_input_bytes("image", "no picture", 10);
    weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1};
    weft_result *r;
    weft_error err;
    assert_int_equal(weft_infer(engine, &call, &r, &err), WEFT_E_MEDIA_TYPE);
    weft_engine *e;
    weft_error_clear(&err);
    /* The dictionary of another model: both numbers are in the sentence. */
    assert_int_equal(open_engine("keys",
                                 "models:\n  - name: ocr\n    type: ocr\n    detect: " MODELS
                                 "ch_PP-OCRv4_det_infer.onnx\n    recognise: " MODELS
                                 "ch_PP-OCRv4_rec_infer.onnx\n    dictionary: " WEFT_CACHE_DIR "/models/detect/coco80.txt\n",
                                 &e, &err),
                     WEFT_E_CONFIG);
    printf("%s\n", err.text);
    assert_non_null(strstr(err.text, "80 lines"));
    assert_non_null(strstr(err.text, "6625 classes"));
}

/* The author's block: a type with one file. */
static void test_a_single_file(void **state)
{
    weft_engine *e = must_open("detector", "models:\n"
                                           "  - name: ocr\n"
                                           "    type: OcrExecutor\n"
                                           "    om_path: " MODELS "ch_PP-OCRv4_det_infer.onnx\n"
                                           "    max_batch: 2\n"
                                           "    queue_size: 128\n"
                                           "    preprocess:\n"
                                           "      input_size: [640, 640]\n"
                                           "      normalize: true\n"
                                           "      mean: [0.485, 0.456, 0.406]\n"
                                           "      std: [0.229, 0.224, 0.225]\n"
                                           "    postprocess:\n"
                                           "      min_confidence: 0.5\n"
                                           "      max_texts: 20\n");
    weft_result *r = read_with(e, "ocr", PICTURES "opencv/text/scenetext_segmented_word03.jpg");
    assert_int_equal(r->n_items, 5); /* boxes of: Customer Freephone Private Hire Service */
    for (size_t i = 0; i < r->n_items; i++) {
        size_t n;
        weft_result_text(r, "text", i, &n);
        assert_int_equal(n, 0);
        assert_true(weft_result_f32(r, "score", i, 0) >= 0.6f);
    }
    weft_result_unref(r);
    weft_engine_destroy(&e);
    e = must_open("recogniser", "models:\n"
                                "  - name: ocr\n"
                                "    type: ocr\n"
                                "    path: " MODELS "ch_PP-OCRv4_rec_infer.onnx\n"
                                "    dictionary: " MODELS "ppocr_keys_v1.txt\n");
    r = read_with(e, "ocr", PICTURES "opencv/text/scenetext_word01.jpg");
    char text[MAX_TEXT];
    text_of(r, text);
    assert_string_equal(text, "CHINA");
    weft_result_unref(r);
    weft_engine_destroy(&e);
}

/* ---- main
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static int set_up(void **state)
{
    engine = must_open("usual", "models:\n"
                                "  - name: ocr\n"
                                "    type: ocr\n"
                                "    detect: " MODELS "ch_PP-OCRv4_det_infer.onnx\n"
                                "    recognise: " MODELS "ch_PP-OCRv4_rec_infer.onnx\n"
                                "    orient: " MODELS "ch_ppocr_mobile_v2.0_cls_infer.onnx\n"
                                "    dictionary: " MODELS "ppocr_keys_v1.txt\n"
                                "  - name: plain\n"
                                "    type: ocr\n"
                                "    detect: ocr.detect\n"
                                "    recognise: ocr.recognise\n"
                                "    dictionary: " MODELS "ppocr_keys_v1.txt\n"
                                "    boxes: {box_threshold: 0.6}\n");
    return 0;
}

static int tear_down(void **state)
{
    weft_engine_destroy(&engine);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rendered_pages),
        cmocka_unit_test(test_scene_words),
        cmocka_unit_test(test_printed_pages),
        cmocka_unit_test(test_same_lines_as_the_independent_program),
        cmocka_unit_test(test_batched_equals_single_bit_for_bit),
        cmocka_unit_test(test_many_pages_at_once),
        cmocka_unit_test(test_deadlines_and_cancels),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_single_file),
    };
    const char *const needed[] = {WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1", MODELS "ppocr_keys_v1.txt",
                                  PICTURES "opencv/text/scenetext01.jpg", PICTURES "skimage/page.png"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!exists(needed[i])) {
            printf("%s is missing; run script/fetch --test\n", needed[i]);
            return 77;
        }
    setenv("WEFT_ONNXRUNTIME", needed[0], 0);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
