/* With every allocation failing once: reading a gRPC message says NO_MEMORY and leaves nothing; a call over a socket gets an
 * answer or an end, and the server serves on. */
#include "harness/alloc_fault.h"
#include "harness/cmocka_all.h"

#include <string.h>

#include "backend/fake/fake_backend.h"
#include "base/option_text.h"
#include "harness/h2_client.h"
#include "server/grpc_internal.h"
#include "server/pb_write.h"
#include "weft/executor.h"

extern const weft_executor weft_executor_tensor;

/* ModelInferRequest: model m, id, a parameter, input x FP32[rows,4] typed or raw, output y. */
static void put_request(weft_buffer *b, int64_t rows, bool raw)
{
    const int64_t shape[] = {rows, 4};
    static const float ones[4000] = {1, 1, 1, 1};
    weft_pb_put_string(b, 1, "m");
    weft_pb_put_string(b, 3, "id-1");
    size_t param = weft_pb_begin(b, 4);
    weft_pb_put_string(b, 1, "s");
    size_t value = weft_pb_begin(b, 2);
    weft_pb_put_string(b, 3, "text");
    weft_pb_end(b, value);
    weft_pb_end(b, param);
    size_t input = weft_pb_begin(b, 5);
    weft_pb_put_string(b, 1, "x");
    weft_pb_put_string(b, 2, "FP32");
    weft_pb_put_packed(b, 3, shape, 2);
    if (!raw) {
        size_t contents = weft_pb_begin(b, 5);
        weft_pb_put_bytes(b, 6, ones, (size_t)rows * 16);
        weft_pb_end(b, contents);
    }
    weft_pb_end(b, input);
    size_t output = weft_pb_begin(b, 6);
    weft_pb_put_string(b, 1, "y");
    weft_pb_end(b, output);
    if (raw)
        weft_pb_put_bytes(b, 7, ones, (size_t)rows * 16);
}

static weft_status read_once(const weft_buffer *message, weft_error *err)
{
    weft_arena *arena = weft_arena_create(NULL, 64);
    weft_v2_call *c = arena ? weft_arena_zalloc(arena, sizeof(*c)) : NULL;
    weft_status st = WEFT_E_NO_MEMORY;
    if (c) {
        weft_v2_call_init(c, arena);
        st = weft_grpc_infer_read(c, message->data, message->n_bytes, 1 << 20, err);
    }
    weft_arena_destroy(&arena);
    return st;
}

static void reading(void **state)
{
    (void)state;
    weft_buffer message;
    long n = 0;
    weft_buffer_init(&message, 0);
    put_request(&message, 100, false);
    for (bool hit = true; hit;) {
        weft_error err = {0};
        long before = alloc_outstanding();
        n++;
        alloc_fault_at(n, n % 2);
        weft_status st = read_once(&message, &err);
        hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(st, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
        assert_int_equal(alloc_outstanding(), before);
    }
    assert_true(n > 3);
    weft_buffer_fini(&message);
}

static void writing(void **state)
{
    (void)state;
    long n = 0;
    for (bool hit = true; hit;) {
        weft_buffer b;
        weft_buffer_init(&b, 0);
        long before = alloc_outstanding();
        alloc_fault_at(++n, true);
        put_request(&b, 100, n % 2);
        hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(b.failed, hit);
        weft_buffer_fini(&b);
        assert_int_equal(alloc_outstanding(), before);
    }
    assert_true(n > 2);
}

/* ---- the door -------------------------------------------------------------------------------------------------------------- */

static weft_engine *engine;
static weft_server *server;

static void quiet(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    (void)cookie, (void)level, (void)event, (void)model, (void)line;
}

static void start(void)
{
    static const weft_executor *const executors[] = {&weft_executor_tensor, NULL};
    static const weft_backend *const backends[] = {&weft_backend_fake, NULL};
    static weft_fake_options fake;
    static weft_server_options so;
    weft_model_config model;
    weft_engine_options eo;
    weft_error err;
    weft_engine_options_init(&eo);
    eo.executors = executors;
    eo.backends = backends;
    eo.log = quiet;
    eo.cores = 2;
    assert_int_equal(weft_options_defaults(weft_server_option_table, &so, NULL, &err), WEFT_OK);
    so.port = so.grpc_port = 0;
    so.loops = 1;
    weft_model_config_init(&model);
    model.name = "m";
    model.type = "tensor";
    model.backend = "fake";
    model.backend_options = &fake;
    assert_int_equal(weft_engine_create(&eo, &engine, &err), WEFT_OK);
    assert_int_equal(weft_engine_load(engine, &model, &err), WEFT_OK);
    assert_int_equal(weft_server_create(engine, &so, quiet, NULL, &server, &err), WEFT_OK);
}

static void stop(void)
{
    weft_server_stop(server);
    weft_engine_destroy(&engine);
    weft_server_destroy(&server);
}

/* Made before an allocation may fail: this process is client and server. */
static void prepare(h2_out *o, bool raw)
{
    weft_buffer b;
    weft_buffer_init(&b, 0);
    weft_buffer_append(&b, "\0\0\0\0\0", 5);
    put_request(&b, 100, raw);
    for (int i = 0; i < 4; i++)
        b.data[1 + i] = (uint8_t)((b.n_bytes - 5) >> (24 - 8 * i));
    o->n = 0;
    h2_put(o, WEFT_H2_PREFACE, WEFT_H2_PREFACE_BYTES);
    h2_put_frame(o, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    h2_put_call(o, "/inference.GRPCInferenceService/ModelInfer", false, 200, b.data, b.n_bytes);
    weft_buffer_fini(&b);
}

/* Aborts when neither an answer nor an end comes. */
static bool call(const h2_out *o)
{
    return h2_talk(weft_server_grpc_port(server), o, true);
}

static void calls(void **state)
{
    (void)state;
    static h2_out requests[2];
    prepare(&requests[0], false);
    prepare(&requests[1], true);
    start();
    stop(); /* what is made once for a process is not a leak */
    long before = alloc_outstanding();
    start();
    int n_quiet = 0; /* the pool is filled after the first calls: allocations become few, and their number varies */
    for (long n = 1; n < 60 && n_quiet < 3; n++) {
        alloc_fault_at(n, false);
        bool answered = call(&requests[n % 2]);
        n_quiet = alloc_fault_hit() ? 0 : n_quiet + 1;
        alloc_fault_off();
        assert_true(answered || !n_quiet);
        assert_true(call(&requests[n % 2]));
    }
    stop();
    assert_int_equal(alloc_outstanding(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),
        cmocka_unit_test(writing),
        cmocka_unit_test(calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
