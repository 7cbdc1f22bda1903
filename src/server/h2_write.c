/* Writing: frames of many streams are gathered into one batch, tensors by reference, and given to the socket at once. */
#include <stdlib.h>
#include <string.h>

#include "server/h2_internal.h"

#define MAX_SEGMENTS 512
#define SMALL_BYTES 65536 /* control frames, heads, frame headers and small pieces are copied together here */
#define COPY_BELOW 128    /* pieces shorter than this */
#define MAX_PIECES 132    /* of an answer: what comes first, x->answer, x->more */
#define FRAME_ROOM                                                                                                               \
    36864 /* twice the longest frame that is not DATA: one call gives DATA, small pieces copied, and such a frame */
#define BATCH_BYTES (1 << 20)
#define DATA_FRAME (1 << 18) /* longest DATA frame, where the client allows it */
#define ROUNDS 4             /* batches before other connections get their turn */

struct weft_h2_batch {
    uv_buf_t segments[MAX_SEGMENTS];
    weft_exchange *held[MAX_SEGMENTS];
    size_t n_segments, n_held, n_small, n_bytes;
    uint8_t small[SMALL_BYTES];
};

/* ---- a batch --------------------------------------------------------------------------------------------------------------- */

static void drop_batch(weft_h2 *h)
{
    weft_h2_batch *b = h->batch;
    h->batch = NULL;
    for (size_t i = 0; b && i < b->n_held; i++)
        weft_exchange_unref(b->held[i]);
    weft_chunk_give(h->conn->loop->server->pool, b);
}

static bool batch_full(const weft_h2_batch *b)
{
    return b->n_segments + MAX_PIECES + 2 > MAX_SEGMENTS || b->n_held == MAX_SEGMENTS || b->n_small + FRAME_ROOM > SMALL_BYTES ||
           b->n_bytes >= BATCH_BYTES;
}

static void put_copy(weft_h2_batch *b, const void *data, size_t n)
{
    uint8_t *to = b->small + b->n_small;
    weft_assert(n <= SMALL_BYTES - b->n_small);
    memcpy(to, data, n);
    b->n_small += n;
    b->n_bytes += n;
    uv_buf_t *last = b->n_segments ? &b->segments[b->n_segments - 1] : NULL;
    if (last && (uint8_t *)last->base + last->len == to)
        last->len += n;
    else
        b->segments[b->n_segments++] = uv_buf_init((char *)to, (unsigned)n);
}

static void put_piece(weft_h2_batch *b, const void *data, size_t n)
{
    if (n < COPY_BELOW) {
        put_copy(b, data, n);
        return;
    }
    b->segments[b->n_segments++] = (uv_buf_t){.base = (char *)(uintptr_t)data, .len = n};
    b->n_bytes += n;
}

/* ---- an answer ------------------------------------------------------------------------------------------------------------- */

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
                           nghttp2_data_source *source, void *user)
{
    (void)buf, (void)user;
    weft_h2_stream *s = source->ptr;
    size_t left = s->n_answer - s->n_sent, n = left < length ? left : length;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n < left)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->trailers) {
        const nghttp2_nv nv = weft_h2_nv("grpc-status", "0");
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, id, &nv, 1) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

static ssize_t frame_length(nghttp2_session *session, uint8_t type, int32_t id, int32_t session_window, int32_t stream_window,
                            uint32_t max_frame, void *user)
{
    (void)session, (void)type, (void)id, (void)user;
    int64_t n = DATA_FRAME;
    n = session_window < n ? session_window : n;
    n = stream_window < n ? stream_window : n;
    return (ssize_t)((int64_t)max_frame < n ? (int64_t)max_frame : n);
}

/* The bytes [from, from + n) of what lies one behind the other. */
typedef struct span {
    weft_h2_batch *batch;
    size_t from, n;
} span;

static void put_span(span *sp, const void *data, size_t n_bytes)
{
    if (sp->from >= n_bytes) {
        sp->from -= n_bytes;
        return;
    }
    size_t n = n_bytes - sp->from < sp->n ? n_bytes - sp->from : sp->n;
    if (n)
        put_piece(sp->batch, (const uint8_t *)data + sp->from, n);
    sp->from = 0;
    sp->n -= n;
}

static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length,
                     nghttp2_data_source *source, void *user)
{
    (void)session, (void)frame;
    weft_h2 *h = user;
    weft_h2_stream *s = source->ptr;
    weft_h2_batch *b = h->batch;
    if (batch_full(b))
        return NGHTTP2_ERR_WOULDBLOCK;
    put_copy(b, head, 9);
    span sp = {b, s->n_sent, length};
    put_span(&sp, s->first, s->n_first);
    put_span(&sp, s->x->answer.data, s->x->answer.n_bytes);
    for (size_t i = 0; i < s->x->n_more && sp.n; i++)
        put_span(&sp, s->x->more[i].base, s->x->more[i].len);
    weft_assert(sp.n == 0);
    s->n_sent += length;
    if (b->n_held == 0 || b->held[b->n_held - 1] != s->x) {
        weft_exchange_ref(s->x);
        b->held[b->n_held++] = s->x;
    }
    return 0;
}

void weft_h2_set_write_callbacks(nghttp2_session_callbacks *cb)
{
    nghttp2_session_callbacks_set_send_data_callback(cb, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(cb, frame_length);
}

nghttp2_nv weft_h2_nv(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

void weft_h2_send(weft_h2_stream *s, const nghttp2_nv *nv, size_t n_nv, bool body)
{
    weft_exchange *x = s->x;
    const weft_server_options *o = &x->loop->server->options;
    weft_assert(!s->answered && x->n_more + 2 <= MAX_PIECES);
    s->answered = true;
    s->n_answer = s->n_first + x->answer.n_bytes;
    for (size_t i = 0; i < x->n_more; i++)
        s->n_answer += x->more[i].len;
    nghttp2_data_provider data = {.source = {.ptr = s}, .read_callback = read_answer};
    double ms = o->write_timeout_ms + 1e3 * (double)(body ? s->n_answer : 0) / (double)o->min_body_rate;
    weft_h2_set_deadline(s, weft_time_add(weft_now_ns(), weft_ms_to_ns(ms)));
    if (nghttp2_submit_response(s->h2->session, s->id, nv, n_nv, body ? &data : NULL) != 0)
        weft_h2_reset(s, NGHTTP2_INTERNAL_ERROR);
    weft_h2_mark(s->h2);
}

void weft_h2_continue(weft_h2_stream *s)
{
    const nghttp2_nv nv = weft_h2_nv(":status", "100");
    nghttp2_submit_headers(s->h2->session, NGHTTP2_FLAG_NONE, s->id, NULL, &nv, 1, NULL);
    weft_h2_mark(s->h2);
}

/* ---- flushing -------------------------------------------------------------------------------------------------------------- */

void weft_h2_mark(weft_h2 *h)
{
    if (!weft_node_linked(&h->dirty))
        weft_node_push_back(&h->conn->loop->dirty, &h->dirty);
}

static void on_written(uv_write_t *w, int status)
{
    weft_conn *c = w->data;
    weft_h2 *h = c->h2;
    h->write_deadline_ns = WEFT_NEVER;
    drop_batch(h);
    if (c->state == WEFT_CONN_CLOSED)
        return;
    if (status < 0)
        weft_conn_close(c);
    else
        weft_h2_mark(h);
}

/* False: the session is broken. */
static bool fill_batch(weft_h2 *h)
{
    h->batch = weft_chunk_take(h->conn->loop->server->pool, sizeof(*h->batch));
    if (!h->batch)
        return false;
    weft_h2_batch *b = h->batch;
    b->n_segments = b->n_held = b->n_small = b->n_bytes = 0;
    while (!batch_full(b)) {
        const uint8_t *frame;
        ssize_t n = nghttp2_session_mem_send(h->session, &frame);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        put_copy(b, frame, (size_t)n);
    }
    return true;
}

/* 1 = all written, 0 = the rest is under way, -1 = broken */
static int write_batch(weft_h2 *h)
{
    weft_h2_batch *b = h->batch;
    weft_conn *c = h->conn;
    size_t i = 0;
    for (size_t k = 0; k < b->n_segments; k++)
        weft_counter_add(&c->loop->counters.sent_bytes, b->segments[k].len);
    int n = uv_try_write(&c->io.stream, b->segments, (unsigned)b->n_segments);
    if (n < 0 && n != UV_EAGAIN)
        return -1;
    for (size_t left = n > 0 ? (size_t)n : 0; left && i < b->n_segments;) {
        size_t k = b->segments[i].len < left ? b->segments[i].len : left;
        b->segments[i].base += k;
        b->segments[i].len -= k;
        left -= k;
        i += b->segments[i].len == 0;
    }
    if (i == b->n_segments) {
        drop_batch(h);
        return 1;
    }
    h->write.data = c;
    h->write_deadline_ns =
        weft_time_add(weft_now_ns(), weft_ms_to_ns(c->loop->server->options.write_timeout_ms)); /* for at most a batch */
    weft_h2_wake_at(h, h->write_deadline_ns);
    return uv_write(&h->write, &c->io.stream, b->segments + i, (unsigned)(b->n_segments - i), on_written) < 0 ? -1 : 0;
}

static void flush(weft_h2 *h)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (h->batch) /* on_written goes on */
            return;
        bool ok = fill_batch(h);
        bool empty = ok && h->batch->n_segments == 0;
        int wrote = !ok ? -1 : empty ? 1 : write_batch(h);
        if (!ok || empty || wrote < 0)
            drop_batch(h);
        if (wrote < 0) {
            weft_conn_close(h->conn);
            return;
        }
        if (empty) {
            if (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
                weft_h2_linger(h);
            return;
        }
    }
    weft_h2_mark(h);
}

void weft_h2_flush_loop(weft_loop *loop)
{
    weft_node list;
    weft_node_init(&list);
    while (!weft_node_empty(&loop->dirty))
        weft_node_push_back(&list, weft_node_pop_front(&loop->dirty));
    while (!weft_node_empty(&list))
        flush(weft_container_of(weft_node_pop_front(&list), weft_h2, dirty));
}
