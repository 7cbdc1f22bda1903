/* WebP -> pixels, through libwebp. Source of the container layout: WebP Container Specification (RIFF, VP8X, EXIF). */
#include <webp/decode.h>

#include <string.h>

#include "image/codec.h"
#include "image/exif.h"

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int find_orientation(const uint8_t *b, size_t n)
{
    size_t at = 12;
    for (int i = 0; i < 1000 && at + 8 <= n; i++) {
        size_t length = le32(b + at + 4);
        if (length > n - at - 8)
            return 1;
        if (memcmp(b + at, "EXIF", 4) == 0)
            return weft_exif_orientation(b + at + 8, length);
        at += 8 + length;
        at += at & 1; /* chunks are padded to even sizes */
    }
    return 1;
}

weft_status weft_webp_probe(const uint8_t *b, size_t n, weft_picture_info *out, weft_error *err)
{
    WebPBitstreamFeatures f;
    VP8StatusCode code = WebPGetFeatures(b, n, &f);
    if (code == VP8_STATUS_NOT_ENOUGH_DATA)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the WebP ends before its pixels begin; the file is damaged or incomplete");
    if (code != VP8_STATUS_OK)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the WebP's header is damaged");
    if (f.has_animation)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "this is an animated WebP; send a still picture");
    out->coded_width = f.width;
    out->coded_height = f.height;
    out->bit_depth = 8;
    out->has_alpha = f.has_alpha != 0;
    out->channels = f.has_alpha ? 4 : 3;
    out->orientation = find_orientation(b, n);
    return WEFT_OK;
}

static weft_status explain(VP8StatusCode code, weft_error *err)
{
    switch (code) {
    case VP8_STATUS_OK:
        return WEFT_OK;
    case VP8_STATUS_OUT_OF_MEMORY:
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while decoding a WebP");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the WebP is truncated: it ends before its last pixels; send the whole file");
    default:
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the WebP is damaged and cannot be decoded");
    }
}

static weft_status decode_into(const uint8_t *b, size_t n, weft_picture *p, weft_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return weft_fail(err, WEFT_E_INTERNAL, "libwebp has another interface than the one this was built for");
    config.output.colorspace = p->channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = p->data;
    config.output.u.RGBA.stride = (int)p->stride_bytes;
    config.output.u.RGBA.size = p->stride_bytes * (size_t)p->height;
    VP8StatusCode code = WebPDecode(b, n, &config);
    WebPFreeDecBuffer(&config.output);
    return explain(code, err);
}

weft_status weft_webp_decode(const uint8_t *b, size_t n, const weft_picture_info *info, int channels, weft_picture *out,
                             weft_error *err)
{
    weft_picture colour = {0};
    weft_picture *to = channels == 1 ? &colour : out;
    weft_status s = weft_picture_create(to, info->coded_width, info->coded_height, channels == 1 ? 3 : channels, err);
    if (s == WEFT_OK)
        s = decode_into(b, n, to, err);
    if (s == WEFT_OK && channels == 1)
        s = weft_picture_convert(&colour, 1, out, err);
    weft_picture_destroy(&colour);
    return s;
}
