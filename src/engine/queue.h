/* A queue in scheduling order: by level, then by arrival. Intrusive, not locked. */
#ifndef WEFT_ENGINE_QUEUE_H
#define WEFT_ENGINE_QUEUE_H

#include "base/list.h"
#include "lane.h"

typedef struct weft_qnode {
    weft_node node; /* linked = in a queue */
    int64_t arrival_ns;
    int level;
} weft_qnode;

typedef struct weft_queue {
    uint32_t mask; /* levels that are not empty */
    size_t n;
    weft_node levels[WEFT_LEVELS];
} weft_queue;

void weft_queue_init(weft_queue *q);
/* level and arrival_ns are set; usually the youngest of its level, so the place is found from the back. */
void weft_queue_push(weft_queue *q, weft_qnode *n);
void weft_queue_remove(weft_queue *q, weft_qnode *n);
/* The first in scheduling order; NULL when empty. */
weft_qnode *weft_queue_first(const weft_queue *q);
/* The one after n. */
weft_qnode *weft_queue_next(const weft_queue *q, const weft_qnode *n);
/* The first of the next lower non-empty level after n; NULL when there is none. */
weft_qnode *weft_queue_lower(const weft_queue *q, const weft_qnode *n);

#define weft_queue_each(n, q) for (weft_qnode *n = weft_queue_first(q); n; n = weft_queue_next(q, n))

#endif
