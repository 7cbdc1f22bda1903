#include "image/to_tensor.h"

#include "base/fp.h"

#include <math.h>
#include <string.h>

static uint8_t saturate(double v, double low, double high)
{
    double r = v < low ? low : v > high ? high : nearbyint(v);
    return (uint8_t)(int)r;
}

static void fill_table(weft_to_tensor *t, int c, double scale, double mean, double std)
{
    for (int i = 0; i < 256; i++) {
        double v = (i * scale - mean) / std;
        switch (t->dtype) {
        case WEFT_DT_F32:
            t->table[c].f32[i] = (float)v;
            break;
        case WEFT_DT_F16:
            t->table[c].u16[i] = weft_f32_to_f16((float)v);
            break;
        case WEFT_DT_BF16:
            t->table[c].u16[i] = weft_f32_to_bf16((float)v);
            break;
        case WEFT_DT_I8:
            t->table[c].u8[i] = saturate(v, -128, 127);
            break;
        default:
            t->table[c].u8[i] = saturate(v, 0, 255);
            break;
        }
    }
}

static weft_status check_numbers(int channels, double scale, const double *mean, const double *std, weft_error *err)
{
    bool ok = isfinite(scale);
    for (int c = 0; c < channels; c++) {
        ok = ok && (!mean || isfinite(mean[c])) && (!std || isfinite(std[c]));
        if (std && std[c] == 0)
            return weft_fail(err, WEFT_E_INVALID,
                             "std of channel %d is 0; pixels are divided by it, so it must be another number", c);
    }
    return ok ? WEFT_OK : weft_fail(err, WEFT_E_INVALID, "scale, mean and std must be finite numbers");
}

weft_status weft_to_tensor_init(weft_to_tensor *t, weft_dtype dtype, weft_layout layout, weft_channel_order order, int channels,
                                double scale, const double *mean, const double *std, weft_error *err)
{
    *t = (weft_to_tensor){.dtype = dtype, .layout = layout, .channels = channels, .item_bytes = weft_dtype_bytes(dtype)};
    if (dtype != WEFT_DT_F32 && dtype != WEFT_DT_F16 && dtype != WEFT_DT_BF16 && dtype != WEFT_DT_U8 && dtype != WEFT_DT_I8)
        return weft_fail(err, WEFT_E_INVALID, "pixels become FP32, FP16, BF16, UINT8 or INT8; %s is not possible",
                         weft_dtype_name(dtype));
    if (layout != WEFT_LAYOUT_NCHW && layout != WEFT_LAYOUT_NHWC)
        return weft_fail(err, WEFT_E_INVALID, "the layout must be nchw or nhwc");
    if (channels != 1 && channels != 3 && channels != 4)
        return weft_fail(err, WEFT_E_INVALID, "pixels have 1, 3 or 4 channels; %d are not possible", channels);
    weft_status s = check_numbers(channels, scale, mean, std, err);
    if (s != WEFT_OK)
        return s;
    for (int c = 0; c < channels; c++) {
        t->order[c] = order == WEFT_CHANNELS_BGR && channels >= 3 && c < 3 ? 2 - c : c;
        fill_table(t, c, scale, mean ? mean[c] : 0, std ? std[c] : 1);
    }
    return WEFT_OK;
}

size_t weft_to_tensor_bytes(const weft_to_tensor *t, int32_t width, int32_t height)
{
    return (size_t)width * (size_t)height * (size_t)t->channels * t->item_bytes;
}

/* First element of channel c at (x, y), and the distance to the next pixel's, in elements. */
static size_t place(const weft_to_tensor *t, int c, int32_t width, int32_t height, int32_t x, int32_t y, size_t *step)
{
    size_t at = (size_t)y * (size_t)width + (size_t)x;
    if (t->layout == WEFT_LAYOUT_NCHW) {
        *step = 1;
        return (size_t)c * (size_t)width * (size_t)height + at;
    }
    *step = (size_t)t->channels;
    return at * (size_t)t->channels + (size_t)c;
}

/* One loop for each element size; the common pixel of three channels to planes or pixels reads its source once. */
#define DEFINE_PUT(name, type, member)                                                                                           \
    static void put_##name(const weft_to_tensor *t, const uint8_t *s, int32_t n, type *d, int32_t width, int32_t height,         \
                           int32_t x, int32_t y)                                                                                 \
    {                                                                                                                            \
        int cn = t->channels;                                                                                                    \
        size_t step = 1, first[4] = {0};                                                                                         \
        for (int c = 0; c < cn; c++)                                                                                             \
            first[c] = place(t, c, width, height, x, y, &step);                                                                  \
        if (cn == 3) {                                                                                                           \
            type *d0 = d + first[0], *d1 = d + first[1], *d2 = d + first[2];                                                     \
            const type *t0 = t->table[0].member, *t1 = t->table[1].member, *t2 = t->table[2].member;                             \
            const int o0 = t->order[0], o1 = t->order[1], o2 = t->order[2];                                                      \
            for (int32_t i = 0; i < n; i++, s += 3, d0 += step, d1 += step, d2 += step) {                                        \
                *d0 = t0[s[o0]];                                                                                                 \
                *d1 = t1[s[o1]];                                                                                                 \
                *d2 = t2[s[o2]];                                                                                                 \
            }                                                                                                                    \
            return;                                                                                                              \
        }                                                                                                                        \
        for (int c = 0; c < cn; c++)                                                                                             \
            for (int32_t i = 0; i < n; i++)                                                                                      \
                d[first[c] + (size_t)i * step] = t->table[c].member[s[i * cn + t->order[c]]];                                    \
    }

DEFINE_PUT(f32, float, f32)
DEFINE_PUT(u16, uint16_t, u16)
DEFINE_PUT(u8, uint8_t, u8)

void weft_to_tensor_put_row(const weft_to_tensor *t, const uint8_t *pixels, int32_t n_pixels, void *dst, int32_t width,
                            int32_t height, int32_t x, int32_t y)
{
    if (t->item_bytes == 4)
        put_f32(t, pixels, n_pixels, dst, width, height, x, y);
    else if (t->item_bytes == 2)
        put_u16(t, pixels, n_pixels, dst, width, height, x, y);
    else
        put_u8(t, pixels, n_pixels, dst, width, height, x, y);
}

void weft_to_tensor_put(const weft_to_tensor *t, const weft_picture *p, void *dst, int32_t width, int32_t height, int32_t x,
                        int32_t y)
{
    /* the part of the picture that lies inside the tensor */
    weft_picture v = weft_picture_view(p, x < 0 ? -x : 0, y < 0 ? -y : 0, width - (x > 0 ? x : 0), height - (y > 0 ? y : 0));
    for (int32_t i = 0; i < v.height; i++)
        weft_to_tensor_put_row(t, v.data + (size_t)i * v.stride_bytes, v.width, dst, width, height, x > 0 ? x : 0,
                               (y > 0 ? y : 0) + i);
}

typedef struct rectangle {
    int32_t x1, y1, x2, y2;
} rectangle;

static rectangle clip(int32_t width, int32_t height, int32_t x, int32_t y, int32_t w, int32_t h)
{
    int64_t x2 = (int64_t)x + w, y2 = (int64_t)y + h;
    rectangle r = {x < 0 ? 0 : x, y < 0 ? 0 : y, 0, 0};
    r.x2 = (int32_t)(x2 < r.x1 ? r.x1 : x2 > width ? width : x2);
    r.y2 = (int32_t)(y2 < r.y1 ? r.y1 : y2 > height ? height : y2);
    return r;
}

static void fill_element(const weft_to_tensor *t, int c, const void *value, void *dst, int32_t width, int32_t height,
                         const rectangle *r)
{
    for (int32_t y = r->y1; y < r->y2; y++) {
        size_t step, at = r->x1 < r->x2 ? place(t, c, width, height, r->x1, y, &step) : 0;
        for (int32_t x = r->x1; x < r->x2; x++, at += step) {
            if (t->item_bytes == 4)
                memcpy((float *)dst + at, value, 4);
            else if (t->item_bytes == 2)
                memcpy((uint16_t *)dst + at, value, 2);
            else
                ((uint8_t *)dst)[at] = *(const uint8_t *)value;
        }
    }
}

void weft_to_tensor_fill(const weft_to_tensor *t, const uint8_t color[4], void *dst, int32_t width, int32_t height, int32_t x,
                         int32_t y, int32_t fill_width, int32_t fill_height)
{
    rectangle r = clip(width, height, x, y, fill_width, fill_height);
    for (int c = 0; c < t->channels; c++) {
        uint8_t v = color[t->order[c]];
        const void *value = t->item_bytes == 4   ? (const void *)&t->table[c].f32[v]
                            : t->item_bytes == 2 ? (const void *)&t->table[c].u16[v]
                                                 : (const void *)&t->table[c].u8[v];
        fill_element(t, c, value, dst, width, height, &r);
    }
}

void weft_to_tensor_zero(const weft_to_tensor *t, void *dst, int32_t width, int32_t height, int32_t x, int32_t y,
                         int32_t fill_width, int32_t fill_height)
{
    static const uint32_t zero = 0;
    rectangle r = clip(width, height, x, y, fill_width, fill_height);
    for (int c = 0; c < t->channels; c++)
        fill_element(t, c, &zero, dst, width, height, &r);
}
