/* Encoded pictures -> pixels: JPEG, PNG, WebP.
 *
 * What comes out is what cv2.imread and Pillow's convert("RGB") give on the same codec libraries, and upright:
 *   - EXIF orientation 1..8 is applied (JPEG APP1, PNG eXIf, WebP EXIF); a malformed EXIF block means upright, not an error;
 *   - alpha is dropped with 1 or 3 channels wanted (the colour under it stays) and kept with 4 (255 where the file has none);
 *   - 16-bit PNG keeps its upper byte; palettes and tRNS are expanded; gamma and colour profiles are ignored;
 *   - CMYK and YCCK JPEG use the Adobe convention (stored inverted): R = C' K' / 255;
 *   - grey from a YCbCr JPEG is its Y plane; from other pictures see weft_picture_convert.
 * A file whose pixels are all there is decoded even when bytes after them are missing (JPEG without EOI, PNG without IEND). A
 * file that lost pixels (truncated, a damaged code stream, a progressive JPEG without EOI that lacks scans) is refused as
 * UNPROCESSABLE, never half answered.
 *
 * Bounds: bytes, sides and pixels are checked from the header before pixel memory is taken; progressive JPEG scans, PNG chunks
 * and the memory of the codecs are bounded. Codecs never print, never exit, never keep a pointer. Threads: any; nothing is
 * shared. Errors: INVALID (no bytes), MEDIA_TYPE (another format; the sentence says which), TOO_LARGE (a limit), UNPROCESSABLE
 * (damaged, or a kind of the format that is not accepted), NO_MEMORY. */
#ifndef WEFT_IMAGE_DECODE_H
#define WEFT_IMAGE_DECODE_H

#include "image/picture.h"

typedef enum weft_picture_format {
    WEFT_PICTURE_UNKNOWN = 0,
    WEFT_PICTURE_JPEG = 1,
    WEFT_PICTURE_PNG = 2,
    WEFT_PICTURE_WEBP = 3,
} weft_picture_format;

/* From the header alone. */
typedef struct weft_picture_info {
    weft_picture_format format;
    int32_t width, height;             /* upright, as decode will give it */
    int32_t coded_width, coded_height; /* as stored, before orientation */
    int channels;                      /* in the file: 1 grey, 2 grey + alpha, 3 colour or palette, 4 colour + alpha or CMYK */
    int bit_depth;                     /* per channel (palette: per index): 1, 2, 4, 8, 16 */
    int orientation;                   /* EXIF 1..8; 1 = upright */
    bool has_alpha;
    bool progressive;    /* progressive or multi-scan JPEG, interlaced PNG */
    size_t decode_bytes; /* upper estimate of what decode to 3 channels takes at its peak, for admission by memory */
} weft_picture_info;

const char *weft_picture_format_name(weft_picture_format f); /* "JPEG"; "?" outside the enum */
const char *weft_picture_format_mime(weft_picture_format f); /* "image/jpeg"; "application/octet-stream" outside the enum */

/* limits NULL = defaults. Takes no pixel memory; reads the header only. *out is zeroed on failure. */
weft_status weft_picture_probe(const void *bytes, size_t n_bytes, const weft_picture_limits *limits, weft_picture_info *out,
                               weft_error *err);

/* wanted_channels: 1, 3 or 4. *out is a picture in place ({0} or used before: its block is reused when large enough); the caller
 * destroys it, also after a failure (then its size is 0x0). */
weft_status weft_picture_decode(const void *bytes, size_t n_bytes, const weft_picture_limits *limits, int wanted_channels,
                                weft_picture *out, weft_error *err);

#endif
