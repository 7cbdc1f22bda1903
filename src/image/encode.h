/* Pixels -> JPEG or PNG bytes, appended to a buffer.
 * Threads: any. Errors: INVALID (a picture without pixels, an option out of range), NO_MEMORY (also when the buffer's own limit
 * is reached), INTERNAL (the codec refused). On failure the buffer is cut back to what it held. */
#ifndef WEFT_IMAGE_ENCODE_H
#define WEFT_IMAGE_ENCODE_H

#include "base/buffer.h"
#include "image/picture.h"

typedef enum weft_chroma {
    WEFT_CHROMA_420 = 0, /* half width and height, the usual one */
    WEFT_CHROMA_444 = 1, /* full: for drawings and text */
} weft_chroma;

/* quality 1..100 (libjpeg's scale; 90 is a good photo). Grey pictures stay grey; alpha is dropped. */
weft_status weft_picture_encode_jpeg(const weft_picture *p, int quality, weft_chroma chroma, weft_buffer *out, weft_error *err);
/* level 0 (stored) .. 9 (smallest) of zlib, -1 = 6. Grey, RGB and RGBA as they are. */
weft_status weft_picture_encode_png(const weft_picture *p, int level, weft_buffer *out, weft_error *err);

#endif
