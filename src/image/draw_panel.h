/* Panels beside and below a picture for results that do not fit into it. Not for other parts. */
#ifndef WEFT_IMAGE_DRAW_PANEL_H
#define WEFT_IMAGE_DRAW_PANEL_H

#include "image/draw.h"

/* One line of text and where it was read; quad tl, tr, br, bl or NULL. score < 0 = none. */
typedef struct weft_panel_item {
    const char *text;
    size_t n_bytes;
    const float *quad;
    float score;
    weft_color color;
} weft_panel_item;

/* Widens the picture to the right by a sheet of paper on which every text stands at its quad, in its size and direction. */
weft_status weft_draw_paper(weft_picture *picture, const weft_panel_item *items, size_t n_items, const weft_draw_options *options,
                            weft_error *err);
/* Adds a dark panel below the picture that lists the items with bars for their scores; at most 12 are shown. */
weft_status weft_draw_list(weft_picture *picture, const weft_panel_item *items, size_t n_items, const weft_draw_options *options,
                           weft_error *err);

#endif
