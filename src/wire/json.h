/* A streaming JSON writer (RFC 8259) over a weft_buffer.
 *
 * Always writes valid JSON: text is escaped and malformed UTF-8 replaced by U+FFFD, numbers are the shortest decimal that reads
 * back to the same value, NaN and infinities become null. The buffer remembers a failed allocation or a passed limit, so one
 * check at the end is enough. A wrong order of calls (a value without its key, an end without its start) is our own fault and
 * aborts. One thread at a time. */
#ifndef WEFT_WIRE_JSON_H
#define WEFT_WIRE_JSON_H

#include "base/buffer.h"

#define WEFT_JSON_MAX_DEPTH 64

typedef struct weft_json {
    weft_buffer *out;
    int indent; /* blanks a level, may be set after init; 0 = on one line without blanks */
    int depth;
    uint64_t is_array; /* bit d: what is open at depth d */
    uint64_t has_any;  /* bit d: a member was written at depth d */
    bool after_key;
    bool done; /* the one top value is complete */
} weft_json;

void weft_json_init(weft_json *j, weft_buffer *out);
/* True when one whole value was written and the buffer lost nothing. */
bool weft_json_finish(const weft_json *j);

void weft_json_object_begin(weft_json *j);
void weft_json_object_end(weft_json *j);
void weft_json_array_begin(weft_json *j);
void weft_json_array_end(weft_json *j);
void weft_json_key(weft_json *j, const char *key);

void weft_json_null(weft_json *j);
void weft_json_bool(weft_json *j, bool v);
void weft_json_int(weft_json *j, int64_t v);
void weft_json_uint(weft_json *j, uint64_t v);
void weft_json_float(weft_json *j, float v); /* shortest that reads back as this float */
void weft_json_double(weft_json *j, double v);
void weft_json_string(weft_json *j, const char *s); /* NULL writes null */
void weft_json_text(weft_json *j, const char *s, size_t n_bytes);
void weft_json_base64(weft_json *j, const void *data, size_t n_bytes);

/* Shorthands: key and value. */
void weft_json_key_string(weft_json *j, const char *key, const char *s);
void weft_json_key_int(weft_json *j, const char *key, int64_t v);
void weft_json_key_uint(weft_json *j, const char *key, uint64_t v);
void weft_json_key_double(weft_json *j, const char *key, double v);
void weft_json_key_bool(weft_json *j, const char *key, bool v);

#endif
