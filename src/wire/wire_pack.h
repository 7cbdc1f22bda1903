/* Writing and reading the packed fields of a frame. Inside src/wire only. */
#ifndef WEFT_WIRE_WIRE_PACK_H
#define WEFT_WIRE_WIRE_PACK_H

#include "wire/message.h"

/* A writer; a lost append is in out->failed, a broken input in `status` with err filled. */
typedef struct weft_packer {
    weft_buffer *out;
    const weft_wire_limits *limits;
    weft_status status;
    weft_error *err;
} weft_packer;

void weft_pack_begin(weft_packer *p, weft_buffer *out, const weft_wire_limits *l, weft_message_type type, uint64_t ticket,
                     weft_error *err);
void weft_pack_u8(weft_packer *p, uint8_t v);
void weft_pack_u32(weft_packer *p, uint32_t v);
void weft_pack_u64(weft_packer *p, uint64_t v);
void weft_pack_string(weft_packer *p, const char *s);             /* NULL allowed */
void weft_pack_tensor_head(weft_packer *p, const weft_tensor *t); /* name, dtype, rank, dims, n_bytes; refuses a broken one */
void weft_pack_payload(weft_packer *p, const void *data, size_t n_bytes);
void weft_pack_refuse(weft_packer *p, weft_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Writes the number of bytes of the head; before the first payload. */
void weft_pack_head_done(weft_packer *p);
/* Writes the number of bytes of the frame; OK, or the first thing that went wrong, with out cleared. */
weft_status weft_pack_end(weft_packer *p);

/* A reader. After the first error every read gives zeros, so that a decoder checks once for each struct. */
typedef struct weft_unpacker {
    const uint8_t *frame;
    size_t at, head_end, frame_bytes, payload_at;
    const weft_wire_limits *limits;
    weft_status status;
    weft_error *err;
} weft_unpacker;

/* Checks header, type and that n_bytes is the whole frame. */
weft_status weft_unpack_begin(weft_unpacker *u, const void *frame, size_t n_bytes, const weft_wire_limits *l,
                              weft_message_type type, uint64_t *ticket, weft_error *err);
uint8_t weft_unpack_u8(weft_unpacker *u);
uint32_t weft_unpack_u32(weft_unpacker *u);
uint64_t weft_unpack_u64(weft_unpacker *u);
bool weft_unpack_bool(weft_unpacker *u);
/* Points into the frame; valid UTF-8 without inner NUL, at most max_bytes long. NULL when NULL was sent: refused unless
 * may_be_null. */
const char *weft_unpack_string(weft_unpacker *u, uint32_t max_bytes, bool may_be_null);
uint32_t weft_unpack_count(weft_unpacker *u, uint32_t max, const char *what);
void weft_unpack_tensor_head(weft_unpacker *u, weft_tensor *t); /* n_bytes is set, data is not */
/* After the head, in the order of the head: where the next payload lies. NULL for 0 bytes. */
const void *weft_unpack_payload(weft_unpacker *u, size_t n_bytes);
void weft_unpack_refuse(weft_unpacker *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void weft_unpack_no_memory(weft_unpacker *u);
/* The head must be used up; before the first payload. */
void weft_unpack_head_done(weft_unpacker *u);
/* The frame must be used up. */
weft_status weft_unpack_end(weft_unpacker *u);

#endif
