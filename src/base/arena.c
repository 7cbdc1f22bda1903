#include "base/arena.h"
#include "base/asan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES 4096
#define MAX_GROWTH_BYTES ((size_t)1 << 20)

/* At the start of each piece of memory; piece 0 also holds the arena itself. */
typedef struct piece {
    struct piece *next; /* older */
    size_t n_bytes;     /* of the whole piece */
    size_t used;        /* bytes from the start of the piece; what follows is free (poisoned under ASan) */
} piece;

struct weft_arena {
    weft_chunk_pool *pool; /* NULL: malloc */
    piece *pieces;         /* the first one is where small allocations go */
    size_t n_bytes;        /* of all pieces */
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static piece *piece_take(weft_chunk_pool *pool, size_t n_bytes)
{
    piece *c;

    if (n_bytes > SIZE_MAX / 2)
        return NULL;
    n_bytes = round_up(n_bytes, 64);
    c = pool ? weft_chunk_take(pool, n_bytes) : aligned_alloc(64, n_bytes);
    if (!c)
        return NULL;
    c->next = NULL;
    c->n_bytes = pool ? weft_chunk_bytes(c) : n_bytes;
    c->used = sizeof *c;
    weft_poison((char *)c + c->used, c->n_bytes - c->used);
    return c;
}

static void piece_give(weft_chunk_pool *pool, piece *c)
{
    weft_unpoison(c, c->n_bytes);
    if (pool)
        weft_chunk_give(pool, c);
    else
        free(c);
}

/* NULL when it does not fit. n_bytes <= SIZE_MAX / 4. Pieces are aligned to 64 bytes, so aligning the offset aligns the address.
 */
static void *piece_cut(piece *c, size_t n_bytes)
{
    size_t at = round_up(c->used, n_bytes >= 64 ? 64 : 16);

    if (at > c->n_bytes || c->n_bytes - at < n_bytes + WEFT_ASAN_GAP)
        return NULL;
    c->used = at + n_bytes + WEFT_ASAN_GAP;
    weft_unpoison((char *)c + at, n_bytes);
    return (char *)c + at;
}

weft_arena *weft_arena_create(weft_chunk_pool *pool, size_t first_bytes)
{
    size_t overhead = 128 + 2 * WEFT_ASAN_GAP; /* piece, arena and the alignment of what comes after */
    piece *c;
    weft_arena *a;

    if (first_bytes > SIZE_MAX / 4)
        return NULL;
    c = piece_take(pool, first_bytes ? first_bytes + overhead : DEFAULT_BYTES);
    if (!c)
        return NULL;
    a = piece_cut(c, sizeof *a);
    *a = (weft_arena){.pool = pool, .pieces = c, .n_bytes = c->n_bytes};
    return a;
}

void weft_arena_destroy(weft_arena **a)
{
    weft_chunk_pool *pool;
    piece *c, *next;

    if (!a || !*a)
        return;
    pool = (*a)->pool;
    for (c = (*a)->pieces; c; c = next) { /* the arena goes with its oldest piece, the last of the list */
        next = c->next;
        piece_give(pool, c);
    }
    *a = NULL;
}

static void *alloc_in_new_piece(weft_arena *a, size_t n_bytes)
{
    size_t growth = a->n_bytes < MAX_GROWTH_BYTES ? a->n_bytes : MAX_GROWTH_BYTES;
    size_t need = n_bytes + 64 + WEFT_ASAN_GAP; /* 64: the head, and the alignment behind it */
    piece *c = piece_take(a->pool, need > growth ? need : growth);

    if (!c)
        return NULL;
    a->n_bytes += c->n_bytes;
    if (need > growth) { /* a piece of its own; the current one goes on serving small allocations */
        c->next = a->pieces->next;
        a->pieces->next = c;
    } else {
        c->next = a->pieces;
        a->pieces = c;
    }
    return piece_cut(c, n_bytes);
}

void *weft_arena_alloc(weft_arena *a, size_t n_bytes)
{
    void *p;

    if (n_bytes > SIZE_MAX / 4)
        return NULL;
    p = piece_cut(a->pieces, n_bytes);
    return p ? p : alloc_in_new_piece(a, n_bytes);
}

void *weft_arena_zalloc(weft_arena *a, size_t n_bytes)
{
    void *p = weft_arena_alloc(a, n_bytes);

    if (p)
        memset(p, 0, n_bytes);
    return p;
}

void *weft_arena_array(weft_arena *a, size_t n, size_t item_bytes)
{
    size_t n_bytes;

    if (__builtin_mul_overflow(n, item_bytes, &n_bytes))
        return NULL;
    return weft_arena_zalloc(a, n_bytes);
}

char *weft_arena_strndup(weft_arena *a, const char *s, size_t n)
{
    char *copy;

    if (!s)
        return NULL;
    n = strnlen(s, n);
    copy = weft_arena_alloc(a, n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

char *weft_arena_strdup(weft_arena *a, const char *s)
{
    return s ? weft_arena_strndup(a, s, strlen(s)) : NULL;
}

char *weft_arena_printf(weft_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *text = NULL;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0)
        text = weft_arena_alloc(a, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

size_t weft_arena_bytes(const weft_arena *a)
{
    return a->n_bytes;
}
