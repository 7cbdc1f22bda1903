#include "server/gzip_body.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define LEVEL 1 /* answers are tensors: higher levels cost much and save little */
#define GZIP_WINDOW (15 + 16)
#define PART_BYTES (64u << 20) /* given to zlib at once: its counts have 32 bits */

const char *weft_coding_name(weft_coding c)
{
    return c == WEFT_CODING_GZIP ? "gzip" : c == WEFT_CODING_DEFLATE ? "deflate" : "";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **p, size_t *n)
{
    while (*n && is_blank(**p)) {
        ++*p;
        --*n;
    }
    while (*n && is_blank((*p)[*n - 1]))
        --*n;
}

static bool is(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(p, word, n) == 0;
}

weft_coding weft_coding_of(const char *value, size_t n)
{
    trim(&value, &n);
    if (n == 0 || is(value, n, "identity"))
        return WEFT_CODING_NONE;
    if (is(value, n, "gzip") || is(value, n, "x-gzip"))
        return WEFT_CODING_GZIP;
    return is(value, n, "deflate") ? WEFT_CODING_DEFLATE : WEFT_CODING_UNKNOWN;
}

/* Weight in thousandths behind the name: ";q=0.5". Without one 1000; malformed ones count as 0. */
static int weight(const char *p, size_t n)
{
    int v, scale = 100;
    trim(&p, &n);
    if (n == 0)
        return 1000;
    if (n < 3 || (*p | 0x20) != 'q' || p[1] != '=' || (p[2] != '0' && p[2] != '1'))
        return 0;
    v = (p[2] - '0') * 1000;
    for (size_t i = 4; n > 3 && p[3] == '.' && i < n && i < 7; i++, scale /= 10) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        v += (p[i] - '0') * scale;
    }
    return v > 1000 ? 1000 : v;
}

weft_coding weft_coding_accepted(const char *value, size_t n, bool *single)
{
    int best = 0, n_names = 0;
    weft_coding found = WEFT_CODING_NONE;
    while (n) {
        const char *comma = memchr(value, ',', n), *item = value;
        size_t n_item = comma ? (size_t)(comma - value) : n;
        size_t used = n_item + (comma ? 1 : 0);
        value += used;
        n -= used;
        const char *semicolon = memchr(item, ';', n_item);
        int q = semicolon ? weight(semicolon + 1, n_item - (size_t)(semicolon - item) - 1) : 1000;
        if (semicolon)
            n_item = (size_t)(semicolon - item);
        trim(&item, &n_item);
        if (!n_item)
            continue;
        n_names++;
        weft_coding c = is(item, n_item, "*") ? WEFT_CODING_GZIP : weft_coding_of(item, n_item);
        bool better = q > best || (q == best && q > 0 && c == WEFT_CODING_GZIP);
        if ((c == WEFT_CODING_GZIP || c == WEFT_CODING_DEFLATE) && better) {
            best = q;
            found = c;
        }
    }
    *single = n_names == 1 && found != WEFT_CODING_NONE;
    return found;
}

/* ---- inflating ------------------------------------------------------------------------------------------------------------- */

static int window_of(weft_coding coding, const uint8_t *data, size_t n)
{
    if (coding == WEFT_CODING_GZIP)
        return GZIP_WINDOW;
    bool zlib_head = n >= 2 && (data[0] & 15) == 8 && (data[0] * 256 + data[1]) % 31 == 0;
    return zlib_head ? 15 : -15;
}

typedef struct target {
    weft_chunk_pool *pool;
    uint8_t *chunk;
    size_t n, capacity, max, skew;
} target;

/* More room, at most one byte beyond the limit, so that going over it is seen. */
static bool grow(target *t)
{
    size_t want = t->capacity ? t->capacity * 2 : 16384;
    if (want > t->max + 1)
        want = t->max + 1;
    uint8_t *bigger = weft_chunk_take(t->pool, want + t->skew);
    if (!bigger)
        return false;
    if (t->n)
        memcpy(bigger + t->skew, t->chunk + t->skew, t->n);
    weft_chunk_give(t->pool, t->chunk);
    t->chunk = bigger;
    t->capacity = want;
    return true;
}

static weft_status broken(weft_coding coding, weft_error *err)
{
    return weft_fail(err, WEFT_E_UNPROCESSABLE, "the body is not complete, valid %s", weft_coding_name(coding));
}

static weft_status run_inflate(z_stream *z, weft_coding coding, target *t, const uint8_t *data, size_t n_bytes, weft_error *err)
{
    size_t used = 0;
    for (;;) {
        if (t->n == t->capacity && t->n > t->max)
            return weft_fail(err, WEFT_E_TOO_LARGE,
                             "the body becomes larger than %zu bytes when it is decompressed, the limit of this server", t->max);
        if (t->n == t->capacity && !grow(t))
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the decompressed body");
        size_t in = n_bytes - used < PART_BYTES ? n_bytes - used : PART_BYTES;
        size_t room = t->capacity - t->n < PART_BYTES ? t->capacity - t->n : PART_BYTES;
        z->next_in = (Bytef *)(uintptr_t)(data + used);
        z->avail_in = (uInt)in;
        z->next_out = t->chunk + t->skew + t->n;
        z->avail_out = (uInt)room;
        int rc = inflate(z, Z_NO_FLUSH);
        size_t took = in - z->avail_in, gave = room - z->avail_out;
        used += took;
        t->n += gave;
        if (rc == Z_STREAM_END) {
            if (used == n_bytes)
                return t->n > t->max ? weft_fail(err, WEFT_E_TOO_LARGE,
                                                 "the body becomes larger than %zu bytes when it is decompressed, the limit of "
                                                 "this server",
                                                 t->max)
                                     : WEFT_OK;
            if (coding != WEFT_CODING_GZIP || inflateReset(z) != Z_OK) /* gzip may have several members */
                return broken(coding, err);
            continue;
        }
        if (rc == Z_MEM_ERROR)
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the decompressed body");
        if ((rc != Z_OK && rc != Z_BUF_ERROR) || (took == 0 && gave == 0 && t->n < t->capacity))
            return broken(coding, err);
    }
}

weft_status weft_inflate(weft_chunk_pool *pool, weft_coding coding, const void *data, size_t n_bytes, size_t max_bytes,
                         size_t skew, uint8_t **out, size_t *n_out, weft_error *err)
{
    z_stream z = {0};
    target t = {.pool = pool, .max = max_bytes, .skew = skew};
    *out = NULL;
    *n_out = 0;
    if (inflateInit2(&z, window_of(coding, data, n_bytes)) != Z_OK)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the decompressed body");
    weft_status st = run_inflate(&z, coding, &t, data, n_bytes, err);
    inflateEnd(&z);
    if (st) {
        weft_chunk_give(pool, t.chunk);
        return st;
    }
    *out = t.chunk + skew;
    *n_out = t.n;
    return WEFT_OK;
}

/* ---- deflating ------------------------------------------------------------------------------------------------------------- */

static bool deflate_part(z_stream *z, const uint8_t *data, size_t n, int flush, weft_buffer *out)
{
    int rc;
    z->next_in = (Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)n;
    do {
        if (!weft_buffer_reserve(out, 16384))
            return false;
        z->next_out = out->data + out->n_bytes;
        z->avail_out = 16384;
        rc = deflate(z, flush);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return false;
        out->n_bytes += 16384 - z->avail_out;
    } while (z->avail_in > 0 || (flush == Z_FINISH && rc != Z_STREAM_END));
    return true;
}

bool weft_deflate(weft_coding coding, const weft_piece *pieces, size_t n_pieces, weft_buffer *out)
{
    z_stream z = {0};
    bool ok = true;
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, coding == WEFT_CODING_GZIP ? GZIP_WINDOW : 15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    for (size_t i = 0; ok && i < n_pieces; i++) {
        const uint8_t *p = pieces[i].data;
        for (size_t left = pieces[i].n_bytes; ok && left;) {
            size_t n = left < PART_BYTES ? left : PART_BYTES;
            ok = deflate_part(&z, p, n, Z_NO_FLUSH, out);
            p += n;
            left -= n;
        }
    }
    ok = ok && deflate_part(&z, NULL, 0, Z_FINISH, out);
    deflateEnd(&z);
    return ok && !out->failed;
}
