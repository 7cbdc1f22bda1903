/* Bitmaps of the built-in font. Not for other parts. */
#ifndef WEFT_IMAGE_FONT_BUILTIN_H
#define WEFT_IMAGE_FONT_BUILTIN_H

#include <stdint.h>

#define WEFT_FONT_BUILTIN_ROWS 8
#define WEFT_FONT_BUILTIN_COLUMNS 5

/* Code points 32..126; base line under row 6. */
extern const uint8_t weft_font_builtin[95][WEFT_FONT_BUILTIN_ROWS];

#endif
