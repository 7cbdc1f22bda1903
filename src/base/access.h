/* One answered request as an access log sees it: made by a door, written by a log. */
#ifndef WEFT_BASE_ACCESS_H
#define WEFT_BASE_ACCESS_H

#include <stdint.h>

/* Every text is NUL-terminated, never NULL, and lives during the call. What came from outside may hold any byte but NUL. */
typedef struct weft_access {
    const char *method; /* "GET"; "" when the head could not be read */
    const char *path;   /* as sent, with the query; cut when very long */
    const char *peer;   /* "127.0.0.1:40000", "unix" */
    const char *id;     /* X-Request-Id, or "" */
    const char *trace;  /* W3C traceparent of the answer, or "" */
    int status;         /* HTTP status; 499 when the client left before its answer */
    uint64_t n_received_bytes, n_sent_bytes; /* of the bodies */
    int64_t total_ns;                        /* from the head to the answer */
} weft_access;

/* Called on a loop's thread; must be quick. */
typedef void (*weft_access_fn)(void *cookie, const weft_access *a);

#endif
