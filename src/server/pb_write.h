/* Writing Protocol Buffers to the end of a buffer. proto3: a scalar of value 0 and an empty string are not written, but in
 * repeated fields. A failed allocation is remembered by the buffer. */
#ifndef WEFT_SERVER_PB_WRITE_H
#define WEFT_SERVER_PB_WRITE_H

#include "base/buffer.h"

void weft_pb_put_varint(weft_buffer *b, uint64_t v); /* bare */
void weft_pb_put_tag(weft_buffer *b, uint32_t number, int type);
void weft_pb_put_uint(weft_buffer *b, uint32_t number, uint64_t v); /* bool, uint32, uint64, enum */
void weft_pb_put_int(weft_buffer *b, uint32_t number, int64_t v);   /* int32, int64 */
void weft_pb_put_string(weft_buffer *b, uint32_t number, const char *s);
void weft_pb_put_bytes(weft_buffer *b, uint32_t number, const void *data, size_t n_bytes); /* also when empty */
/* repeated int64, packed; nothing for n = 0 */
void weft_pb_put_packed(weft_buffer *b, uint32_t number, const int64_t *v, size_t n);
/* Tag and length of a field whose content is sent from somewhere else. Into out (16 bytes are enough); returns their number. */
size_t weft_pb_bytes_head(uint8_t *out, uint32_t number, size_t n_bytes);

/* A message inside: everything written between begin and end belongs to it. They nest. */
size_t weft_pb_begin(weft_buffer *b, uint32_t number);
void weft_pb_end(weft_buffer *b, size_t begun);

#endif
