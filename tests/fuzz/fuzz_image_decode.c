/* Any bytes through probe and decode: what the header promised is what comes, errors are sentences, every pixel is there. */
#include "image/decode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_error(weft_status s, const weft_error *err)
{
    check(s == WEFT_E_INVALID || s == WEFT_E_MEDIA_TYPE || s == WEFT_E_UNPROCESSABLE || s == WEFT_E_TOO_LARGE ||
          s == WEFT_E_NO_MEMORY);
    check(err->status == s && strlen(err->text) > 10);
}

static unsigned sum_of(const weft_picture *p)
{
    unsigned sum = 0;
    for (int32_t y = 0; y < p->height; y++)
        for (size_t i = 0; i < (size_t)p->width * (size_t)p->channels; i++)
            sum = sum * 31 + p->data[(size_t)y * p->stride_bytes + i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int wanted[3] = {1, 3, 4};
    const weft_picture_limits limits = {.max_bytes = 1 << 20, .max_pixels = 300000, .max_side_px = 4000};
    weft_picture p = {0};
    weft_picture_info info;
    weft_error err = {0};
    weft_status probed = weft_picture_probe(data, n, &limits, &info, &err);
    if (probed != WEFT_OK)
        check_error(probed, &err);
    int channels = wanted[n % 3];
    weft_status s = weft_picture_decode(data, n, &limits, channels, &p, &err);
    if (s != WEFT_OK) {
        check_error(s, &err);
        check(p.width == 0 && p.height == 0);
    } else {
        check(probed == WEFT_OK && p.width == info.width && p.height == info.height && p.channels == channels);
        volatile unsigned sum = sum_of(&p);
        (void)sum;
    }
    weft_picture_destroy(&p);
    return 0;
}
