/* Pictures: 8-bit pixels in memory.
 *
 * Pixels are interleaved, top row first, upright (EXIF orientation already applied). Channels: 1 = grey, 3 = R,G,B, 4 = R,G,B,A
 * with straight (not premultiplied) alpha. A picture either owns its block (capacity_bytes > 0) or is a view of somebody else's
 * pixels (capacity_bytes 0); every function of src/image reads both.
 *
 * Lifetime: a weft_picture is a plain struct in place. Start it as {0}; weft_picture_create may be called again and again on it
 * and keeps the block when it is large enough (a worker that reuses one picture stops allocating); weft_picture_destroy frees and
 * zeroes it. Threads: one thread at a time for one picture; many may read one. */
#ifndef WEFT_IMAGE_PICTURE_H
#define WEFT_IMAGE_PICTURE_H

#include "weft/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_picture {
    int32_t width, height; /* pixels */
    int channels;          /* 1, 3 or 4 */
    size_t stride_bytes;   /* from one row to the next, >= width * channels */
    uint8_t *data;         /* first byte of the top row */
    size_t capacity_bytes; /* size of the owned block that starts at data; 0 = a view, data is borrowed */
} weft_picture;

/* What is refused before any pixel is decoded. A field of 0 means the default below. */
typedef struct weft_picture_limits {
    uint64_t max_bytes;  /* of the encoded file; default 64 MiB */
    uint64_t max_pixels; /* width * height; default 50 million */
    int32_t max_side_px; /* of either side; default 16384 */
} weft_picture_limits;

#define WEFT_PICTURE_MAX_BYTES ((uint64_t)64 << 20)
#define WEFT_PICTURE_MAX_PIXELS ((uint64_t)50000000)
#define WEFT_PICTURE_MAX_SIDE_PX 16384

weft_picture_limits weft_picture_limits_default(void);

/* Gives *p the size asked for with rows packed (stride = width * channels) and undefined pixels. Keeps the owned block when it is
 * large enough. INVALID for a side < 1 or > 65536 or channels other than 1, 3, 4; NO_MEMORY. On failure *p is unchanged. */
weft_status weft_picture_create(weft_picture *p, int32_t width, int32_t height, int channels, weft_error *err);
void weft_picture_destroy(weft_picture *p); /* NULL and zeroed pictures are allowed; a view only forgets its pixels */

/* A view of the rectangle (x, y, width, height), clipped to the picture; width or height 0 when nothing is left. Borrowed: lives
 * as long as p's pixels. */
weft_picture weft_picture_view(const weft_picture *p, int32_t x, int32_t y, int32_t width, int32_t height);
/* A view of pixels that the caller owns. */
weft_picture weft_picture_wrap(uint8_t *data, int32_t width, int32_t height, int channels, size_t stride_bytes);

/* dst becomes an owned copy with `channels` channels (src and dst must not share pixels). Grey from colour is (4899 R + 9617 G +
 * 1868 B + 8192) >> 14, as OpenCV's cvtColor; new alpha is 255; lost alpha is dropped, the colour under it stays. */
weft_status weft_picture_convert(const weft_picture *src, int channels, weft_picture *dst, weft_error *err);
/* In place: puts a 4-channel picture over a plain colour; alpha becomes 255. Nothing happens to other pictures. */
void weft_picture_flatten(weft_picture *p, uint8_t red, uint8_t green, uint8_t blue);

#endif
