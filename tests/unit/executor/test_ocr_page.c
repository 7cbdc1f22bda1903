/* ocr: the whole pipeline on models that see coloured rectangles (ocr_pipe.h): order, waves, orientation, one file, refusals,
 * ends. */
#include "ocr_pipe.h"

#include <math.h>
#include <stdio.h>

static const toy_line three[] = {{20, 20, 1, false}, {150, 24, 2, false}, {20, 80, 3, false}};

static weft_status run_page(ocr_rig *r, int width, int height, const toy_line *lines, size_t n, weft_result **result)
{
    weft_buffer png;
    toy_page(width, height, lines, n, &png);
    weft_status s = rig_run(r, png.data, png.n_bytes, result);
    weft_buffer_fini(&png);
    return s;
}

static void assert_texts(const weft_result *r, const char *wanted)
{
    char got[256] = "";
    for (size_t i = 0; i < r->n_items; i++) {
        size_t n;
        const char *t = weft_result_text(r, "text", i, &n);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", i ? "," : "", (int)n, t);
    }
    assert_string_equal(got, wanted);
}

static void assert_run(ocr_rig *r, int width, int height, const toy_line *lines, size_t n, const char *wanted)
{
    weft_result *result;
    if (run_page(r, width, height, lines, n, &result) != WEFT_OK)
        fail_msg("%s", r->err.text);
    assert_texts(result, wanted);
    rig_done(r, result);
}

static void test_option_table(void **state)
{
    weft_error err = {0};
    if (weft_options_lint(weft_executor_ocr.options, &err) != WEFT_OK)
        fail_msg("%s", err.text);
}

static void test_lines_in_reading_order(void **state)
{
    ocr_rig r;
    weft_result *result;
    rig_init(&r);
    rig_toys(&r, false);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_non_null(strstr(r.logged, "12 classes"));
    assert_int_equal(run_page(&r, 320, 160, three, 3, &result), WEFT_OK);
    assert_texts(result, "a,b,c");
    assert_int_equal(r.pipe.last_step, r.pipe.n_steps);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabsf(weft_result_f32(result, "score", i, 0) - 0.8f) < 1e-6f);
        /* The core is 79 x 19 between pixel centres: d = 79 * 19 * 1.5 / 196 = 11.5 on each side. */
        const float left = (float)three[i].x - 11.5f, top = (float)three[i].y - 11.5f;
        const float wanted[8] = {left, top, left + 102, top, left + 102, top + 42, left, top + 42};
        for (size_t k = 0; k < 8; k++)
            if (fabsf(weft_result_f32(result, "quad", i, k) - wanted[k]) > 1.5f)
                fail_msg("corner %zu of line %zu is %g, not %g", k, i, (double)weft_result_f32(result, "quad", i, k),
                         (double)wanted[k]);
    }
    rig_done(&r, result);
    assert_run(&r, 320, 160, NULL, 0, "");
    rig_fini(&r);
}

/* 40 lines, at most `in_flight` of them out at once; with few wanted only the first ones are read. */
static void test_waves_and_bounds(void **state)
{
    ocr_rig r;
    toy_line lines[40];
    for (int i = 0; i < 40; i++)
        lines[i] = (toy_line){20 + 130 * (i % 4), 20 + 60 * (i / 4), i % 8 + 1, false};
    rig_init(&r);
    rig_toys(&r, false);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_run(&r, 560, 640, lines, 40, "a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h");
    assert_int_equal(r.pipe.most_in_flight, 4);
    assert_int_equal(r.pipe.n_calls[1], 40);
    r.options.postprocess.max_texts = 5;
    assert_run(&r, 560, 640, lines, 40, "a,b,c,d,e");
    assert_int_equal(r.pipe.n_calls[1], 5);
    r.params[0] = (weft_param){.name = "max_texts", .kind = WEFT_PARAM_INT, .i = 2};
    r.n_params = 1;
    assert_run(&r, 560, 640, lines, 40, "a,b");
    assert_int_equal(r.pipe.n_calls[1], 4); /* a wave is never smaller than what may be in flight */
    lines[0].class = lines[2].class = 9;    /* read with 0.4 */
    assert_run(&r, 560, 640, lines, 40, "b,d");
    r.params[1] = (weft_param){.name = "min_confidence", .kind = WEFT_PARAM_FLOAT, .f = 0.3};
    r.n_params = 2;
    assert_run(&r, 560, 640, lines, 40, "i,b");
    for (int i = 0; i < 40; i++)
        lines[i].class = 9;
    r.n_params = 1;
    assert_run(&r, 560, 640, lines, 40, "");
    assert_int_equal(r.pipe.n_calls[1], 40);
    r.params[0].i = 0;
    weft_result *result;
    assert_int_equal(run_page(&r, 560, 640, lines, 40, &result), WEFT_E_INVALID);
    assert_non_null(strstr(r.err.text, "max_texts"));
    rig_fini(&r);
}

static void test_a_page_on_its_head(void **state)
{
    ocr_rig r;
    /* `three`, turned by 180 degrees on a page of 320 x 160. */
    const toy_line turned[] = {{220, 120, 1, true}, {90, 116, 2, true}, {220, 60, 3, true}};
    rig_init(&r);
    rig_toys(&r, true);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_non_null(strstr(r.logged, "by page"));
    assert_run(&r, 320, 160, turned, 3, "a,b,c");
    assert_run(&r, 320, 160, three, 3, "a,b,c");
    const toy_line one_of_three[] = {{20, 20, 1, false}, {150, 24, 2, true}, {20, 80, 3, false}};
    assert_run(&r, 320, 160, one_of_three, 3, "a,j,c"); /* outvoted */
    const toy_line one_of_two[] = {{20, 20, 1, false}, {150, 24, 2, true}};
    assert_run(&r, 320, 160, one_of_two, 2, "a,j"); /* no majority: nothing is turned */
    r.options.orientation_threshold = 0.995;        /* nobody is that sure */
    assert_run(&r, 320, 160, turned, 3, "j,j,j");
    r.options.orientation = WEFT_OCR_ORIENTATION_LINE;
    r.options.orientation_threshold = 0.97;
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_run(&r, 320, 160, one_of_three, 3, "a,b,c");
    r.options.orientation = WEFT_OCR_ORIENTATION_OFF;
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_run(&r, 320, 160, one_of_three, 3, "a,j,c");
    assert_int_equal(r.pipe.n_calls[2], 0);
    rig_fini(&r);
}

static void test_the_vote_is_bounded(void **state)
{
    ocr_rig r;
    toy_line lines[80];
    for (int i = 0; i < 80; i++)
        lines[i] = (toy_line){20 + 130 * (i % 4), 20 + 45 * (i / 4), 1, false};
    rig_init(&r);
    rig_toys(&r, true);
    assert_int_equal(rig_open(&r), WEFT_OK);
    weft_result *result;
    assert_int_equal(run_page(&r, 560, 930, lines, 80, &result), WEFT_OK);
    assert_int_equal(r.pipe.n_calls[2], 32);
    rig_done(&r, result);
    rig_fini(&r);
}

/* ---- one file, fixed sizes
 * ----------------------------------------------------------------------------------------------------- */

static void test_a_single_detector_gives_boxes(void **state)
{
    ocr_rig r;
    weft_result *result;
    rig_init(&r);
    rig_model(&r, 3, "ocr.model", (const int64_t[]){-1, 3, 640, 640, 0}, (const int64_t[]){-1, 1, 640, 640, 0}, toy_detect);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(r.level, WEFT_LOG_WARN);
    assert_non_null(strstr(r.logged, "boxes without text"));
    assert_int_equal(run_page(&r, 320, 160, three, 3, &result), WEFT_OK); /* top left in the square, twice as large */
    assert_texts(result, ",,");
    assert_int_equal(result->n_items, 3);
    assert_true(fabsf(weft_result_f32(result, "score", 0, 0) - 0.9f) < 0.05f);
    assert_true(fabsf(weft_result_f32(result, "quad", 2, 0) - 8.5f) <= 2 &&
                fabsf(weft_result_f32(result, "quad", 2, 1) - 68.5f) <= 2);
    rig_done(&r, result);
    r.options.preprocess.resize_mode = WEFT_RESIZE_LETTERBOX; /* centred: the same boxes */
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(run_page(&r, 320, 160, three, 3, &result), WEFT_OK);
    assert_true(fabsf(weft_result_f32(result, "quad", 2, 0) - 8.5f) <= 2 &&
                fabsf(weft_result_f32(result, "quad", 2, 1) - 68.5f) <= 2);
    rig_done(&r, result);
    rig_fini(&r);
}

static void test_a_single_recogniser_reads_one_line(void **state)
{
    ocr_rig r;
    weft_result *result;
    const toy_line line = {10, 10, 4, false};
    rig_init(&r);
    rig_model(&r, 3, "ocr.model", (const int64_t[]){1, 3, 48, -1, 0}, (const int64_t[]){1, -1, TOY_CLASSES, 0}, toy_read);
    r.dictionary = TOY_KEYS;
    r.options.dictionary = "keys.txt";
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_non_null(strstr(r.logged, "single line"));
    assert_int_equal(run_page(&r, 100, 40, &line, 1, &result), WEFT_OK);
    assert_texts(result, "d");
    const float page[8] = {0, 0, 100, 0, 100, 40, 0, 40};
    for (size_t k = 0; k < 8; k++)
        assert_true(weft_result_f32(result, "quad", 0, k) == page[k]);
    rig_done(&r, result);
    rig_fini(&r);
}

static void test_directions(void **state)
{
    ocr_rig r;
    rig_init(&r);
    rig_toys(&r, false);
    r.options.postprocess.direction = 1;              /* right-to-left */
    r.dictionary = "xy\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"; /* a word of two letters stays together */
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_run(&r, 320, 160, three, 3, "b,xy,c");
    r.options.postprocess.direction = 2; /* columns from the right */
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_run(&r, 320, 160, three, 3, "b,xy,c");
    const toy_line columns[] = {{20, 20, 1, false}, {150, 24, 2, false}, {150, 80, 3, false}};
    assert_run(&r, 320, 160, columns, 3, "b,c,xy");
    rig_fini(&r);
}

static void test_text_at_the_edge_of_a_small_picture(void **state)
{
    ocr_rig r;
    weft_result *result;
    const toy_line line = {0, 0, 5, false};
    rig_init(&r);
    rig_toys(&r, false);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(run_page(&r, TOY_WIDTH, TOY_HEIGHT, &line, 1, &result), WEFT_OK);
    assert_int_equal(result->n_items, 1);
    const float whole[8] = {0, 0, TOY_WIDTH, 0, TOY_WIDTH, TOY_HEIGHT, 0, TOY_HEIGHT};
    for (size_t k = 0; k < 8; k++)
        assert_true(fabsf(weft_result_f32(result, "quad", 0, k) - whole[k]) <= 1);
    rig_done(&r, result);
    rig_fini(&r);
}

/* ---- refusals at open
 * ---------------------------------------------------------------------------------------------------------- */

static void refused(ocr_rig *r, const char *part)
{
    if (rig_open(r) != WEFT_E_CONFIG)
        fail_msg("accepted, but \"%s\" was expected", part);
    assert_null(r->state);
    if (!strstr(r->err.text, part))
        fail_msg("\"%s\" was expected in: %s", part, r->err.text);
    rig_fini(r);
    rig_init(r);
    rig_toys(r, false);
}

static void test_configurations_that_do_not_fit(void **state)
{
    ocr_rig r;
    rig_init(&r);
    refused(&r, "has no model");
    r.options.dictionary = NULL;
    refused(&r, "no `dictionary`");
    r.dictionary = "a\nb\n";
    refused(&r, "4 classes with the blank and the space (3 without the space), but the recogniser has 12");
    r.options.orientation = WEFT_OCR_ORIENTATION_PAGE;
    refused(&r, "orient");
    r.options.preprocess.resize_mode = WEFT_RESIZE_CROP;
    refused(&r, "crop");
    rig_model(&r, 3, "ocr.model", (const int64_t[]){-1, 3, 640, 640, 0}, (const int64_t[]){-1, 1, 640, 640, 0}, toy_detect);
    refused(&r, "detect is filled too");
    rig_model(&r, 3, "ocr.model", (const int64_t[]){-1, 3, 48, -1, 0}, (const int64_t[]){-1, -1, 12, 0}, toy_read);
    refused(&r, "recognise is filled too");
    rig_model(&r, 3, "ocr.model", (const int64_t[]){-1, 3, 224, 224, 0}, (const int64_t[]){-1, 1000, 0}, toy_read);
    refused(&r, "[-1,1000]");
    rig_model(&r, 0, "cls", (const int64_t[]){-1, 3, 224, 224, 0}, (const int64_t[]){-1, 1000, 0}, toy_detect);
    refused(&r, "the detector (model cls)");
    rig_model(&r, 0, "det", (const int64_t[]){-1, 7, 640, 640, 0}, (const int64_t[]){-1, 1, -1, -1, 0}, toy_detect);
    refused(&r, "det");
    rig_model(&r, 0, "det", (const int64_t[]){4, 3, 640, 640, 0}, (const int64_t[]){4, 1, 640, 640, 0}, toy_detect);
    refused(&r, "exactly 4 pictures");
    r.options.lines.min_width = 5000;
    refused(&r, "lines.max_width");
    rig_fini(&r);
}

/* ---- answers that are wrong
 * ---------------------------------------------------------------------------------------------------- */

typedef struct wrong {
    weft_status status;
    int rank;
    int64_t shape[4];
    float fill;
} wrong;

static weft_status answer_wrong(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err)
{
    const wrong *w = cookie;
    int64_t n = 1;
    if (w->status != WEFT_OK)
        return weft_fail(err, w->status, "the card is on fire");
    out->rank = w->rank;
    for (int i = 0; i < w->rank; i++)
        n *= out->shape[i] = w->shape[i];
    float *p = malloc((size_t)n * sizeof *p + 1);
    for (int64_t i = 0; i < n; i++)
        p[i] = w->fill;
    out->data = p;
    return WEFT_OK;
}

static void test_wrong_answers(void **state)
{
    static const struct {
        size_t slot;
        wrong w;
        weft_status wanted;
        const char *says;
    } cases[] = {
        {0, {.status = WEFT_E_DEVICE}, WEFT_E_DEVICE, "looking for text: the card is on fire"},
        {1, {.status = WEFT_E_RUN_FAILED}, WEFT_E_RUN_FAILED, "the card is on fire"},
        {2, {.status = WEFT_E_NO_MEMORY}, WEFT_E_NO_MEMORY, "orienting line"},
        {0, {.rank = 2, .shape = {3, 4}}, WEFT_E_RUN_FAILED, "[3,4]"},
        {0, {.rank = 4, .shape = {1, 2, 8, 8}}, WEFT_E_RUN_FAILED, "[1,2,8,8]"},
        {0, {.rank = 4, .shape = {1, 1, 0, 8}}, WEFT_E_RUN_FAILED, "[1,1,0,8]"},
        {0, {.rank = 4, .shape = {1, 1, 9000, 1}}, WEFT_E_RUN_FAILED, "9000"},
        {0, {.rank = 4, .shape = {1, 1, 160, 320}, .fill = NAN}, WEFT_E_RUN_FAILED, "finite"},
        {1, {.rank = 3, .shape = {1, 4, 13}}, WEFT_E_RUN_FAILED, "13 classes"},
        {1, {.rank = 3, .shape = {2, 4, 12}}, WEFT_E_RUN_FAILED, "[2,4,12]"},
        {1, {.rank = 3, .shape = {1, 4, 12}, .fill = NAN}, WEFT_E_RUN_FAILED, "finite"},
        {1, {.rank = 3, .shape = {1, 0, 12}}, WEFT_OK, NULL},
        {2, {.rank = 2, .shape = {1, 3}}, WEFT_E_RUN_FAILED, "[1,3]"},
        {2, {.rank = 2, .shape = {1, 2}, .fill = NAN}, WEFT_E_RUN_FAILED, "two probabilities"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ocr_rig r;
        weft_result *result;
        rig_init(&r);
        rig_toys(&r, true);
        assert_int_equal(rig_open(&r), WEFT_OK);
        r.pipe.answers[cases[i].slot] = answer_wrong;
        r.pipe.cookie = (void *)(uintptr_t)&cases[i].w;
        weft_status s = run_page(&r, 320, 160, three, 3, &result);
        if (s != cases[i].wanted)
            fail_msg("case %zu: status %d (%s)", i, s, r.err.text);
        if (cases[i].says && !strstr(r.err.text, cases[i].says))
            fail_msg("case %zu: \"%s\" was expected in: %s", i, cases[i].says, r.err.text);
        if (s == WEFT_OK)
            rig_done(&r, result);
        rig_fini(&r);
    }
}

/* A smaller map than the input (some detectors give a quarter): the boxes are the same. */
static weft_status detect_quarter(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err)
{
    weft_tensor full = *out;
    weft_status s = toy_detect(cookie, in, &full, err);
    int64_t h = full.shape[2] / 4, w = full.shape[3] / 4;
    float *p = malloc((size_t)(h * w) * sizeof *p);
    for (int64_t i = 0; i < h * w; i++)
        p[i] = ((float *)full.data)[(i / w * 4 + 1) * full.shape[3] + i % w * 4 + 1];
    free(full.data);
    *out = full;
    out->shape[2] = h;
    out->shape[3] = w;
    out->data = p;
    return s;
}

static void test_a_smaller_map(void **state)
{
    ocr_rig r;
    weft_result *result;
    rig_init(&r);
    rig_toys(&r, false);
    assert_int_equal(rig_open(&r), WEFT_OK);
    r.pipe.answers[0] = detect_quarter;
    assert_int_equal(run_page(&r, 320, 160, three, 3, &result), WEFT_OK);
    assert_texts(result, "a,b,c");
    assert_true(fabsf(weft_result_f32(result, "quad", 0, 0) - 8.5f) <= 8);
    rig_done(&r, result);
    rig_fini(&r);
}

/* ---- ends
 * ------------------------------------------------------------------------------------------------------------------------ */

static void test_bad_pictures(void **state)
{
    ocr_rig r;
    weft_result *result;
    rig_init(&r);
    rig_toys(&r, false);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(rig_run(&r, "GIF89a....", 10, &result), WEFT_E_MEDIA_TYPE);
    assert_int_equal(r.pipe.n_calls[0], 0);
    r.options.preprocess.max_picture_pixels = 320 * 160 - 1;
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(run_page(&r, 320, 160, three, 3, &result), WEFT_E_TOO_LARGE);
    rig_fini(&r);
}

/* The request ends after the n-th look at it, for every n: no call goes out afterwards, nothing is left behind. */
static void test_cancel_and_deadline_at_every_step(void **state)
{
    ocr_rig r;
    weft_result *result;
    rig_init(&r);
    rig_toys(&r, true);
    assert_int_equal(rig_open(&r), WEFT_OK);
    long n = 0;
    for (;; n++) {
        r.pipe.over_after = n;
        r.pipe.remaining_ns = n % 2 ? 0 : 1000;
        weft_status s = run_page(&r, 320, 160, three, 3, &result);
        if (s == WEFT_OK)
            break;
        assert_int_equal(s, n % 2 ? WEFT_E_DEADLINE : WEFT_E_CANCELLED);
        assert_true(n < 100);
    }
    assert_true(n >= 8); /* after the decode, the detector, before and after each line */
    rig_done(&r, result);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option_table),
        cmocka_unit_test(test_lines_in_reading_order),
        cmocka_unit_test(test_waves_and_bounds),
        cmocka_unit_test(test_a_page_on_its_head),
        cmocka_unit_test(test_the_vote_is_bounded),
        cmocka_unit_test(test_a_single_detector_gives_boxes),
        cmocka_unit_test(test_a_single_recogniser_reads_one_line),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_text_at_the_edge_of_a_small_picture),
        cmocka_unit_test(test_configurations_that_do_not_fit),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_a_smaller_map),
        cmocka_unit_test(test_bad_pictures),
        cmocka_unit_test(test_cancel_and_deadline_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
