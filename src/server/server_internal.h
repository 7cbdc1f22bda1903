/* What the files of src/server share: loops, connections, exchanges, routes.
 *
 * Lifetimes. A connection lives on its loop from accept to the close callback. An exchange is one request and its answer: it is
 * born when a head has been parsed; the connection holds one reference, the engine another one while it borrows the body, the
 * loop's mailbox a third while a finished answer travels home. conn->exchange and exchange->conn are touched on the loop's thread
 * only and cleared together when either side ends first. */
#ifndef WEFT_SERVER_INTERNAL_H
#define WEFT_SERVER_INTERNAL_H

#include <stdatomic.h>
#include <uv.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "server/http_counters.h"
#include "server/http_parse.h"
#include "server/server.h"
#include "server/trace_context.h"
#include "weft/engine.h"

typedef struct weft_loop weft_loop;
typedef struct weft_conn weft_conn;
typedef struct weft_exchange weft_exchange;
typedef struct weft_route weft_route;
typedef struct weft_door weft_door;

struct weft_server {
    weft_engine *engine;
    weft_server_options options;
    weft_log_fn log;
    void *log_cookie;
    weft_chunk_pool *pool; /* heads and bodies */
    weft_loop *loops;
    size_t n_loops;
    int port, grpc_port; /* grpc_port -1 = no such door */
    _Atomic bool not_ready;  /* draining: readiness says no */
    _Atomic bool refuse_new; /* draining: past the grace */
    _Atomic bool hurry;
    _Atomic int64_t n_conns;
    _Atomic int64_t n_exchanges;                /* alive, engine's references included */
    _Atomic int n_changes;                      /* loads and unloads at work, each on a thread of its own */
    _Atomic(const struct weft_config *) config; /* what may be loaded by name, or NULL */
    _Atomic(const weft_server_hooks *) hooks;   /* or NULL */
    _Atomic uint64_t n_answered;
    _Atomic uint64_t body_bytes; /* held by bodies of HTTP/2 and gRPC: server.max_bodies_bytes */
    int64_t started_unix_ns;
};

struct weft_loop {
    weft_server *server;
    uv_loop_t uv;
    uv_thread_t thread;
    bool inited, started, ended;
    uv_tcp_t tcp, grpc;
    uv_pipe_t pipe;
    bool has_tcp, has_grpc, has_pipe;
    bool left_tcp, left_grpc, left_pipe; /* a connection could not be accepted: the next sweep tries again */
    uv_async_t wake;
    uv_prepare_t before_sleep; /* writes what `dirty` connections have, once per wake-up */
    uv_timer_t sweep;
    weft_node conns;
    weft_lock lock;    /* guards mailbox and order */
    weft_node mailbox; /* exchanges whose answer has come */
    weft_node dirty;   /* HTTP/2 connections with something to write */
    enum { WEFT_LOOP_RUN = 0, WEFT_LOOP_DRAIN, WEFT_LOOP_STOP } order;
    uint8_t scratch[65536]; /* what an HTTP/2 connection has just read */
    weft_http_counters counters; /* written by the loop's thread only */
};

typedef enum weft_conn_state {
    WEFT_CONN_HEAD = 1, /* idle or reading a head */
    WEFT_CONN_LENGTH,   /* reading a body of known length into its buffer */
    WEFT_CONN_CHUNKED,
    WEFT_CONN_WAIT,   /* the request is being worked on */
    WEFT_CONN_WRITE,  /* the answer is on its way */
    WEFT_CONN_LINGER, /* answered early: reading and dropping what the client still sends, so that it reads the answer and not a
                         reset */
    WEFT_CONN_H2, /* HTTP/2: the rest is in h2_conn.c */
    WEFT_CONN_CLOSED,
} weft_conn_state;

struct weft_conn {
    weft_node node;
    weft_loop *loop;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
    weft_conn_state state;
    int64_t deadline_ns;
    bool reading, close_after, read_error;
    bool used; /* its first head has come: it speaks HTTP/1 */
    char *in; /* head bytes, then whatever follows; from the server's pool */
    size_t n_in, in_capacity, scanned, head_bytes;
    weft_http_engine parser;
    weft_http_head head;
    weft_exchange *exchange;
    struct weft_h2 *h2; /* with WEFT_CONN_H2 */
    uv_write_t write;
    uv_shutdown_t shutdown;
    size_t lingered_bytes;
};

/* How an answer goes back to the client: one static table for each protocol. All on the loop. */
struct weft_door {
    /* x has an answer and a client (x->conn): send it. */
    void (*answer)(weft_exchange *x);
    /* Answers with an error in the protocol's own way; NULL: a JSON body. Ends in weft_exchange_reply or sends by itself. */
    void (*fail)(weft_exchange *x, const weft_error *err);
};

struct weft_exchange {
    weft_node node; /* in the mailbox */
    weft_loop *loop;
    const weft_door *door;
    weft_conn *conn;        /* NULL when the client is gone */
    void *stream;           /* the door's own: of a connection that carries several exchanges; NULL together with conn */
    uint64_t charged_bytes; /* of the server's budget for bodies; given back with the exchange */
    _Atomic int refs;
    const weft_route *route;
    int64_t started_ns; /* the head had come */
    weft_http_method method;
    unsigned allow;   /* with 405: bit m = method m is served at this path */
    char target[256]; /* path and query, cut; only while somebody takes access lines */
    char model[65];
    char version[65]; /* second capture of the route */
    char id[129];
    char trace[WEFT_TRACE_BYTES]; /* traceparent of this server's own span, or "" */
    bool head_only; /* HEAD: no body in the answer */
    bool draw;
    bool v2;              /* below /v2: errors have the shape of the Open Inference Protocol, {"error": text} */
    const char *error_id; /* with v2: the request's own id, for error bodies; lives in `arena` */
    /* the request's body, in its final place */
    uint8_t *body;
    size_t n_body, body_capacity;
    size_t body_skew; /* 0..63, set by the route's admit: the body begins so far behind a multiple of 64 */
    /* a door's own state: memory with the life of the exchange, and how to cancel it instead of by `ticket` */
    weft_arena *arena;
    void *job;
    void (*job_free)(void *job); /* before the arena goes */
    void (*cancel)(weft_exchange *x);
    char content_type[256];
    /* the picture inside the body */
    const uint8_t *picture;
    size_t n_picture;
    /* the answer */
    weft_result *result;
    uint64_t ticket;
    bool in_engine, answered;
    bool counted; /* its answer, or that nobody waited for it */
    int status;
    const char *answer_type;
    char answer_headers[256]; /* further header lines, each with CRLF */
    char answer_head[768];
    weft_buffer answer;
    const uv_buf_t *more; /* written behind `answer` without a copy; lives as long as the exchange */
    size_t n_more;
    uv_work_t work;
    bool working;
};

/* One line of the route table: pattern segments; the first "{}" captures the model's name, a second one its version. */
struct weft_route {
    weft_http_method method;
    const char *pattern;
    /* Decides from the head alone, before the body: true to go on; false after weft_exchange_fail. Optional. */
    bool (*admit)(weft_exchange *x, const weft_http_head *head);
    /* The whole request is there. Answers now or later with weft_exchange_reply / _fail, on the loop. */
    void (*handle)(weft_exchange *x, const weft_http_head *head);
    /* The engine's answer has come home (x->result). Optional. */
    void (*finish)(weft_exchange *x);
    bool wants_body;
    const char *help; /* one line for `GET /` */
};

extern const weft_route weft_routes[];
/* The route for method and path, with what it captures in model and version (n bytes each); NULL: *status is 404 or 405. */
const weft_route *weft_route_find(const weft_http_head *head, char *model, char *version, size_t n, int *status);

/* Its line in the table; WEFT_ROUTE_NONE when NULL, WEFT_ROUTE_OTHER when it is another door's. */
size_t weft_route_index(const weft_route *r);
/* Bit m is set when method m is served at the head's path. */
unsigned weft_route_methods(const weft_http_head *head);
/* "/v1/models/{name}/predict" */
void weft_route_path(const weft_route *r, char *path, size_t n);
const char *weft_http_method_name(weft_http_method m); /* "GET"; "" for OTHER */

/* ---- http_conn.c ---- */
/* False: no memory for it. The connection stays with the listener, which gives no further one until it is accepted: try again. */
bool weft_conn_accept(weft_loop *loop, uv_stream_t *listener, bool grpc);
void weft_conn_close(weft_conn *c);
void weft_conn_sweep(weft_conn *c, int64_t now_ns); /* deadlines */
void weft_conn_drain(weft_conn *c);                 /* close it if it is idle, else mark it */

/* ---- exchange.c ---- */
weft_exchange *weft_exchange_create(weft_loop *loop, const weft_door *door, weft_conn *conn); /* NULL = out of memory */
/* What every HTTP door does with a head: ids, route, limits, the route's own admit. False: it has been answered, and the body is
 * not wanted. */
bool weft_exchange_open(weft_exchange *x, const weft_http_head *head);
void weft_exchange_ref(weft_exchange *x);
void weft_exchange_unref(weft_exchange *x);
/* Makes room for n bytes of body in all; false when out of memory. */
bool weft_exchange_body_reserve(weft_exchange *x, size_t n);
/* Answers with what is in x->answer. On the loop. */
void weft_exchange_reply(weft_exchange *x, int status, const char *content_type);
/* Answers {"error": ...}. On the loop. */
void weft_exchange_fail(weft_exchange *x, const weft_error *err);
void weft_exchange_fail_status(weft_exchange *x, int http_status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void weft_exchange_fail_too_large(weft_exchange *x); /* 413 with the limit */
/* The client is gone: cancels what the engine still has. On the loop. */
void weft_exchange_abandon(weft_exchange *x);
/* From any thread, with a reference that goes to the loop: route->finish is called there if the client still waits. */
void weft_exchange_post_home(weft_exchange *x);
/* Gives the call to the engine; the route's finish is called on the loop with x->result. The call's inputs must point into x. */
void weft_exchange_infer(weft_exchange *x, const weft_call *call);

/* ---- admin.c ---- */
/* May this request change what is served? By server.admin and where it comes from; FORBIDDEN otherwise. On the loop. */
bool weft_admin_allowed(const weft_exchange *x, const weft_http_head *head, weft_error *err);

/* status.c: not draining, and every required model serves. */
bool weft_server_is_ready(weft_server *s);

/* ---- predict.c, status.c ---- */
bool weft_predict_admit(weft_exchange *x, const weft_http_head *head);
void weft_predict_handle(weft_exchange *x, const weft_http_head *head);
void weft_predict_finish(weft_exchange *x);
void weft_healthz_handle(weft_exchange *x, const weft_http_head *head);
void weft_live_handle(weft_exchange *x, const weft_http_head *head);
void weft_ready_handle(weft_exchange *x, const weft_http_head *head);
void weft_models_handle(weft_exchange *x, const weft_http_head *head);
void weft_model_handle(weft_exchange *x, const weft_http_head *head);
void weft_root_handle(weft_exchange *x, const weft_http_head *head);

#endif
