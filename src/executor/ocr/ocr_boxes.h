/* From a probability map to text boxes: the second half of a differentiable-binarisation (DB) text detector.
 *
 * Field facts: Liao et al., "Real-time Scene Text Detection with Differentiable Binarization" (AAAI 2020), and the settings that
 * PP-OCR publishes with its weights: map > 0.3, boxes scored by the mean of the map inside, score >= 0.6, boxes grown by area
 * * 1.5 / perimeter.
 *
 * Time is linear in the map (plus boxes times their own area), whatever the map holds; memory is what weft_ocr_boxes_work_bytes
 * says, nothing else. Threads: any; nothing is shared. */
#ifndef WEFT_EXECUTOR_OCR_BOXES_H
#define WEFT_EXECUTOR_OCR_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/status.h"

#define WEFT_OCR_MAX_MAP_SIDE 8192
#define WEFT_OCR_MAX_BOXES 10000

typedef struct weft_ocr_box {
    float quad[4][2]; /* tl, tr, br, bl (x, y) in pixels of the upright picture, whole numbers inside 0..width, 0..height */
    float score;      /* 0..1: mean of the map inside */
} weft_ocr_box;

/* Where text boxes are looked for: the window of the model's output that the picture covers (padding is left out). */
typedef struct weft_ocr_map {
    const float *p;          /* first value of the window's top row */
    size_t stride;           /* values from one row to the next */
    int32_t width, height;   /* of the window, 1..WEFT_OCR_MAX_MAP_SIDE */
    double scale_x, scale_y; /* window coordinates * scale - border = picture coordinates */
    double border;           /* in picture pixels, around the picture */
    int32_t picture_width, picture_height;
} weft_ocr_map;

typedef struct weft_ocr_box_options {
    float threshold;     /* a map value above is text */
    float box_threshold; /* least score of a box */
    float unclip;        /* growth: distance = area * unclip / perimeter */
    float min_side;      /* in map pixels: shorter side before growing; + 2 after */
    size_t max_boxes;    /* candidates looked at, 1..WEFT_OCR_MAX_BOXES */
} weft_ocr_box_options;

/* Scratch of weft_ocr_boxes_find for a map of this size. */
size_t weft_ocr_boxes_work_bytes(int32_t width, int32_t height);

/* Writes at most options->max_boxes boxes, unordered. `work`: weft_ocr_boxes_work_bytes, aligned to 8, contents do not matter.
 * RUN_FAILED when the map holds something that is not a number (a model that overflowed must not look like an empty page). */
weft_status weft_ocr_boxes_find(const weft_ocr_map *map, const weft_ocr_box_options *options, void *work, weft_ocr_box *boxes,
                                size_t *n_boxes, weft_error *err);

typedef enum weft_ocr_direction {
    WEFT_OCR_LEFT_TO_RIGHT = 0, /* rows from the top, each from the left */
    WEFT_OCR_RIGHT_TO_LEFT = 1, /* rows from the top, each from the right */
    WEFT_OCR_COLUMNS = 2,       /* columns from the right, each from the top */
} weft_ocr_direction;

/* Reading order: by row (boxes whose top-left corners are nearer than tolerance_px are one row), then along the row. `turned`:
 * the page stands on its head. */
void weft_ocr_boxes_sort(weft_ocr_box *boxes, size_t n_boxes, weft_ocr_direction direction, float tolerance_px, bool turned);

/* ---- the pieces, for tests --------------------------------------------------------------------------------------------------
 */

/* The border pixels of one contour as extents of each row: what a convex hull needs. */
typedef struct weft_ocr_extents {
    int32_t x0, y0, x1, y1;       /* inclusive bounds */
    const int32_t *min_x, *max_x; /* by row, from y0 to y1 */
} weft_ocr_extents;

/* Follows every border of the 8-connected regions, outer borders and the borders of holes, in raster order of their first pixel
 * (Suzuki and Abe, "Topological structural analysis of digitized binary images by border following", CVGIP 30, 1985). marks:
 * (height + 2) rows of (width + 2) cells, 1 = text, 0 = not, frame zero; used up. rows: 2 * height int32. Stops when visit
 * returns false. */
void weft_ocr_contours(int8_t *marks, int32_t width, int32_t height, int32_t *rows,
                       bool (*visit)(void *cookie, const weft_ocr_extents *e), void *cookie);

/* Convex hull of the extents, counter-clockwise in a picture whose y grows downwards seen from above (clockwise on screen), no
 * three corners in line. hull: room for 2 * rows points. Returns the number of corners. */
size_t weft_ocr_hull(const weft_ocr_extents *e, int32_t (*hull)[2]);

typedef struct weft_ocr_rect {
    double cx, cy; /* centre */
    double ux, uy; /* unit vector along `width` */
    double width, height;
} weft_ocr_rect;

/* The rectangle of least area around a convex hull (one side lies on a hull edge). One point or a line gives height 0. */
void weft_ocr_min_rect(int32_t (*hull)[2], size_t n, weft_ocr_rect *out);
/* Corners of the rectangle grown by `grow` on every side: tl, tr, br, bl. */
void weft_ocr_rect_quad(const weft_ocr_rect *r, double grow, float quad[4][2]);
/* Mean of the map inside the quad with its border; NaN when it lies outside. rows: 2 * height int32. */
float weft_ocr_quad_score(const weft_ocr_map *map, float quad[4][2], int32_t *rows);

#endif
