/* Arenas: memory of one lifetime, and the pool of chunks they are cut from.
 *
 * A request's memory is one arena taken at admission. Chunks come from a weft_chunk_pool that keeps freed chunks by size class, so that steady state does not call malloc.
 * Arena: one thread at a time. Pool: any thread. Out of memory is returned, never died of. */
#ifndef WEFT_BASE_ARENA_H
#define WEFT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct weft_chunk_pool weft_chunk_pool;
typedef struct weft_arena weft_arena;

/* keep_bytes: how much freed memory the pool may hold on to. limit_bytes: how much may be out at once (0 = no limit). NULL when out of memory. */
weft_chunk_pool *weft_chunk_pool_create(size_t keep_bytes, size_t limit_bytes);
/* Every arena must be gone. NULL and *p NULL allowed. */
void weft_chunk_pool_destroy(weft_chunk_pool **p);
size_t weft_chunk_pool_out_bytes(weft_chunk_pool *p);  /* handed out now */
size_t weft_chunk_pool_kept_bytes(weft_chunk_pool *p); /* idle in the pool */
/* Raw chunks for buffers that travel alone: at least n_bytes, 64-byte aligned, not zeroed. NULL when out of memory or over the limit. */
void *weft_chunk_take(weft_chunk_pool *p, size_t n_bytes);
size_t weft_chunk_bytes(const void *chunk); /* what may be used of it: the size of its class, >= what was asked for */
void weft_chunk_give(weft_chunk_pool *p, void *chunk); /* NULL allowed; p must be the pool it came from */

/* pool NULL: chunks come from malloc. first_bytes: capacity taken at once (0 = 4 KB). The arena object itself lives in its first chunk. NULL when out of memory. */
weft_arena *weft_arena_create(weft_chunk_pool *pool, size_t first_bytes);
void weft_arena_destroy(weft_arena **a);
/* 64-byte aligned when n_bytes >= 64, else 16. NULL when out of memory. n_bytes 0 gives a valid pointer. */
void *weft_arena_alloc(weft_arena *a, size_t n_bytes);
void *weft_arena_zalloc(weft_arena *a, size_t n_bytes);
void *weft_arena_array(weft_arena *a, size_t n, size_t item_bytes); /* zeroed, with overflow check */
char *weft_arena_strdup(weft_arena *a, const char *s);              /* NULL for NULL */
char *weft_arena_strndup(weft_arena *a, const char *s, size_t n);
char *weft_arena_printf(weft_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t weft_arena_bytes(const weft_arena *a); /* total of its chunks */

#endif
