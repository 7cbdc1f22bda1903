/* HTTP heads and chunked bodies: any bytes, in two cuts. Invariants: slices lie inside the input, a chunked body never yields more than it was given. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/http_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void inside(weft_http_slice s, const char *buf, size_t n)
{
    check(s.n == 0 || (s.p >= buf && s.p + s.n <= buf + n));
}

typedef struct tally {
    size_t n;
} tally;

static bool sink(void *cookie, const char *data, size_t n)
{
    (void)data;
    ((tally *)cookie)->n += n;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static weft_http_head head;
    weft_http_engine engine;
    weft_http_refusal no;
    char *buf = malloc(n_bytes + 1); /* exact size: reads past the end are seen */
    if (!buf)
        return 0;
    memcpy(buf, data, n_bytes);
    size_t scanned = 0, half = weft_http_head_end(buf, n_bytes / 2, &scanned), n = half ? half : weft_http_head_end(buf, n_bytes, &scanned), again = 0;
    check(n <= n_bytes);
    check(n == 0 || n == weft_http_head_end(buf, n_bytes, &again)); /* the cut does not matter */
    if (n && weft_http_head_parse(&engine, buf, n, &head, &no)) {
        char text[64];
        inside(head.path, buf, n);
        inside(head.query, buf, n);
        check(head.n_headers <= WEFT_HTTP_MAX_HEADERS && !(head.chunked && head.has_length));
        for (size_t i = 0; i < head.n_headers; i++) {
            inside(head.headers[i].name, buf, n);
            inside(head.headers[i].value, buf, n);
        }
        weft_http_query_get(head.query, "a", text, sizeof(text));
        weft_http_decode_segment(head.path.p, head.path.n, text, sizeof(text));
        size_t at = n, used;
        tally t = {0};
        weft_http_chunk_state st = WEFT_CHUNK_MORE;
        while (head.chunked && st == WEFT_CHUNK_MORE && at < n_bytes) {
            size_t piece = n_bytes - at > 7 ? 7 : n_bytes - at;
            st = weft_http_chunk_feed(&engine, buf + at, piece, &used, sink, &t);
            check(used <= piece);
            at += used;
        }
        check(t.n <= n_bytes - n);
    }
    free(buf);
    return 0;
}
