#include "wire/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0..63; 255 = not in the alphabet. */
#define NO 255
static const uint8_t values[256] = {
#define NO8 NO, NO, NO, NO, NO, NO, NO, NO
#define NO32 NO8, NO8, NO8, NO8
    NO32, NO8, NO, NO, NO, 62, NO, NO, NO, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60,   61,   NO,   NO,  NO, NO,
    NO,   NO,  NO, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,   16,   17,   18,  19, 20,
    21,   22,  23, 24, 25, NO, NO, NO, NO, NO, NO, 26, 27, 28, 29, 30, 31, 32, 33,   34,   35,   36,  37, 38,
    39,   40,  41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, NO, NO, NO, NO, NO, NO32, NO32, NO32, NO32};

size_t weft_base64_encoded_bytes(size_t n_bytes)
{
    return n_bytes / 3 * 4 + (n_bytes % 3 ? 4 : 0);
}

size_t weft_base64_decoded_bytes(size_t n)
{
    return n / 4 * 3;
}

void weft_base64_encode(const void *data, size_t n_bytes, char *out)
{
    const uint8_t *p = data;

    for (; n_bytes >= 3; p += 3, n_bytes -= 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        *out++ = alphabet[v >> 6 & 63];
        *out++ = alphabet[v & 63];
    }
    if (n_bytes) {
        uint32_t v = (uint32_t)p[0] << 16 | (n_bytes == 2 ? (uint32_t)p[1] << 8 : 0);

        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        *out++ = n_bytes == 2 ? alphabet[v >> 6 & 63] : '=';
        *out++ = '=';
    }
}

bool weft_base64_decode(const char *text, size_t n, uint8_t *out, size_t *n_out)
{
    const uint8_t *p = (const uint8_t *)text;
    uint8_t *start = out;
    size_t n_pad = 0;
    uint32_t v;

    *n_out = 0;
    if (n % 4)
        return false;
    if (n)
        n_pad = p[n - 1] != '=' ? 0 : p[n - 2] != '=' ? 1 : 2;
    for (; n > (n_pad ? 4 : 0); p += 4, n -= 4) {
        uint8_t a = values[p[0]], b = values[p[1]], c = values[p[2]], d = values[p[3]];

        if ((a | b | c | d) & 0xc0) /* 255 has bits that no value has */
            return false;
        v = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6 | d;
        *out++ = (uint8_t)(v >> 16);
        *out++ = (uint8_t)(v >> 8);
        *out++ = (uint8_t)v;
    }
    if (n_pad) {
        uint8_t a = values[p[0]], b = values[p[1]], c = n_pad == 1 ? values[p[2]] : 0;

        if ((a | b | c) & 0xc0)
            return false;
        v = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6;
        if (v & (n_pad == 1 ? 0xff : 0xffff))
            return false;
        *out++ = (uint8_t)(v >> 16);
        if (n_pad == 1)
            *out++ = (uint8_t)(v >> 8);
    }
    *n_out = (size_t)(out - start);
    return true;
}
