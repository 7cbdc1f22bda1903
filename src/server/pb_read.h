/* Reading Protocol Buffers in place: fields one after the other, nothing copied, nothing allocated, every length checked against
 * what is there (encoding: protobuf.dev/programming-guides/encoding).
 *
 *     weft_pb_reader r; weft_pb_field f;
 *     weft_pb_read_init(&r, data, n);
 *     while (weft_pb_next(&r, &f)) if (f.number == 1 && f.type == WEFT_PB_BYTES) ...   unknown fields are simply not looked at
 *     if (r.bad) malformed
 *
 * A field whose wire type is not the one of the declaration is malformed to the caller; groups (deprecated, in no message we
 * read) are malformed to the reader. Threads: no state. */
#ifndef WEFT_SERVER_PB_READ_H
#define WEFT_SERVER_PB_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_pb_type { WEFT_PB_VARINT = 0, WEFT_PB_FIXED64 = 1, WEFT_PB_BYTES = 2, WEFT_PB_FIXED32 = 5 } weft_pb_type;

typedef struct weft_pb_reader {
    const uint8_t *p, *end;
    bool bad; /* the message is malformed; weft_pb_next gives nothing more */
} weft_pb_reader;

typedef struct weft_pb_field {
    uint32_t number;
    weft_pb_type type;
    uint64_t value;      /* VARINT, FIXED64, FIXED32 */
    const uint8_t *data; /* BYTES: into the message */
    size_t n_bytes;
} weft_pb_field;

void weft_pb_read_init(weft_pb_reader *r, const void *data, size_t n_bytes);
/* The next field; false at the end or when malformed. */
bool weft_pb_next(weft_pb_reader *r, weft_pb_field *f);
/* One bare varint, as in packed fields; false at the end or when malformed. */
bool weft_pb_varint(weft_pb_reader *r, uint64_t *v);

/* Where the content of the first BYTES field of this number begins, seen from the beginning of the message, when only its first n
 * bytes are there; 0 = not within them. */
size_t weft_pb_find_bytes(const void *data, size_t n_bytes, uint32_t number);

#endif
