/* Drawing on a 3-channel picture: boxes, quadrilaterals, points, text with labels. Everything is anti-aliased and clipped at the
 * edges.
 *
 * Coordinates are continuous pixel coordinates (image/geometry.h); numbers that are not finite draw nothing.
 * Threads: one at a time for one canvas. */
#ifndef WEFT_IMAGE_DRAW_H
#define WEFT_IMAGE_DRAW_H

#include "image/font.h"
#include "image/picture.h"

typedef struct weft_color {
    uint8_t red, green, blue, alpha; /* alpha 255 = opaque */
} weft_color;

typedef struct weft_draw_options {
    const char *font_path; /* NULL = search */
    float line_px;         /* stroke width; 0 = from the picture's size */
    float text_px;         /* text height; 0 = from the picture's size */
} weft_draw_options;

typedef struct weft_canvas {
    weft_picture *picture; /* borrowed, 3 channels */
    weft_font *font;       /* owned */
    float line_px, text_px;
} weft_canvas;

/* options NULL = all defaults. INVALID unless the picture has 3 channels; errors of weft_font_create. The picture must outlive
 * the canvas. */
weft_status weft_canvas_init(weft_canvas *c, weft_picture *picture, const weft_draw_options *options, weft_error *err);
void weft_canvas_fini(weft_canvas *c); /* NULL and zeroed allowed */

/* A readable colour for item or class `index`; repeats after 16. */
weft_color weft_palette(size_t index);
/* Black or white, whichever reads better on c. */
weft_color weft_ink_on(weft_color c);

void weft_draw_fill(weft_canvas *c, float x1, float y1, float x2, float y2, float radius_px, weft_color color);
void weft_draw_box(weft_canvas *c, const float box[4], float line_px, weft_color color);
/* closed: the last point is joined to the first. */
void weft_draw_lines(weft_canvas *c, const float *xy, size_t n_points, bool closed, float line_px, weft_color color);
void weft_draw_polygon(weft_canvas *c, const float *xy, size_t n_points,
                       weft_color color); /* filled, even-odd, at most 64 points */
void weft_draw_point(weft_canvas *c, float x, float y, float radius_px, weft_color color);

/* Width and height of one line of UTF-8 (malformed bytes count as U+FFFD; a line break as a blank). */
void weft_draw_text_size(weft_canvas *c, const char *text, size_t n_bytes, float text_px, float *width, float *height);
/* One line; (x, y) is the top left corner of its box. max_width > 0 cuts with an ellipsis. Out of memory draws what it can. */
void weft_draw_text(weft_canvas *c, float x, float y, const char *text, size_t n_bytes, float text_px, float max_width,
                    weft_color color);
/* Text on a filled tag; (x, y) is its top left corner. */
void weft_draw_tag(weft_canvas *c, float x, float y, const char *text, size_t n_bytes, weft_color color);
void weft_draw_tag_size(weft_canvas *c, const char *text, size_t n_bytes, float *width, float *height);
/* A tag that sits on `box`: above it, else inside its top, below it, inside its bottom; the first place that lies in the picture
 * and meets none of the `n_taken` rectangles in `taken` (x1,y1,x2,y2; may be NULL). It never leaves the picture. Its own
 * rectangle is written to `placed` (may be NULL). */
void weft_draw_label(weft_canvas *c, const float box[4], const char *text, size_t n_bytes, weft_color color,
                     const float (*taken)[4], size_t n_taken, float placed[4]);

#endif
