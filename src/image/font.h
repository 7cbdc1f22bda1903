/* Fonts for drawing: a TrueType/OpenType file through FreeType, with a small built-in ASCII bitmap font when there is none.
 *
 * A weft_font caches rendered glyphs: one thread at a time. Sizes are pixel heights of the em square. */
#ifndef WEFT_IMAGE_FONT_H
#define WEFT_IMAGE_FONT_H

#include "weft/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_font weft_font;

/* One glyph as 8-bit coverage. Borrowed from the font until its next call. */
typedef struct weft_glyph {
    const uint8_t *coverage; /* NULL for a blank */
    int32_t width, height, stride_bytes;
    int32_t left, top; /* from the pen: right, and up from the base line */
    float advance_px;
} weft_glyph;

/* path NULL or "": the file that the environment variable WEFT_FONT names, then the usual places (Noto Sans CJK, DejaVu,
 * WenQuanYi); what the first lacks the next two fill in. None of them there: the built-in font; only NO_MEMORY is a failure. A
 * path that is given must load: NOT_FOUND or UNPROCESSABLE otherwise. */
weft_status weft_font_create(weft_font **out, const char *path, weft_error *err);
void weft_font_destroy(weft_font **f);
const char *weft_font_name(const weft_font *f); /* family name, "built-in" */
bool weft_font_has(weft_font *f, uint32_t code_point);

/* Code points without a glyph become a hollow box. size_px is limited to 4..512. */
weft_status weft_font_glyph(weft_font *f, uint32_t code_point, float size_px, weft_glyph *out, weft_error *err);
void weft_font_line(weft_font *f, float size_px, float *ascent_px, float *descent_px); /* both positive */

#endif
