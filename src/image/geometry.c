#include "image/geometry.h"

#include <math.h>
#include <string.h>

/* ---- fit ----------------------------------------------------------------------------------------------------------------- */
static int32_t at_least_one(double v)
{
    return v < 1 ? 1 : v > 65536 ? 65536 : (int32_t)v;
}

static void scale_to(weft_fit *f, int32_t width, int32_t height)
{
    f->scaled_width = width;
    f->scaled_height = height;
    f->scale_x = (float)width / (float)f->src_width;
    f->scale_y = (float)height / (float)f->src_height;
}

static void fit_inside(weft_fit *f)
{
    double rx = (double)f->input_width / f->src_width, ry = (double)f->input_height / f->src_height;
    double r = rx < ry ? rx : ry;
    int32_t w = at_least_one(floor(f->src_width * r + 0.5)), h = at_least_one(floor(f->src_height * r + 0.5));
    scale_to(f, w < f->input_width ? w : f->input_width, h < f->input_height ? h : f->input_height);
}

/* The side that limits gets its exact size, the other is rounded down, as torchvision's Resize(int). */
static void fit_outside(weft_fit *f, double fraction)
{
    double w = floor(f->input_width / fraction + 1e-9), h = floor(f->input_height / fraction + 1e-9);
    double rx = w / f->src_width, ry = h / f->src_height;
    if (rx > ry)
        scale_to(f, at_least_one(w), at_least_one(fmax(floor(f->src_height * rx + 1e-9), f->input_height)));
    else
        scale_to(f, at_least_one(fmax(floor(f->src_width * ry + 1e-9), f->input_width)), at_least_one(h));
}

/* Margins: half the difference, letterbox rounded down, a cut rounded to even as torchvision's CenterCrop. */
static int32_t margin(int32_t difference)
{
    return difference >= 0 ? difference / 2 : (int32_t)rint(difference / 2.0);
}

void weft_fit_plan(weft_fit *fit, weft_resize_mode mode, int32_t src_width, int32_t src_height, int32_t input_width,
                   int32_t input_height, float crop_fraction)
{
    *fit = (weft_fit){.src_width = src_width, .src_height = src_height, .input_width = input_width, .input_height = input_height};
    bool centred = mode == WEFT_RESIZE_LETTERBOX || mode == WEFT_RESIZE_CROP;
    if (mode == WEFT_RESIZE_LETTERBOX || mode == WEFT_RESIZE_TOP_LEFT)
        fit_inside(fit);
    else if (mode == WEFT_RESIZE_CROP)
        fit_outside(fit, crop_fraction > 0.01f && crop_fraction <= 1 ? (double)crop_fraction : 1.0);
    else
        scale_to(fit, input_width, input_height);
    if (centred) {
        fit->x = margin(input_width - fit->scaled_width);
        fit->y = margin(input_height - fit->scaled_height);
    }
    fit->offset_x = (float)fit->x;
    fit->offset_y = (float)fit->y;
}

static float limit(float v, float max)
{
    return !(v > 0) ? 0 : v > max ? max : v; /* also turns NaN into 0 */
}

void weft_fit_points_back(const weft_fit *fit, float *xy, size_t n_points, bool clamp)
{
    for (size_t i = 0; i < n_points; i++, xy += 2) {
        xy[0] = (xy[0] - fit->offset_x) / fit->scale_x;
        xy[1] = (xy[1] - fit->offset_y) / fit->scale_y;
        if (clamp) {
            xy[0] = limit(xy[0], (float)fit->src_width);
            xy[1] = limit(xy[1], (float)fit->src_height);
        }
    }
}

static void order(float *low, float *high)
{
    if (*low > *high) {
        float t = *low;
        *low = *high;
        *high = t;
    }
}

void weft_fit_box_back(const weft_fit *fit, float box[4])
{
    weft_fit_points_back(fit, box, 2, true);
    order(&box[0], &box[2]);
    order(&box[1], &box[3]);
}

void weft_fit_points(const weft_fit *fit, float *xy, size_t n_points)
{
    for (size_t i = 0; i < n_points; i++, xy += 2) {
        xy[0] = xy[0] * fit->scale_x + fit->offset_x;
        xy[1] = xy[1] * fit->scale_y + fit->offset_y;
    }
}

/* ---- copies -------------------------------------------------------------------------------------------------------------- */
static uint8_t *row_of(const weft_picture *p, int32_t y)
{
    return p->data + (size_t)y * p->stride_bytes;
}

static void copy_rows(const weft_picture *src, uint8_t *to, size_t stride_bytes)
{
    for (int32_t y = 0; y < src->height; y++)
        memcpy(to + (size_t)y * stride_bytes, row_of(src, y), (size_t)src->width * (size_t)src->channels);
}

weft_status weft_picture_crop(const weft_picture *src, int32_t x, int32_t y, int32_t width, int32_t height, weft_picture *dst,
                              weft_error *err)
{
    weft_picture v = weft_picture_view(src, x, y, width, height);
    if (v.width == 0)
        return weft_fail(err, WEFT_E_INVALID, "the crop at %d,%d of %dx%d lies outside the picture of %dx%d", x, y, width, height,
                         src->width, src->height);
    weft_status s = weft_picture_create(dst, v.width, v.height, src->channels, err);
    if (s == WEFT_OK)
        copy_rows(&v, dst->data, dst->stride_bytes);
    return s;
}

weft_status weft_picture_pad(const weft_picture *src, int32_t left, int32_t top, int32_t right, int32_t bottom,
                             const uint8_t color[4], weft_picture *dst, weft_error *err)
{
    if (left < 0 || top < 0 || right < 0 || bottom < 0 || left > 65536 || top > 65536 || right > 65536 || bottom > 65536)
        return weft_fail(err, WEFT_E_INVALID, "a border must be 0 to 65536 pixels wide; %d, %d, %d, %d came", left, top, right,
                         bottom);
    weft_status s = weft_picture_create(dst, src->width + left + right, src->height + top + bottom, src->channels, err);
    if (s != WEFT_OK)
        return s;
    for (int32_t y = 0; y < dst->height; y++) {
        uint8_t *d = row_of(dst, y);
        for (int32_t x = 0; x < dst->width; x++)
            for (int c = 0; c < dst->channels; c++)
                *d++ = color[c];
    }
    copy_rows(src, row_of(dst, top) + (size_t)left * (size_t)src->channels, dst->stride_bytes);
    return WEFT_OK;
}

/* ---- turns --------------------------------------------------------------------------------------------------------------- */
/* dst(x, y) = src(swapped or not, mirrored or not). Tiles keep both sides in the cache when rows become columns. */
static void turn(const weft_picture *src, weft_picture *dst, bool swap, bool mirror_x, bool mirror_y)
{
    enum { TILE = 32 };
    int cn = src->channels;
    for (int32_t ty = 0; ty < dst->height; ty += TILE)
        for (int32_t tx = 0; tx < dst->width; tx += TILE)
            for (int32_t y = ty; y < ty + TILE && y < dst->height; y++)
                for (int32_t x = tx; x < tx + TILE && x < dst->width; x++) {
                    int32_t u = mirror_x ? dst->width - 1 - x : x, v = mirror_y ? dst->height - 1 - y : y;
                    const uint8_t *s = row_of(src, swap ? u : v) + (size_t)(swap ? v : u) * (size_t)cn;
                    uint8_t *d = row_of(dst, y) + (size_t)x * (size_t)cn;
                    for (int c = 0; c < cn; c++)
                        d[c] = s[c];
                }
}

static weft_status turn_new(const weft_picture *src, weft_picture *dst, bool swap, bool mirror_x, bool mirror_y, weft_error *err)
{
    weft_status s =
        weft_picture_create(dst, swap ? src->height : src->width, swap ? src->width : src->height, src->channels, err);
    if (s != WEFT_OK)
        return s;
    if (!swap && !mirror_x && !mirror_y)
        copy_rows(src, dst->data, dst->stride_bytes);
    else
        turn(src, dst, swap, mirror_x, mirror_y);
    return WEFT_OK;
}

weft_status weft_picture_rotate(const weft_picture *src, int quarter_turns, weft_picture *dst, weft_error *err)
{
    switch (quarter_turns & 3) {
    case 1: /* the left column, from the bottom up, becomes the top row */
        return turn_new(src, dst, true, true, false, err);
    case 2:
        return turn_new(src, dst, false, true, true, err);
    case 3:
        return turn_new(src, dst, true, false, true, err);
    default:
        return turn_new(src, dst, false, false, false, err);
    }
}

weft_status weft_picture_flip(const weft_picture *src, bool horizontal, bool vertical, weft_picture *dst, weft_error *err)
{
    return turn_new(src, dst, false, horizontal, vertical, err);
}

/* Exif 2.32, table "Orientation": where the stored first row and column are in the scene. */
weft_status weft_picture_orient(const weft_picture *src, int orientation, weft_picture *dst, weft_error *err)
{
    static const struct {
        bool swap, mirror_x, mirror_y;
    } how[9] = {{false, false, false}, {false, false, false}, {false, true, false}, {false, true, true}, {false, false, true},
                {true, false, false},  {true, true, false},   {true, true, true},   {true, false, true}};
    int o = orientation >= 1 && orientation <= 8 ? orientation : 1;
    return turn_new(src, dst, how[o].swap, how[o].mirror_x, how[o].mirror_y, err);
}
