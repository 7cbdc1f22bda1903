/* Draws any result onto its picture, from the kinds of its columns alone; no executor is known by name.
 *
 *   BOX, QUAD, POINTS   outlines and dots, coloured by label (by item without one)
 *   LABEL, SCORE        a tag at the item's box or quad
 *   TEXT with QUAD      a sheet of paper to the right of the picture, every text at its place, in its size and direction (the
 * picture doubles its width) LABEL or TEXT alone a panel below the picture that lists the items with bars for their scores (the
 * picture grows) MATTE               what it hides is shown as a checkerboard PICTURE             replaces the picture NUMBER,
 * TENSOR      not drawn At most 1000 items are drawn. Threads: any, one picture at a time. */
#ifndef WEFT_IMAGE_DRAW_RESULT_H
#define WEFT_IMAGE_DRAW_RESULT_H

#include "image/draw.h"
#include "image/picture.h"
#include "weft/result.h"

/* picture: the upright decoded input, 3 channels, owned (a PICTURE column may change its size); drawn in place. options NULL =
 * defaults. INVALID for another channel count; UNPROCESSABLE when a PICTURE column does not decode; NO_MEMORY. On failure the
 * picture is still one, perhaps partly drawn on. */
weft_status weft_draw_result(weft_picture *picture, const weft_result *result, const weft_draw_options *options, weft_error *err);

#endif
