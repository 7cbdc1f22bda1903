/* The gRPC protocol over HTTP/2 for unary calls (grpc/doc/PROTOCOL-HTTP2.md): heads, message framing, deadlines, status. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/grpc_internal.h"

#define ARENA_BYTES 4096
#define MESSAGE_TEXT 1200 /* bytes of an error text sent, before encoding */

typedef struct grpc_method {
    weft_route route; /* pattern: the path */
    weft_grpc_handle handle;
    bool streams;
} grpc_method;

#define SERVICE "/inference.GRPCInferenceService/"
#define UNARY(name, handle, finish)                                                                                              \
    {                                                                                                                            \
        {WEFT_HTTP_POST, SERVICE name, NULL, NULL, finish, true, NULL}, handle, false                                            \
    }

static const grpc_method methods[] = {
    UNARY("ModelInfer", weft_grpc_infer, weft_grpc_infer_finish),
    UNARY("ServerLive", weft_grpc_server_live, NULL),
    UNARY("ServerReady", weft_grpc_server_ready, NULL),
    UNARY("ModelReady", weft_grpc_model_ready, NULL),
    UNARY("ServerMetadata", weft_grpc_server_metadata, NULL),
    UNARY("ModelMetadata", weft_grpc_model_metadata, NULL),
    UNARY("ModelConfig", weft_grpc_model_config, NULL),
    UNARY("ModelStatistics", weft_grpc_model_statistics, NULL),
    UNARY("RepositoryIndex", weft_grpc_index, NULL),
    UNARY("RepositoryModelLoad", weft_grpc_load, weft_grpc_change_finish),
    UNARY("RepositoryModelUnload", weft_grpc_unload, weft_grpc_change_finish),
    {{WEFT_HTTP_POST, SERVICE "ModelStreamInfer", NULL, NULL, NULL, true, NULL}, NULL, true},
    {{WEFT_HTTP_POST, "/grpc.health.v1.Health/Check", NULL, NULL, NULL, true, NULL}, weft_grpc_health_check, false},
};

static const grpc_method *method_of(const weft_exchange *x)
{
    return (const grpc_method *)(const void *)((const char *)x->route - offsetof(grpc_method, route));
}

/* ---- answers --------------------------------------------------------------------------------------------------------------- */

/* Percent-encodes what is not printable ASCII, and '%'. */
static void encode_message(const char *text, char *out, size_t n_out)
{
    size_t n = 0, n_text = weft_utf8_cut(text, strlen(text), MESSAGE_TEXT);
    for (size_t i = 0; i < n_text && n + 4 < n_out; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c <= 0x7e && c != '%')
            out[n++] = (char)c;
        else
            n += (size_t)snprintf(out + n, n_out - n, "%%%02X", c);
    }
    out[n] = 0;
}

static void send_status(weft_h2_stream *s, int code, const char *text, int64_t retry_after_ms)
{
    char status[12], message[3 * MESSAGE_TEXT + 8], retry[24];
    nghttp2_nv nv[8];
    size_t n = 0;
    snprintf(status, sizeof(status), "%d", code);
    encode_message(text, message, sizeof(message));
    nv[n++] = weft_h2_nv(":status", "200");
    nv[n++] = weft_h2_nv("content-type", "application/grpc");
    nv[n++] = weft_h2_nv("grpc-status", status);
    if (message[0])
        nv[n++] = weft_h2_nv("grpc-message", message);
    if (code == 12)
        nv[n++] = weft_h2_nv("grpc-accept-encoding", "identity,gzip,deflate");
    if (retry_after_ms > 0) {
        snprintf(retry, sizeof(retry), "%lld", (long long)retry_after_ms);
        nv[n++] = weft_h2_nv("grpc-retry-pushback-ms", retry);
    }
    weft_h2_send(s, nv, n, false);
}

static int code_of(const weft_exchange *x, weft_status st)
{
    return st == WEFT_E_BUSY && x->loop->server->options.triton_compatible ? 14 : weft_status_grpc(st);
}

static void fail(weft_exchange *x, const weft_error *err)
{
    send_status(x->stream, code_of(x, err->status), err->text, err->retry_after_ms);
}

static void send_plain(weft_h2_stream *s)
{
    char status[8];
    snprintf(status, sizeof(status), "%d", s->x->status);
    const nghttp2_nv nv[] = {weft_h2_nv(":status", status), weft_h2_nv("content-type", s->x->answer_type)};
    weft_h2_send(s, nv, 2, true);
}

/* weft_exchange_reply: the head, the message with its prefix, and `grpc-status: 0` behind it. */
static void answer(weft_exchange *x)
{
    weft_h2_stream *s = x->stream;
    size_t n = x->answer.n_bytes;
    if (s->grpc.plain) {
        send_plain(s);
        return;
    }
    for (size_t i = 0; i < x->n_more; i++)
        n += x->more[i].len;
    s->first[0] = 0;
    for (int i = 0; i < 4; i++)
        s->first[1 + i] = (uint8_t)(n >> (24 - 8 * i));
    s->n_first = 5;
    s->trailers = true;
    const nghttp2_nv nv[] = {weft_h2_nv(":status", "200"), weft_h2_nv("content-type", "application/grpc"),
                             weft_h2_nv("grpc-accept-encoding", "identity,gzip,deflate")};
    weft_h2_send(s, nv, 3, true);
}

void weft_grpc_reply(weft_exchange *x)
{
    weft_error err;
    uint64_t n = x->answer.n_bytes;
    for (size_t i = 0; i < x->n_more; i++)
        n += x->more[i].len;
    if (n <= UINT32_MAX) {
        weft_exchange_reply(x, 200, "application/grpc");
        return;
    }
    weft_fail(&err, WEFT_E_TOO_LARGE,
              "the answer has more than 4 GiB, the limit of a gRPC message; ask for fewer outputs or rows");
    weft_exchange_fail(x, &err);
}

/* What is no gRPC at all gets an HTTP answer. */
static void refuse_http(weft_h2_stream *s, int status, const char *text)
{
    s->grpc.plain = true;
    weft_buffer_puts(&s->x->answer, text);
    weft_exchange_reply(s->x, status, "text/plain");
}

static void fail_code(weft_h2_stream *s, weft_status st, const char *text)
{
    weft_error err;
    weft_fail(&err, st, "%s", text);
    weft_exchange_fail(s->x, &err);
}

weft_status weft_grpc_malformed(const char *message, weft_error *err)
{
    return weft_fail(err, WEFT_E_INVALID, "the %s is not a valid protobuf message", message);
}

weft_status weft_grpc_text(weft_arena *arena, const weft_pb_field *f, size_t max, const char *what, const char **out,
                           weft_error *err)
{
    *out = "";
    if (f->type != WEFT_PB_BYTES)
        return weft_fail(err, WEFT_E_INVALID, "%s must be a string", what);
    if (f->n_bytes > max)
        return weft_fail(err, WEFT_E_INVALID, "%s has %zu bytes; at most %zu are allowed", what, f->n_bytes, max);
    if ((f->n_bytes && memchr(f->data, 0, f->n_bytes)) || !weft_utf8_valid((const char *)f->data, f->n_bytes))
        return weft_fail(err, WEFT_E_INVALID, "%s is not UTF-8 text", what);
    *out = weft_arena_strndup(arena, (const char *)f->data, f->n_bytes);
    return *out ? WEFT_OK : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
}

int64_t weft_grpc_left_ms(const weft_exchange *x)
{
    const weft_h2_stream *s = x->stream;
    if (!s || s->grpc.deadline_ns == WEFT_NEVER)
        return 0;
    int64_t left = s->grpc.deadline_ns - weft_now_ns();
    return left < WEFT_MS ? 1 : left / WEFT_MS;
}

/* ---- the head -------------------------------------------------------------------------------------------------------------- */

/* "100m": at most eight digits and a unit. False when malformed. */
static bool read_timeout(weft_http_slice v, int64_t *ns)
{
    static const char units[] = "HMSmun";
    static const int64_t scale[] = {3600 * WEFT_S, 60 * WEFT_S, WEFT_S, WEFT_MS, 1000, 1};
    const char *unit = v.n >= 2 && v.n <= 9 ? memchr(units, v.p[v.n - 1], sizeof(units) - 1) : NULL;
    int64_t n = 0;
    if (!unit)
        return false;
    for (size_t i = 0; i + 1 < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
        n = n * 10 + (v.p[i] - '0');
    }
    if (__builtin_mul_overflow(n, scale[unit - units], ns))
        *ns = WEFT_NEVER;
    return true;
}

static bool is_grpc(const weft_http_slice *type)
{
    static const char want[] = "application/grpc";
    size_t n = sizeof(want) - 1;
    if (!type || !weft_http_slice_starts(*type, want))
        return false;
    if (type->n == n || type->p[n] == ';')
        return true;
    return type->n >= n + 6 && memcmp(type->p + n, "+proto", 6) == 0;
}

static void keep_ids(weft_exchange *x, const weft_http_head *head)
{
    const weft_http_slice *id = weft_http_header(head, "x-request-id");
    size_t n = id && id->n < sizeof(x->id) ? id->n : 0;
    for (size_t i = 0; i < n; i++)
        if (id->p[i] < 0x20 || id->p[i] > 0x7e)
            n = 0;
    if (n)
        memcpy(x->id, id->p, n);
    x->method = head->method;
    snprintf(x->target, sizeof(x->target), "%.*s", (int)(head->path.n < 255 ? head->path.n : 255), head->path.p);
    weft_trace_from_head(head, x->trace);
}

static const grpc_method *find_method(weft_http_slice path)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strlen(methods[i].route.pattern) == path.n && memcmp(methods[i].route.pattern, path.p, path.n) == 0)
            return &methods[i];
    return NULL;
}

/* True to go on. */
static bool read_head(weft_h2_stream *s)
{
    weft_http_head *h = &s->head;
    weft_server *server = s->x->loop->server;
    const weft_http_slice *v = weft_http_header(h, "grpc-encoding");
    int64_t timeout_ns;
    char text[256];
    const grpc_method *m = find_method(h->path);
    if (!m) {
        snprintf(text, sizeof(text), "%.*s is not served; inference.GRPCInferenceService and grpc.health.v1.Health/Check are",
                 (int)(h->path.n < 150 ? h->path.n : 150), h->path.p);
        fail_code(s, WEFT_E_UNSUPPORTED, text);
        return false;
    }
    if (m->streams) {
        fail_code(s, WEFT_E_UNSUPPORTED, "ModelStreamInfer is not served; send each request with ModelInfer");
        return false;
    }
    s->x->route = &m->route;
    s->grpc.coding = v ? weft_coding_of(v->p, v->n) : WEFT_CODING_NONE;
    if (s->grpc.coding == WEFT_CODING_UNKNOWN) {
        fail_code(s, WEFT_E_UNSUPPORTED, "this grpc-encoding is not known here; identity, gzip and deflate are");
        return false;
    }
    if (atomic_load_explicit(&server->refuse_new, memory_order_relaxed)) {
        fail_code(s, WEFT_E_UNAVAILABLE, "the server is shutting down; send the request to another one");
        return false;
    }
    v = weft_http_header(h, "grpc-timeout");
    if (v && !read_timeout(*v, &timeout_ns)) {
        fail_code(s, WEFT_E_INVALID, "grpc-timeout must be at most eight digits and a unit, as 100m");
        return false;
    }
    if (v)
        s->grpc.deadline_ns = weft_time_add(weft_now_ns(), timeout_ns);
    return true;
}

static void expect(weft_h2_stream *s, size_t n_bytes)
{
    weft_h2_expect(s, n_bytes);
    if (s->grpc.deadline_ns < s->deadline_ns)
        weft_h2_set_deadline(s, s->grpc.deadline_ns);
}

static void on_head(weft_h2_stream *s)
{
    keep_ids(s->x, &s->head);
    if (s->head.method != WEFT_HTTP_POST)
        refuse_http(s, 405, "This port speaks gRPC, which is POST only; HTTP is on another port.\n");
    else if (!is_grpc(weft_http_header(&s->head, "content-type")))
        refuse_http(s, 415, "This port speaks gRPC: the content-type must be application/grpc.\n");
    else if (read_head(s))
        expect(s, 16384);
}

/* ---- the message ----------------------------------------------------------------------------------------------------------- */

/* The prefix is there: room for the message. Raw tensors are lent to the engine where they lie, so the first one is put at a
 * multiple of 64, as far as its place can be seen in what has come with the prefix. */
static bool begin_message(weft_h2_stream *s, const uint8_t *data, size_t n)
{
    weft_exchange *x = s->x;
    const uint8_t *p = s->grpc.prefix;
    uint64_t max = x->loop->server->options.max_body_bytes;
    weft_error err;
    s->grpc.n_message = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] > 1 || (p[0] == 1 && s->grpc.coding == WEFT_CODING_NONE)) {
        fail_code(s, WEFT_E_INTERNAL,
                  p[0] > 1 ? "the message's first byte must be 0 or 1"
                           : "the message says that it is compressed, but the call has no grpc-encoding");
        return false;
    }
    if (s->grpc.n_message > max) {
        weft_fail(&err, WEFT_E_TOO_LARGE, "the message has %zu bytes; this server takes %llu (server.max_body_bytes)",
                  s->grpc.n_message, (unsigned long long)max);
        weft_exchange_fail(x, &err);
        return false;
    }
    size_t at = p[0] == 0 ? weft_pb_find_bytes(data, n < s->grpc.n_message ? n : s->grpc.n_message, 7) : 0;
    x->body_skew = (64 - at % 64) % 64;
    if (weft_h2_reserve(s, s->grpc.n_message, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return false;
    }
    expect(s, s->grpc.n_message);
    return true;
}

static void on_data(weft_h2_stream *s, const uint8_t *data, size_t n)
{
    weft_exchange *x = s->x;
    while (n && s->grpc.n_prefix < 5) {
        s->grpc.prefix[s->grpc.n_prefix++] = *data++;
        n--;
        if (s->grpc.n_prefix == 5 && !begin_message(s, data, n))
            return;
    }
    if (!n)
        return;
    if (n > s->grpc.n_message - x->n_body) {
        fail_code(s, WEFT_E_INTERNAL, "more than one message came; this call takes one");
        return;
    }
    memcpy(x->body + x->n_body, data, n);
    x->n_body += n;
}

static weft_status inflate_message(weft_exchange *x, weft_coding coding, weft_error *err)
{
    weft_chunk_pool *pool = x->loop->server->pool;
    uint8_t *plain;
    size_t n;
    weft_status st =
        weft_inflate(pool, coding, x->body, x->n_body, (size_t)x->loop->server->options.max_body_bytes, 0, &plain, &n, err);
    if (st)
        return st;
    weft_chunk_give(pool, x->body ? x->body - x->body_skew : NULL);
    x->body = plain;
    x->body_skew = 0;
    x->n_body = x->body_capacity = n;
    return WEFT_OK;
}

/* Runs on libuv's threads, then the method on the loop. The work touches the body and `inflating` only. */
typedef struct inflating {
    weft_coding coding;
    weft_error err;
} inflating;

static void inflate_work(uv_work_t *w)
{
    weft_exchange *x = w->data;
    inflating *job = x->job;
    weft_error_clear(&job->err);
    inflate_message(x, job->coding, &job->err);
}

static void inflate_done(uv_work_t *w, int status)
{
    (void)status;
    weft_exchange *x = w->data;
    inflating *job = x->job;
    weft_error err = job->err;
    x->job = NULL;
    if (x->conn && err.status != WEFT_OK)
        weft_exchange_fail(x, &err);
    else if (x->conn && !x->answered)
        method_of(x)->handle(x);
    weft_exchange_unref(x);
}

static void start_inflating(weft_h2_stream *s)
{
    weft_exchange *x = s->x;
    inflating *job = weft_arena_zalloc(x->arena, sizeof(*job));
    if (!job) {
        fail_code(s, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
        return;
    }
    job->coding = s->grpc.coding;
    x->job = job;
    x->work.data = x;
    weft_exchange_ref(x);
    if (uv_queue_work(&x->loop->uv, &x->work, inflate_work, inflate_done) != 0) {
        weft_exchange_unref(x);
        fail_code(s, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    }
}

static void on_end(weft_h2_stream *s)
{
    weft_exchange *x = s->x;
    if (s->grpc.n_prefix < 5 || x->n_body < s->grpc.n_message) {
        fail_code(s, WEFT_E_INVALID,
                  s->grpc.n_prefix ? "the call ended inside its message" : "the call has no message; this method takes one");
        return;
    }
    x->arena = weft_arena_create(x->loop->server->pool, ARENA_BYTES);
    if (!x->arena)
        fail_code(s, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    else if (s->grpc.prefix[0])
        start_inflating(s);
    else
        method_of(x)->handle(x);
}

static void on_late(weft_h2_stream *s)
{
    fail_code(s, WEFT_E_DEADLINE, "the message did not arrive completely in time; send it faster");
}

static void on_large_head(weft_h2_stream *s)
{
    fail_code(s, WEFT_E_TOO_LARGE, "the call's metadata is larger than this server accepts (server.max_head_bytes)");
}

const weft_h2_app weft_grpc_app = {
    .door = {.answer = answer, .fail = fail},
    .head = on_head,
    .data = on_data,
    .end = on_end,
    .late = on_late,
    .head_too_large = on_large_head,
};
