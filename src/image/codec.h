/* Between decode.c and the three codecs. Not for other parts. */
#ifndef WEFT_IMAGE_CODEC_H
#define WEFT_IMAGE_CODEC_H

#include "image/decode.h"

/* Header readers: fill everything but width, height (upright), decode_bytes. They do not check limits. UNPROCESSABLE when the
 * header is damaged or the kind is not accepted. */
weft_status weft_jpeg_probe(const uint8_t *bytes, size_t n_bytes, weft_picture_info *out, weft_error *err);
weft_status weft_png_probe(const uint8_t *bytes, size_t n_bytes, weft_picture_info *out, weft_error *err);
weft_status weft_webp_probe(const uint8_t *bytes, size_t n_bytes, weft_picture_info *out, weft_error *err);

/* Decoders: the stored (not yet upright) pixels into `out`, which they create with `channels` channels (1, 3, 4). `info` is what
 * the reader above said and its limits were checked; a codec that sees another size refuses. */
weft_status weft_jpeg_decode(const uint8_t *bytes, size_t n_bytes, const weft_picture_info *info, int channels, weft_picture *out,
                             weft_error *err);
weft_status weft_png_decode(const uint8_t *bytes, size_t n_bytes, const weft_picture_info *info, int channels, weft_picture *out,
                            weft_error *err);
weft_status weft_webp_decode(const uint8_t *bytes, size_t n_bytes, const weft_picture_info *info, int channels, weft_picture *out,
                             weft_error *err);

/* One row of pixels to another channel count (weft_picture_convert says how). */
void weft_convert_row(const uint8_t *from, int from_channels, uint8_t *to, int to_channels, int32_t width);

#endif
