/* The chunk pool.
 *
 *   a chunk is   out    with a caller, counted in out_bytes        take -> give
 *                kept   idle, in the list of its class and in the   give -> take, or evicted
 *                       list by age, counted in kept_bytes
 *
 * A chunk has a 64-byte head before the memory that the caller sees. The lock is held for list work only, never around malloc or
 * free. */
#include "base/arena.h"
#include "base/asan.h"
#include "base/list.h"
#include "base/lock.h"

#include <stdlib.h>

#define HEAD_BYTES 64
#define MIN_CLASS_LOG2 10 /* 1 KB */
#define N_CLASSES 76      /* 1 KB, 1.5 KB, 2 KB, 3 KB ... 192 TB: more than an address space holds in one piece */
#define LOCK_RANK 900     /* taken last: a pool calls nobody */
#define STATE_OUT 0x7766634fu
#define STATE_KEPT 0x7766634bu

typedef struct chunk {
    weft_node in_class; /* kept only */
    weft_node by_age;   /* kept only; also the list of what is to be freed */
    size_t n_bytes;     /* usable: the size of the class */
    uint32_t size_class;
    uint32_t state;
} chunk;

_Static_assert(sizeof(chunk) <= HEAD_BYTES, "the head of a chunk must keep its memory aligned to 64 bytes");

struct weft_chunk_pool {
    weft_lock lock;
    size_t keep_bytes, limit_bytes;
    size_t out_bytes, kept_bytes;
    weft_node classes[N_CLASSES]; /* newest first: it is the one in cache */
    weft_node by_age;             /* oldest first */
};

static size_t class_bytes(uint32_t c)
{
    size_t power = (size_t)1 << (MIN_CLASS_LOG2 + c / 2);

    return c % 2 ? power + power / 2 : power;
}

/* N_CLASSES when nothing is large enough. */
static uint32_t class_of(size_t n_bytes)
{
    uint32_t log2, c;

    if (n_bytes <= class_bytes(0))
        return 0;
    log2 = 63u - (uint32_t)__builtin_clzll((unsigned long long)n_bytes);
    c = 2 * (log2 - MIN_CLASS_LOG2);
    while (c < N_CLASSES && class_bytes(c) < n_bytes)
        c++;
    return c;
}

static chunk *head_of(const void *memory)
{
    return (chunk *)((char *)memory - HEAD_BYTES);
}

static void *memory_of(chunk *k)
{
    return (char *)k + HEAD_BYTES;
}

weft_chunk_pool *weft_chunk_pool_create(size_t keep_bytes, size_t limit_bytes)
{
    weft_chunk_pool *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    weft_lock_init(&p->lock, "chunk_pool", LOCK_RANK);
    p->keep_bytes = keep_bytes;
    p->limit_bytes = limit_bytes;
    weft_node_init(&p->by_age);
    for (int i = 0; i < N_CLASSES; i++)
        weft_node_init(&p->classes[i]);
    return p;
}

/* Lock held. Moves the oldest kept chunks to `gone` until at most `keep` bytes are kept. */
static void evict(weft_chunk_pool *p, size_t keep, weft_node *gone)
{
    weft_assert_held(&p->lock);
    while (p->kept_bytes > keep) {
        weft_node *n = weft_node_pop_front(&p->by_age);
        chunk *k = weft_container_of(n, chunk, by_age);

        weft_node_remove(&k->in_class);
        p->kept_bytes -= k->n_bytes;
        weft_node_push_back(gone, &k->by_age);
    }
}

static bool free_all(weft_node *gone)
{
    weft_node *n;
    bool any = false;

    while ((n = weft_node_pop_front(gone))) {
        chunk *k = weft_container_of(n, chunk, by_age);

        weft_unpoison(memory_of(k), k->n_bytes);
        free(k);
        any = true;
    }
    return any;
}

/* Gives what is kept back to the system; true when there was something. */
static bool trim(weft_chunk_pool *p)
{
    weft_node gone;

    weft_node_init(&gone);
    weft_lock_take(&p->lock);
    evict(p, 0, &gone);
    weft_lock_drop(&p->lock);
    return free_all(&gone);
}

void weft_chunk_pool_destroy(weft_chunk_pool **p)
{
    if (!p || !*p)
        return;
    trim(*p);
    weft_assert((*p)->out_bytes == 0); /* somebody still holds a chunk */
    weft_lock_fini(&(*p)->lock);
    free(*p);
    *p = NULL;
}

size_t weft_chunk_pool_out_bytes(weft_chunk_pool *p)
{
    size_t n;

    weft_lock_take(&p->lock);
    n = p->out_bytes;
    weft_lock_drop(&p->lock);
    return n;
}

size_t weft_chunk_pool_kept_bytes(weft_chunk_pool *p)
{
    size_t n;

    weft_lock_take(&p->lock);
    n = p->kept_bytes;
    weft_lock_drop(&p->lock);
    return n;
}

size_t weft_chunk_bytes(const void *memory)
{
    return head_of(memory)->n_bytes;
}

void *weft_chunk_take(weft_chunk_pool *p, size_t n_bytes)
{
    uint32_t c = class_of(n_bytes);
    size_t bytes;
    weft_node *n;
    chunk *k = NULL;

    if (c >= N_CLASSES)
        return NULL;
    bytes = class_bytes(c);
    weft_lock_take(&p->lock);
    if (p->limit_bytes && (bytes > p->limit_bytes || p->out_bytes > p->limit_bytes - bytes)) {
        weft_lock_drop(&p->lock);
        return NULL;
    }
    p->out_bytes += bytes; /* reserved before malloc, so that the limit holds among threads */
    n = weft_node_pop_front(&p->classes[c]);
    if (n) {
        k = weft_container_of(n, chunk, in_class);
        weft_node_remove(&k->by_age);
        p->kept_bytes -= bytes;
    }
    weft_lock_drop(&p->lock);
    if (!k) {
        k = aligned_alloc(64, bytes + HEAD_BYTES);
        if (!k && trim(p))
            k = aligned_alloc(64, bytes + HEAD_BYTES);
        if (!k) {
            weft_lock_take(&p->lock);
            p->out_bytes -= bytes;
            weft_lock_drop(&p->lock);
            return NULL;
        }
        *k = (chunk){.n_bytes = bytes, .size_class = c};
    }
    k->state = STATE_OUT;
    weft_unpoison(memory_of(k), bytes);
    return memory_of(k);
}

void weft_chunk_give(weft_chunk_pool *p, void *memory)
{
    chunk *k;
    weft_node gone;

    if (!memory)
        return;
    k = head_of(memory);
    weft_assert(k->state == STATE_OUT); /* given twice, or never taken */
    k->state = STATE_KEPT;
    weft_node_init(&gone);
    weft_poison(memory, k->n_bytes);
    weft_lock_take(&p->lock);
    weft_assert(p->out_bytes >= k->n_bytes);
    p->out_bytes -= k->n_bytes;
    if (k->n_bytes > p->keep_bytes) {
        weft_node_push_back(&gone, &k->by_age);
    } else {
        evict(p, p->keep_bytes - k->n_bytes, &gone);
        weft_node_push_front(&p->classes[k->size_class], &k->in_class);
        weft_node_push_back(&p->by_age, &k->by_age);
        p->kept_bytes += k->n_bytes;
    }
    weft_lock_drop(&p->lock);
    free_all(&gone);
}
