/* The connection: session, streams, reading, deadlines, drain. Writing is in h2_write.c. */
#include "server/h2_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/h2_internal.h"

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (16 << 20)
#define CHARGE_PER_STREAM 16384 /* the stream, its exchange and its head, about */
#define DRAIN_NOTICE_NS (100 * WEFT_MS)
#define LINGER_NS WEFT_S
/* A client may cancel, ping and change settings, but not for a living (burst, then a rate). */
#define RESET_BURST 1000
#define RESET_NS (WEFT_S / 33)
#define PING_BURST 200
#define PING_NS (WEFT_S / 2)

static const weft_server_options *options(const weft_h2 *h)
{
    return &h->conn->loop->server->options;
}

static int64_t deadline_in(double ms)
{
    return weft_time_add(weft_now_ns(), weft_ms_to_ns(ms));
}

void weft_h2_wake_at(weft_h2 *h, int64_t deadline_ns)
{
    if (deadline_ns < h->conn->deadline_ns)
        h->conn->deadline_ns = deadline_ns;
}

void weft_h2_set_deadline(weft_h2_stream *s, int64_t deadline_ns)
{
    s->deadline_ns = deadline_ns;
    weft_h2_wake_at(s->h2, deadline_ns);
}

/* False when the bucket is empty: more than `burst` at once, or more than one each `refill_ns` for long. */
static bool take_token(weft_h2_bucket *b, int burst, int64_t refill_ns)
{
    int64_t now = weft_now_ns(), back = b->since_ns ? (now - b->since_ns) / refill_ns : burst;
    if (back > 0) {
        b->used = back >= b->used ? 0 : b->used - (int)back;
        b->since_ns = now;
    }
    return ++b->used <= burst;
}

/* ---- budget ---------------------------------------------------------------------------------------------------------------- */

static bool charge(weft_exchange *x, uint64_t n_bytes)
{
    weft_server *s = x->loop->server;
    uint64_t limit = s->options.max_bodies_bytes;
    if (limit < s->options.max_body_bytes)
        limit = s->options.max_body_bytes;
    limit += CHARGE_PER_STREAM;
    if (atomic_fetch_add(&s->body_bytes, n_bytes) + n_bytes > limit) {
        atomic_fetch_sub(&s->body_bytes, n_bytes);
        return false;
    }
    x->charged_bytes += n_bytes;
    return true;
}

weft_status weft_h2_reserve(weft_h2_stream *s, size_t n_bytes, weft_error *err)
{
    weft_exchange *x = s->x;
    if (n_bytes <= x->body_capacity)
        return WEFT_OK;
    size_t want = x->body_capacity ? x->body_capacity * 2 : n_bytes; /* as weft_exchange_body_reserve grows */
    if (want < n_bytes)
        want = n_bytes;
    if (!charge(x, want - x->body_capacity)) {
        weft_fail(
            err, WEFT_E_BUSY,
            "the bodies of other requests fill the memory that this server gives them (server.max_bodies_bytes); try again");
        err->retry_after_ms = 1000;
        return err->status;
    }
    if (!weft_exchange_body_reserve(x, n_bytes))
        return weft_fail(err, WEFT_E_NO_MEMORY, "the server has no memory for this body now; try again later");
    return WEFT_OK;
}

void weft_h2_expect(weft_h2_stream *s, size_t n_bytes)
{
    const weft_server_options *o = options(s->h2);
    uint64_t bytes = n_bytes < o->max_body_bytes ? n_bytes : o->max_body_bytes;
    weft_h2_set_deadline(s, deadline_in(o->body_timeout_ms + 1e3 * (double)bytes / (double)o->min_body_rate));
    if (n_bytes != SIZE_MAX && n_bytes > STREAM_WINDOW && n_bytes < INT32_MAX - STREAM_WINDOW)
        nghttp2_session_set_local_window_size(s->h2->session, NGHTTP2_FLAG_NONE, s->id, (int32_t)(n_bytes + 4096));
}

/* ---- streams --------------------------------------------------------------------------------------------------------------- */

static void free_stream(weft_h2_stream *s)
{
    weft_server *server = s->h2->conn->loop->server;
    weft_node_remove(&s->node);
    s->h2->n_streams--;
    if (s->x) {
        weft_exchange_abandon(s->x);
        weft_exchange_unref(s->x);
    }
    weft_chunk_give(server->pool, s->text);
    weft_chunk_give(server->pool, s);
}

static weft_h2_stream *create_stream(weft_h2 *h, int32_t id)
{
    weft_chunk_pool *pool = h->conn->loop->server->pool;
    weft_h2_stream *s = weft_chunk_take(pool, sizeof(*s));
    if (!s)
        return NULL;
    memset(s, 0, sizeof(*s));
    s->h2 = h;
    s->app = h->app;
    s->id = id;
    s->deadline_ns = WEFT_NEVER;
    s->grpc.deadline_ns = WEFT_NEVER;
    weft_node_push_back(&h->streams, &s->node);
    h->n_streams++;
    s->x = weft_exchange_create(h->conn->loop, &s->app->door, h->conn);
    if (!s->x || !charge(s->x, CHARGE_PER_STREAM)) {
        free_stream(s);
        return NULL;
    }
    s->x->stream = s;
    return s;
}

void weft_h2_reset(weft_h2_stream *s, uint32_t error_code)
{
    nghttp2_submit_rst_stream(s->h2->session, NGHTTP2_FLAG_NONE, s->id, error_code);
    weft_h2_mark(s->h2);
}

/* ---- heads ----------------------------------------------------------------------------------------------------------------- */

static void rebase(weft_http_slice *v, const char *from, char *to)
{
    if (v->p)
        v->p = to + (v->p - from);
}

/* Copies a name or value into the stream's text; NULL when the head is over its limit or memory is out. */
static const char *keep_text(weft_h2_stream *s, const uint8_t *p, size_t n)
{
    size_t max = (size_t)options(s->h2)->max_head_bytes;
    if (n > max - s->n_text)
        return NULL;
    if (s->n_text + n > s->text_capacity) {
        size_t want = s->text_capacity ? s->text_capacity * 2 : 1024;
        want = want < s->n_text + n ? s->n_text + n : want;
        weft_chunk_pool *pool = s->h2->conn->loop->server->pool;
        char *bigger = weft_chunk_take(pool, want);
        if (!bigger)
            return NULL;
        if (s->n_text)
            memcpy(bigger, s->text, s->n_text);
        rebase(&s->head.path, s->text, bigger);
        rebase(&s->head.query, s->text, bigger);
        for (size_t i = 0; i < s->head.n_headers; i++) {
            rebase(&s->head.headers[i].name, s->text, bigger);
            rebase(&s->head.headers[i].value, s->text, bigger);
        }
        weft_chunk_give(pool, s->text);
        s->text = bigger;
        s->text_capacity = want;
    }
    char *to = s->text + s->n_text;
    if (n)
        memcpy(to, p, n);
    s->n_text += n;
    return to;
}

static bool is(const uint8_t *p, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(p, text, n) == 0;
}

static weft_http_method method_of(const uint8_t *p, size_t n)
{
    static const char *const names[] = {"", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    for (int i = WEFT_HTTP_GET; i <= WEFT_HTTP_OPTIONS; i++)
        if (is(p, n, names[i]))
            return (weft_http_method)i;
    return WEFT_HTTP_OTHER;
}

static bool add_path(weft_h2_stream *s, const uint8_t *value, size_t n)
{
    const char *p = n <= WEFT_HTTP_MAX_TARGET ? keep_text(s, value, n) : NULL;
    if (!p)
        return false;
    const char *question = n ? memchr(p, '?', n) : NULL;
    s->head.path = (weft_http_slice){p, question ? (size_t)(question - p) : n};
    s->head.query = question ? (weft_http_slice){question + 1, n - (size_t)(question - p) - 1} : (weft_http_slice){p + n, 0};
    return true;
}

/* The library has checked the form of names and values, the pseudo headers and that the body fits content-length (RFC 9113 8.1).
 */
static bool add_header(weft_h2_stream *s, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value)
{
    weft_http_head *h = &s->head;
    if (is(name, n_name, ":method")) {
        h->method = method_of(value, n_value);
        return true;
    }
    if (is(name, n_name, ":path"))
        return add_path(s, value, n_value);
    if (is(name, n_name, ":authority")) {
        name = (const uint8_t *)"host";
        n_name = 4;
    } else if (n_name && name[0] == ':') {
        return true;
    }
    if (h->n_headers == WEFT_HTTP_MAX_HEADERS || !keep_text(s, name, n_name) || !keep_text(s, value, n_value))
        return false;
    /* the second may have moved the first */
    const char *end = s->text + s->n_text;
    h->headers[h->n_headers].name = (weft_http_slice){end - n_value - n_name, n_name};
    h->headers[h->n_headers++].value = (weft_http_slice){end - n_value, n_value};
    if (is(name, n_name, "content-length")) {
        h->has_length = true;
        for (size_t i = 0; i < n_value && i < 18; i++)
            h->content_length = h->content_length * 10 + (uint64_t)(value[i] - '0');
        if (n_value > 18)
            h->content_length = UINT64_MAX;
    }
    return true;
}

static void stream_ended(weft_h2_stream *s)
{
    s->ended = true;
    if (s->answered || !s->head_done)
        return;
    weft_h2_set_deadline(s, WEFT_NEVER);
    s->app->end(s);
}

static void head_complete(weft_h2_stream *s, bool end)
{
    s->head_done = true;
    s->h2->head_deadline_ns = WEFT_NEVER;
    s->head.minor = 1;
    s->head.keep_alive = true;
    if (!s->head.has_length) {
        s->head.has_length = end;
        s->head.chunked = !end;
    }
    s->ended = end;
    if (s->head_too_large) {
        s->app->head_too_large(s);
        return;
    }
    s->app->head(s);
    if (end)
        stream_ended(s);
}

/* ---- what nghttp2 tells ---------------------------------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    weft_h2 *h = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    weft_h2_stream *s = create_stream(h, frame->hd.stream_id);
    if (!s) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    h->pings.used = 0;
    h->head_deadline_ns = deadline_in(options(h)->head_timeout_ms);
    weft_h2_wake_at(h, h->head_deadline_ns);
    nghttp2_session_set_stream_user_data(session, s->id, s);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t n_name,
                     const uint8_t *value, size_t n_value, uint8_t flags, void *user)
{
    (void)flags, (void)user;
    weft_h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (s && !s->head_done && !s->head_too_large && !add_header(s, name, n_name, value, n_value))
        s->head_too_large = true;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    weft_h2 *h = user;
    weft_h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (s && !s->head_done)
            head_complete(s, end);
        else if (s && end)
            stream_ended(s);
        break;
    case NGHTTP2_DATA:
        if (s && end)
            stream_ended(s);
        break;
    case NGHTTP2_SETTINGS:
        h->greeted = true;
        break;
    case NGHTTP2_RST_STREAM:
        if (!take_token(&h->resets, RESET_BURST, RESET_NS))
            nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
        break;
    case NGHTTP2_PING:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK) && !take_token(&h->pings, PING_BURST, PING_NS))
            nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user)
{
    (void)flags;
    weft_h2 *h = user;
    weft_h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    h->pings.used = 0;
    nghttp2_session_consume_connection(session, n);
    if (s && !s->answered) {
        nghttp2_session_consume_stream(session, id, n);
        s->app->data(s, data, n);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error_code, void *user)
{
    (void)error_code, (void)user;
    weft_h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (s)
        free_stream(s);
    return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    weft_h2 *h = user;
    weft_h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
        h->pings.used = 0;
    /* A client can also make us reset its streams, by frames that are wrong. */
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        !take_token(&h->resets, RESET_BURST, RESET_NS))
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
    if (!s || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    atomic_fetch_add(&h->conn->loop->server->n_answered, 1);
    s->sent = true;
    /* Answered early: the client may stop by itself when it has read the answer; a reset at once makes some forget the answer. */
    weft_h2_set_deadline(s, s->ended ? WEFT_NEVER : weft_now_ns() + LINGER_NS);
    return 0;
}

/* ---- the session ----------------------------------------------------------------------------------------------------------- */

static bool create_session(weft_h2 *h)
{
    nghttp2_session_callbacks *cb = NULL;
    nghttp2_option *o = NULL;
    bool ok = nghttp2_session_callbacks_new(&cb) == 0 && nghttp2_option_new(&o) == 0;
    if (ok) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
        nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
        weft_h2_set_write_callbacks(cb);
        nghttp2_option_set_no_auto_window_update(o, 1);
        nghttp2_option_set_peer_max_concurrent_streams(o, WEFT_H2_MAX_STREAMS);
        ok = nghttp2_session_server_new2(&h->session, cb, h, o) == 0;
    }
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(o);
    return ok;
}

static bool greet(weft_h2 *h)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, WEFT_H2_MAX_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)options(h)->max_head_bytes},
    };
    return nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0])) == 0 &&
           nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) == 0;
}

static void feed(weft_h2 *h, const void *data, size_t n_bytes)
{
    h->idle_deadline_ns = deadline_in(options(h)->idle_timeout_ms);
    weft_h2_wake_at(h, h->idle_deadline_ns);
    ssize_t used = nghttp2_session_mem_recv(h->session, data, n_bytes);
    if (used < 0) {
        weft_conn_close(h->conn);
        return;
    }
    weft_h2_mark(h);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    weft_conn *c = handle->data;
    *buf = uv_buf_init((char *)c->loop->scratch, sizeof(c->loop->scratch));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    weft_conn *c = stream->data;
    if (n > 0)
        weft_counter_add(&c->loop->counters.received_bytes, (uint64_t)n);
    if (n < 0)
        weft_conn_close(c);
    else if (n > 0 && !c->h2->lingering)
        feed(c->h2, buf->base, (size_t)n);
}

static void on_shutdown(uv_shutdown_t *r, int status)
{
    (void)r, (void)status; /* the client's own end or the deadline closes it */
}

/* Everything is said. Closing at once with bytes of the client still unread would reset the connection, and the client might
 * lose the answers that it has not read yet. */
void weft_h2_linger(weft_h2 *h)
{
    if (h->lingering)
        return;
    h->lingering = true;
    h->write_deadline_ns = weft_now_ns() + LINGER_NS;
    weft_h2_wake_at(h, h->write_deadline_ns);
    if (uv_shutdown(&h->conn->shutdown, &h->conn->io.stream, on_shutdown) < 0)
        weft_conn_close(h->conn);
}

bool weft_h2_start(weft_conn *c, const weft_h2_app *app, const void *data, size_t n_bytes)
{
    weft_h2 *h = calloc(1, sizeof(*h));
    if (!h)
        return false;
    h->conn = c;
    h->app = app;
    weft_node_init(&h->streams);
    c->h2 = h;
    c->state = WEFT_CONN_H2;
    c->deadline_ns = WEFT_NEVER;
    h->write_deadline_ns = WEFT_NEVER;
    h->head_deadline_ns = deadline_in(options(h)->head_timeout_ms); /* for the client's first settings */
    weft_h2_wake_at(h, h->head_deadline_ns);
    if (!create_session(h) || !greet(h))
        return false;
    if (c->reading)
        uv_read_stop(&c->io.stream);
    c->reading = uv_read_start(&c->io.stream, on_alloc, on_read) == 0;
    weft_h2_mark(h);
    if (n_bytes)
        feed(h, data, n_bytes);
    return true;
}

void weft_h2_orphan(weft_h2 *h)
{
    weft_node_remove(&h->dirty);
    while (!weft_node_empty(&h->streams))
        free_stream(weft_container_of(h->streams.next, weft_h2_stream, node));
    nghttp2_session_del(h->session);
    h->session = NULL;
}

void weft_h2_free(weft_h2 *h)
{
    free(h);
}

/* ---- time ------------------------------------------------------------------------------------------------------------------ */

static void stream_late(weft_h2_stream *s)
{
    s->deadline_ns = WEFT_NEVER;
    if (s->answered)
        weft_h2_reset(s, s->sent ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL); /* it sends for ever (RFC 9113 8.1); it does not read */
    else
        s->app->late(s);
}

void weft_h2_sweep(weft_h2 *h, int64_t now_ns)
{
    weft_conn *c = h->conn;
    bool stalled = now_ns >= h->write_deadline_ns, headless = now_ns >= h->head_deadline_ns;
    if (headless && h->greeted && h->n_streams == 0) {
        h->head_deadline_ns = WEFT_NEVER;
        headless = false;
    }
    if (stalled || headless) {
        weft_conn_close(c);
        return;
    }
    int64_t next = h->write_deadline_ns < h->head_deadline_ns ? h->write_deadline_ns : h->head_deadline_ns;
    weft_list_each_safe(n, tmp, &h->streams)
    {
        weft_h2_stream *s = weft_container_of(n, weft_h2_stream, node);
        if (now_ns >= s->deadline_ns)
            stream_late(s);
        if (s->deadline_ns < next)
            next = s->deadline_ns;
    }
    if (h->n_streams == 0 && now_ns >= h->idle_deadline_ns) {
        weft_h2_drain(h);
        next = now_ns; /* look again at the next sweep */
    } else if (h->n_streams == 0 && h->idle_deadline_ns < next) {
        next = h->idle_deadline_ns;
    }
    if (h->n_streams > 0 && next > now_ns + WEFT_S)
        next = now_ns + WEFT_S; /* idleness may begin meanwhile */
    c->deadline_ns = next;
}

/* In two steps, so that no request that is on its way is lost (RFC 9113 6.8). */
void weft_h2_drain(weft_h2 *h)
{
    int64_t now = weft_now_ns();
    if (h->drain == WEFT_H2_SERVING) {
        h->drain = WEFT_H2_NOTICED;
        h->noticed_ns = now;
        nghttp2_submit_shutdown_notice(h->session);
        weft_h2_mark(h);
    } else if (h->drain == WEFT_H2_NOTICED && now >= h->noticed_ns + DRAIN_NOTICE_NS) {
        h->drain = WEFT_H2_GONE;
        nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h->session),
                              NGHTTP2_NO_ERROR, NULL, 0);
        weft_h2_mark(h);
    }
}
