/* Resizing 8-bit pictures.
 *
 *   NEAREST   source pixel floor(x * src / dst), as cv2.INTER_NEAREST
 *   BILINEAR  half-pixel centres, 2 taps, no anti-aliasing, as cv2.INTER_LINEAR on 8 bits
 *   AREA      mean of the covered area when no axis grows, as cv2.INTER_AREA; when an axis grows OpenCV's bilinear variant of
 * INTER_AREA BICUBIC   half-pixel centres, 4 taps, a = -0.75, as cv2.INTER_CUBIC AUTO      AREA when no axis grows and one
 * shrinks, else BILINEAR Each within one grey level of OpenCV 4.6 (tests/data/image/make_goldens.py). Values 16.. are kept for
 * Pillow's anti-aliased filters. 1, 3 and 4 channels, any stride. src and dst must not share pixels. Threads: any. Errors:
 * INVALID (sizes, channels), NO_MEMORY. */
#ifndef WEFT_IMAGE_RESIZE_H
#define WEFT_IMAGE_RESIZE_H

#include "image/picture.h"

typedef enum weft_interpolation {
    WEFT_INTERPOLATION_AUTO = 0,
    WEFT_INTERPOLATION_NEAREST = 1,
    WEFT_INTERPOLATION_BILINEAR = 2,
    WEFT_INTERPOLATION_AREA = 3,
    WEFT_INTERPOLATION_BICUBIC = 4,
} weft_interpolation;

/* dst is created (or its block reused) with width x height and src's channels. */
weft_status weft_picture_resize(const weft_picture *src, int32_t width, int32_t height, weft_interpolation how, weft_picture *dst,
                                weft_error *err);
/* The same into pixels that exist: dst has its size, src's channels and any stride (a view is fine). */
weft_status weft_picture_resize_into(const weft_picture *src, weft_interpolation how, weft_picture *dst, weft_error *err);

/* ---- row by row: a resize whose rows go straight into something else (a tensor) ------------------------------------------ */
typedef struct weft_resizer weft_resizer;

/* The rectangle `window` (x, y, width, height) of the picture that src resized to full_width x full_height would be; only its
 * pixels are computed. src's pixels must live until the resizer is destroyed. */
weft_status weft_resizer_create(weft_resizer **out, const weft_picture *src, int32_t full_width, int32_t full_height,
                                const int32_t window[4], weft_interpolation how, weft_error *err);
void weft_resizer_destroy(weft_resizer **r);
/* Writes row y of the window (window width * channels bytes). Rows may be asked for in any order; in rising order nothing is
 * computed twice. */
void weft_resizer_row(weft_resizer *r, int32_t y, uint8_t *row);

#endif
