/* The whole gRPC and HTTP/2 doors over a loopback socket, with a real engine behind them.
 *
 * Byte 0: the method, or from 0xf0 raw frames on the HTTP port (0xf8: on the gRPC port). Byte 1: how the bytes are cut into DATA
 * frames. The rest is the call's body as gRPC frames it (flag, length, message), or frames. Whatever comes, the server must
 * answer or close, and serve the next one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/fake/fake_backend.h"
#include "base/option_text.h"
#include "config/server_options.h"
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

typedef struct out {
    uint8_t bytes[1 << 18];
    size_t n;
} out;

static void put(out *o, const void *data, size_t n)
{
    if (n > sizeof(o->bytes) - o->n)
        n = sizeof(o->bytes) - o->n;
    if (n)
        memcpy(o->bytes + o->n, data, n);
    o->n += n;
}

static void put_frame(out *o, uint8_t kind, uint8_t flags, uint32_t stream, const void *data, size_t n)
{
    const uint8_t head[9] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, kind, flags, 0, 0, 0, (uint8_t)stream};
    put(o, head, 9);
    put(o, data, n);
}

/* A header without index and without Huffman code (RFC 7541 6.2.2). */
static size_t literal(uint8_t *to, const char *name, const char *value)
{
    size_t n = strlen(name), v = strlen(value);
    to[0] = 0;
    to[1] = (uint8_t)n;
    memcpy(to + 2, name, n);
    to[2 + n] = (uint8_t)v;
    memcpy(to + 3 + n, value, v);
    return 3 + n + v;
}

static void put_call(out *o, uint8_t method, uint8_t cut, const uint8_t *data, size_t n)
{
    uint8_t block[512];
    size_t k = literal(block, ":method", "POST"), step = cut ? cut : 16384;
    k += literal(block + k, ":scheme", "http");
    k += literal(block + k, ":path", paths[method % (sizeof(paths) / sizeof(paths[0]))]);
    k += literal(block + k, ":authority", "127.0.0.1");
    k += literal(block + k, "content-type", "application/grpc");
    if (method & 0x40)
        k += literal(block + k, "grpc-encoding", "gzip");
    k += literal(block + k, "grpc-timeout", "200m");
    put_frame(o, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block, k);
    for (; n > step; data += step, n -= step)
        put_frame(o, NGHTTP2_DATA, 0, 1, data, step);
    put_frame(o, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, data, n);
}

static void talk(int port, const out *o, bool wait)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval limit = {.tv_sec = 20};
    uint8_t buf[16384];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        abort(); /* it serves no longer */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    size_t sent = 0;
    while (sent < o->n) {
        ssize_t n = send(fd, o->bytes + sent, o->n - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    if (!wait)
        shutdown(fd, SHUT_WR); /* frames may leave the server waiting: then it sees the end */
    for (bool ended = false; !ended;) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        ended = n <= 0;
        if (n < 0 && wait && sent == o->n) /* neither an answer nor an end */
            abort();
        /* a frame with END_STREAM or GOAWAY may be the last: the call is over when stream 1 ends */
        for (ssize_t i = 0; wait && i + 9 <= n; i += 9 + (buf[i] << 16 | buf[i + 1] << 8 | buf[i + 2]))
            ended = ended || (buf[i + 8] == 1 && (buf[i + 3] == NGHTTP2_RST_STREAM || (buf[i + 4] & NGHTTP2_FLAG_END_STREAM))) ||
                    buf[i + 3] == NGHTTP2_GOAWAY;
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static out o;
    if (!server)
        start();
    if (n_bytes < 2 || n_bytes > 60000)
        return 0;
    o.n = 0;
    put(&o, WEFT_H2_PREFACE, WEFT_H2_PREFACE_BYTES);
    put_frame(&o, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    bool raw = data[0] >= 0xf0;
    if (raw)
        put(&o, data + 2, n_bytes - 2);
    else
        put_call(&o, data[0], data[1], data + 2, n_bytes - 2);
    talk(raw && data[0] < 0xf8 ? weft_server_port(server) : weft_server_grpc_port(server), &o, !raw);
    return 0;
}
