/* What h2_conn.c and h2_write.c share. */
#ifndef WEFT_SERVER_H2_INTERNAL_H
#define WEFT_SERVER_H2_INTERNAL_H

#include "server/h2_conn.h"

typedef struct weft_h2_bucket {
    int used;
    int64_t since_ns;
} weft_h2_bucket;

typedef struct weft_h2_batch weft_h2_batch;

struct weft_h2 {
    weft_conn *conn;
    const weft_h2_app *app; /* of new streams */
    nghttp2_session *session;
    weft_node streams;
    size_t n_streams;
    weft_node dirty; /* in loop->dirty: has something to write, or to close */
    bool greeted;    /* the client's settings have come */
    bool lingering;  /* our side is closed; what comes is dropped */
    int64_t head_deadline_ns, idle_deadline_ns, write_deadline_ns, noticed_ns;
    enum { WEFT_H2_SERVING = 0, WEFT_H2_NOTICED, WEFT_H2_GONE } drain;
    weft_h2_bucket resets, pings;
    weft_h2_batch *batch; /* being filled or written; NULL = nothing */
    uv_write_t write;
};

void weft_h2_mark(weft_h2 *h); /* to be flushed before the loop sleeps */
void weft_h2_linger(weft_h2 *h);
void weft_h2_wake_at(weft_h2 *h, int64_t deadline_ns);
void weft_h2_set_write_callbacks(nghttp2_session_callbacks *cb);

#endif
