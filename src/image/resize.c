/* Resizing, row by row.
 *
 * Linear and cubic: two passes in integers. Horizontal weights have 11 fractional bits, so a horizontal sum has 11 and the
 * vertical one 22. For linear the horizontal sum is kept without its lowest 4 bits, so that it fits 16 bits and a row costs half
 * the memory; the vertical pass then multiplies 16 x 16 bits and keeps the upper half. This is the arithmetic OpenCV documents by
 * its results, and every step is tested against it. Area: float sums over the covered part of each source row, as INTER_AREA;
 * whole ratios sum integers. Source rows that have been filtered horizontally are kept in `slots` (2 for linear, 4 for cubic, 1
 * for area). */
#include "image/resize.h"

#include "image/resize_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WEIGHT_BITS = 11,
    WEIGHT_ONE = 1 << WEIGHT_BITS,
    MAX_TAPS = 4,
    MAX_SIDE = 65536,
    MAX_WHOLE_AREA = 16000000 /* times 255 fits 32 bits */
};

typedef enum method {
    METHOD_NEAREST,
    METHOD_LINEAR,
    METHOD_CUBIC,
    METHOD_AREA_WHOLE, /* both ratios are whole numbers */
    METHOD_AREA,
} method;

/* A run of source pixels with weights that covers one target pixel: entries first[i] .. first[i + 1] - 1 of `at` and `weight`. */
typedef struct area_table {
    int32_t *first;
    int32_t *at;
    float *weight;
} area_table;

struct weft_resizer {
    const weft_resize_kernels *kernels;
    const uint8_t *pixels;
    size_t stride_bytes;
    int32_t src_width, src_height;
    int32_t width, height; /* of the window */
    int channels;
    method how;
    int taps;
    /* nearest, linear, cubic, by window column and row: source positions (columns: in bytes) and weights, `taps` of each */
    int32_t *x_at, *y_at;
    int16_t *x_weight, *y_weight;
    /* area */
    area_table x_area, y_area;
    int32_t ratio_x, ratio_y;
    int32_t window_x, window_y;
    /* filtered source rows */
    void *slots[MAX_TAPS];
    int32_t slot_row[MAX_TAPS];
    float *sum;
};

/* ---- weights ------------------------------------------------------------------------------------------------------------- */
static int16_t to_weight(float f)
{
    return (int16_t)lrintf(f * WEIGHT_ONE);
}

static void cubic_weights(float f, int16_t w[4])
{
    const float a = -0.75f;
    float c[4];
    c[0] = ((a * (f + 1) - 5 * a) * (f + 1) + 8 * a) * (f + 1) - 4 * a;
    c[1] = ((a + 2) * f - (a + 3)) * f * f + 1;
    c[2] = ((a + 2) * (1 - f) - (a + 3)) * (1 - f) * (1 - f) + 1;
    c[3] = 1.f - c[0] - c[1] - c[2];
    for (int i = 0; i < 4; i++)
        w[i] = to_weight(c[i]);
}

static int32_t clamp_index(int64_t i, int32_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : (int32_t)i;
}

/* One axis of linear or cubic. `growing_area`: OpenCV's INTER_AREA on an axis that grows is linear with other positions. */
static void axis_weights(const weft_resizer *r, int32_t n_src, int32_t n_full, int32_t start, int32_t n, bool growing_area,
                         bool hold_edges, int32_t *at, int16_t *weight)
{
    double grow = (double)n_full / n_src, scale = 1. / grow;
    for (int32_t i = 0; i < n; i++) {
        int32_t d = start + i;
        float f;
        int64_t s;
        if (growing_area) {
            s = (int64_t)floor(d * scale);
            f = (float)((d + 1) - (s + 1) * grow);
            f = f <= 0 ? 0.f : f - floorf(f);
        } else {
            f = (float)((d + 0.5) * scale - 0.5);
            s = (int64_t)floorf(f);
            f -= (float)s;
        }
        if (r->taps == 4) {
            cubic_weights(f, weight + 4 * i);
            for (int k = 0; k < 4; k++)
                at[4 * i + k] = clamp_index(s - 1 + k, n_src);
            continue;
        }
        if (hold_edges && (s < 0 || s >= n_src - 1))
            f = 0;
        weight[2 * i] = to_weight(1.f - f);
        weight[2 * i + 1] = to_weight(f);
        at[2 * i] = clamp_index(s, n_src);
        at[2 * i + 1] = clamp_index(s + 1, n_src);
    }
}

static void axis_nearest(int32_t n_src, int32_t n_full, int32_t start, int32_t n, int32_t *at)
{
    double scale = 1. / ((double)n_full / n_src);
    for (int32_t i = 0; i < n; i++)
        at[i] = clamp_index((int64_t)floor((start + i) * scale), n_src);
}

/* Entries a window of n target pixels can need: each covers scale + 2 source pixels at most. */
static size_t area_entries(int32_t n_src, int32_t n_full, int32_t n)
{
    return ((size_t)ceil((double)n_src / n_full) + 2) * (size_t)n;
}

static void axis_area(int32_t n_src, int32_t n_full, int32_t start, int32_t n, area_table *t)
{
    double scale = 1. / ((double)n_full / n_src);
    int32_t k = 0;
    for (int32_t i = 0; i < n; i++) {
        double from = (start + i) * scale, to = from + scale;
        double cell = fmin(scale, n_src - from);
        int32_t s1 = (int32_t)ceil(from), s2 = (int32_t)floor(to);
        s2 = s2 < n_src - 1 ? s2 : n_src - 1;
        s1 = s1 < s2 ? s1 : s2;
        t->first[i] = k;
        if (s1 - from > 1e-3) {
            t->at[k] = s1 - 1;
            t->weight[k++] = (float)((s1 - from) / cell);
        }
        for (int32_t s = s1; s < s2; s++) {
            t->at[k] = s;
            t->weight[k++] = (float)(1.0 / cell);
        }
        if (to - s2 > 1e-3) {
            t->at[k] = s2;
            t->weight[k++] = (float)(fmin(fmin(to - s2, 1.), cell) / cell);
        }
    }
    t->first[n] = k;
}

/* ---- open ---------------------------------------------------------------------------------------------------------------- */
static bool shrinks(int32_t src, int32_t full)
{
    return 1. / ((double)full / src) >= 1.;
}

static method choose(const weft_picture *src, int32_t full_width, int32_t full_height, weft_interpolation how, bool *growing_area)
{
    bool both = shrinks(src->width, full_width) && shrinks(src->height, full_height);
    bool whole = src->width % full_width == 0 && src->height % full_height == 0 &&
                 (int64_t)(src->width / full_width) * (src->height / full_height) <= MAX_WHOLE_AREA;
    if (how == WEFT_INTERPOLATION_AUTO)
        how = both && (full_width < src->width || full_height < src->height) ? WEFT_INTERPOLATION_AREA
                                                                             : WEFT_INTERPOLATION_BILINEAR;
    *growing_area = how == WEFT_INTERPOLATION_AREA && !both;
    if (how == WEFT_INTERPOLATION_NEAREST)
        return METHOD_NEAREST;
    if (how == WEFT_INTERPOLATION_BICUBIC)
        return METHOD_CUBIC;
    if (how == WEFT_INTERPOLATION_AREA && both)
        return whole ? METHOD_AREA_WHOLE : METHOD_AREA;
    /* OpenCV takes the mean of 2x2 for an exact half in linear too */
    if (how == WEFT_INTERPOLATION_BILINEAR && whole && src->width / full_width == 2 && src->height / full_height == 2)
        return METHOD_AREA_WHOLE;
    return METHOD_LINEAR;
}

static weft_status check(const weft_picture *src, int32_t full_width, int32_t full_height, const int32_t w[4],
                         weft_interpolation how, weft_error *err)
{
    if (src->width < 1 || src->height < 1 || !src->data || (src->channels != 1 && src->channels != 3 && src->channels != 4))
        return weft_fail(err, WEFT_E_INVALID, "a picture to resize must have pixels and 1, 3 or 4 channels; it has %dx%d and %d",
                         src->width, src->height, src->channels);
    if (full_width < 1 || full_height < 1 || full_width > MAX_SIDE || full_height > MAX_SIDE)
        return weft_fail(err, WEFT_E_INVALID, "a picture cannot be resized to %dx%d; sides of 1 to %d are possible", full_width,
                         full_height, MAX_SIDE);
    if (w[0] < 0 || w[1] < 0 || w[2] < 1 || w[3] < 1 || w[0] > full_width - w[2] || w[1] > full_height - w[3])
        return weft_fail(err, WEFT_E_INVALID, "the window %d,%d %dx%d is not inside the resized picture of %dx%d", w[0], w[1],
                         w[2], w[3], full_width, full_height);
    if ((int)how < WEFT_INTERPOLATION_AUTO || how > WEFT_INTERPOLATION_BICUBIC)
        return weft_fail(err, WEFT_E_INVALID, "interpolation %d is not known", (int)how);
    return WEFT_OK;
}

/* Cuts pieces out of one block; with base NULL only the size is counted. */
typedef struct cutter {
    uint8_t *base;
    size_t used;
} cutter;

static void *cut(cutter *c, size_t n_bytes)
{
    void *p = c->base ? c->base + c->used : NULL;
    c->used += (n_bytes + 63) & ~(size_t)63;
    return p;
}

static void lay_out(weft_resizer *r, const int32_t full[2], cutter *c)
{
    size_t w = (size_t)r->width, h = (size_t)r->height, row = w * (size_t)r->channels, taps = (size_t)r->taps;
    if (r->how == METHOD_AREA) {
        size_t nx = area_entries(r->src_width, full[0], r->width), ny = area_entries(r->src_height, full[1], r->height);
        r->x_area = (area_table){cut(c, (w + 1) * 4), cut(c, nx * 4), cut(c, nx * 4)};
        r->y_area = (area_table){cut(c, (h + 1) * 4), cut(c, ny * 4), cut(c, ny * 4)};
        r->slots[0] = cut(c, (row + WEFT_RESIZE_SLACK) * sizeof(float));
        r->sum = cut(c, row * sizeof(float));
        return;
    }
    if (r->how == METHOD_AREA_WHOLE) {
        r->slots[0] = cut(c, row * (size_t)(r->src_width / full[0]) * sizeof(uint32_t));
        return;
    }
    r->x_at = cut(c, w * taps * 4);
    r->y_at = cut(c, h * taps * 4);
    if (r->how == METHOD_NEAREST)
        return;
    r->x_weight = cut(c, w * taps * 2);
    r->y_weight = cut(c, h * taps * 2);
    for (int i = 0; i < r->taps; i++)
        r->slots[i] = cut(c, (row + WEFT_RESIZE_SLACK) * (r->how == METHOD_LINEAR ? sizeof(int16_t) : sizeof(int32_t)));
}

static void fill_tables(weft_resizer *r, const int32_t full[2], bool growing_area)
{
    switch (r->how) {
    case METHOD_NEAREST:
        axis_nearest(r->src_width, full[0], r->window_x, r->width, r->x_at);
        axis_nearest(r->src_height, full[1], r->window_y, r->height, r->y_at);
        break;
    case METHOD_LINEAR:
    case METHOD_CUBIC:
        axis_weights(r, r->src_width, full[0], r->window_x, r->width, growing_area, true, r->x_at, r->x_weight);
        axis_weights(r, r->src_height, full[1], r->window_y, r->height, growing_area, false, r->y_at, r->y_weight);
        break;
    case METHOD_AREA:
        axis_area(r->src_width, full[0], r->window_x, r->width, &r->x_area);
        axis_area(r->src_height, full[1], r->window_y, r->height, &r->y_area);
        break;
    case METHOD_AREA_WHOLE:
        r->ratio_x = r->src_width / full[0];
        r->ratio_y = r->src_height / full[1];
        break;
    }
    for (int32_t i = 0; r->x_at && i < r->width * r->taps; i++)
        r->x_at[i] *= r->channels;
    for (int i = 0; i < MAX_TAPS; i++)
        r->slot_row[i] = -1;
}

weft_status weft_resizer_create(weft_resizer **out, const weft_picture *src, int32_t full_width, int32_t full_height,
                                const int32_t window[4], weft_interpolation how, weft_error *err)
{
    const int32_t full[2] = {full_width, full_height};
    bool growing_area;
    *out = NULL;
    weft_status s = check(src, full_width, full_height, window, how, err);
    if (s != WEFT_OK)
        return s;
    weft_resizer r = {.kernels = weft_resize_kernels_best(),
                      .pixels = src->data,
                      .stride_bytes = src->stride_bytes,
                      .src_width = src->width,
                      .src_height = src->height,
                      .window_x = window[0],
                      .window_y = window[1],
                      .width = window[2],
                      .height = window[3],
                      .channels = src->channels};
    r.how = choose(src, full_width, full_height, how, &growing_area);
    r.taps = r.how == METHOD_CUBIC ? 4 : r.how == METHOD_LINEAR ? 2 : 1;
    cutter c = {NULL, sizeof(r)};
    c.used = (c.used + 63) & ~(size_t)63;
    size_t head = c.used;
    lay_out(&r, full, &c);
    weft_resizer *block = malloc(c.used);
    if (!block)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for resizing a picture to %dx%d", full_width, full_height);
    c = (cutter){(uint8_t *)block, head};
    lay_out(&r, full, &c);
    fill_tables(&r, full, growing_area);
    *block = r;
    *out = block;
    return WEFT_OK;
}

void weft_resizer_destroy(weft_resizer **r)
{
    if (!r)
        return;
    free(*r);
    *r = NULL;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */
static const uint8_t *source_row(const weft_resizer *r, int32_t y)
{
    return r->pixels + (size_t)y * r->stride_bytes;
}

static size_t row_bytes(const weft_resizer *r)
{
    return (size_t)r->src_width * (size_t)r->channels;
}

static void nearest_row(const weft_resizer *r, int32_t y, uint8_t *d)
{
    const uint8_t *s = source_row(r, r->y_at[y]);
    for (int32_t x = 0; x < r->width; x++)
        for (int c = 0; c < r->channels; c++)
            *d++ = s[r->x_at[x] + c];
}

static void cubic_horizontal(const weft_resizer *r, const uint8_t *s, int32_t *d)
{
    const int32_t *at = r->x_at;
    const int16_t *w = r->x_weight;
    for (int32_t x = 0; x < r->width; x++, at += 4, w += 4)
        for (int c = 0; c < r->channels; c++)
            *d++ = s[at[0] + c] * w[0] + s[at[1] + c] * w[1] + s[at[2] + c] * w[2] + s[at[3] + c] * w[3];
}

/* The slot that holds source row `row`, filtering it now if none does. Slots that the current target row needs as well (keep,
 * n_keep) are not given away. */
static void *slot_of(weft_resizer *r, int32_t row, const int32_t *keep, int n_keep)
{
    int free_slot = 0;
    for (int i = 0; i < r->taps; i++)
        if (r->slot_row[i] == row)
            return r->slots[i];
    for (int i = 0; i < r->taps; i++) {
        bool needed = false;
        for (int k = 0; k < n_keep; k++)
            needed = needed || (r->slot_row[i] == keep[k]);
        if (!needed)
            free_slot = i;
    }
    r->slot_row[free_slot] = row;
    if (r->how == METHOD_LINEAR)
        r->kernels->linear_row(source_row(r, row), row_bytes(r), r->x_at, r->x_weight, r->width, r->channels,
                               r->slots[free_slot]);
    else
        cubic_horizontal(r, source_row(r, row), r->slots[free_slot]);
    return r->slots[free_slot];
}

static void linear_vertical(const int16_t *restrict a, const int16_t *restrict b, int16_t wa, int16_t wb, uint8_t *restrict d,
                            int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int16_t ha = (int16_t)((a[i] * wa) >> 16), hb = (int16_t)((b[i] * wb) >> 16);
        d[i] = (uint8_t)((ha + hb + 2) >> 2); /* at most (1020 + 2) / 4 = 255 */
    }
}

static uint8_t clip8(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static void cubic_vertical(int32_t *const rows[4], const int16_t w[4], uint8_t *restrict d, int32_t n)
{
    const int32_t *a = rows[0], *b = rows[1], *c = rows[2], *e = rows[3];
    for (int32_t i = 0; i < n; i++)
        d[i] = clip8((a[i] * w[0] + b[i] * w[1] + c[i] * w[2] + e[i] * w[3] + (1 << 21)) >> 22);
}

/* Columns are summed first, because that is one straight loop over a row; the sums are whole numbers, so the order does not
 * matter. */
static void add_row(uint32_t *restrict sum, const uint8_t *restrict s, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        sum[i] += s[i];
}

static void area_whole_row(weft_resizer *r, int32_t y, uint8_t *d)
{
    uint32_t *sum = r->slots[0];
    int32_t n = r->width * r->channels, cn = r->channels, n_columns = n * r->ratio_x;
    uint32_t area = (uint32_t)r->ratio_x * (uint32_t)r->ratio_y;
    memset(sum, 0, (size_t)n_columns * sizeof(*sum));
    for (int32_t j = 0; j < r->ratio_y; j++)
        add_row(sum, source_row(r, (r->window_y + y) * r->ratio_y + j) + (size_t)r->window_x * (size_t)(r->ratio_x * cn),
                n_columns);
    const uint32_t *from = sum;
    for (int32_t x = 0; x < n; x += cn, from += r->ratio_x * cn) { /* written behind what was read */
        uint32_t v[4] = {0};
        for (int32_t i = 0; i < r->ratio_x * cn; i += cn)
            for (int c = 0; c < cn; c++)
                v[c] += from[i + c];
        memcpy(sum + x, v, (size_t)cn * sizeof(*v));
    }
    if (area == 4) {
        for (int32_t i = 0; i < n; i++)
            d[i] = (uint8_t)((sum[i] + 2) >> 2);
        return;
    }
    float scale = 1.f / (float)area;
    for (int32_t i = 0; i < n; i++)
        d[i] = clip8((int32_t)lrintf((float)sum[i] * scale));
}

/* A source row on the border of two target rows is filtered once. */
static void area_row(weft_resizer *r, int32_t y, uint8_t *d)
{
    const area_table *t = &r->y_area;
    int32_t n = r->width * r->channels;
    const float *row = r->slots[0];
    for (int32_t k = t->first[y]; k < t->first[y + 1]; k++) {
        float w = t->weight[k];
        if (r->slot_row[0] != t->at[k]) {
            r->kernels->area_row(source_row(r, t->at[k]), row_bytes(r), r->x_area.first, r->x_area.at, r->x_area.weight, r->width,
                                 r->channels, r->slots[0]);
            r->slot_row[0] = t->at[k];
        }
        if (k == t->first[y])
            for (int32_t i = 0; i < n; i++)
                r->sum[i] = w * row[i];
        else
            for (int32_t i = 0; i < n; i++)
                r->sum[i] += w * row[i];
    }
    for (int32_t i = 0; i < n; i++)
        d[i] = clip8((int32_t)lrintf(r->sum[i]));
}

void weft_resizer_row(weft_resizer *r, int32_t y, uint8_t *row)
{
    int32_t n = r->width * r->channels;
    const int32_t *at = r->y_at ? r->y_at + (size_t)y * (size_t)r->taps : NULL;
    int32_t *rows[MAX_TAPS];
    switch (r->how) {
    case METHOD_NEAREST:
        nearest_row(r, y, row);
        break;
    case METHOD_LINEAR: {
        const int16_t *a = slot_of(r, at[0], at, 2), *b = slot_of(r, at[1], at, 2);
        linear_vertical(a, b, r->y_weight[2 * y], r->y_weight[2 * y + 1], row, n);
        break;
    }
    case METHOD_CUBIC:
        for (int k = 0; k < 4; k++)
            rows[k] = slot_of(r, at[k], at, 4);
        cubic_vertical(rows, r->y_weight + 4 * (size_t)y, row, n);
        break;
    case METHOD_AREA_WHOLE:
        area_whole_row(r, y, row);
        break;
    case METHOD_AREA:
        area_row(r, y, row);
        break;
    }
}

/* ---- whole pictures ------------------------------------------------------------------------------------------------------ */
weft_status weft_picture_resize_into(const weft_picture *src, weft_interpolation how, weft_picture *dst, weft_error *err)
{
    weft_resizer *r;
    const int32_t window[4] = {0, 0, dst->width, dst->height};
    if (dst->channels != src->channels)
        return weft_fail(err, WEFT_E_INVALID, "resizing keeps the channels; %d are to become %d", src->channels, dst->channels);
    weft_status s = weft_resizer_create(&r, src, dst->width, dst->height, window, how, err);
    if (s != WEFT_OK)
        return s;
    for (int32_t y = 0; y < dst->height; y++)
        weft_resizer_row(r, y, dst->data + (size_t)y * dst->stride_bytes);
    weft_resizer_destroy(&r);
    return WEFT_OK;
}

weft_status weft_picture_resize(const weft_picture *src, int32_t width, int32_t height, weft_interpolation how, weft_picture *dst,
                                weft_error *err)
{
    weft_status s = weft_picture_create(dst, width, height, src->channels, err);
    return s == WEFT_OK ? weft_picture_resize_into(src, how, dst, err) : s;
}
