/* HTTP/1.1 request heads and chunked bodies: one adapter over the system's parser library (llhttp, else http-parser) that adds
 * the strict checks it lacks.
 *
 * A head is first framed here (bytes up to the blank line, bounded), checked as raw text, and then given to the library in one
 * piece; so names and values are plain pointers into the caller's buffer. Refused, each with its status and sentence: bare CR or
 * LF inside a line, NUL and control characters, folded header lines, space before the colon, missing or repeated Host in
 * HTTP/1.1, Content-Length together with Transfer-Encoding, repeated or signed Content-Length, transfer codings other than
 * exactly "chunked", other HTTP versions (RFC 9112 sections 2.2, 3.2, 5.1, 5.2, 6.1, 6.3).
 *
 * Threads: one connection, one thread. Nothing is allocated. */
#ifndef WEFT_SERVER_HTTP_PARSE_H
#define WEFT_SERVER_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if WEFT_HAVE_LLHTTP
#include <llhttp.h>
typedef llhttp_t weft_http_engine;
#else
#include <http_parser.h>
typedef http_parser weft_http_engine;
#endif

#define WEFT_HTTP_MAX_HEADERS 100
#define WEFT_HTTP_MAX_TARGET 4096

typedef struct weft_http_slice {
    const char *p; /* not NUL-terminated */
    size_t n;
} weft_http_slice;

typedef enum weft_http_method {
    WEFT_HTTP_OTHER = 0,
    WEFT_HTTP_GET,
    WEFT_HTTP_HEAD,
    WEFT_HTTP_POST,
    WEFT_HTTP_PUT,
    WEFT_HTTP_DELETE,
    WEFT_HTTP_OPTIONS
} weft_http_method;

/* All slices point into the buffer that was parsed and live as long as it. */
typedef struct weft_http_head {
    weft_http_method method;
    weft_http_slice path;  /* as sent, before '?' */
    weft_http_slice query; /* after '?', may be empty */
    int minor;             /* HTTP/1.minor */
    bool keep_alive;
    bool expect_continue;
    bool chunked;
    bool has_length;
    uint64_t content_length; /* 0 without has_length */
    size_t n_headers;
    struct {
        weft_http_slice name, value; /* value without surrounding blanks */
    } headers[WEFT_HTTP_MAX_HEADERS];
} weft_http_head;

/* Why a head was refused. */
typedef struct weft_http_refusal {
    int status;       /* 400, 414, 417, 431, 501, 505 */
    const char *text; /* one sentence, static */
} weft_http_refusal;

/* Number of bytes of the head in buf including the blank line; 0 = not complete yet. *scanned (start with 0) remembers how far
 * was looked, so that each byte is seen once. Leading empty lines are part of the head (RFC 9112 2.2). */
size_t weft_http_head_end(const char *buf, size_t n, size_t *scanned);

/* Parses one complete head of n bytes. False: *no says why and the connection must be closed after the answer. `engine` keeps the
 * library's state for a chunked body. */
bool weft_http_head_parse(weft_http_engine *engine, const char *buf, size_t n, weft_http_head *out, weft_http_refusal *no);

/* Decodes the next bytes of a chunked body after weft_http_head_parse. The payload is handed to sink in pieces; sink returns
 * false to stop (over a limit). */
typedef enum weft_http_chunk_state { WEFT_CHUNK_MORE, WEFT_CHUNK_DONE, WEFT_CHUNK_BAD, WEFT_CHUNK_STOPPED } weft_http_chunk_state;
weft_http_chunk_state weft_http_chunk_feed(weft_http_engine *engine, const char *buf, size_t n, size_t *n_used,
                                           bool (*sink)(void *cookie, const char *data, size_t n), void *cookie);

/* Header by name (any case), NULL when absent; the first one if repeated. */
const weft_http_slice *weft_http_header(const weft_http_head *h, const char *name);
bool weft_http_slice_is(weft_http_slice s, const char *text);       /* any case */
bool weft_http_slice_starts(weft_http_slice s, const char *prefix); /* any case */

/* Value of a query parameter, percent-decoded into out (always terminated); false when absent, too long or malformed. "a" and
 * "a=" give "". */
bool weft_http_query_get(weft_http_slice query, const char *name, char *out, size_t n_out);
/* Takes the next parameter off the front of *query and decodes both sides. 1; 0 at the end; -1 when it is malformed or does not
 * fit. Empty pieces ("a&&b") are passed over. */
int weft_http_query_next(weft_http_slice *query, char *name, size_t n_name, char *value, size_t n_value);
/* Percent-decodes one path segment; false when malformed, too long, or it contains NUL or '/'. */
bool weft_http_decode_segment(const char *p, size_t n, char *out, size_t n_out);

const char *weft_http_reason(int status); /* "Not Found"; "Unknown" outside the table */

#endif
