/* The whole gRPC and HTTP/2 doors over a loopback socket, with a real engine behind them.
 *
 * Byte 0: the method, or from 0xf0 raw frames on the HTTP port (0xf8: on the gRPC port). Byte 1: how the bytes are cut into DATA
 * frames. The rest is the call's body as gRPC frames it (flag, length, message), or frames. Whatever comes, the server must
 * answer or close, and serve the next one. */
#include <stdlib.h>

#include "backend/fake/fake_backend.h"
#include "base/option_text.h"
#include "config/server_options.h"
#include "harness/h2_client.h"
#include "server/h2_conn.h"
#include "weft/executor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

extern const weft_executor weft_executor_tensor;

static const char *const paths[] = {
    "/inference.GRPCInferenceService/ModelInfer",          "/inference.GRPCInferenceService/ModelMetadata",
    "/inference.GRPCInferenceService/ModelConfig",         "/inference.GRPCInferenceService/ModelStatistics",
    "/inference.GRPCInferenceService/ModelReady",          "/inference.GRPCInferenceService/RepositoryIndex",
    "/inference.GRPCInferenceService/RepositoryModelLoad", "/grpc.health.v1.Health/Check",
    "/inference.GRPCInferenceService/ServerMetadata",      "/nothing",
};

static weft_server *server;
static weft_engine *engine;

static void quiet(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    (void)cookie, (void)level, (void)event, (void)model, (void)line;
}

static void stop(void)
{
    weft_server_stop(server);
    weft_engine_destroy(&engine);
    weft_server_destroy(&server);
}

static void start(void)
{
    static const weft_executor *const executors[] = {&weft_executor_tensor, NULL};
    static const weft_backend *const backends[] = {&weft_backend_fake, NULL};
    static weft_model_config model;
    static weft_fake_options fake;
    static weft_server_options so;
    weft_engine_options eo;
    weft_error err;
    weft_engine_options_init(&eo);
    eo.executors = executors;
    eo.backends = backends;
    eo.log = quiet;
    eo.cores = 2;
    if (weft_options_defaults(weft_server_option_table, &so, NULL, &err) != WEFT_OK)
        abort();
    so.port = so.grpc_port = 0;
    so.loops = 1;
    so.max_body_bytes = 65536;
    so.max_bodies_bytes = 1 << 20;
    weft_model_config_init(&model);
    model.name = "m";
    model.type = "tensor";
    model.backend = "fake";
    model.backend_options = &fake;
    if (weft_engine_create(&eo, &engine, &err) != WEFT_OK || weft_engine_load(engine, &model, &err) != WEFT_OK ||
        weft_server_create(engine, &so, quiet, NULL, &server, &err) != WEFT_OK)
        abort();
    atexit(stop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static h2_out o;
    if (!server)
        start();
    if (n_bytes < 2 || n_bytes > 60000)
        return 0;
    o.n = 0;
    h2_put(&o, WEFT_H2_PREFACE, WEFT_H2_PREFACE_BYTES);
    h2_put_frame(&o, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    bool raw = data[0] >= 0xf0;
    if (raw)
        h2_put(&o, data + 2, n_bytes - 2);
    else
        h2_put_call(&o, paths[data[0] % (sizeof(paths) / sizeof(paths[0]))], data[0] & 0x40, data[1], data + 2, n_bytes - 2);
    h2_talk(raw && data[0] < 0xf8 ? weft_server_port(server) : weft_server_grpc_port(server), &o, !raw);
    return 0;
}
