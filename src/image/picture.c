#include "image/picture.h"

#include "image/codec.h"

#include <stdlib.h>
#include <string.h>

weft_picture_limits weft_picture_limits_default(void)
{
    return (weft_picture_limits){WEFT_PICTURE_MAX_BYTES, WEFT_PICTURE_MAX_PIXELS, WEFT_PICTURE_MAX_SIDE_PX};
}

weft_status weft_picture_create(weft_picture *p, int32_t width, int32_t height, int channels, weft_error *err)
{
    if (width < 1 || height < 1 || width > 65536 || height > 65536)
        return weft_fail(err, WEFT_E_INVALID, "a picture of %dx%d pixels was asked for; sides of 1 to 65536 are possible", width,
                         height);
    if (channels != 1 && channels != 3 && channels != 4)
        return weft_fail(err, WEFT_E_INVALID, "a picture with %d channels was asked for; 1, 3 and 4 are possible", channels);
    size_t stride = (size_t)width * (size_t)channels; /* at most 2^18, times 2^16 rows: fits 64 bits */
    size_t n_bytes = stride * (size_t)height;
    if (p->capacity_bytes < n_bytes) {
        uint8_t *data = malloc(n_bytes);
        if (!data)
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a picture of %dx%d pixels", width, height);
        if (p->capacity_bytes)
            free(p->data);
        p->data = data;
        p->capacity_bytes = n_bytes;
    }
    p->width = width;
    p->height = height;
    p->channels = channels;
    p->stride_bytes = stride;
    return WEFT_OK;
}

void weft_picture_destroy(weft_picture *p)
{
    if (!p)
        return;
    if (p->capacity_bytes)
        free(p->data);
    *p = (weft_picture){0};
}

weft_picture weft_picture_view(const weft_picture *p, int32_t x, int32_t y, int32_t width, int32_t height)
{
    int64_t x1 = x < 0 ? 0 : x, y1 = y < 0 ? 0 : y;
    int64_t x2 = (int64_t)x + width, y2 = (int64_t)y + height;
    if (x2 > p->width)
        x2 = p->width;
    if (y2 > p->height)
        y2 = p->height;
    weft_picture v = {.channels = p->channels, .stride_bytes = p->stride_bytes, .data = p->data};
    if (x2 <= x1 || y2 <= y1)
        return v;
    v.width = (int32_t)(x2 - x1);
    v.height = (int32_t)(y2 - y1);
    v.data = p->data + (size_t)y1 * p->stride_bytes + (size_t)x1 * (size_t)p->channels;
    return v;
}

weft_picture weft_picture_wrap(uint8_t *data, int32_t width, int32_t height, int channels, size_t stride_bytes)
{
    return (weft_picture){width, height, channels, stride_bytes, data, 0};
}

static uint8_t grey_of(const uint8_t *s)
{
    return (uint8_t)((4899 * s[0] + 9617 * s[1] + 1868 * s[2] + 8192) >> 14);
}

void weft_convert_row(const uint8_t *s, int from, uint8_t *d, int to, int32_t width)
{
    if (from == to) {
        memcpy(d, s, (size_t)width * (size_t)to);
        return;
    }
    for (int32_t x = 0; x < width; x++, s += from, d += to) {
        if (to == 1) {
            d[0] = grey_of(s);
            continue;
        }
        d[0] = s[0];
        d[1] = from == 1 ? s[0] : s[1];
        d[2] = from == 1 ? s[0] : s[2];
        if (to == 4)
            d[3] = 255;
    }
}

weft_status weft_picture_convert(const weft_picture *src, int channels, weft_picture *dst, weft_error *err)
{
    weft_status s = weft_picture_create(dst, src->width, src->height, channels, err);
    if (s != WEFT_OK)
        return s;
    for (int32_t y = 0; y < src->height; y++)
        weft_convert_row(src->data + (size_t)y * src->stride_bytes, src->channels, dst->data + (size_t)y * dst->stride_bytes,
                         channels, src->width);
    return WEFT_OK;
}

static uint8_t over(int front, int back, int alpha)
{
    int v = front * alpha + back * (255 - alpha) + 127;
    return (uint8_t)(v / 255);
}

void weft_picture_flatten(weft_picture *p, uint8_t red, uint8_t green, uint8_t blue)
{
    if (p->channels != 4)
        return;
    for (int32_t y = 0; y < p->height; y++) {
        uint8_t *d = p->data + (size_t)y * p->stride_bytes;
        for (int32_t x = 0; x < p->width; x++, d += 4) {
            d[0] = over(d[0], red, d[3]);
            d[1] = over(d[1], green, d[3]);
            d[2] = over(d[2], blue, d[3]);
            d[3] = 255;
        }
    }
}
