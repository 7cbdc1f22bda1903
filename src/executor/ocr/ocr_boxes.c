/* Map -> mask -> contours -> rectangles -> boxes, and their reading order. */
#include "executor/ocr/ocr_boxes.h"

#include <math.h>
#include <string.h>

typedef struct finder {
    const weft_ocr_map *map;
    const weft_ocr_box_options *options;
    int32_t (*hull)[2];
    int32_t *score_rows;
    weft_ocr_box *boxes;
    size_t n_boxes, n_candidates;
} finder;

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* The work block: marks, two rows arrays (contours, scores), hull. */
size_t weft_ocr_boxes_work_bytes(int32_t width, int32_t height)
{
    size_t h = (size_t)height;
    return align8((h + 2) * ((size_t)width + 2)) + align8(2 * h * sizeof(int32_t)) * 2 + align8(2 * h * sizeof(int32_t[2]));
}

/* False when a value is not a number. */
static bool mark(const weft_ocr_map *map, float threshold, int8_t *marks)
{
    size_t stride = (size_t)map->width + 2;
    memset(marks, 0, stride * ((size_t)map->height + 2));
    int bad = 0;
    for (int32_t y = 0; y < map->height; y++) {
        const float *p = map->p + (size_t)y * map->stride;
        int8_t *m = marks + (size_t)(y + 1) * stride + 1;
        for (int32_t x = 0; x < map->width; x++) {
            m[x] = p[x] > threshold;
            bad |= !(fabsf(p[x]) <= 3.0e38f);
        }
    }
    return !bad;
}

/* A side of 0..limit after scaling, whole pixels, rounded as IEEE does (half to even). */
static float to_picture(float v, double scale, double border, int32_t limit)
{
    float s = rintf((float)((double)v * scale - border));
    return s < 0 ? 0 : s > (float)limit ? (float)limit : s;
}

static bool side_too_short(float quad[4][2], int a, int b)
{
    double dx = quad[a][0] - quad[b][0], dy = quad[a][1] - quad[b][1];
    return sqrt(dx * dx + dy * dy) < 4; /* nothing can be read in three pixels */
}

static bool visit(void *cookie, const weft_ocr_extents *e)
{
    finder *f = cookie;
    const weft_ocr_box_options *o = f->options;
    /* The rectangle is no larger than the upright bounds: most of a noisy map ends here. */
    double bounds = (double)(e->x1 - e->x0) * (e->y1 - e->y0);
    if (bounds < (double)o->min_side * (double)o->min_side)
        return true;
    weft_ocr_rect r;
    weft_ocr_min_rect(f->hull, weft_ocr_hull(e, f->hull), &r);
    double shorter = fmin(r.width, r.height);
    if (shorter < (double)o->min_side)
        return true;
    f->n_candidates++;
    weft_ocr_box *box = &f->boxes[f->n_boxes];
    weft_ocr_rect_quad(&r, 0, box->quad);
    float score = weft_ocr_quad_score(f->map, box->quad, f->score_rows);
    double distance = r.width * r.height * (double)o->unclip / (2 * (r.width + r.height));
    if (score >= o->box_threshold && shorter + 2 * distance >= (double)o->min_side + 2) {
        weft_ocr_rect_quad(&r, distance, box->quad);
        for (int i = 0; i < 4; i++) {
            box->quad[i][0] = to_picture(box->quad[i][0], f->map->scale_x, f->map->border, f->map->picture_width);
            box->quad[i][1] = to_picture(box->quad[i][1], f->map->scale_y, f->map->border, f->map->picture_height);
        }
        box->score = score > 1 ? 1 : score;
        if (!side_too_short(box->quad, 0, 1) && !side_too_short(box->quad, 0, 3))
            f->n_boxes++;
    }
    return f->n_candidates < o->max_boxes;
}

weft_status weft_ocr_boxes_find(const weft_ocr_map *map, const weft_ocr_box_options *options, void *work, weft_ocr_box *boxes,
                                size_t *n_boxes, weft_error *err)
{
    size_t h = (size_t)map->height;
    char *at = work;
    int8_t *marks = work;
    at += align8((h + 2) * ((size_t)map->width + 2));
    int32_t *rows = (int32_t *)(void *)at;
    at += align8(2 * h * sizeof(int32_t));
    int32_t *score_rows = (int32_t *)(void *)at;
    at += align8(2 * h * sizeof(int32_t));
    finder f = {.map = map, .options = options, .hull = (int32_t(*)[2])(void *)at, .score_rows = score_rows, .boxes = boxes};
    *n_boxes = 0;
    if (!mark(map, options->threshold, marks))
        return weft_fail(
            err, WEFT_E_RUN_FAILED,
            "the text map holds values that are not finite numbers; the model overflowed, try it with higher precision");
    weft_ocr_contours(marks, map->width, map->height, rows, visit, &f);
    *n_boxes = f.n_boxes;
    return WEFT_OK;
}

/* ---- reading order ----------------------------------------------------------------------------------------------------------
 */

typedef struct place {
    float line, along; /* rows: y, x; columns: x from the right, y */
} place;

static place place_of(const weft_ocr_box *b, weft_ocr_direction direction, bool turned)
{
    int corner = direction == WEFT_OCR_LEFT_TO_RIGHT ? 0 : 1;
    if (turned)
        corner += 2;
    float sign = turned ? -1 : 1, x = sign * b->quad[corner][0], y = sign * b->quad[corner][1];
    if (direction == WEFT_OCR_COLUMNS)
        return (place){-x, y};
    return (place){y, direction == WEFT_OCR_RIGHT_TO_LEFT ? -x : x};
}

static bool before(place a, place b)
{
    return a.line < b.line || (a.line == b.line && a.along < b.along);
}

void weft_ocr_boxes_sort(weft_ocr_box *boxes, size_t n_boxes, weft_ocr_direction direction, float tolerance_px, bool turned)
{
    /* Contours come in raster order, so they are nearly sorted and insertion is quick. */
    for (size_t i = 1; i < n_boxes; i++) {
        weft_ocr_box b = boxes[i];
        place p = place_of(&b, direction, turned);
        size_t k = i;
        for (; k > 0 && before(p, place_of(&boxes[k - 1], direction, turned)); k--)
            boxes[k] = boxes[k - 1];
        boxes[k] = b;
    }
    for (size_t i = 1; i < n_boxes; i++) { /* neighbours on one line go by their place along it */
        for (size_t k = i; k > 0; k--) {
            place a = place_of(&boxes[k - 1], direction, turned), b = place_of(&boxes[k], direction, turned);
            if (!(fabsf(b.line - a.line) < tolerance_px && b.along < a.along))
                break;
            weft_ocr_box t = boxes[k];
            boxes[k] = boxes[k - 1];
            boxes[k - 1] = t;
        }
    }
}
