/* ocr as a service on the real models: batched equal to single bit for bit, many pages at once, deadlines, cancels, refusals,
 * progress, and what a single file does. Needs what script/fetch --test brings; exits with 77 without it. */
#include "ocr_help.h"

#include <pthread.h>
#include <stdatomic.h>

static weft_engine *engine;

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

static void *read_page(void *arg)
{
    caller *c = arg;
    c->result = read_with(c->engine, "ocr", c->path);
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
        assert_int_equal(pthread_create(&callers[i].thread, NULL, read_page, &callers[i]), 0);
    for (size_t i = 0; i < 2 * N_CROWD; i++) {
        pthread_join(callers[i].thread, NULL);
        results[i] = callers[i].result;
    }
}

/* Every byte of the answers given in the crowd is as when the page is read alone; frees them. */
static void compare_with_lone(weft_engine *e, weft_result *crowded[2 * N_CROWD])
{
    for (size_t i = 0; i < N_CROWD; i++) {
        char path[512];
        snprintf(path, sizeof path, PICTURES "%s", crowd[i]);
        weft_result *alone = read_with(e, "ocr", path);
        assert_true(alone->n_items > 0);
        assert_same_result(alone, crowded[i]);
        assert_same_result(alone, crowded[i + N_CROWD]);
        weft_result_unref(alone);
        weft_result_unref(crowded[i]);
        weft_result_unref(crowded[i + N_CROWD]);
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
    compare_with_lone(single, crowded);
    weft_engine_destroy(&single);
    weft_engine_destroy(&batched);
}

static void test_many_pages_at_once(void **state)
{
    weft_result *crowded[2 * N_CROWD];
    read_crowd(engine, crowded);
    compare_with_lone(engine, crowded);
}

/* ---- ends
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static void test_deadlines(void **state)
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

typedef struct watcher {
    atomic_int steps, n_steps, done;
    weft_status status;
    size_t n_items;
} watcher;

static void on_progress(void *cookie, int step, int n_steps)
{
    watcher *w = cookie;
    atomic_store(&w->steps, step);
    atomic_store(&w->n_steps, n_steps);
}

static void on_done(void *cookie, weft_result *r)
{
    watcher *w = cookie;
    w->status = r->error.status;
    w->n_items = r->n_items;
    weft_result_unref(r);
    atomic_fetch_add(&w->done, 1);
}

static void wait_for(const atomic_int *what, int at_least)
{
    for (int i = 0; i < 60000 && atomic_load(what) < at_least; i++)
        usleep(1000);
    assert_true(atomic_load(what) >= at_least);
}

/* One page to its end; another is cancelled as soon as its boxes are known. */
static void test_progress_and_cancel(void **state)
{
    file f = read_file(PICTURES "opencv/data/imageTextN.png");
    weft_input in = weft_input_bytes("image", f.bytes, f.n_bytes);
    weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1};
    watcher whole = {0}, cut = {0};
    weft_async a = {.done = on_done, .progress = on_progress, .cookie = &whole};
    weft_error err;
    uint64_t ticket;
    assert_int_equal(weft_infer_async(engine, &call, &a, &ticket, &err), WEFT_OK);
    wait_for(&whole.done, 1);
    assert_int_equal(whole.status, WEFT_OK);
    assert_int_equal(whole.n_items, 13);
    assert_int_equal(whole.steps, whole.n_steps);
    a.cookie = &cut;
    assert_int_equal(weft_infer_async(engine, &call, &a, &ticket, &err), WEFT_OK);
    wait_for(&cut.steps, 1);
    weft_status s = weft_cancel(engine, ticket);
    assert_true(s == WEFT_OK || s == WEFT_E_NOT_FOUND);
    wait_for(&cut.done, 1);
    assert_int_equal(cut.status, s == WEFT_OK ? WEFT_E_CANCELLED : WEFT_OK);
    weft_result *r = read_with(engine, "ocr", PICTURES "opencv/data/imageTextN.png");
    assert_int_equal(r->n_items, 13);
    weft_result_unref(r);
    assert_int_equal(cut.done, 1);
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
    engine = must_open("service", "models:\n" OCR_BLOCK);
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
        cmocka_unit_test(test_batched_equals_single_bit_for_bit),
        cmocka_unit_test(test_many_pages_at_once),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_progress_and_cancel),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_single_file),
    };
    return ocr_files_present() ? cmocka_run_group_tests(tests, set_up, tear_down) : 77;
}
