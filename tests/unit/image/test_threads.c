/* The picture part holds no shared state: the same work on many threads at once gives the same pixels (run under TSan). */
#include "image/decode.h"
#include "image/draw.h"
#include "image/geometry.h"
#include "image/preprocess.h"
#include "unit/image/help_golden.h"

#include <pthread.h>

enum { N_THREADS = 6, N_ROUNDS = 20 };

typedef struct shared {
    uint8_t *bytes;
    size_t n_bytes;
    weft_preprocess_plan plan;
} shared;

typedef struct outcome {
    const shared *in;
    float tensor[3 * 16 * 16];
    uint8_t warped[30 * 20 * 3], drawn[43 * 29 * 3];
    bool ok;
} outcome;

static bool once(outcome *o)
{
    const shared *in = o->in;
    const float quad[4][2] = {{2, 1}, {40, 3}, {38, 27}, {1, 25}};
    weft_picture p = {0}, warped = {0};
    weft_canvas c = {0};
    bool ok = weft_preprocess_run(&in->plan, in->bytes, in->n_bytes, o->tensor, NULL, NULL) == WEFT_OK &&
              weft_picture_decode(in->bytes, in->n_bytes, NULL, 3, &p, NULL) == WEFT_OK &&
              weft_picture_warp_quad(&p, quad, 30, 20, WEFT_INTERPOLATION_BICUBIC, &warped, NULL) == WEFT_OK &&
              weft_canvas_init(&c, &p, NULL, NULL) == WEFT_OK;
    if (ok) {
        weft_draw_text(&c, 2, 2, "weft", 4, 14, 0, weft_palette(1));
        memcpy(o->warped, warped.data, sizeof(o->warped));
        memcpy(o->drawn, p.data, sizeof(o->drawn));
    }
    weft_canvas_fini(&c);
    weft_picture_destroy(&p);
    weft_picture_destroy(&warped);
    return ok;
}

static void *run(void *arg)
{
    outcome *o = arg;
    o->ok = true;
    for (int i = 0; i < N_ROUNDS; i++)
        o->ok = once(o) && o->ok;
    return NULL;
}

static void test_many_threads(void **state)
{
    static outcome outcomes[N_THREADS];
    pthread_t threads[N_THREADS];
    shared in = {0};
    const weft_preprocess_options options = {.normalize = WEFT_TRI_TRUE, .resize_mode = WEFT_RESIZE_LETTERBOX};
    const weft_tensor_desc d = {.name = "x", .dtype = WEFT_DT_F32, .rank = 4, .shape = {1, 3, 16, 16}};
    assert_int_equal(weft_preprocess_open(&options, NULL, &d, &in.plan, NULL), WEFT_OK);
    in.bytes = help_read_file(GOLDEN_DIR "/jpeg-420.jpg", &in.n_bytes);
    for (int i = 0; i < N_THREADS; i++) {
        outcomes[i].in = &in;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &outcomes[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++) {
        assert_true(outcomes[i].ok);
        assert_memory_equal(outcomes[i].tensor, outcomes[0].tensor, sizeof(outcomes[0].tensor));
        assert_memory_equal(outcomes[i].warped, outcomes[0].warped, sizeof(outcomes[0].warped));
        assert_memory_equal(outcomes[i].drawn, outcomes[0].drawn, sizeof(outcomes[0].drawn));
    }
    free(in.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
