/* Shapes by coverage: for every pixel near an edge the signed distance of its centre to the shape says how much of it is covered.
 */
#include "image/draw.h"

#include <math.h>
#include <string.h>

enum { MAX_POLYGON = 64, SUB_ROWS = 8 };

weft_status weft_canvas_init(weft_canvas *c, weft_picture *picture, const weft_draw_options *options, weft_error *err)
{
    static const weft_draw_options none;
    const weft_draw_options *o = options ? options : &none;
    *c = (weft_canvas){.picture = picture};
    if (picture->channels != 3 || picture->width < 1 || picture->height < 1)
        return weft_fail(err, WEFT_E_INVALID, "drawing needs a picture with 3 channels; this one has %d and %dx%d pixels",
                         picture->channels, picture->width, picture->height);
    /* The geometric mean of the sides is what the eye takes as the size, also of long strips. */
    float size = sqrtf((float)picture->width * (float)picture->height);
    c->line_px = o->line_px > 0 ? fminf(o->line_px, 256) : fmaxf(1.5f, size / 320);
    c->text_px = o->text_px > 0 ? fminf(o->text_px, 512) : fminf(fmaxf(12, size / 42), 160);
    return weft_font_create(&c->font, o->font_path, err);
}

void weft_canvas_fini(weft_canvas *c)
{
    if (!c)
        return;
    weft_font_destroy(&c->font);
    *c = (weft_canvas){0};
}

weft_color weft_palette(size_t index)
{
    /* Neighbours differ in hue and in lightness; all of them carry on photos and on paper. */
    static const weft_color colors[16] = {{255, 56, 92, 255},  {0, 180, 255, 255},   {255, 176, 0, 255},  {34, 214, 143, 255},
                                          {160, 96, 255, 255}, {255, 112, 40, 255},  {20, 205, 205, 255}, {240, 80, 205, 255},
                                          {130, 205, 30, 255}, {70, 120, 255, 255},  {250, 220, 50, 255}, {200, 50, 70, 255},
                                          {0, 140, 130, 255},  {200, 150, 255, 255}, {190, 120, 50, 255}, {120, 200, 255, 255}};
    return colors[index % 16];
}

weft_color weft_ink_on(weft_color c)
{
    int luma = (299 * c.red + 587 * c.green + 114 * c.blue) / 1000;
    return luma > 140 ? (weft_color){16, 18, 22, 255} : (weft_color){255, 255, 255, 255};
}

/* ---- pixels -------------------------------------------------------------------------------------------------------------- */
static void blend(uint8_t *d, weft_color color, float coverage)
{
    int a = (int)(coverage * (float)color.alpha + 0.5f);
    if (a <= 0)
        return;
    a = a > 255 ? 255 : a;
    d[0] = (uint8_t)((color.red * a + d[0] * (255 - a) + 127) / 255);
    d[1] = (uint8_t)((color.green * a + d[1] * (255 - a) + 127) / 255);
    d[2] = (uint8_t)((color.blue * a + d[2] * (255 - a) + 127) / 255);
}

typedef struct area {
    int32_t x1, y1, x2, y2;
} area;

/* The pixels that a box in floats can touch, clipped; false when there are none. */
static bool pixels_of(const weft_picture *p, float x1, float y1, float x2, float y2, area *a)
{
    if (!isfinite(x1) || !isfinite(y1) || !isfinite(x2) || !isfinite(y2))
        return false;
    x1 = fmaxf(floorf(x1), 0);
    y1 = fmaxf(floorf(y1), 0);
    x2 = fminf(ceilf(x2), (float)p->width);
    y2 = fminf(ceilf(y2), (float)p->height);
    if (!(x1 < x2) || !(y1 < y2))
        return false;
    *a = (area){(int32_t)x1, (int32_t)y1, (int32_t)x2, (int32_t)y2};
    return true;
}

static uint8_t *pixel(const weft_picture *p, int32_t x, int32_t y)
{
    return p->data + (size_t)y * p->stride_bytes + 3 * (size_t)x;
}

static float clamp01(float v)
{
    return v <= 0 ? 0 : v >= 1 ? 1 : v;
}

/* ---- rounded boxes ------------------------------------------------------------------------------------------------------- */
typedef struct round_box {
    float cx, cy, half_w, half_h, radius;
} round_box;

static round_box round_box_of(float x1, float y1, float x2, float y2, float radius)
{
    round_box b = {(x1 + x2) / 2, (y1 + y2) / 2, fabsf(x2 - x1) / 2, fabsf(y2 - y1) / 2, 0};
    b.radius = fmaxf(0, fminf(radius, fminf(b.half_w, b.half_h)));
    return b;
}

/* Negative inside. */
static float distance_to_box(const round_box *b, float x, float y)
{
    float dx = fabsf(x - b->cx) - b->half_w + b->radius, dy = fabsf(y - b->cy) - b->half_h + b->radius;
    float ox = fmaxf(dx, 0), oy = fmaxf(dy, 0);
    return (ox > 0 && oy > 0 ? sqrtf(ox * ox + oy * oy) : fmaxf(ox, oy)) + fminf(fmaxf(dx, dy), 0) - b->radius;
}

void weft_draw_fill(weft_canvas *c, float x1, float y1, float x2, float y2, float radius_px, weft_color color)
{
    area a;
    if (!pixels_of(c->picture, fminf(x1, x2) - 1, fminf(y1, y2) - 1, fmaxf(x1, x2) + 1, fmaxf(y1, y2) + 1, &a))
        return;
    round_box b = round_box_of(x1, y1, x2, y2, radius_px);
    for (int32_t y = a.y1; y < a.y2; y++)
        for (int32_t x = a.x1; x < a.x2; x++)
            blend(pixel(c->picture, x, y), color, clamp01(0.5f - distance_to_box(&b, (float)x + 0.5f, (float)y + 0.5f)));
}

static void stroke_span(weft_canvas *c, const round_box *b, float half, int32_t x1, int32_t x2, int32_t y, weft_color color)
{
    for (int32_t x = x1; x < x2; x++) {
        float d = fabsf(distance_to_box(b, (float)x + 0.5f, (float)y + 0.5f));
        blend(pixel(c->picture, x, y), color, clamp01(0.5f + half - d));
    }
}

/* Only the frame is visited, not the inside. */
static void stroke_box(weft_canvas *c, const float box[4], float line_px, weft_color color)
{
    area a;
    float half = line_px / 2, reach = half + 1, radius = line_px * 1.5f;
    if (!pixels_of(c->picture, box[0] - reach, box[1] - reach, box[2] + reach, box[3] + reach, &a))
        return;
    round_box b = round_box_of(box[0], box[1], box[2], box[3], radius);
    float inner = reach + b.radius;
    for (int32_t y = a.y1; y < a.y2; y++) {
        bool side = (float)y + 0.5f > box[1] + inner && (float)y + 0.5f < box[3] - inner;
        float left_end = box[0] + inner, right_start = box[2] - inner;
        if (!side || left_end >= right_start) {
            stroke_span(c, &b, half, a.x1, a.x2, y, color);
            continue;
        }
        int32_t l = left_end < (float)a.x1 ? a.x1 : left_end > (float)a.x2 ? a.x2 : (int32_t)left_end + 1;
        int32_t r = right_start < (float)a.x1 ? a.x1 : right_start > (float)a.x2 ? a.x2 : (int32_t)right_start;
        l = l > a.x2 ? a.x2 : l;
        r = r < l ? l : r;
        stroke_span(c, &b, half, a.x1, l, y, color);
        stroke_span(c, &b, half, r, a.x2, y, color);
    }
}

/* A dark, thin halo keeps the line readable on its own colour. */
static weft_color halo_of(weft_color c)
{
    return (weft_color){0, 0, 0, (uint8_t)(c.alpha * 90 / 255)};
}

void weft_draw_box(weft_canvas *c, const float box[4], float line_px, weft_color color)
{
    float b[4] = {fminf(box[0], box[2]), fminf(box[1], box[3]), fmaxf(box[0], box[2]), fmaxf(box[1], box[3])};
    if (!(line_px > 0))
        return;
    stroke_box(c, b, line_px + fmaxf(2, line_px * 0.6f), halo_of(color));
    stroke_box(c, b, line_px, color);
}

/* ---- lines and points ---------------------------------------------------------------------------------------------------- */
static float distance_to_segment(float x, float y, const float a[2], const float b[2])
{
    float dx = b[0] - a[0], dy = b[1] - a[1], px = x - a[0], py = y - a[1];
    float n = dx * dx + dy * dy, t = n > 0 ? clamp01((px * dx + py * dy) / n) : 0;
    px -= t * dx;
    py -= t * dy;
    return sqrtf(px * px + py * py);
}

static float distance_to_lines(float x, float y, const float *xy, size_t n_points, size_t n_segments)
{
    float best = INFINITY;
    for (size_t i = 0; i < n_segments; i++)
        best = fminf(best, distance_to_segment(x, y, xy + 2 * i, xy + 2 * ((i + 1) % n_points)));
    return best;
}

/* All segments at once, so that joints are not drawn twice; each row only where a segment comes near. */
static void stroke_lines(weft_canvas *c, const float *xy, size_t n_points, size_t n_segments, float line_px, weft_color color)
{
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, half = line_px / 2, reach = half + 1;
    area a;
    for (size_t i = 0; i < n_points; i++)
        for (int k = 0; k < 2; k++) {
            if (!isfinite(xy[2 * i + (size_t)k]))
                return;
            low[k] = fminf(low[k], xy[2 * i + (size_t)k]);
            high[k] = fmaxf(high[k], xy[2 * i + (size_t)k]);
        }
    if (!pixels_of(c->picture, low[0] - reach, low[1] - reach, high[0] + reach, high[1] + reach, &a))
        return;
    for (int32_t y = a.y1; y < a.y2; y++)
        for (int32_t x = a.x1; x < a.x2; x++) {
            float d = distance_to_lines((float)x + 0.5f, (float)y + 0.5f, xy, n_points, n_segments);
            if (d > reach) { /* nothing can be nearer than d - reach pixels to the right: jump */
                x += (int32_t)fminf(d - reach, 65536);
                continue;
            }
            blend(pixel(c->picture, x, y), color, clamp01(0.5f + half - d));
        }
}

void weft_draw_lines(weft_canvas *c, const float *xy, size_t n_points, bool closed, float line_px, weft_color color)
{
    if (n_points < 2 || n_points > MAX_POLYGON || !(line_px > 0))
        return;
    size_t n_segments = closed ? n_points : n_points - 1;
    stroke_lines(c, xy, n_points, n_segments, line_px + fmaxf(2, line_px * 0.6f), halo_of(color));
    stroke_lines(c, xy, n_points, n_segments, line_px, color);
}

static void disc(weft_canvas *c, float x, float y, float r, weft_color color)
{
    weft_draw_fill(c, x - r, y - r, x + r, y + r, r, color);
}

/* Large dots have a white ring; on small ones it would hide what they mark, so they only have the halo. */
void weft_draw_point(weft_canvas *c, float x, float y, float radius_px, weft_color color)
{
    const weft_color ring = {255, 255, 255, color.alpha};
    float r = radius_px > 2.5f ? radius_px * 1.35f : radius_px;
    if (!(radius_px > 0))
        return;
    disc(c, x, y, r + fmaxf(0.8f, radius_px * 0.2f), halo_of(color));
    if (r > radius_px)
        disc(c, x, y, r, ring);
    disc(c, x, y, radius_px, color);
}

/* ---- polygons ------------------------------------------------------------------------------------------------------------ */
/* Where the sub-row at height y enters and leaves the polygon, sorted. */
static int crossings(const float *xy, size_t n, float y, float out[MAX_POLYGON])
{
    int k = 0;
    for (size_t i = 0; i < n; i++) {
        const float *a = xy + 2 * i, *b = xy + 2 * ((i + 1) % n);
        if ((a[1] <= y) == (b[1] <= y))
            continue;
        float x = a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1]);
        int j = k++;
        for (; j > 0 && out[j - 1] > x; j--)
            out[j] = out[j - 1];
        out[j] = x;
    }
    return k;
}

static void fill_row(weft_canvas *c, const area *a, const float *xy, size_t n, int32_t y, weft_color color)
{
    float spans[SUB_ROWS][MAX_POLYGON];
    int n_spans[SUB_ROWS];
    for (int s = 0; s < SUB_ROWS; s++)
        n_spans[s] = crossings(xy, n, (float)y + ((float)s + 0.5f) / SUB_ROWS, spans[s]);
    for (int32_t x = a->x1; x < a->x2; x++) {
        float sum = 0;
        for (int s = 0; s < SUB_ROWS; s++)
            for (int k = 0; k + 1 < n_spans[s]; k += 2)
                sum += fmaxf(0, fminf(spans[s][k + 1], (float)x + 1) - fmaxf(spans[s][k], (float)x));
        if (sum > 0)
            blend(pixel(c->picture, x, y), color, sum / SUB_ROWS);
    }
}

void weft_draw_polygon(weft_canvas *c, const float *xy, size_t n_points, weft_color color)
{
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    area a;
    if (n_points < 3 || n_points > MAX_POLYGON)
        return;
    for (size_t i = 0; i < 2 * n_points; i++) {
        if (!isfinite(xy[i]))
            return;
        low[i & 1] = fminf(low[i & 1], xy[i]);
        high[i & 1] = fmaxf(high[i & 1], xy[i]);
    }
    if (!pixels_of(c->picture, low[0], low[1], high[0], high[1], &a))
        return;
    for (int32_t y = a.y1; y < a.y2; y++)
        fill_row(c, &a, xy, n_points, y, color);
}
