/* Sizes, windows, corners and options from the input, pixels from the rest: resize, warp, turns, tensors never read or write
 * outside. */
#include "image/geometry.h"
#include "image/preprocess.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct input {
    const uint8_t *data;
    size_t n;
} input;

static unsigned take(input *in, unsigned limit)
{
    unsigned v = 0;
    for (int i = 0; i < 2 && in->n > 0; i++, in->data++, in->n--)
        v = v << 8 | in->data[0];
    return limit ? v % limit : v;
}

static float take_float(input *in)
{
    float f = 0;
    if (in->n >= 4) {
        memcpy(&f, in->data, 4);
        in->data += 4;
        in->n -= 4;
    }
    return f;
}

/* Rows end at the end of their memory, so that a sanitizer sees a pixel too much. */
static bool make_source(input *in, weft_picture *p)
{
    static const int channels[3] = {1, 3, 4};
    if (weft_picture_create(p, 1 + (int32_t)take(in, 70), 1 + (int32_t)take(in, 50), channels[take(in, 3)], NULL) != WEFT_OK)
        return false;
    for (size_t i = 0; i < p->capacity_bytes; i++)
        p->data[i] = in->n ? in->data[i % in->n] : (uint8_t)i;
    return true;
}

static void resize(input *in, const weft_picture *src)
{
    weft_resizer *r;
    int32_t fw = 1 + (int32_t)take(in, 150), fh = 1 + (int32_t)take(in, 150);
    int32_t window[4] = {(int32_t)take(in, 200), (int32_t)take(in, 200), (int32_t)take(in, 200), (int32_t)take(in, 200)};
    if (weft_resizer_create(&r, src, fw, fh, window, (weft_interpolation)take(in, 6), NULL) != WEFT_OK)
        return;
    uint8_t *row = malloc((size_t)window[2] * (size_t)src->channels);
    for (int32_t y = 0; row && y < window[3]; y++)
        weft_resizer_row(r, in->n & 1 ? y : window[3] - 1 - y, row);
    free(row);
    weft_resizer_destroy(&r);
}

static void warp(input *in, const weft_picture *src)
{
    weft_picture dst = {0};
    float quad[4][2];
    int32_t w = (int32_t)take(in, 60), h = (int32_t)take(in, 60);
    bool raw = take(in, 2);
    for (int i = 0; i < 8; i++)
        quad[i / 2][i % 2] = raw ? take_float(in) : (float)take(in, 1000) / 8 - 20;
    weft_picture_warp_quad(src, (const float(*)[2])quad, w, h,
                           take(in, 2) ? WEFT_INTERPOLATION_BICUBIC : WEFT_INTERPOLATION_BILINEAR, &dst, NULL);
    weft_picture_orient(src, (int)take(in, 10), &dst, NULL);
    weft_picture_crop(src, (int32_t)take(in, 90) - 10, (int32_t)take(in, 90) - 10, (int32_t)take(in, 90), (int32_t)take(in, 90),
                      &dst, NULL);
    weft_picture_destroy(&dst);
}

static void preprocess(input *in, const weft_picture *src)
{
    static const weft_dtype dtypes[] = {WEFT_DT_F32, WEFT_DT_F16, WEFT_DT_BF16, WEFT_DT_U8, WEFT_DT_I8, WEFT_DT_I64};
    double numbers[4] = {(double)take_float(in), (double)take_float(in), 1, 2};
    weft_preprocess_options o = {.input_size = {1 + (int32_t)take(in, 90), 1 + (int32_t)take(in, 90)},
                                 .resize_mode = (int)take(in, 5),
                                 .interpolation = (int)take(in, 5),
                                 .channel_order = (int)take(in, 3),
                                 .layout = (int)take(in, 3),
                                 .mean = {take(in, 5), numbers},
                                 .std = {take(in, 5), numbers},
                                 .crop_fraction = (double)take_float(in),
                                 .scale = (double)take_float(in),
                                 .pad_value = (int64_t)take(in, 300) - 2};
    bool planes = take(in, 2);
    int64_t channels = (int64_t)take(in, 6) - 1;
    weft_tensor_desc d = {
        .name = "x", .dtype = dtypes[take(in, 6)], .rank = 4, .shape = {-1, planes ? channels : -1, -1, planes ? -1 : channels}};
    weft_preprocess_plan plan;
    weft_fit fit;
    if (weft_preprocess_open(&o, NULL, &d, &plan, NULL) != WEFT_OK)
        return;
    size_t n = weft_preprocess_row_bytes(&plan);
    uint8_t *dst = malloc(n);
    if (dst && weft_preprocess_run_picture(&plan, src, dst, &fit, NULL) == WEFT_OK) {
        float box[4] = {take_float(in), take_float(in), take_float(in), take_float(in)};
        weft_fit_box_back(&fit, box);
        if (!(box[0] >= 0 && box[0] <= box[2] && box[2] <= (float)src->width && box[1] >= 0 && box[1] <= box[3] &&
              box[3] <= (float)src->height))
            abort();
    }
    free(dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    input in = {data, n};
    weft_picture src = {0};
    unsigned what = take(&in, 3);
    if (make_source(&in, &src)) {
        if (what == 0)
            resize(&in, &src);
        else if (what == 1)
            warp(&in, &src);
        else
            preprocess(&in, &src);
    }
    weft_picture_destroy(&src);
    return 0;
}
