/* ocr with the real models through the whole engine: character errors on rendered pages (ocr_pages.py, known text), words of
 * scene pictures, and the same lines as an independent program (tests/data/ocr/texts.tsv, made by bench/ocr_pages.py). Needs what
 * script/fetch --test brings; exits with 77 without it. */
#include "ocr_help.h"

#include <math.h>

#include "base/text.h"

static weft_engine *engine; /* ocr with orientation, plain without and with upstream's threshold */

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

/* ---- main
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static int set_up(void **state)
{
    engine = must_open("accuracy", "models:\n" OCR_BLOCK "  - name: plain\n"
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
    };
    return ocr_files_present() ? cmocka_run_group_tests(tests, set_up, tear_down) : 77;
}
