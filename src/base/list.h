/* Intrusive doubly linked list with a sentinel, and container_of. */
#ifndef WEFT_BASE_LIST_H
#define WEFT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_node {
    struct weft_node *prev, *next; /* next NULL = in no list */
} weft_node;

#define weft_container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define weft_list_each(n, head) for (weft_node *n = (head)->next; n != (head); n = n->next)
#define weft_list_each_safe(n, tmp, head) for (weft_node *n = (head)->next, *tmp = n->next; n != (head); n = tmp, tmp = n->next)

static inline void weft_node_init(weft_node *head)
{
    head->prev = head->next = head;
}
static inline bool weft_node_empty(const weft_node *head)
{
    return head->next == head;
}
static inline bool weft_node_linked(const weft_node *n)
{
    return n->next != NULL;
}
static inline void weft_node_insert_before(weft_node *at, weft_node *n)
{
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}
static inline void weft_node_push_back(weft_node *head, weft_node *n)
{
    weft_node_insert_before(head, n);
}
static inline void weft_node_push_front(weft_node *head, weft_node *n)
{
    weft_node_insert_before(head->next, n);
}
static inline void weft_node_remove(weft_node *n)
{
    if (!n->next)
        return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
}
static inline weft_node *weft_node_pop_front(weft_node *head)
{
    weft_node *n = head->next;
    if (n == head)
        return NULL;
    weft_node_remove(n);
    return n;
}

#endif
