/* The doors of `weft serve`: HTTP/1.1, HTTP/2 and gRPC, on libuv loops that own their connections.
 *
 * One loop a thread; each loop has its own listening socket (SO_REUSEPORT), connections, timers and mailbox. Bodies are received
 * straight into their final buffer. A request's answer comes home to its loop exactly once. src/server knows models only through
 * weft/engine.h. */
#ifndef WEFT_SERVER_SERVER_H
#define WEFT_SERVER_SERVER_H

#include "base/access.h"
#include "config/server_options.h"
#include "weft/engine.h"

typedef struct weft_server weft_server;

/* Binds and starts the loops. The engine and the options must outlive the server. IO with the address and the system's reason
 * when it cannot bind. */
weft_status weft_server_create(weft_engine *engine, const weft_server_options *options, weft_log_fn log, void *log_cookie,
                               weft_server **out, weft_error *err);
/* The configuration whose models may be loaded by name over the network (see server.admin); NULL, as at first, = none. It must outlive
 * the server or be replaced before it goes. Any thread. */
struct weft_config;
void weft_server_set_config(weft_server *s, const struct weft_config *config);
/* What the program around the server gives and takes. Every function may be NULL. */
typedef struct weft_server_hooks {
    weft_access_fn access;                   /* one call for each answered request, on a loop's thread */
    uint64_t (*dropped_lines)(void *cookie); /* for weft_log_dropped_lines_total; any thread */
    void *cookie;
} weft_server_hooks;
/* hooks: must outlive the server; NULL, as at first, = none. Any thread. */
void weft_server_set_hooks(weft_server *s, const weft_server_hooks *hooks);
/* The TCP port it listens on. */
int weft_server_port(const weft_server *s);
/* Likewise for gRPC; -1 = that door is off. */
int weft_server_grpc_port(const weft_server *s);
/* Ordered end: readiness says no at once; after drain_grace_ms nothing new is accepted; what was accepted is answered; idle
 * connections are closed. Blocks at most drain_grace_ms + drain_ms. *n_finished requests were answered meanwhile, *n_dropped were
 * not. From any thread but a loop. Call once, before destroy. */
void weft_server_drain(weft_server *s, uint64_t *n_finished, uint64_t *n_dropped);
/* Ends a drain that is under way at once (second signal). From any thread. */
void weft_server_hurry(weft_server *s);
/* Closes every connection and ends the loops: afterwards the server calls the engine no more. Whatever the engine still runs for
 * it is cancelled. Idempotent. */
void weft_server_stop(weft_server *s);
/* Stops, then waits until the engine has given back every body it borrowed: call weft_engine_destroy between stop and destroy
 * when a run may hang. NULL and *s NULL allowed. */
void weft_server_destroy(weft_server **s);

#endif
