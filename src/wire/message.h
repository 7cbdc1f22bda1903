/* Messages between a front process and a worker: calls, results, progress, cancel.
 *
 * A frame, all integers little-endian:
 *
 *      0  4  "WEFT"
 *      4  2  WEFT_WIRE_VERSION
 *      6  2  type (weft_message_type)
 *      8  8  bytes of the whole frame, this header included
 *     16  8  ticket: names the call on this connection
 *     24  4  bytes of the head, which follows at 32
 *     28  4  0
 *     32     head: the fields of the message, packed; a string is a 4-byte length, the bytes and a NUL (length 0xffffffff: NULL,
 * nothing follows) .     payloads, each at the next multiple of 64 from the start of the frame, in the order of the head, gaps
 * zero
 *
 * So a frame received at an address that is a multiple of 64 is used in place. Each content has exactly one encoding: decoding
 * refuses everything else (gaps, order, trailing bytes), which makes encode(decode(x)) == x a test for both sides.
 *
 * Every size is bounded by weft_wire_limits and by the bytes that are really there before it is used. Threads: no state, any
 * thread. */
#ifndef WEFT_WIRE_MESSAGE_H
#define WEFT_WIRE_MESSAGE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "weft/request.h"

#define WEFT_WIRE_VERSION 1
#define WEFT_WIRE_HEADER_BYTES 32
#define WEFT_WIRE_ALIGNMENT 64

typedef enum weft_message_type {
    WEFT_MESSAGE_CALL = 1,
    WEFT_MESSAGE_RESULT = 2,
    WEFT_MESSAGE_PROGRESS = 3,
    WEFT_MESSAGE_CANCEL = 4,
} weft_message_type;

typedef struct weft_wire_limits {
    uint64_t max_frame_bytes;
    uint32_t max_head_bytes;
    uint32_t max_string_bytes; /* one name, id or parameter; not the contents of inputs */
    uint32_t max_inputs, max_params, max_outputs;
    uint64_t max_items; /* of a result */
} weft_wire_limits;

/* 1 GiB a frame, 1 MiB a head, 64 KiB a string, 64 inputs, 256 parameters, 64 outputs, 16 Mi items. */
void weft_wire_limits_init(weft_wire_limits *l);

typedef struct weft_wire_header {
    weft_message_type type;
    uint64_t ticket;
    uint64_t frame_bytes; /* how much to receive in all */
    uint32_t head_bytes;
} weft_wire_header;

/* Reads the first WEFT_WIRE_HEADER_BYTES of a frame, so that a receiver knows how much memory to take. INVALID: not our protocol
 * or broken; UNSUPPORTED: another version; TOO_LARGE. After an error the connection cannot be used any more. */
weft_status weft_wire_read_header(const void *bytes, const weft_wire_limits *l, weft_wire_header *out, weft_error *err);

/* Each appends nothing and clears `out` first: one frame a buffer. INVALID when the call or result is broken, TOO_LARGE over a
 * limit, NO_MEMORY. */
weft_status weft_wire_encode_call(const weft_call *call, uint64_t ticket, const weft_wire_limits *l, weft_buffer *out,
                                  weft_error *err);
weft_status weft_wire_encode_result(const weft_result *r, uint64_t ticket, const weft_wire_limits *l, weft_buffer *out,
                                    weft_error *err);
weft_status weft_wire_encode_progress(int32_t step, int32_t n_steps, uint64_t ticket, weft_buffer *out, weft_error *err);
weft_status weft_wire_encode_cancel(uint64_t ticket, weft_buffer *out, weft_error *err);

/* frame: exactly one whole frame of n_bytes, at any address. Structs live in the arena; strings and payloads point into
 * the frame, which must outlive them (a payload whose address does not fit its element type, because the frame is not aligned to
 * 64, is copied into the arena). On failure *out is NULL. */
weft_status weft_wire_decode_call(const void *frame, size_t n_bytes, const weft_wire_limits *l, weft_arena *arena,
                                  const weft_call **out, uint64_t *ticket, weft_error *err);
/* The result carries one reference; release(owner) is called on the last unref and may then free arena and frame. On failure it
 * is not called. */
weft_status weft_wire_decode_result(const void *frame, size_t n_bytes, const weft_wire_limits *l, weft_arena *arena,
                                    void (*release)(void *owner), void *owner, weft_result **out, uint64_t *ticket,
                                    weft_error *err);
weft_status weft_wire_decode_progress(const void *frame, size_t n_bytes, int32_t *step, int32_t *n_steps, uint64_t *ticket,
                                      weft_error *err);
weft_status weft_wire_decode_cancel(const void *frame, size_t n_bytes, uint64_t *ticket, weft_error *err);

#endif
