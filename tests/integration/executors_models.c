/* classify, face, detect and embed with the real models and real pictures, through the whole engine on ONNX Runtime, against
 * numbers of an independent program (tests/data/executor/make_goldens.py) and against boxes that people drew. Needs what
 * script/fetch --test brings; exits with 77 without it. */
#include "harness/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft/engine.h"

#define MAX_ROWS 64    /* of one picture in a golden file */
#define MAX_COLUMNS 17 /* after the picture's name */
#define MAX_PICTURES 64

static weft_engine *engine;

/* ---- files -------------------------------------------------------------------------------------------------------------- */

typedef struct golden {
    char picture[128];
    size_t n;
    float rows[MAX_ROWS][MAX_COLUMNS];
} golden;

static golden goldens[MAX_PICTURES];
static size_t n_goldens;

static golden *golden_of(const char *picture)
{
    for (size_t i = 0; i < n_goldens; i++)
        if (strcmp(goldens[i].picture, picture) == 0)
            return &goldens[i];
    assert_true(n_goldens < MAX_PICTURES);
    golden *g = &goldens[n_goldens++];
    memset(g, 0, sizeof *g);
    assert_true(strlen(picture) < sizeof g->picture);
    memcpy(g->picture, picture, strlen(picture) + 1);
    return g;
}

/* Reads tests/data/executor/NAME into goldens, rows grouped by picture. */
static void read_golden(const char *name)
{
    char path[512], line[1024];
    snprintf(path, sizeof path, "%s/executor/%s", WEFT_TEST_DATA, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    n_goldens = 0;
    while (fgets(line, sizeof line, f)) {
        char *at = strchr(line, '\t');
        if (line[0] == '#' || !at)
            continue;
        *at++ = 0;
        golden *g = golden_of(line);
        assert_true(g->n < MAX_ROWS);
        for (size_t c = 0; c < MAX_COLUMNS && *at && *at != '\n'; c++)
            g->rows[g->n][c] = strtof(at, &at);
        g->n++;
    }
    fclose(f);
    assert_true(n_goldens > 0);
}

typedef struct file {
    void *bytes;
    size_t n_bytes;
} file;

static file read_picture(const char *name)
{
    char path[512];
    file out = {NULL, 0};
    snprintf(path, sizeof path, "%s/pictures/%s", WEFT_CACHE_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing; run script/fetch --test", path);
    fseek(f, 0, SEEK_END);
    out.n_bytes = (size_t)ftell(f);
    rewind(f);
    out.bytes = malloc(out.n_bytes);
    assert_int_equal(fread(out.bytes, 1, out.n_bytes, f), out.n_bytes);
    fclose(f);
    return out;
}

static weft_result *run(const char *model, const char *picture)
{
    file f = read_picture(picture);
    weft_input in = weft_input_bytes("image", f.bytes, f.n_bytes);
    weft_call call = {.model = model, .inputs = &in, .n_inputs = 1};
    weft_result *r = NULL;
    weft_error err = {0};
    if (weft_infer(engine, &call, &r, &err) != WEFT_OK)
        fail_msg("%s of %s: %s", model, picture, err.text);
    free(f.bytes);
    return r;
}

/* ---- comparing ----------------------------------------------------------------------------------------------------------- */

static float iou(const float *a, const float *b)
{
    float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    float shared = w > 0 && h > 0 ? w * h : 0;
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
}

static void box_of(const weft_result *r, size_t i, float box[4])
{
    for (size_t k = 0; k < 4; k++)
        box[k] = weft_result_f32(r, "box", i, k);
}

static int index_of(const weft_result *r, size_t i)
{
    return ((const int32_t *)weft_result_column(r, "index")->tensor.data)[i];
}

/* The item of r that overlaps this box most; n_items when none overlaps it by more than half. class_index < 0: any. */
static size_t nearest(const weft_result *r, const float *box, int class_index)
{
    size_t best = r->n_items;
    float most = 0.5f;
    for (size_t i = 0; i < r->n_items; i++) {
        float mine[4];
        box_of(r, i, mine);
        if ((class_index < 0 || index_of(r, i) == class_index) && iou(mine, box) > most) {
            most = iou(mine, box);
            best = i;
        }
    }
    return best;
}

static void assert_near(const char *picture, const char *what, float mine, float theirs, float tolerance)
{
    if (!(fabsf(mine - theirs) <= tolerance))
        fail_msg("%s: %s is %g, the independent program has %g (tolerance %g)", picture, what, (double)mine, (double)theirs,
                 (double)tolerance);
}

/* The two programs decode and scale within one grey level; what lies this near to the threshold may fall on either side of it. */
#define SCORE_TOLERANCE 0.01f
#define PIXEL_TOLERANCE 1.0f

/* Every golden row has its item and every item its golden row. score_at, box_at: columns of the golden file; class_at < 0: no
 * classes. */
static void compare(const weft_result *r, const golden *g, float threshold, int class_at, int score_at, int box_at)
{
    size_t matched = 0, sure = 0;
    for (size_t i = 0; i < g->n; i++) {
        const float *row = g->rows[i];
        size_t mine = nearest(r, row + box_at, class_at < 0 ? -1 : (int)row[class_at]);
        if (mine == r->n_items) {
            if (row[score_at] > threshold + SCORE_TOLERANCE)
                fail_msg("%s: item %zu of the independent program (score %g) was not found", g->picture, i,
                         (double)row[score_at]);
            continue;
        }
        matched++;
        assert_near(g->picture, "score", weft_result_f32(r, "score", mine, 0), row[score_at], SCORE_TOLERANCE);
        for (int k = 0; k < 4; k++)
            assert_near(g->picture, "box", weft_result_f32(r, "box", mine, (size_t)k), row[box_at + k], PIXEL_TOLERANCE);
    }
    for (size_t i = 0; i < r->n_items; i++)
        sure += weft_result_f32(r, "score", i, 0) > threshold + SCORE_TOLERANCE;
    if (sure > matched)
        fail_msg("%s: %zu sure items, the independent program has only %zu of them", g->picture, sure, matched);
}

/* ---- face ----------------------------------------------------------------------------------------------------------------- */

static void compare_faces(const char *model, const char *name)
{
    read_golden(name);
    for (size_t p = 0; p < n_goldens; p++) {
        const golden *g = &goldens[p];
        weft_result *r = run(model, g->picture);
        compare(r, g, 0.6f, -1, 16, 0);
        for (size_t i = 0; i < g->n; i++) {
            size_t mine = nearest(r, g->rows[i], -1);
            for (size_t k = 0; mine < r->n_items && k < 12; k++)
                assert_near(g->picture, "point", weft_result_f32(r, "points", mine, k), g->rows[i][4 + k], PIXEL_TOLERANCE);
        }
        weft_result_unref(r);
    }
}

static void test_faces_equal_the_oracle(void **state)
{
    compare_faces("face", "face_back.tsv");
}

static void test_front_faces_equal_the_oracle(void **state)
{
    compare_faces("face_front", "face_front.tsv");
}

/* 43 boxes that people drew on nine photos: at least 42 are found, and nothing else. The independent program does the same. */
static void test_faces_people_marked(void **state)
{
    size_t n_truth = 0, n_found = 0, n_false = 0;
    read_golden("face_truth.tsv");
    for (size_t p = 0; p < n_goldens; p++) {
        const golden *g = &goldens[p];
        weft_result *r = run("face", g->picture);
        for (size_t t = 0; t < g->n; t++) {
            bool found = false;
            for (size_t i = 0; i < r->n_items; i++) {
                float box[4];
                box_of(r, i, box);
                found = found || iou(box, g->rows[t]) > 0.3f;
            }
            n_found += found;
        }
        for (size_t i = 0; i < r->n_items; i++) {
            float box[4];
            bool real = false;
            box_of(r, i, box);
            for (size_t t = 0; t < g->n; t++)
                real = real || iou(box, g->rows[t]) > 0.3f;
            n_false += !real;
        }
        n_truth += g->n;
        weft_result_unref(r);
    }
    print_message("faces: %zu of %zu found, %zu false\n", n_found, n_truth, n_false);
    assert_int_equal(n_truth, 43);
    assert_true(n_found >= 42);
    assert_int_equal(n_false, 0);
}

/* Ten pictures without a face: the independent program finds one in the cat and one in the coffee cup. */
static void test_no_more_false_faces_than_the_oracle(void **state)
{
    const char *faceless[] = {"skimage/chelsea.png", "skimage/coffee.png", "skimage/rocket.jpg", "skimage/motorcycle_left.png",
                              "skimage/page.png",    "skimage/text.png",   "skimage/coins.png",  "skimage/brick.png",
                              "skimage/grass.png",   "dlib/faces/dogs.jpg"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof faceless / sizeof *faceless; i++) {
        weft_result *r = run("face", faceless[i]);
        n += r->n_items;
        weft_result_unref(r);
    }
    print_message("false faces in ten faceless pictures: %zu\n", n);
    assert_true(n <= 2);
}

/* ---- detect --------------------------------------------------------------------------------------------------------------- */

static void test_objects_equal_the_oracle(void **state)
{
    read_golden("detect_centernet.tsv");
    for (size_t p = 0; p < n_goldens; p++) {
        weft_result *r = run("detect", goldens[p].picture);
        compare(r, &goldens[p], 0.3f, 0, 1, 2);
        weft_result_unref(r);
    }
}

static size_t count_label(const weft_result *r, const char *label)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_items; i++) {
        size_t length = 0;
        const char *text = weft_result_text(r, "label", i, &length);
        n += length == strlen(label) && memcmp(text, label, length) == 0;
    }
    return n;
}

static void test_objects_are_what_is_in_the_pictures(void **state)
{
    const struct {
        const char *picture, *label;
        size_t n;
    } seen[] = {{"skimage/astronaut.png", "person", 1},
                {"skimage/coffee.png", "cup", 1},
                {"skimage/motorcycle_left.png", "motorcycle", 1},
                {"dlib/faces/dogs.jpg", "dog", 4},
                {"labelme/classification/data_annotated/0001.jpg", "cat", 1},
                {"labelme/bbox_detection/data_annotated/2011_000003.jpg", "person", 2},
                {"labelme/bbox_detection/data_annotated/2011_000025.jpg", "bus", 2}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        weft_result *r = run("detect", seen[i].picture);
        if (count_label(r, seen[i].label) != seen[i].n)
            fail_msg("%s: %zu x %s, expected %zu", seen[i].picture, count_label(r, seen[i].label), seen[i].label, seen[i].n);
        weft_result_unref(r);
    }
}

/* ---- classify ------------------------------------------------------------------------------------------------------------- */

/* The best class is the same, or so near to it that a grey level decides; every class that both name has the same score. */
static void compare_classes(const char *model, const char *name, float tolerance)
{
    read_golden(name);
    for (size_t p = 0; p < n_goldens; p++) {
        const golden *g = &goldens[p];
        weft_result *r = run(model, g->picture);
        size_t n_common = 0;
        assert_int_equal(r->n_items, 5);
        for (size_t i = 0; i < r->n_items; i++)
            for (size_t k = 0; k < g->n; k++)
                if (index_of(r, i) == (int)g->rows[k][0]) {
                    n_common++;
                    assert_near(g->picture, "score", weft_result_f32(r, "score", i, 0), g->rows[k][1], tolerance);
                }
        if (g->rows[0][1] - g->rows[1][1] > 2 * tolerance)
            assert_int_equal(index_of(r, 0), (int)g->rows[0][0]);
        assert_true(n_common >= 3);
        weft_result_unref(r);
    }
}

static void test_imagenet_equals_the_oracle(void **state)
{
    compare_classes("imagenet", "classify_imagenet.tsv", 0.02f);
}

static void test_stretched_equals_the_oracle(void **state)
{
    compare_classes("nsfw", "classify_stretched.tsv", 0.02f);
}

static void test_classes_are_what_is_in_the_pictures(void **state)
{
    const struct {
        const char *picture, *label;
    } seen[] = {{"skimage/coffee.png", "espresso"},
                {"skimage/rocket.jpg", "missile"},
                {"labelme/classification/data_annotated/0001.jpg", "tabby"},
                {"labelme/classification/data_annotated/0002.jpg", "flat-coated retriever"}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        weft_result *r = run("imagenet", seen[i].picture);
        size_t n = 0;
        const char *text = weft_result_text(r, "label", 0, &n);
        if (n != strlen(seen[i].label) || strncasecmp(text, seen[i].label, n) != 0)
            fail_msg("%s: \"%.*s\", expected \"%s\"", seen[i].picture, (int)n, text, seen[i].label);
        weft_result_unref(r);
    }
}

/* ---- batches ----------------------------------------------------------------------------------------------------------------
 */

#define N_TOGETHER 8

typedef struct together {
    pthread_mutex_t lock;
    pthread_cond_t all;
    weft_result *results[N_TOGETHER];
    size_t n;
} together;

typedef struct one {
    together *t;
    size_t i;
} one;

static void done(void *cookie, weft_result *r)
{
    one *o = cookie;
    pthread_mutex_lock(&o->t->lock);
    o->t->results[o->i] = r;
    o->t->n++;
    pthread_cond_signal(&o->t->all);
    pthread_mutex_unlock(&o->t->lock);
}

static void assert_same_answer(const weft_result *a, const weft_result *b)
{
    assert_int_equal(a->n_items, b->n_items);
    assert_int_equal(a->n_columns, b->n_columns);
    for (size_t c = 0; c < a->n_columns; c++) {
        assert_int_equal(a->columns[c].tensor.n_bytes, b->columns[c].tensor.n_bytes);
        assert_memory_equal(a->columns[c].tensor.data, b->columns[c].tensor.data, a->columns[c].tensor.n_bytes);
    }
}

/* Sends all pictures at once to the model that batches and waits for all answers. Of picture `cut` only the first half is sent.
 */
static void run_together(together *t, const char *const pictures[N_TOGETHER], size_t cut)
{
    one ones[N_TOGETHER];
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->all, NULL);
    t->n = 0;
    for (size_t i = 0; i < N_TOGETHER; i++) {
        file f = read_picture(pictures[i]);
        weft_input in = weft_input_bytes("image", f.bytes, i == cut ? f.n_bytes / 2 : f.n_bytes);
        weft_call call = {.model = "imagenet_batched", .inputs = &in, .n_inputs = 1};
        ones[i] = (one){t, i};
        weft_async a = {.done = done, .cookie = &ones[i]}; /* no release: the picture is copied */
        weft_error err = {0};
        if (weft_infer_async(engine, &call, &a, NULL, &err) != WEFT_OK)
            fail_msg("%s", err.text);
        free(f.bytes);
    }
    pthread_mutex_lock(&t->lock);
    while (t->n < N_TOGETHER)
        pthread_cond_wait(&t->all, &t->lock);
    pthread_mutex_unlock(&t->lock);
    pthread_cond_destroy(&t->all);
    pthread_mutex_destroy(&t->lock);
}

static void assert_equals_single(const weft_result *r, const char *picture)
{
    weft_result *single = run("imagenet", picture);
    if (r->error.status != WEFT_OK)
        fail_msg("%s: %s", picture, r->error.text);
    assert_same_answer(r, single);
    weft_result_unref(single);
}

/* Eight different pictures at once through the model that batches, against the same weights one at a time: every bit is equal.
 * How many rows share a run is the engine's choice by measured cost, and on a CPU it may be one; the next test forces eight. */
static void test_batched_equals_single(void **state)
{
    const char *pictures[N_TOGETHER] = {"skimage/chelsea.png",         "skimage/coffee.png",
                                        "skimage/rocket.jpg",          "skimage/motorcycle_left.png",
                                        "skimage/astronaut.png",       "dlib/faces/dogs.jpg",
                                        "matplotlib/grace_hopper.jpg", "labelme/classification/data_annotated/0001.jpg"};
    together t;
    int largest = 0;
    run_together(&t, pictures, N_TOGETHER);
    for (size_t i = 0; i < N_TOGETHER; i++) {
        assert_equals_single(t.results[i], pictures[i]);
        largest = t.results[i]->timing.batch_rows > largest ? t.results[i]->timing.batch_rows : largest;
        weft_result_unref(t.results[i]);
    }
    print_message("largest batch: %d rows\n", largest);
}

#define ROW (3 * 224 * 224)

static weft_result *run_rows(float *rows, int64_t n_rows)
{
    weft_tensor t = {.name = "input",
                     .dtype = WEFT_DT_F32,
                     .rank = 4,
                     .shape = {n_rows, 3, 224, 224},
                     .data = rows,
                     .n_bytes = (size_t)n_rows * ROW * sizeof *rows};
    weft_input in = weft_input_tensor(&t);
    weft_call call = {.model = "imagenet_raw", .inputs = &in, .n_inputs = 1};
    weft_result *r = NULL;
    weft_error err = {0};
    if (weft_infer(engine, &call, &r, &err) != WEFT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(r->timing.batch_rows, n_rows);
    return r;
}

/* Rows of one request stay together: eight in one run, then each alone. */
static void test_eight_rows_equal_eight_runs(void **state)
{
    float *rows = malloc(N_TOGETHER * ROW * sizeof *rows);
    uint32_t seed = 1;
    for (size_t i = 0; i < N_TOGETHER * ROW; i++) {
        seed = seed * 1664525u + 1013904223u;
        rows[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
    weft_result *all = run_rows(rows, N_TOGETHER);
    const weft_tensor *probabilities = &weft_result_column(all, "prob")->tensor;
    assert_int_equal(probabilities->n_bytes, N_TOGETHER * 1000 * sizeof(float));
    for (size_t i = 0; i < N_TOGETHER; i++) {
        weft_result *one_row = run_rows(rows + i * ROW, 1);
        const weft_tensor *alone = &weft_result_column(one_row, "prob")->tensor;
        assert_int_equal(alone->n_bytes, 1000 * sizeof(float));
        assert_memory_equal(alone->data, (const float *)probabilities->data + i * 1000, alone->n_bytes);
        weft_result_unref(one_row);
    }
    weft_result_unref(all);
    free(rows);
}

/* A photo that lost its second half, among seven good ones: it fails, they do not. */
static void test_one_bad_picture_fails_alone(void **state)
{
    const char *pictures[N_TOGETHER] = {"skimage/chelsea.png", "skimage/coffee.png",    "skimage/rocket.jpg",
                                        "dlib/faces/dogs.jpg", "skimage/astronaut.png", "skimage/motorcycle_left.png",
                                        "skimage/coins.png",   "skimage/page.png"};
    together t;
    run_together(&t, pictures, 3);
    for (size_t i = 0; i < N_TOGETHER; i++) {
        if (i == 3)
            assert_int_equal(t.results[i]->error.status, WEFT_E_UNPROCESSABLE);
        else
            assert_equals_single(t.results[i], pictures[i]);
        weft_result_unref(t.results[i]);
    }
}

/* ---- embed -------------------------------------------------------------------------------------------------------------------
 */

static void test_embedding_equals_the_oracle(void **state)
{
    read_golden("embed_faceres.tsv");
    for (size_t p = 0; p < n_goldens; p++) {
        const golden *g = &goldens[p];
        weft_result *r = run("embed", g->picture);
        const weft_column *v = weft_result_column(r, "embedding");
        double length = 0;
        assert_int_equal(v->tensor.shape[0], 1024);
        for (size_t k = 0; k < 1024; k++)
            length += (double)((const float *)v->tensor.data)[k] * ((const float *)v->tensor.data)[k];
        assert_true(fabs(length - 1.0) < 1e-4);
        for (size_t k = 0; k < 16; k += 2)
            assert_near(g->picture, "element", ((const float *)v->tensor.data)[(size_t)g->rows[0][k]], g->rows[0][k + 1], 0.002f);
        weft_result_unref(r);
    }
}

/* ---- set-up ------------------------------------------------------------------------------------------------------------------
 */

static bool have(const char *relative)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", WEFT_CACHE_DIR, relative);
    return access(path, R_OK) == 0;
}

static const char configuration[] = "models:\n"
                                    "  - name: face\n"
                                    "    type: face\n"
                                    "    path: CACHE/models/face/face_detection_back_256x256_barracuda.onnx\n"
                                    "  - name: face_front\n"
                                    "    type: FaceDetectExecutor\n"
                                    "    path: CACHE/models/face/face_detection_front_128x128_barracuda.onnx\n"
                                    "  - name: detect\n"
                                    "    type: detect\n"
                                    "    path: CACHE/models/detect/centernet.onnx\n"
                                    "  - name: imagenet\n"
                                    "    type: ImageClsExecutor\n"
                                    "    path: CACHE/models/classify/efficientnet_lite0.onnx\n"
                                    "    preprocess: &lite {scale: 1, mean: [127, 127, 127], std: [128, 128, 128]}\n"
                                    "    postprocess: &names {labels: CACHE/models/classify/labels.txt}\n"
                                    "  - name: imagenet_batched\n"
                                    "    type: classify\n"
                                    "    path: CACHE/models/classify/efficientnet_lite0.onnx\n"
                                    "    max_batch: 4\n"
                                    "    batch_window_ms: 200\n"
                                    "    instances: 1\n"
                                    "    preprocess: *lite\n"
                                    "    postprocess: *names\n"
                                    "  - name: imagenet_raw\n"
                                    "    type: tensor\n"
                                    "    path: CACHE/models/classify/efficientnet_lite0.onnx\n"
                                    "    max_batch: 8\n"
                                    "  - name: embed\n"
                                    "    type: embed\n"
                                    "    path: CACHE/models/face/faceres.onnx\n"
                                    "    preprocess: {normalize: false}\n"
                                    "    postprocess: {output: out_global_pooling_Mean}\n"
                                    "  - name: nsfw\n"
                                    "    type: classify\n"
                                    "    path: CACHE/models/classify/nsfw_mobilenet_v2.onnx\n"
                                    "    preprocess: {resize_mode: stretch, scale: 0.00392156862745098}\n"
                                    "    postprocess: {labels: CACHE/models/classify/nsfw5.txt}\n";

static int open_engine(void **state)
{
    char path[] = "/tmp/weft-executors-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    weft_error err = {0};
    assert_non_null(f);
    for (const char *c = configuration; *c;) {
        bool cache = strncmp(c, "CACHE", 5) == 0;
        fputs(cache ? WEFT_CACHE_DIR : (char[]){*c, 0}, f);
        c += cache ? 5 : 1;
    }
    fclose(f);
    weft_status s = weft_engine_open(path, &engine, &err);
    unlink(path);
    if (s != WEFT_OK)
        print_error("%s\n", err.text);
    return s == WEFT_OK ? 0 : -1;
}

static int close_engine(void **state)
{
    weft_engine_destroy(&engine);
    return 0;
}

int main(void)
{
    const char *needed[] = {"runtime/onnxruntime/libonnxruntime.so.1",
                            "models/face/face_detection_back_256x256_barracuda.onnx",
                            "models/face/face_detection_front_128x128_barracuda.onnx",
                            "models/face/faceres.onnx",
                            "models/detect/centernet.onnx",
                            "models/classify/efficientnet_lite0.onnx",
                            "models/classify/nsfw_mobilenet_v2.onnx",
                            "pictures/dlib/faces/2007_007763.jpg",
                            "pictures/labelme/classification/data_annotated/0001.jpg",
                            "pictures/skimage/chelsea.png",
                            "pictures/matplotlib/grace_hopper.jpg"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!have(needed[i])) {
            printf("skipped: %s/%s is missing; script/fetch --test brings it\n", WEFT_CACHE_DIR, needed[i]);
            return 77;
        }
    setenv("WEFT_ONNXRUNTIME", WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faces_equal_the_oracle),
        cmocka_unit_test(test_front_faces_equal_the_oracle),
        cmocka_unit_test(test_faces_people_marked),
        cmocka_unit_test(test_no_more_false_faces_than_the_oracle),
        cmocka_unit_test(test_objects_equal_the_oracle),
        cmocka_unit_test(test_objects_are_what_is_in_the_pictures),
        cmocka_unit_test(test_imagenet_equals_the_oracle),
        cmocka_unit_test(test_stretched_equals_the_oracle),
        cmocka_unit_test(test_classes_are_what_is_in_the_pictures),
        cmocka_unit_test(test_batched_equals_single),
        cmocka_unit_test(test_eight_rows_equal_eight_runs),
        cmocka_unit_test(test_one_bad_picture_fails_alone),
        cmocka_unit_test(test_embedding_equals_the_oracle),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
