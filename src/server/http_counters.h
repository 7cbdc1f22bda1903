/* What a loop counts about its HTTP requests, for /metrics.
 *
 * One set a loop, written by that loop's thread only (so a plain relaxed store is enough) and read by any. */
#ifndef WEFT_SERVER_HTTP_COUNTERS_H
#define WEFT_SERVER_HTTP_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_COUNTED_ROUTES 64 /* lines of the route table, and these two */
#define WEFT_ROUTE_NONE 63     /* no such path, or a head that cannot be read */
#define WEFT_ROUTE_OTHER 62    /* a door with names of its own: gRPC */
#define WEFT_COUNTED_CODES 32
#define WEFT_COUNTED_TIMES 16 /* buckets of the time to answer; the last is the rest */

typedef struct weft_http_counters {
    _Atomic uint64_t received_bytes, sent_bytes, accepted;
    _Atomic uint64_t answers[WEFT_COUNTED_ROUTES][WEFT_COUNTED_CODES];
    _Atomic uint64_t times[WEFT_COUNTED_ROUTES][WEFT_COUNTED_TIMES];
    _Atomic uint64_t time_ns[WEFT_COUNTED_ROUTES];
} weft_http_counters;

static inline void weft_counter_add(_Atomic uint64_t *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

/* route: see weft_route_index. On the loop's thread. */
void weft_http_count_answer(weft_http_counters *c, size_t route, int status, int64_t ns);
/* The status of column i of `answers`; 0 past the last one, which takes every other status. */
int weft_http_counted_code(size_t i);
/* Upper bounds of the columns of `times` but the last, in seconds. */
extern const double weft_http_time_bounds[WEFT_COUNTED_TIMES - 1];

#endif
