/* Compressed bodies: gzip (RFC 1952) and deflate (RFC 1950, and the raw RFC 1951 that some clients send under that name), through
 * zlib. What a body may become is bounded before it does. Threads: no state, any thread. */
#ifndef WEFT_SERVER_GZIP_BODY_H
#define WEFT_SERVER_GZIP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "weft/status.h"

typedef enum weft_coding { WEFT_CODING_NONE = 0, WEFT_CODING_GZIP, WEFT_CODING_DEFLATE, WEFT_CODING_UNKNOWN } weft_coding;

/* Of a Content-Encoding value; "" and "identity" are NONE, a list of several is UNKNOWN. */
weft_coding weft_coding_of(const char *value, size_t n);
/* The best one that an Accept-Encoding value allows (RFC 9110 12.5.3, with weights). *single: it names that coding and nothing
 * else, so the client wants it and is not just an HTTP library that can. */
weft_coding weft_coding_accepted(const char *value, size_t n, bool *single);
const char *weft_coding_name(weft_coding c); /* "gzip", "deflate"; "" otherwise */

/* Decompresses into a chunk of the pool: *out = chunk + skew (skew < 64); give it back as weft_chunk_give(pool, *out - skew).
 * TOO_LARGE when it becomes more than max_bytes, UNPROCESSABLE when it is malformed or cut off, NO_MEMORY. On failure *out is
 * NULL. */
weft_status weft_inflate(weft_chunk_pool *pool, weft_coding coding, const void *data, size_t n_bytes, size_t max_bytes,
                         size_t skew, uint8_t **out, size_t *n_out, weft_error *err);

typedef struct weft_piece {
    const void *data;
    size_t n_bytes;
} weft_piece;

/* Appends the pieces, compressed as one stream, to out. False when out of memory. */
bool weft_deflate(weft_coding coding, const weft_piece *pieces, size_t n_pieces, weft_buffer *out);

#endif
