#include "image/decode.h"

#include "image/codec.h"
#include "image/geometry.h"
#include "image/sniff.h"

#include <stdio.h>
#include <string.h>

typedef struct codec {
    weft_picture_format format;
    const char *name, *mime;
    weft_status (*probe)(const uint8_t *, size_t, weft_picture_info *, weft_error *);
    weft_status (*decode)(const uint8_t *, size_t, const weft_picture_info *, int, weft_picture *, weft_error *);
} codec;

static const codec codecs[] = {
    {WEFT_PICTURE_JPEG, "JPEG", "image/jpeg", weft_jpeg_probe, weft_jpeg_decode},
    {WEFT_PICTURE_PNG, "PNG", "image/png", weft_png_probe, weft_png_decode},
    {WEFT_PICTURE_WEBP, "WebP", "image/webp", weft_webp_probe, weft_webp_decode},
};

static const codec *codec_of(weft_picture_format f)
{
    for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++)
        if (codecs[i].format == f)
            return &codecs[i];
    return NULL;
}

const char *weft_picture_format_name(weft_picture_format f)
{
    const codec *c = codec_of(f);
    return c ? c->name : "?";
}

const char *weft_picture_format_mime(weft_picture_format f)
{
    const codec *c = codec_of(f);
    return c ? c->mime : "application/octet-stream";
}

static weft_picture_limits limits_of(const weft_picture_limits *given)
{
    weft_picture_limits l = weft_picture_limits_default();
    if (given && given->max_bytes)
        l.max_bytes = given->max_bytes;
    if (given && given->max_pixels)
        l.max_pixels = given->max_pixels;
    if (given && given->max_side_px > 0)
        l.max_side_px = given->max_side_px;
    return l;
}

static weft_status check_size(const weft_picture_info *info, const weft_picture_limits *l, weft_error *err)
{
    int32_t w = info->coded_width, h = info->coded_height;
    const char *name = weft_picture_format_name(info->format);
    if (w < 1 || h < 1)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the %s picture says it is %dx%d pixels; both sides must be at least 1", name,
                         w, h);
    if (w > l->max_side_px || h > l->max_side_px)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the %s picture is %dx%d pixels; a side may have at most %d: scale it down", name,
                         w, h, l->max_side_px);
    if ((uint64_t)w * (uint64_t)h > l->max_pixels)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the %s picture is %dx%d = %llu pixels; at most %llu are accepted: scale it down",
                         name, w, h, (unsigned long long)w * (unsigned long long)h, (unsigned long long)l->max_pixels);
    return WEFT_OK;
}

/* Pixels twice when they must be turned, what the codec holds for pictures that come in several passes, and its fixed part. */
static size_t estimate_bytes(const weft_picture_info *i)
{
    size_t n_pixels = (size_t)i->coded_width * (size_t)i->coded_height;
    size_t total = n_pixels * 3 + 300000;
    if (i->orientation > 1)
        total += n_pixels * 3;
    if (i->format == WEFT_PICTURE_JPEG && i->progressive) /* 16-bit coefficients of every component, rounded up to blocks */
        total += (n_pixels + 16 * (size_t)(i->coded_width + i->coded_height)) * 2 * (size_t)(i->channels > 0 ? i->channels : 1);
    if (i->format == WEFT_PICTURE_WEBP) /* lossless keeps ARGB, lossy planes are less */
        total += n_pixels * 4;
    return total;
}

static weft_status sniff(const uint8_t *bytes, size_t n_bytes, const codec **out, weft_error *err)
{
    weft_picture_format f = weft_sniff_picture(bytes, n_bytes);
    *out = codec_of(f);
    if (*out)
        return WEFT_OK;
    const char *what = weft_sniff_name(bytes, n_bytes);
    if (what)
        return weft_fail(err, WEFT_E_MEDIA_TYPE, "this is %s; send a picture as JPEG, PNG or WebP", what);
    return weft_fail(err, WEFT_E_MEDIA_TYPE, "these %zu bytes are no picture that is known here; send a JPEG, PNG or WebP file",
                     n_bytes);
}

static weft_status probe(const uint8_t *bytes, size_t n_bytes, const weft_picture_limits *limits, const codec **c,
                         weft_picture_info *out, weft_error *err)
{
    weft_picture_limits l = limits_of(limits);
    *out = (weft_picture_info){0};
    if (!bytes || n_bytes == 0)
        return weft_fail(err, WEFT_E_INVALID, "a picture was expected and no bytes came; send a JPEG, PNG or WebP file");
    if (n_bytes > l.max_bytes)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the picture has %zu bytes; at most %llu are accepted", n_bytes,
                         (unsigned long long)l.max_bytes);
    weft_status s = sniff(bytes, n_bytes, c, err);
    if (s != WEFT_OK)
        return s;
    weft_picture_info info = {.format = (*c)->format, .orientation = 1};
    s = (*c)->probe(bytes, n_bytes, &info, err);
    if (s == WEFT_OK)
        s = check_size(&info, &l, err);
    if (s != WEFT_OK)
        return s;
    bool turned = info.orientation >= 5;
    info.width = turned ? info.coded_height : info.coded_width;
    info.height = turned ? info.coded_width : info.coded_height;
    info.decode_bytes = estimate_bytes(&info);
    *out = info;
    return WEFT_OK;
}

weft_status weft_picture_probe(const void *bytes, size_t n_bytes, const weft_picture_limits *limits, weft_picture_info *out,
                               weft_error *err)
{
    const codec *c;
    return probe(bytes, n_bytes, limits, &c, out, err);
}

weft_status weft_picture_decode(const void *bytes, size_t n_bytes, const weft_picture_limits *limits, int wanted_channels,
                                weft_picture *out, weft_error *err)
{
    const codec *c;
    weft_picture_info info;
    weft_picture stored = {0};
    weft_status s = probe(bytes, n_bytes, limits, &c, &info, err);
    if (s == WEFT_OK && wanted_channels != 1 && wanted_channels != 3 && wanted_channels != 4)
        s = weft_fail(err, WEFT_E_INVALID, "%d channels were asked for; a picture decodes to 1, 3 or 4", wanted_channels);
    if (s == WEFT_OK && info.orientation == 1) {
        s = c->decode(bytes, n_bytes, &info, wanted_channels, out, err);
    } else if (s == WEFT_OK) {
        s = c->decode(bytes, n_bytes, &info, wanted_channels, &stored, err);
        if (s == WEFT_OK)
            s = weft_picture_orient(&stored, info.orientation, out, err);
    }
    weft_picture_destroy(&stored);
    if (s != WEFT_OK)
        out->width = out->height = 0;
    return s;
}
