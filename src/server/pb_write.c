#include "server/pb_write.h"

#include <string.h>

#include "server/pb_read.h"

static size_t encode(uint8_t *out, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

void weft_pb_put_varint(weft_buffer *b, uint64_t v)
{
    uint8_t text[10];
    weft_buffer_append(b, text, encode(text, v));
}

void weft_pb_put_tag(weft_buffer *b, uint32_t number, int type)
{
    weft_pb_put_varint(b, (uint64_t)number << 3 | (uint64_t)type);
}

void weft_pb_put_uint(weft_buffer *b, uint32_t number, uint64_t v)
{
    if (!v)
        return;
    weft_pb_put_tag(b, number, WEFT_PB_VARINT);
    weft_pb_put_varint(b, v);
}

void weft_pb_put_int(weft_buffer *b, uint32_t number, int64_t v)
{
    weft_pb_put_uint(b, number, (uint64_t)v);
}

void weft_pb_put_bytes(weft_buffer *b, uint32_t number, const void *data, size_t n_bytes)
{
    weft_pb_put_tag(b, number, WEFT_PB_BYTES);
    weft_pb_put_varint(b, n_bytes);
    if (n_bytes)
        weft_buffer_append(b, data, n_bytes);
}

void weft_pb_put_string(weft_buffer *b, uint32_t number, const char *s)
{
    if (s && *s)
        weft_pb_put_bytes(b, number, s, strlen(s));
}

void weft_pb_put_packed(weft_buffer *b, uint32_t number, const int64_t *v, size_t n)
{
    if (!n)
        return;
    size_t begun = weft_pb_begin(b, number);
    for (size_t i = 0; i < n; i++)
        weft_pb_put_varint(b, (uint64_t)v[i]);
    weft_pb_end(b, begun);
}

size_t weft_pb_bytes_head(uint8_t *out, uint32_t number, size_t n_bytes)
{
    size_t n = encode(out, (uint64_t)number << 3 | WEFT_PB_BYTES);
    return n + encode(out + n, n_bytes);
}

size_t weft_pb_begin(weft_buffer *b, uint32_t number)
{
    weft_pb_put_tag(b, number, WEFT_PB_BYTES);
    weft_buffer_putc(b, 0); /* room for a short length; a longer one moves the content in end */
    return b->n_bytes;
}

void weft_pb_end(weft_buffer *b, size_t begun)
{
    uint8_t text[10];
    if (b->failed || begun > b->n_bytes || begun == 0)
        return;
    size_t n = b->n_bytes - begun, n_length = encode(text, n);
    if (n_length > 1) {
        if (!weft_buffer_append(b, text, n_length - 1)) /* makes room; what is written is moved over it */
            return;
        memmove(b->data + begun - 1 + n_length, b->data + begun, n);
    }
    memcpy(b->data + begun - 1, text, n_length);
}
