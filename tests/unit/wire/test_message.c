#include "harness/check.h"
#include "help_messages.h"

#include "wire/message.h"

#include <stdio.h>

static weft_wire_limits limits;
static weft_error err;

/* A copy of a buffer in memory of exactly its size, at a multiple of 64 plus `shift`, so that a sanitizer sees a byte too much.
 */
static uint8_t *exact(const weft_buffer *b, size_t shift, void **to_free)
{
    uint8_t *p = aligned_alloc(64, (b->n_bytes + shift + 63) / 64 * 64);

    *to_free = p;
    return memcpy(p + shift, b->data, b->n_bytes);
}

/* Computed by hand from the format in message.h. */
static const uint8_t golden_call[] = {
    'W', 'E', 'F', 'T', 1,   0, 1, 0, 131, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0,   0,   0,  75, 0, 0, 0, 0, 0, 0, 0, /* header */
    1,   0,   0,   0,   'm', 0,                                                                                       /* model */
    255, 255, 255, 255,                                      /* version: NULL */
    1,   0,   0,   0,   'i', 0,                              /* id */
    255, 255, 255, 255,                                      /* trace: NULL */
    5,   0,   0,   0,   0,   0, 0, 0,                        /* timeout_ms */
    255, 255, 255, 255,                                      /* priority -1 */
    1,   0,   0,   0,   1,   0, 0, 0, 0,   0, 0, 0, 0,       /* one input, one parameter, all outputs */
    1,   0,   0,   0,   'x', 0, 1, 3, 0,   0, 0, 0, 0, 0, 0, /* input x: 3 bytes */
    1,   0,   0,   0,   'k', 0, 2, 7, 0,   0, 0, 0, 0, 0, 0, /* parameter k: integer 7 */
    0,   0,   0,   0,   0,   0, 0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c' /* 107 -> 128 */
};

static const uint8_t golden_result[] = {
    'W', 'E', 'F', 'T',  1, 0, 2,   0,   196, 0,   0,   0, 0,  0, 0, 0,   9, 0, 0, 0, 0, 0, 0, 0, 132, 0, 0, 0, 0, 0, 0,
    0,                                                                                            /* header */
    0,   0,   0,   0,    0, 0, 0,   0,   0,   0,   0,   0, 0,  0, 0, 0,   0,                      /* status, retry, text */
    0,   0,   0,   0,    0, 1, 0,   0,   0,   'm', 0,   1, 0,  0, 0, '1', 0,                      /* id, model, version */
    0,   0,   0,   0,    0, 0, 0,   0,   0,   1,   0,   0, 0,  0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, /* arrived, total 256, queue */
    0,   0,   0,   0,    0, 0, 0,   0,   0,   0,   0,   0, 0,  0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, /* pre, run, post */
    2,   0,   0,   0,    1, 0, 0,   0,                                                            /* batch rows, runs */
    1,   0,   0,   0,    0, 0, 0,   0,   1,   0,   0,   0,                                        /* one item, one column */
    3,   1,   5,   0,    0, 0, 's', 'c', 'o', 'r', 'e', 0, 12, 1, 1, 0,   0, 0, 0, 0, 0, 0, 4, 0, 0,   0, 0, 0, 0, 0, /* SCORE,
                                                                                                                         per item,
                                                                                                                         FP32 [1]
                                                                                                                       */
    0,   0,   0,   0,    0, 0, 0,   0,   0,   0,   0,   0, 0,  0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0,   0, 0, 0, /* 164 -> 192 */
    0,   0,   0,   0x3f,                                                                                        /* 0.5 */
};

static void golden_calls(void **state)
{
    weft_input in = weft_input_bytes("x", "abc", 3);
    weft_param param = {.name = "k", .kind = WEFT_PARAM_INT, .i = 7};
    weft_call call = {
        .model = "m", .id = "i", .inputs = &in, .n_inputs = 1, .params = &param, .n_params = 1, .timeout_ms = 5, .priority = -1};
    weft_arena *a = weft_arena_create(NULL, 0);
    const weft_call *got;
    weft_wire_header h;
    weft_buffer b;
    uint64_t ticket;

    assert_int_equal(sizeof golden_call, 131);
    weft_buffer_init(&b, 0);
    assert_int_equal(weft_wire_encode_call(&call, 9, &limits, &b, &err), WEFT_OK);
    assert_int_equal(b.n_bytes, sizeof golden_call);
    assert_memory_equal(b.data, golden_call, sizeof golden_call);
    assert_int_equal(weft_wire_read_header(golden_call, &limits, &h, &err), WEFT_OK);
    assert_int_equal(h.type, WEFT_MESSAGE_CALL);
    assert_int_equal(h.frame_bytes, 131);
    assert_int_equal(h.head_bytes, 75);
    assert_int_equal(h.ticket, 9);
    assert_int_equal(weft_wire_decode_call(golden_call, sizeof golden_call, &limits, a, &got, &ticket, &err), WEFT_OK);
    assert_int_equal(ticket, 9);
    assert_same_call(&call, got);
    assert_ptr_equal(got->inputs[0].bytes, golden_call + 128); /* used in place */
    weft_buffer_fini(&b);
    weft_arena_destroy(&a);
}

static void golden_results(void **state)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_result *r;
    weft_buffer b;
    uint64_t ticket;

    assert_int_equal(sizeof golden_result, 196);
    assert_int_equal(weft_wire_decode_result(golden_result, sizeof golden_result, &limits, a, NULL, NULL, &r, &ticket, &err),
                     WEFT_OK);
    assert_int_equal(ticket, 9);
    assert_int_equal(r->n_items, 1);
    assert_true(weft_result_f32(r, "score", 0, 0) == 0.5f);
    assert_int_equal(r->timing.total_ns, 256);
    assert_int_equal(r->timing.batch_rows, 2);
    assert_string_equal(r->version, "1");
    weft_buffer_init(&b, 0);
    assert_int_equal(weft_wire_encode_result(r, 9, &limits, &b, &err), WEFT_OK);
    assert_int_equal(b.n_bytes, sizeof golden_result);
    assert_memory_equal(b.data, golden_result, sizeof golden_result);
    weft_buffer_fini(&b);
    weft_result_unref(r);
    weft_arena_destroy(&a);
}

static void random_calls(void **state)
{
    uint64_t seed = 100;

    for (int i = 0; i < 3000; i++) {
        weft_arena *a = weft_arena_create(NULL, 0);
        weft_call *call = random_call(a, &seed);
        const weft_call *got;
        uint64_t ticket, sent = test_random(&seed);
        weft_buffer b, again;
        void *to_free;
        uint8_t *frame;

        weft_buffer_init(&b, 0);
        weft_buffer_init(&again, 0);
        assert_int_equal(weft_wire_encode_call(call, sent, &limits, &b, &err), WEFT_OK);
        frame = exact(&b, i % 4 ? 0 : (size_t)(i / 4 % 16), &to_free);
        assert_int_equal(weft_wire_decode_call(frame, b.n_bytes, &limits, a, &got, &ticket, &err), WEFT_OK);
        assert_int_equal(ticket, sent);
        assert_same_call(call, got);
        assert_int_equal(weft_wire_encode_call(got, ticket, &limits, &again, &err), WEFT_OK);
        assert_int_equal(again.n_bytes, b.n_bytes);
        assert_memory_equal(again.data, b.data, b.n_bytes);
        free(to_free);
        weft_buffer_fini(&b);
        weft_buffer_fini(&again);
        weft_arena_destroy(&a);
    }
}

static void random_results(void **state)
{
    uint64_t seed = 200;

    for (int i = 0; i < 3000; i++) {
        weft_arena *a = weft_arena_create(NULL, 0);
        weft_result *r = random_result(&seed), *got;
        uint64_t ticket;
        weft_buffer b, again;
        void *to_free;
        uint8_t *frame;

        weft_buffer_init(&b, 0);
        weft_buffer_init(&again, 0);
        assert_int_equal(weft_wire_encode_result(r, 1, &limits, &b, &err), WEFT_OK);
        frame = exact(&b, i % 4 ? 0 : (size_t)(i / 4 % 16), &to_free);
        assert_int_equal(weft_wire_decode_result(frame, b.n_bytes, &limits, a, NULL, NULL, &got, &ticket, &err), WEFT_OK);
        assert_same_result(r, got);
        assert_int_equal(weft_wire_encode_result(got, 1, &limits, &again, &err), WEFT_OK);
        assert_int_equal(again.n_bytes, b.n_bytes);
        assert_memory_equal(again.data, b.data, b.n_bytes);
        weft_result_unref(got);
        weft_result_unref(r);
        free(to_free);
        weft_buffer_fini(&b);
        weft_buffer_fini(&again);
        weft_arena_destroy(&a);
    }
}

/* Every cut, and every byte changed: refused, or another message that has exactly these bytes. Never a crash, never a read
 * outside. */
static bool try_frame(const uint8_t *frame, size_t n)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    const weft_call *call;
    weft_result *r;
    weft_buffer b;
    uint64_t ticket;
    bool ok = false;

    weft_buffer_init(&b, 0);
    weft_error_clear(&err);
    if (!weft_wire_decode_call(frame, n, &limits, a, &call, &ticket, &err)) {
        ok = true;
        assert_int_equal(weft_wire_encode_call(call, ticket, &limits, &b, &err), WEFT_OK);
    } else if (!weft_wire_decode_result(frame, n, &limits, a, NULL, NULL, &r, &ticket, &err)) {
        ok = true;
        assert_int_equal(weft_wire_encode_result(r, ticket, &limits, &b, &err), WEFT_OK);
        weft_result_unref(r);
    } else {
        assert_true(err.status == WEFT_E_INVALID || err.status == WEFT_E_TOO_LARGE || err.status == WEFT_E_UNSUPPORTED);
        assert_true(err.text[0]);
    }
    if (ok) {
        assert_int_equal(b.n_bytes, n);
        assert_memory_equal(b.data, frame, n);
    }
    weft_buffer_fini(&b);
    weft_arena_destroy(&a);
    return ok;
}

static void damage(const uint8_t *golden, size_t n)
{
    int accepted = 0;

    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *p = malloc(cut ? cut : 1);

        memcpy(p, golden, cut);
        assert_false(try_frame(p, cut));
        free(p);
    }
    for (size_t at = 0; at < n; at++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t *p = malloc(n);

            memcpy(p, golden, n);
            p[at] ^= (uint8_t)(1 << bit);
            accepted += try_frame(p, n);
            free(p);
        }
    assert_true(accepted > 100); /* changed numbers, letters and data are other messages */
}

static void damaged_frames(void **state)
{
    uint8_t longer[sizeof golden_call + 1] = {0};

    damage(golden_call, sizeof golden_call);
    damage(golden_result, sizeof golden_result);
    memcpy(longer, golden_call, sizeof golden_call);
    assert_false(try_frame(longer, sizeof longer));
    longer[8]++; /* the header agrees, but nothing announces the byte */
    assert_false(try_frame(longer, sizeof longer));
}

static void header_errors(void **state)
{
    uint8_t h[32];
    weft_wire_header out;

#define REFUSED(at, value, status, part)                                                                                         \
    do {                                                                                                                         \
        memcpy(h, golden_call, 32);                                                                                              \
        h[at] = value;                                                                                                           \
        assert_int_equal(weft_wire_read_header(h, &limits, &out, &err), status);                                                 \
        assert_non_null(strstr(err.text, part));                                                                                 \
    } while (0)
    REFUSED(0, 'G', WEFT_E_INVALID, "47 45 46 54");
    REFUSED(4, 2, WEFT_E_UNSUPPORTED, "version 2");
    REFUSED(6, 0, WEFT_E_INVALID, "type 0");
    REFUSED(6, 5, WEFT_E_INVALID, "type 5");
    REFUSED(8, 31, WEFT_E_INVALID, "contradict");
    REFUSED(13, 1, WEFT_E_TOO_LARGE, "at most 1073741824");
    REFUSED(26, 255, WEFT_E_TOO_LARGE, "at most 1048576");
    REFUSED(24, 100, WEFT_E_INVALID, "contradict");
    REFUSED(31, 1, WEFT_E_INVALID, "damaged");
}

static weft_status encode(const weft_call *call, const weft_wire_limits *l)
{
    weft_buffer b;
    weft_status s;

    weft_buffer_init(&b, 0);
    s = weft_wire_encode_call(call, 0, l, &b, &err);
    if (s)
        assert_int_equal(b.n_bytes, 0);
    weft_buffer_fini(&b);
    return s;
}

static void calls_that_cannot_be_sent(void **state)
{
    weft_wire_limits tight = limits;
    weft_input in = weft_input_bytes("x", "abc", 3);
    weft_param param = {.name = "k", .kind = (weft_param_kind)9};
    weft_call call = {.model = "m", .inputs = &in, .n_inputs = 1};
    static char big[200];

    assert_int_equal(encode(&call, &limits), WEFT_OK);
    call.id = "\xff";
    assert_int_equal(encode(&call, &limits), WEFT_E_INVALID);
    call.id = NULL;
    call.params = &param;
    call.n_params = 1;
    assert_int_equal(encode(&call, &limits), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "unknown kind 9"));
    call.n_params = 0;
    in.bytes = NULL;
    assert_int_equal(encode(&call, &limits), WEFT_E_INVALID);
    in = weft_input_tensor(&(weft_tensor){.name = "t", .dtype = WEFT_DT_F32, .rank = 1, .shape = {2}, .data = big, .n_bytes = 7});
    assert_int_equal(encode(&call, &limits), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "needs 8 bytes"));
    in.tensor.rank = 100;
    assert_int_equal(encode(&call, &limits), WEFT_E_INVALID);
    in = weft_input_bytes("x", big, sizeof big);
    tight.max_frame_bytes = 300;
    assert_int_equal(encode(&call, &tight), WEFT_E_TOO_LARGE);
    tight = limits;
    tight.max_head_bytes = 40;
    assert_int_equal(encode(&call, &tight), WEFT_E_TOO_LARGE);
    tight = limits;
    tight.max_string_bytes = 3;
    call.trace = "four";
    assert_int_equal(encode(&call, &tight), WEFT_E_TOO_LARGE);
    tight = limits;
    tight.max_inputs = 0;
    assert_int_equal(encode(&call, &tight), WEFT_E_TOO_LARGE);
    assert_non_null(strstr(err.text, "1 inputs; at most 0"));
}

static void progress_and_cancel(void **state)
{
    /* By hand: header, step 3, of 8. */
    static const uint8_t want[] = {'W', 'E', 'F', 'T', 1, 0, 3, 0, 40, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0,
                                   0,   0,   0,   0,   8, 0, 0, 0, 0,  0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0};
    weft_buffer b;
    int32_t step, n_steps;
    uint64_t ticket;

    weft_buffer_init(&b, 0);
    assert_int_equal(weft_wire_encode_progress(3, 8, 7, &b, &err), WEFT_OK);
    assert_int_equal(b.n_bytes, sizeof want);
    assert_memory_equal(b.data, want, sizeof want);
    assert_int_equal(weft_wire_decode_progress(b.data, b.n_bytes, &step, &n_steps, &ticket, &err), WEFT_OK);
    assert_int_equal(step, 3);
    assert_int_equal(n_steps, 8);
    assert_int_equal(ticket, 7);
    assert_int_equal(weft_wire_decode_cancel(b.data, b.n_bytes, &ticket, &err), WEFT_E_INVALID);
    b.data[32] = 9;
    assert_int_equal(weft_wire_decode_progress(b.data, b.n_bytes, &step, &n_steps, &ticket, &err), WEFT_E_INVALID);
    assert_int_equal(weft_wire_decode_progress(b.data, 39, &step, &n_steps, &ticket, &err), WEFT_E_INVALID);
    assert_int_equal(weft_wire_encode_progress(9, 8, 7, &b, &err), WEFT_E_INVALID);
    assert_int_equal(weft_wire_encode_cancel(UINT64_MAX, &b, &err), WEFT_OK);
    assert_int_equal(b.n_bytes, 32);
    assert_int_equal(weft_wire_decode_cancel(b.data, b.n_bytes, &ticket, &err), WEFT_OK);
    assert_int_equal(ticket, UINT64_MAX);
    weft_buffer_fini(&b);
}

static int set_up(void **state)
{
    weft_wire_limits_init(&limits);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_calls),
        cmocka_unit_test(golden_results),
        cmocka_unit_test(random_calls),
        cmocka_unit_test(random_results),
        cmocka_unit_test(damaged_frames),
        cmocka_unit_test(header_errors),
        cmocka_unit_test(calls_that_cannot_be_sent),
        cmocka_unit_test(progress_and_cancel),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
