/* What the server's doors may be told by the file: block `server:`. The struct is filled by src/config and read by src/server. */
#ifndef WEFT_CONFIG_SERVER_OPTIONS_H
#define WEFT_CONFIG_SERVER_OPTIONS_H

#include "weft/option.h"

typedef enum weft_admin { WEFT_ADMIN_LOCAL = 0, WEFT_ADMIN_OPEN, WEFT_ADMIN_OFF } weft_admin;

typedef struct weft_server_options {
    const char *host;        /* address to listen on; "127.0.0.1" */
    int64_t port;            /* 0 = a free one, printed at start */
    int64_t grpc_port;       /* likewise; -1 = no gRPC */
    const char *unix_socket; /* path of a Unix socket to listen on as well, or NULL */
    int64_t loops;           /* event loops (threads); 0 = one per core, at most 4 */
    int64_t max_connections; /* open at once, all loops together */
    uint64_t max_head_bytes; /* request line and headers */
    uint64_t max_body_bytes;
    uint64_t max_bodies_bytes; /* over HTTP/2 and gRPC, all together */
    uint64_t max_pixels;       /* of a picture, from its header */
    double head_timeout_ms;    /* whole head must have come by then (absolute) */
    double body_timeout_ms;    /* base time for a body ... */
    uint64_t min_body_rate;    /* ... plus its bytes / this rate (bytes per second) */
    double idle_timeout_ms;    /* keep-alive connection without a request */
    double write_timeout_ms;   /* client that does not read its answer */
    double request_timeout_ms; /* deadline of a request that brings none; 0 = the model's own */
    bool triton_compatible;    /* /v2 and gRPC: a full queue is 503/UNAVAILABLE instead of 429/RESOURCE_EXHAUSTED */
    int admin;                 /* weft_admin: who may load and unload models */
    double drain_ms;           /* SIGTERM: longest time to finish what was accepted */
    double drain_grace_ms;     /* SIGTERM: readiness says 503 for so long before new work is refused */
} weft_server_options;

extern const weft_option weft_server_option_table[];

#endif
