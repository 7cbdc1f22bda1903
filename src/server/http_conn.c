/* One HTTP/1.1 connection.
 *
 *   state     what moves it on                                          deadline
 *   HEAD      a complete head -> LENGTH/CHUNKED/WAIT                    idle_timeout when nothing has come, else head_timeout
 * (absolute) LENGTH    the last body byte -> WAIT                                body_timeout + bytes / min_body_rate (absolute)
 *   CHUNKED   the last chunk -> WAIT                                    likewise, with max_body_bytes
 *   WAIT      the answer -> WRITE; the client goes -> closed, cancel    none: the request has its own
 *   WRITE     written -> HEAD, LINGER or closed                         write_timeout
 *   LINGER    256 KiB or the client's end -> closed                     1 s
 * Everything here runs on the loop's thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/h2_conn.h"
#include "server/server_internal.h"

#define LINGER_BYTES (256 * 1024)
#define LINGER_NS WEFT_S
#define KEEPALIVE_S 30
#define MAX_MORE 130 /* pieces of an answer behind its first: one for each output */

static void take_input(weft_conn *c);
static void start_reading(weft_conn *c);

static int64_t deadline_in(double ms)
{
    return weft_time_add(weft_now_ns(), weft_ms_to_ns(ms));
}

static const weft_server_options *options(const weft_conn *c)
{
    return &c->loop->server->options;
}

/* ---- closing ----------------------------------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *h)
{
    weft_conn *c = h->data;
    if (c->h2)
        weft_h2_free(c->h2);
    weft_chunk_give(c->loop->server->pool, c->in);
    atomic_fetch_sub(&c->loop->server->n_conns, 1);
    free(c);
}

static void drop_exchange(weft_conn *c)
{
    weft_exchange *x = c->exchange;
    if (!x)
        return;
    c->exchange = NULL;
    weft_exchange_abandon(x);
    weft_exchange_unref(x);
}

void weft_conn_close(weft_conn *c)
{
    if (c->state == WEFT_CONN_CLOSED)
        return;
    bool write_pending = c->state == WEFT_CONN_WRITE;
    c->state = WEFT_CONN_CLOSED;
    weft_node_remove(&c->node);
    if (c->h2)
        weft_h2_orphan(c->h2);
    if (!write_pending) /* else on_written drops it: libuv still reads the answer's memory */
        drop_exchange(c);
    uv_close(&c->io.handle, on_closed);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

static void next_request(weft_conn *c)
{
    size_t rest = c->n_in - c->head_bytes;
    memmove(c->in, c->in + c->head_bytes, rest);
    c->n_in = rest;
    c->head_bytes = c->scanned = 0;
    c->state = WEFT_CONN_HEAD;
    c->deadline_ns = deadline_in(rest ? options(c)->head_timeout_ms : options(c)->idle_timeout_ms);
    if (c->read_error) {
        weft_conn_close(c);
        return;
    }
    if (rest)
        take_input(c);
    start_reading(c);
}

static void on_shutdown(uv_shutdown_t *r, int status)
{
    (void)r, (void)status; /* the client's own end, the byte count or the deadline closes it */
}

static void after_answer(weft_conn *c, bool body_unread)
{
    weft_server *s = c->loop->server;
    drop_exchange(c);
    bool closing = c->close_after || atomic_load_explicit(&s->refuse_new, memory_order_relaxed);
    if (!closing) {
        next_request(c);
        return;
    }
    if (!body_unread || c->read_error) {
        weft_conn_close(c);
        return;
    }
    c->state = WEFT_CONN_LINGER;
    c->lingered_bytes = 0;
    c->deadline_ns = weft_now_ns() + LINGER_NS;
    uv_shutdown(&c->shutdown, &c->io.stream, on_shutdown);
}

static void on_written(uv_write_t *w, int status)
{
    weft_conn *c = w->data;
    atomic_fetch_add(&c->loop->server->n_answered, 1);
    if (c->state == WEFT_CONN_CLOSED) {
        drop_exchange(c);
        return;
    }
    if (status < 0) {
        c->state = WEFT_CONN_HEAD; /* nothing is being written any more */
        weft_conn_close(c);
        return;
    }
    after_answer(c, c->lingered_bytes == SIZE_MAX);
}

static size_t write_head(weft_conn *c, weft_exchange *x)
{
    bool close = c->close_after || atomic_load_explicit(&c->loop->server->refuse_new, memory_order_relaxed);
    size_t n_bytes = x->answer.n_bytes;
    for (size_t i = 0; i < x->n_more; i++)
        n_bytes += x->more[i].len;
    int n = snprintf(x->answer_head, sizeof(x->answer_head),
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s%s%s%s%s%s%s\r\n", x->status,
                     weft_http_reason(x->status), x->answer_type, n_bytes, x->answer_headers, x->id[0] ? "X-Request-Id: " : "",
                     x->id, x->id[0] ? "\r\n" : "", x->trace[0] ? "traceparent: " : "", x->trace, x->trace[0] ? "\r\n" : "",
                     close                ? "Connection: close\r\n"
                     : c->head.minor == 0 ? "Connection: keep-alive\r\n"
                                          : "");
    weft_assert(n > 0 && (size_t)n < sizeof(x->answer_head));
    return (size_t)n;
}

static void answer(weft_exchange *x)
{
    weft_conn *c = x->conn;
    if (c->state == WEFT_CONN_CLOSED)
        return;
    bool body_unread =
        c->state == WEFT_CONN_LENGTH || c->state == WEFT_CONN_CHUNKED || (c->state == WEFT_CONN_HEAD && c->close_after);
    c->lingered_bytes = body_unread ? SIZE_MAX : 0;
    if (body_unread)
        c->close_after = true;
    size_t n_head = write_head(c, x);
    uv_buf_t bufs[2 + MAX_MORE] = {{.base = x->answer_head, .len = n_head},
                                   {.base = (char *)x->answer.data, .len = x->answer.n_bytes}};
    unsigned n_bufs = x->answer.n_bytes == 0 ? 1 : 2;
    weft_assert(x->n_more <= MAX_MORE);
    for (size_t i = 0; i < x->n_more; i++)
        bufs[n_bufs++] = x->more[i];
    if (x->head_only)
        n_bufs = 1;
    for (unsigned i = 0; i < n_bufs; i++)
        weft_counter_add(&c->loop->counters.sent_bytes, bufs[i].len);
    c->state = WEFT_CONN_WRITE;
    c->deadline_ns = deadline_in(options(c)->write_timeout_ms);
    c->write.data = c;
    if (uv_write(&c->write, &c->io.stream, bufs, n_bufs, on_written) < 0) {
        c->state = WEFT_CONN_HEAD;
        weft_conn_close(c);
    }
}

static const weft_door http1_door = {.answer = answer};

/* ---- one request ----------------------------------------------------------------------------------------------------------- */

/* An answer before the body was read (or to a head that cannot be parsed): the connection ends after it. */
static void refuse_early(weft_conn *c, int status, const char *code, const char *text)
{
    c->close_after = true;
    if (!c->exchange) {
        c->exchange = weft_exchange_create(c->loop, &http1_door, c);
        if (!c->exchange) {
            weft_conn_close(c);
            return;
        }
    }
    weft_exchange_fail_status(c->exchange, status, code, "%s", text);
}

static void body_complete(weft_conn *c)
{
    c->state = WEFT_CONN_WAIT;
    c->deadline_ns = WEFT_NEVER;
    c->exchange->route->handle(c->exchange, &c->head);
}

static bool append_body(void *cookie, const char *data, size_t n)
{
    weft_conn *c = cookie;
    weft_exchange *x = c->exchange;
    uint64_t max = options(c)->max_body_bytes;
    if (n > max - x->n_body || !weft_exchange_body_reserve(x, x->n_body + n))
        return false;
    memcpy(x->body + x->n_body, data, n);
    x->n_body += n;
    return true;
}

static void refuse_too_large(weft_conn *c)
{
    c->close_after = true;
    weft_exchange_fail_too_large(c->exchange);
}

/* Bytes that came with the head and belong to the body. */
static void begin_body(weft_conn *c)
{
    weft_exchange *x = c->exchange;
    const weft_http_head *h = &c->head;
    if (h->chunked) {
        c->state = WEFT_CONN_CHUNKED;
    } else {
        if (!weft_exchange_body_reserve(x, (size_t)h->content_length)) {
            refuse_early(c, 503, "NO_MEMORY", "The server has no memory for this body now; try again later.");
            return;
        }
        size_t have = c->n_in - c->head_bytes;
        size_t take = have < h->content_length ? have : (size_t)h->content_length;
        memcpy(x->body, c->in + c->head_bytes, take);
        x->n_body = take;
        memmove(c->in + c->head_bytes, c->in + c->head_bytes + take, have - take);
        c->n_in -= take;
        c->state = WEFT_CONN_LENGTH;
    }
    if (h->expect_continue && c->n_in == c->head_bytes && x->n_body == 0) {
        uv_buf_t b = uv_buf_init((char *)"HTTP/1.1 100 Continue\r\n\r\n", 25);
        uv_try_write(&c->io.stream, &b, 1);
    }
    uint64_t bytes = h->chunked ? options(c)->max_body_bytes : h->content_length;
    c->deadline_ns = deadline_in(options(c)->body_timeout_ms + 1e3 * (double)bytes / (double)options(c)->min_body_rate);
}

static void head_complete(weft_conn *c)
{
    weft_http_refusal no;
    c->exchange = weft_exchange_create(c->loop, &http1_door, c);
    if (!c->exchange) {
        weft_conn_close(c);
        return;
    }
    weft_exchange *x = c->exchange;
    c->close_after = true; /* until the head is understood */
    if (!weft_http_head_parse(&c->parser, c->in, c->head_bytes, &c->head, &no)) {
        refuse_early(c, no.status, no.status == 400 ? "INVALID" : "UNSUPPORTED", no.text);
        return;
    }
    const weft_http_head *h = &c->head;
    bool has_body = h->chunked || h->content_length > 0;
    bool no_length = h->method == WEFT_HTTP_POST && !h->chunked && !h->has_length; /* 411: who knows what follows */
    c->close_after = has_body || no_length || !h->keep_alive;                      /* an early answer leaves the body unread */
    if (!weft_exchange_open(x, h))
        return;
    c->close_after = !h->keep_alive;
    if (has_body) {
        begin_body(c);
        if (c->state == WEFT_CONN_CHUNKED)
            take_input(c);
        else if (c->state == WEFT_CONN_LENGTH && x->n_body == h->content_length)
            body_complete(c);
        return;
    }
    body_complete(c);
}

static void feed_chunked(weft_conn *c)
{
    size_t have = c->n_in - c->head_bytes, used = 0;
    if (!have)
        return;
    weft_http_chunk_state st = weft_http_chunk_feed(&c->parser, c->in + c->head_bytes, have, &used, append_body, c);
    memmove(c->in + c->head_bytes, c->in + c->head_bytes + used, have - used);
    c->n_in -= used;
    if (st == WEFT_CHUNK_DONE)
        body_complete(c);
    else if (st == WEFT_CHUNK_BAD)
        refuse_early(c, 400, "INVALID", "The chunked body is malformed.");
    else if (st == WEFT_CHUNK_STOPPED)
        refuse_too_large(c);
}

/* HTTP/2 with prior knowledge (RFC 9113 3.3): the first bytes are its preface, which no HTTP/1 request can be. */
static bool is_http2(const weft_conn *c)
{
    size_t n = c->n_in < WEFT_H2_PREFACE_BYTES ? c->n_in : WEFT_H2_PREFACE_BYTES;
    return !c->used && n > 0 && memcmp(c->in, WEFT_H2_PREFACE, n) == 0;
}

static void become_http2(weft_conn *c)
{
    if (!weft_h2_start(c, &weft_h2_http_app, c->in, c->n_in))
        weft_conn_close(c);
    weft_chunk_give(c->loop->server->pool, c->in);
    c->in = NULL;
}

static void feed_head(weft_conn *c)
{
    if (is_http2(c)) {
        if (c->n_in >= WEFT_H2_PREFACE_BYTES)
            become_http2(c);
        return;
    }
    size_t n = weft_http_head_end(c->in, c->n_in, &c->scanned);
    size_t max = (size_t)options(c)->max_head_bytes;
    if (n > max || (n == 0 && c->n_in >= max)) {
        c->head_bytes = c->n_in < max ? c->n_in : max;
        c->head.minor = 1;
        refuse_early(c, 431, "TOO_LARGE", "The request head is larger than this server accepts (server.max_head_bytes).");
        return;
    }
    if (n == 0) {
        return;
    }
    c->head_bytes = n;
    c->used = true;
    head_complete(c);
}

static void take_input(weft_conn *c)
{
    if (c->state == WEFT_CONN_HEAD)
        feed_head(c);
    else if (c->state == WEFT_CONN_CHUNKED)
        feed_chunked(c);
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    weft_conn *c = h->data;
    weft_exchange *x = c->exchange;
    if (c->state == WEFT_CONN_LENGTH) { /* straight into the body's final place, never more than is missing */
        size_t missing = (size_t)c->head.content_length - x->n_body;
        *buf = uv_buf_init((char *)x->body + x->n_body, (unsigned)(missing < (1u << 30) ? missing : (1u << 30)));
        return;
    }
    if (c->state == WEFT_CONN_LINGER)
        c->n_in = 0;
    *buf = uv_buf_init(c->in + c->n_in, (unsigned)(c->in_capacity - c->n_in));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    weft_conn *c = stream->data;
    if (n == 0)
        return;
    if (n > 0)
        weft_counter_add(&c->loop->counters.received_bytes, (uint64_t)n);
    if (n ==
        UV_ENOBUFS) { /* a pipelining client has filled the buffer while its request is worked on: read on when it is answered */
        uv_read_stop(stream);
        c->reading = false;
        return;
    }
    if (n < 0) {
        c->read_error = true;
        if (c->state == WEFT_CONN_WRITE) /* it may have closed its sending side only; let the answer go out */
            return;
        weft_conn_close(c);
        return;
    }
    switch (c->state) {
    case WEFT_CONN_LENGTH:
        c->exchange->n_body += (size_t)n;
        if (c->exchange->n_body == c->head.content_length)
            body_complete(c);
        break;
    case WEFT_CONN_LINGER:
        c->lingered_bytes += (size_t)n;
        if (c->lingered_bytes >= LINGER_BYTES)
            weft_conn_close(c);
        break;
    case WEFT_CONN_HEAD:
        if (c->n_in == 0)
            c->deadline_ns = deadline_in(options(c)->head_timeout_ms);
        /* fallthrough */
    default:
        c->n_in += (size_t)n;
        take_input(c);
        break;
    }
    start_reading(c);
}

static void start_reading(weft_conn *c)
{
    if (c->reading || c->h2 || c->state == WEFT_CONN_CLOSED || c->read_error || c->n_in == c->in_capacity)
        return;
    c->reading = uv_read_start(&c->io.stream, on_alloc, on_read) == 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------------------ */

bool weft_conn_accept(weft_loop *loop, uv_stream_t *listener, bool grpc)
{
    weft_server *s = loop->server;
    weft_conn *c = calloc(1, sizeof(*c));
    if (!c)
        return false;
    c->loop = loop;
    bool is_tcp = listener->type == UV_TCP;
    int rc = is_tcp ? uv_tcp_init(&loop->uv, &c->io.tcp) : uv_pipe_init(&loop->uv, &c->io.pipe, 0);
    if (rc < 0) {
        free(c);
        return false;
    }
    c->io.handle.data = c;
    atomic_fetch_add(&s->n_conns, 1);
    weft_counter_add(&loop->counters.accepted, 1);
    c->in_capacity = (size_t)s->options.max_head_bytes + 4096;
    c->in = grpc ? NULL : weft_chunk_take(s->pool, c->in_capacity);
    weft_node_push_back(&loop->conns, &c->node);
    c->state = WEFT_CONN_HEAD;
    c->deadline_ns = deadline_in(s->options.head_timeout_ms);
    if (uv_accept(listener, &c->io.stream) < 0 || (!grpc && !c->in) || atomic_load(&s->n_conns) > s->options.max_connections) {
        weft_conn_close(c);
        return true;
    }
    if (is_tcp) {
        uv_tcp_nodelay(&c->io.tcp, 1);
        uv_tcp_keepalive(&c->io.tcp, 1, KEEPALIVE_S); /* a client whose machine is gone frees what it queued */
    }
    if (!grpc)
        start_reading(c);
    else if (!weft_h2_start(c, &weft_grpc_app, NULL, 0))
        weft_conn_close(c);
    return true;
}

void weft_conn_sweep(weft_conn *c, int64_t now_ns)
{
    if (now_ns < c->deadline_ns)
        return;
    if (c->h2) {
        weft_h2_sweep(c->h2, now_ns);
        return;
    }
    bool request_begun =
        (c->state == WEFT_CONN_HEAD && c->n_in > 0) || c->state == WEFT_CONN_LENGTH || c->state == WEFT_CONN_CHUNKED;
    if (!request_begun) {
        weft_conn_close(c);
        return;
    }
    c->head.minor = 1;
    refuse_early(c, 408, "DEADLINE", "The request did not arrive completely in time; send it faster or in one piece.");
}

void weft_conn_drain(weft_conn *c)
{
    if (c->h2 && c->state != WEFT_CONN_CLOSED)
        weft_h2_drain(c->h2);
    else if (c->state == WEFT_CONN_HEAD && c->n_in == 0)
        weft_conn_close(c);
}
