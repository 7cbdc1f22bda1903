#include "queue.h"

void weft_queue_init(weft_queue *q)
{
    q->mask = 0;
    q->n = 0;
    for (int i = 0; i < WEFT_LEVELS; i++)
        weft_node_init(&q->levels[i]);
}

static weft_qnode *of(weft_node *n)
{
    return weft_container_of(n, weft_qnode, node);
}

void weft_queue_push(weft_queue *q, weft_qnode *n)
{
    weft_node *head = &q->levels[n->level], *at = head;
    while (at->prev != head && of(at->prev)->arrival_ns > n->arrival_ns)
        at = at->prev;
    weft_node_insert_before(at, &n->node);
    q->mask |= 1u << n->level;
    q->n++;
}

void weft_queue_remove(weft_queue *q, weft_qnode *n)
{
    weft_node_remove(&n->node);
    q->n--;
    if (weft_node_empty(&q->levels[n->level]))
        q->mask &= ~(1u << n->level);
}

/* The first of the highest level among those in mask. */
static weft_qnode *highest(const weft_queue *q, uint32_t mask)
{
    return mask ? of(q->levels[31 - __builtin_clz(mask)].next) : NULL;
}

weft_qnode *weft_queue_first(const weft_queue *q)
{
    return highest(q, q->mask);
}

weft_qnode *weft_queue_lower(const weft_queue *q, const weft_qnode *n)
{
    return highest(q, q->mask & ((1u << n->level) - 1u));
}

weft_qnode *weft_queue_next(const weft_queue *q, const weft_qnode *n)
{
    if (n->node.next != &q->levels[n->level])
        return of(n->node.next);
    return weft_queue_lower(q, n);
}
