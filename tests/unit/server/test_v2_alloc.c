/* Reading a V2 body, planning its calls, making and writing outputs: with every allocation failing once, NO_MEMORY and nothing
 * left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/alloc_fault.h"
#include "harness/cmocka_all.h"
#include "server/v2_answer.h"
#include "server/v2_call.h"
#include "server/v2_request.h"

#define N_ROWS 400

static const weft_v2_tensor_info tensors[] = {{"x", WEFT_DT_F32, 2, {-1, 2}, false}};
static const weft_v2_tensor_info picture[] = {{"image", WEFT_DT_STRING, 1, {-1}, false}};
static const weft_model_info info = {
    .name = "m", .version = "1", .type = "t", .backend = "", .state_cause = "", .picture_input = "image"};
static const weft_v2_model model = {&info, "p", 0, false, 1, 1, tensors, tensors};
static const weft_v2_model pictures = {&info, "p", 0, true, 1, 1, picture, tensors};

static weft_status read_and_plan(weft_arena *arena, const char *json, const weft_v2_model *m, weft_error *err)
{
    size_t n = strlen(json), n_calls;
    weft_call *calls;
    weft_v2_call *c = weft_arena_zalloc(arena, sizeof(*c));
    if (!c)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    weft_v2_call_init(c, arena);
    weft_status st = weft_v2_request_read(c, (const uint8_t *)json, n, n, 1 << 20, err);
    return st ? st : weft_v2_call_plan(c, m, 0, &calls, &n_calls, err);
}

/* A column of 2 x N_ROWS numbers as classes, compressed. */
static weft_status answer(weft_arena *arena, weft_error *err)
{
    static float data[2 * N_ROWS];
    weft_tensor t = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {N_ROWS, 2}, .data = data, .n_bytes = sizeof(data)},
                best;
    weft_status st = weft_v2_classes(arena, &t, true, 2, NULL, &best, err);
    if (st)
        return st;
    weft_v2_output outs[] = {{best, NULL}, {t, NULL}};
    weft_v2_call *c = weft_arena_zalloc(arena, sizeof(*c));
    weft_piece pieces[2];
    size_t n_pieces;
    weft_buffer json, small;
    if (!c)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    weft_v2_call_init(c, arena);
    weft_buffer_init(&json, 0);
    weft_buffer_init(&small, 0);
    weft_v2_answer_write(c, "m", "1", outs, 2, &json, pieces, &n_pieces);
    bool ok = !json.failed;
    if (ok) {
        weft_piece whole = {json.data, json.n_bytes};
        ok = weft_deflate(WEFT_CODING_GZIP, &whole, 1, &small);
    }
    weft_buffer_fini(&json);
    weft_buffer_fini(&small);
    return ok ? WEFT_OK : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
}

static weft_status inflate_back(const weft_buffer *packed, weft_error *err)
{
    weft_chunk_pool *pool = weft_chunk_pool_create(0, 0);
    uint8_t *out = NULL;
    size_t n;
    if (!pool)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    weft_status st = weft_inflate(pool, WEFT_CODING_GZIP, packed->data, packed->n_bytes, 1 << 20, 16, &out, &n, err);
    weft_chunk_give(pool, out ? out - 16 : NULL);
    weft_chunk_pool_destroy(&pool);
    return st;
}

static char *request_text(void)
{
    size_t n_text = 1024 + N_ROWS * 8;
    char *text = malloc(n_text);
    size_t n = (size_t)snprintf(
        text, n_text,
        "{\"id\":\"one\",\"parameters\":{\"a\":\"b\",\"c\":1.5},\"outputs\":[{\"name\":\"x\"}],\"inputs\":[{\"name\":\"x\","
        "\"datatype\":\"FP32\",\"shape\":[%d,2],\"data\":[0",
        N_ROWS);
    for (int i = 1; i < 2 * N_ROWS; i++)
        n += (size_t)snprintf(text + n, n_text - n, ",%d", i % 10);
    snprintf(text + n, n_text - n, "]}]}");
    return text;
}

typedef enum { READ, READ_PICTURES, ANSWER, INFLATE } work;

static weft_status run(work w, const char *text, const weft_buffer *packed, weft_error *err)
{
    static const char images[] =
        "{\"inputs\":[{\"name\":\"image\",\"datatype\":\"BYTES\",\"shape\":[2],\"parameters\":{\"content_type\":\"base64\"},"
        "\"data\":[\"QUJD\",\"REVG\"]}]}";
    weft_arena *arena = weft_arena_create(NULL, 64);
    weft_status st;
    if (!arena)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    if (w == READ)
        st = read_and_plan(arena, text, &model, err);
    else if (w == READ_PICTURES)
        st = read_and_plan(arena, images, &pictures, err);
    else
        st = w == ANSWER ? answer(arena, err) : inflate_back(packed, err);
    weft_arena_destroy(&arena);
    return st;
}

static void every_allocation(void **state)
{
    char *text = request_text();
    weft_piece piece = {text, strlen(text)};
    weft_buffer packed;
    weft_buffer_init(&packed, 0);
    assert_true(weft_deflate(WEFT_CODING_GZIP, &piece, 1, &packed));
    for (int w = READ; w <= INFLATE; w++) {
        long n = 0;
        for (bool hit = true; hit;) {
            weft_error err = {0};
            long before = alloc_outstanding();
            n++;
            alloc_fault_at(n, n % 2);
            weft_status st = run((work)w, text, &packed, &err);
            hit = alloc_fault_hit();
            alloc_fault_off();
            assert_int_equal(st, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
            assert_int_equal(alloc_outstanding(), before);
        }
        assert_true(n > 2);
    }
    weft_buffer_fini(&packed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
