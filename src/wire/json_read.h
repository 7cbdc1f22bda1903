/* A pull parser for JSON (RFC 8259, strictly) over text that is whole in memory.
 *
 *     weft_json_reader r;
 *     weft_json_read_init(&r, text, n_bytes);
 *     while ((event = weft_json_read(&r)) > WEFT_JSON_END) ...
 *
 * Each call gives one event; `token` then holds the text of a key, string or number inside the input. Nothing is allocated and
 * nothing is copied. The struct is plain data: a copy of it is a place to come back to. Refused, with a sentence and the offset:
 * everything that the grammar does not allow (comments, trailing commas, leading zeros, NaN, a byte order mark, a second value),
 * malformed UTF-8, lone surrogates, control characters inside strings, and what is over a limit of depth or length.
 *
 * Threads: one reader, one thread. The text must outlive the reader and its tokens. */
#ifndef WEFT_WIRE_JSON_READ_H
#define WEFT_WIRE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/status.h"

#define WEFT_JSON_READ_DEPTH 32          /* nested arrays and objects, by default; 64 at most */
#define WEFT_JSON_READ_NUMBER_BYTES 1024 /* longest number: an exact double has up to 1,080 characters, a sane one 25 */

typedef enum weft_json_event {
    WEFT_JSON_ERROR = -1, /* and so is every later call */
    WEFT_JSON_END = 0,    /* the one value is complete and nothing but blanks follows */
    WEFT_JSON_OBJECT,
    WEFT_JSON_OBJECT_END,
    WEFT_JSON_ARRAY,
    WEFT_JSON_ARRAY_END,
    WEFT_JSON_KEY,
    WEFT_JSON_STRING,
    WEFT_JSON_NUMBER,
    WEFT_JSON_TRUE,
    WEFT_JSON_FALSE,
    WEFT_JSON_NULL,
} weft_json_event;

typedef struct weft_json_reader {
    const char *text;
    size_t n_bytes, at;
    int depth, max_depth;
    size_t max_string_bytes; /* as written, escapes counted as they stand; 0 = no limit beside the text */
    uint64_t is_array;       /* bit d-1: what is open at depth d */
    uint8_t expect;
    /* of the last event */
    const char *token; /* KEY, STRING: between the quotes, as written. NUMBER: the number */
    size_t n_token;
    bool escaped;        /* KEY, STRING: holds escapes; else the token is the text */
    bool whole;          /* NUMBER: has neither fraction nor exponent */
    const char *problem; /* static; with WEFT_JSON_ERROR */
    size_t problem_at;
} weft_json_reader;

void weft_json_read_init(weft_json_reader *r, const char *text, size_t n_bytes);
weft_json_event weft_json_read(weft_json_reader *r);
/* Reads to the end of the value that began with the event just given; a scalar is already read. False on an error. */
bool weft_json_skip(weft_json_reader *r, weft_json_event first);
/* "the request is not JSON: expected a comma or ] at byte 17"; returns INVALID. */
weft_status weft_json_read_fail(const weft_json_reader *r, const char *what, weft_error *err);

/* The text of the last KEY or STRING without escapes, as UTF-8; may hold NUL. out has room for n_token bytes (it never grows).
 * Returns its length. out may be the token's own memory. */
size_t weft_json_read_text(const weft_json_reader *r, char *out);
/* The same for a NUL-terminated buffer of n bytes; false when it does not fit or holds a NUL. */
bool weft_json_read_string(const weft_json_reader *r, char *out, size_t n);
/* Is the last KEY or STRING exactly this text? Escapes are understood up to 64 bytes of text. */
bool weft_json_read_is(const weft_json_reader *r, const char *text);

/* The last NUMBER, exactly. False: it has a fraction or exponent, or is out of range. */
bool weft_json_read_i64(const weft_json_reader *r, int64_t *v);
bool weft_json_read_u64(const weft_json_reader *r, uint64_t *v);
/* The nearest double or float (ties to even), whatever the process's locale. False when it is too large; too small gives 0 or a
 * subnormal. */
bool weft_json_read_double(const weft_json_reader *r, double *v);
bool weft_json_read_float(const weft_json_reader *r, float *v);

#endif
