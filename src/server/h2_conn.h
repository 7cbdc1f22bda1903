/* HTTP/2 on one connection: framing by nghttp2, streams as exchanges. What a stream means (HTTP, gRPC) is said by its
 * weft_h2_app.
 *
 * Memory. A stream's heads and body are charged to one budget of the whole server before they are taken; when it is used up a new
 * body is refused at once with BUSY. (Waiting for memory with half a body in hand could stop all clients for ever.) Data is
 * copied once, from the socket's buffer to its final place, and the connection's window is given back at once: the budget bounds
 * memory, so that windows may be large. A stream whose body is longer than the first window gets a window for all of it.
 *
 * Sending. Answers are only marked; each connection is written once per wake-up of its loop, tensors without a copy. An exchange
 * whose bytes are under way is held until they are written.
 *
 *   stream    what moves it on                                        deadline (absolute)
 *   head      the header block is complete -> body or wait           head_timeout, for the connection
 *   body      END_STREAM -> wait; refused -> send                    body_timeout + bytes / min_body_rate, then app->late
 *   wait      the answer -> send; the client resets -> cancel        none: the request has its own
 *   send      everything sent -> closed, or linger                   write_timeout + bytes / min_body_rate, then reset
 *   linger    (answered early) the client ends -> closed             1 s, then reset
 *
 * nghttp2_session_del closes no stream: the connection keeps the list, and orphans them all when it goes. Everything here runs on
 * the loop's thread. */
#ifndef WEFT_SERVER_H2_CONN_H
#define WEFT_SERVER_H2_CONN_H

#include <nghttp2/nghttp2.h>

#include "server/gzip_body.h"
#include "server/server_internal.h"

#define WEFT_H2_MAX_STREAMS 128
#define WEFT_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define WEFT_H2_PREFACE_BYTES 24

typedef struct weft_h2 weft_h2;
typedef struct weft_h2_stream weft_h2_stream;

typedef struct weft_h2_app {
    weft_door door;
    /* The head is complete (s->head). Answers already, or goes on; a stream that ended with its head gets `end` next. */
    void (*head)(weft_h2_stream *s);
    void (*data)(weft_h2_stream *s, const uint8_t *data, size_t n_bytes);
    void (*end)(weft_h2_stream *s); /* everything has come and nothing was answered yet */
    void (*late)(weft_h2_stream *s);
    void (*head_too_large)(weft_h2_stream *s);
} weft_h2_app;

extern const weft_h2_app weft_h2_http_app;
extern const weft_h2_app weft_grpc_app;

/* What gRPC knows of a stream beside its exchange. */
typedef struct weft_grpc_state {
    uint8_t prefix[5]; /* flag and length of the message */
    size_t n_prefix;
    size_t n_message;
    int64_t deadline_ns; /* by grpc-timeout; WEFT_NEVER = none */
    weft_coding coding;
    bool plain; /* no gRPC: the answer is HTTP */
} weft_grpc_state;

struct weft_h2_stream {
    weft_node node; /* in h2->streams */
    weft_h2 *h2;
    const weft_h2_app *app;
    int32_t id;
    weft_exchange *x;
    weft_http_head head;
    char *text; /* of the head: every name and value, from the pool */
    size_t n_text, text_capacity;
    bool head_too_large, head_done, ended; /* of the request */
    bool answered, sent;                   /* the answer is submitted; it is written */
    int64_t deadline_ns;
    weft_grpc_state grpc;
    /* the answer: first, then x->answer, then x->more */
    uint8_t first[5];
    size_t n_first, n_answer, n_sent;
    bool trailers; /* `grpc-status: 0` follows the body */
};

/* Starts HTTP/2 on a connection, with bytes that have already been read. False: out of memory. */
bool weft_h2_start(weft_conn *c, const weft_h2_app *app, const void *data, size_t n_bytes);
void weft_h2_sweep(weft_h2 *h, int64_t now_ns);
void weft_h2_drain(weft_h2 *h);
void weft_h2_orphan(weft_h2 *h); /* the connection is closing: its streams lose their client, the session ends */
void weft_h2_free(weft_h2 *h);   /* the handle is closed */
void weft_h2_flush_loop(weft_loop *loop);

/* ---- for apps ---- */
/* Sends the head, then x's answer if `body`. Names and values are copied. Once for each stream. */
void weft_h2_send(weft_h2_stream *s, const nghttp2_nv *nv, size_t n_nv, bool body);
void weft_h2_continue(weft_h2_stream *s); /* 100, before a body that is welcome */
/* Makes room for n bytes of body in all, within the budget. BUSY, NO_MEMORY. */
weft_status weft_h2_reserve(weft_h2_stream *s, size_t n_bytes, weft_error *err);
/* From now a body of so many bytes is expected (SIZE_MAX = unknown): its deadline, and its window. */
void weft_h2_expect(weft_h2_stream *s, size_t n_bytes);
void weft_h2_set_deadline(weft_h2_stream *s, int64_t deadline_ns);
void weft_h2_reset(weft_h2_stream *s, uint32_t error_code);

/* A header for weft_h2_send from two C strings that live until it returns. */
nghttp2_nv weft_h2_nv(const char *name, const char *value);

#endif
