#include "image/preprocess.h"

#include "image/decode.h"

#include <math.h>
#include <stdlib.h>

/* ImageNet's mean and std as torchvision publishes them, RGB, of pixels in 0..1. */
static const double imagenet_mean[3] = {0.485, 0.456, 0.406}, imagenet_std[3] = {0.229, 0.224, 0.225};

/* ---- shape --------------------------------------------------------------------------------------------------------------- */
/* How much a dimension looks like the channels of a picture: colour before colour with alpha before grey. */
static int channel_likeness(int64_t d)
{
    return d == 3 ? 3 : d == 4 ? 2 : d == 1 ? 1 : 0;
}

static weft_status choose_layout(const weft_tensor_desc *in, const int64_t d[3], weft_layout wanted, weft_layout *out,
                                 weft_error *err)
{
    char shape[128];
    int first = channel_likeness(d[0]), last = channel_likeness(d[2]);
    bool first_may = first || d[0] < 0, last_may = last || d[2] < 0;
    weft_shape_print(in->shape, in->rank, shape, sizeof(shape));
    if ((wanted == WEFT_LAYOUT_NCHW && !first_may) || (wanted == WEFT_LAYOUT_NHWC && !last_may))
        return weft_fail(err, WEFT_E_CONFIG,
                         "layout is %s, but input %s of the model has the shape %s, which has no 1, 3 or 4 channels there",
                         wanted == WEFT_LAYOUT_NCHW ? "nchw" : "nhwc", in->name, shape);
    if (!first_may && !last_may)
        return weft_fail(err, WEFT_E_CONFIG,
                         "input %s of the model has the shape %s; a picture input has 1, 3 or 4 channels first or last", in->name,
                         shape);
    if (wanted != WEFT_LAYOUT_AUTO)
        *out = wanted;
    else if (first || last)
        *out = first >= last ? WEFT_LAYOUT_NCHW : WEFT_LAYOUT_NHWC;
    else /* nothing is fixed: the usual one, and the other when a fixed size stands where its channels would be */
        *out = first_may ? WEFT_LAYOUT_NCHW : WEFT_LAYOUT_NHWC;
    return WEFT_OK;
}

static weft_status choose_side(const weft_tensor_desc *in, const char *side, int64_t fixed, int32_t given, int32_t fallback,
                               int32_t *out, weft_error *err)
{
    if (fixed > 0 && given > 0 && fixed != given)
        return weft_fail(err, WEFT_E_CONFIG,
                         "input_size says %s %d, but input %s of the model has %lld; leave input_size out or give the model's",
                         side, given, in->name, (long long)fixed);
    int64_t v = fixed > 0 ? fixed : given > 0 ? given : fallback;
    if (v < 1)
        return weft_fail(err, WEFT_E_CONFIG, "input %s of the model has no fixed %s; say it with input_size: [width, height]",
                         in->name, side);
    if (v > 16384)
        return weft_fail(err, WEFT_E_CONFIG, "input %s of the model has a %s of %lld; at most 16384 pixels are possible",
                         in->name, side, (long long)v);
    *out = (int32_t)v;
    return WEFT_OK;
}

static weft_status choose_shape(const weft_preprocess_options *o, const weft_preprocess_defaults *def, const weft_tensor_desc *in,
                                weft_preprocess_plan *p, weft_layout *layout, weft_error *err)
{
    if (in->rank != 3 && in->rank != 4)
        return weft_fail(err, WEFT_E_CONFIG,
                         "input %s of the model has rank %d; a picture input has 4 dimensions (3 without a batch axis)", in->name,
                         in->rank);
    const int64_t *d = in->shape + in->rank - 3;
    weft_status s = choose_layout(in, d, (weft_layout)o->layout, layout, err);
    if (s != WEFT_OK)
        return s;
    bool planes = *layout == WEFT_LAYOUT_NCHW;
    int64_t channels = planes ? d[0] : d[2];
    p->channels = channels > 0 ? (int)channels : 3;
    s = choose_side(in, "width", planes ? d[2] : d[1], o->input_size.width, def->input_size.width, &p->width, err);
    if (s == WEFT_OK)
        s = choose_side(in, "height", planes ? d[1] : d[0], o->input_size.height, def->input_size.height, &p->height, err);
    return s;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------- */
static weft_status expand(const weft_list *l, const char *name, int channels, double out[4], weft_error *err)
{
    const double *v = l->items;
    if (l->n != 1 && l->n != (size_t)channels)
        return weft_fail(err, WEFT_E_CONFIG, "%s has %zu numbers; give 1, or %d for the %d channels of the model's input", name,
                         l->n, channels, channels);
    for (int c = 0; c < 4; c++)
        out[c] = l->n == 1 ? v[0] : c < channels ? v[c] : 0;
    return WEFT_OK;
}

static void take_imagenet(const weft_preprocess_plan *p, double mean[4], double std[4])
{
    for (int c = 0; c < 3; c++) {
        int from = p->channel_order == WEFT_CHANNELS_BGR ? 2 - c : c;
        mean[c] = p->channels == 1 ? 0.449 : imagenet_mean[from];
        std[c] = p->channels == 1 ? 0.226 : imagenet_std[from];
    }
}

static bool all_small(const double v[4], int channels)
{
    for (int c = 0; c < channels; c++)
        if (fabs(v[c]) > 1)
            return false;
    return true;
}

static weft_status choose_numbers(const weft_preprocess_options *o, const weft_preprocess_defaults *def, weft_preprocess_plan *p,
                                  weft_error *err)
{
    bool lists = o->mean.n || o->std.n, any = lists || o->scale != 0 || o->normalize != WEFT_TRI_AUTO;
    weft_status s = WEFT_OK;
    p->scale = 1;
    for (int c = 0; c < 4; c++) {
        p->mean[c] = !any && def->has_numbers ? def->mean[c] : 0;
        p->std[c] = !any && def->has_numbers && def->std[c] != 0 ? def->std[c] : 1;
    }
    if (!any && def->has_numbers)
        p->scale = def->scale != 0 ? def->scale : 1;
    if (o->normalize == WEFT_TRI_FALSE && lists)
        return weft_fail(err, WEFT_E_CONFIG, "normalize is false, but %s is given; remove one of the two",
                         o->mean.n ? "mean" : "std");
    if (o->normalize == WEFT_TRI_TRUE)
        take_imagenet(p, p->mean, p->std);
    if (o->mean.n)
        s = expand(&o->mean, "mean", p->channels, p->mean, err);
    if (s == WEFT_OK && o->std.n)
        s = expand(&o->std, "std", p->channels, p->std, err);
    if (lists || o->normalize == WEFT_TRI_TRUE)
        p->scale = all_small(p->mean, p->channels) && all_small(p->std, p->channels) ? 1.0 / 255 : 1;
    if (o->scale != 0)
        p->scale = o->scale;
    return s;
}

static weft_status check_dtype(const weft_preprocess_options *o, const weft_tensor_desc *in, weft_preprocess_plan *p,
                               weft_error *err)
{
    static const weft_dtype named[] = {WEFT_DT_NONE, WEFT_DT_F32, WEFT_DT_F16, WEFT_DT_U8};
    weft_dtype wanted = named[o->dtype >= 0 && o->dtype <= WEFT_INPUT_DTYPE_UINT8 ? o->dtype : 0];
    if (wanted != WEFT_DT_NONE && wanted != in->dtype)
        return weft_fail(err, WEFT_E_CONFIG, "dtype says %s, but input %s of the model takes %s", weft_dtype_name(wanted),
                         in->name, weft_dtype_name(in->dtype));
    if (in->dtype != WEFT_DT_F32 && in->dtype != WEFT_DT_F16 && in->dtype != WEFT_DT_BF16 && in->dtype != WEFT_DT_U8 &&
        in->dtype != WEFT_DT_I8)
        return weft_fail(err, WEFT_E_CONFIG,
                         "input %s of the model takes %s; a picture can become FP32, FP16, BF16, UINT8 or INT8", in->name,
                         weft_dtype_name(in->dtype));
    if (o->aipp) {
        if (in->dtype != WEFT_DT_U8)
            return weft_fail(err, WEFT_E_CONFIG,
                             "aipp is true, but input %s of the model takes %s; a model with AIPP inside takes UINT8", in->name,
                             weft_dtype_name(in->dtype));
        p->scale = 1;
        for (int c = 0; c < 4; c++) {
            p->mean[c] = 0;
            p->std[c] = 1;
        }
        p->channel_order = WEFT_CHANNELS_RGB;
        return WEFT_OK;
    }
    if (in->dtype == WEFT_DT_U8 && (o->normalize == WEFT_TRI_TRUE || o->mean.n || o->std.n))
        return weft_fail(err, WEFT_E_CONFIG,
                         "input %s of the model takes UINT8, which cannot hold normalised pixels; remove normalize, mean and "
                         "std, or say aipp: true when the "
                         "model does them itself",
                         in->name);
    return WEFT_OK;
}

weft_status weft_preprocess_open(const weft_preprocess_options *o, const weft_preprocess_defaults *defaults,
                                 const weft_tensor_desc *in, weft_preprocess_plan *p, weft_error *err)
{
    static const weft_preprocess_defaults none;
    const weft_preprocess_defaults *def = defaults ? defaults : &none;
    weft_layout layout = WEFT_LAYOUT_NCHW;
    *p = (weft_preprocess_plan){0};
    p->resize_mode = o->resize_mode     ? (weft_resize_mode)o->resize_mode
                     : def->resize_mode ? def->resize_mode
                                        : WEFT_RESIZE_STRETCH;
    p->interpolation = o->interpolation ? (weft_interpolation)o->interpolation : def->interpolation;
    p->channel_order = o->channel_order     ? (weft_channel_order)o->channel_order
                       : def->channel_order ? def->channel_order
                                            : WEFT_CHANNELS_RGB;
    p->crop_fraction = o->crop_fraction > 0 ? o->crop_fraction : def->crop_fraction > 0 ? def->crop_fraction : 1;
    p->pad_value = o->pad_value >= 0 && o->pad_value <= 255 ? (uint8_t)o->pad_value : def->pad_value;
    p->limits = (weft_picture_limits){o->max_picture_bytes, o->max_picture_pixels, (int32_t)o->max_picture_side_px};
    weft_status s = choose_shape(o, def, in, p, &layout, err);
    if (s == WEFT_OK)
        s = choose_numbers(o, def, p, err);
    if (s == WEFT_OK)
        s = check_dtype(o, in, p, err);
    if (s == WEFT_OK) {
        s = weft_to_tensor_init(&p->to_tensor, in->dtype, layout, p->channel_order, p->channels, p->scale, p->mean, p->std, err);
        s = s == WEFT_OK ? s : weft_fail_prefix(err, WEFT_E_CONFIG, "preprocess");
    }
    return s;
}

void weft_preprocess_row_shape(const weft_preprocess_plan *p, int64_t dims[3])
{
    bool planes = p->to_tensor.layout == WEFT_LAYOUT_NCHW;
    dims[0] = planes ? p->channels : p->height;
    dims[1] = planes ? p->height : p->width;
    dims[2] = planes ? p->width : p->channels;
}

size_t weft_preprocess_row_bytes(const weft_preprocess_plan *p)
{
    return weft_to_tensor_bytes(&p->to_tensor, p->width, p->height);
}

/* ---- run ----------------------------------------------------------------------------------------------------------------- */
/* The four borders around the picture. */
static void pad(const weft_preprocess_plan *p, const int32_t at[4], void *dst)
{
    const uint8_t color[4] = {p->pad_value, p->pad_value, p->pad_value, 255};
    int32_t right = at[0] + at[2], below = at[1] + at[3];
    weft_to_tensor_fill(&p->to_tensor, color, dst, p->width, p->height, 0, 0, p->width, at[1]);
    weft_to_tensor_fill(&p->to_tensor, color, dst, p->width, p->height, 0, below, p->width, p->height - below);
    weft_to_tensor_fill(&p->to_tensor, color, dst, p->width, p->height, 0, at[1], at[0], at[3]);
    weft_to_tensor_fill(&p->to_tensor, color, dst, p->width, p->height, right, at[1], p->width - right, at[3]);
}

/* Resized rows go from a row buffer straight into the tensor; only the rows and columns that the input shows are computed. */
static weft_status put_resized(const weft_preprocess_plan *p, const weft_picture *picture, const weft_fit *fit,
                               const int32_t at[4], void *dst, weft_error *err)
{
    weft_resizer *r = NULL;
    const int32_t window[4] = {fit->x < 0 ? -fit->x : 0, fit->y < 0 ? -fit->y : 0, at[2], at[3]};
    uint8_t *row = malloc((size_t)at[2] * (size_t)p->channels);
    weft_status s = WEFT_OK;
    if (!row)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for resizing a picture to %dx%d", p->width, p->height);
    if (s == WEFT_OK)
        s = weft_resizer_create(&r, picture, fit->scaled_width, fit->scaled_height, window, p->interpolation, err);
    for (int32_t y = 0; s == WEFT_OK && y < at[3]; y++) {
        weft_resizer_row(r, y, row);
        weft_to_tensor_put_row(&p->to_tensor, row, at[2], dst, p->width, p->height, at[0], at[1] + y);
    }
    weft_resizer_destroy(&r);
    free(row);
    return s;
}

static weft_status run_right_channels(const weft_preprocess_plan *p, const weft_picture *picture, void *dst, weft_fit *fit,
                                      weft_error *err)
{
    weft_fit f;
    if (picture->width < 1 || picture->height < 1)
        return weft_fail(err, WEFT_E_INVALID, "the picture has no pixels");
    weft_fit_plan(&f, p->resize_mode, picture->width, picture->height, p->width, p->height, (float)p->crop_fraction);
    if (fit)
        *fit = f;
    int32_t x1 = f.x > 0 ? f.x : 0, y1 = f.y > 0 ? f.y : 0;
    int32_t x2 = f.x + f.scaled_width, y2 = f.y + f.scaled_height;
    x2 = x2 < p->width ? x2 : p->width;
    y2 = y2 < p->height ? y2 : p->height;
    const int32_t at[4] = {x1, y1, x2 - x1, y2 - y1};
    pad(p, at, dst);
    if (f.scaled_width != picture->width || f.scaled_height != picture->height)
        return put_resized(p, picture, &f, at, dst, err);
    weft_to_tensor_put(&p->to_tensor, picture, dst, p->width, p->height, f.x, f.y);
    return WEFT_OK;
}

weft_status weft_preprocess_run_picture(const weft_preprocess_plan *p, const weft_picture *picture, void *dst, weft_fit *fit,
                                        weft_error *err)
{
    weft_picture converted = {0};
    weft_status s = WEFT_OK;
    if (picture->channels == p->channels)
        return run_right_channels(p, picture, dst, fit, err);
    s = weft_picture_convert(picture, p->channels, &converted, err);
    if (s == WEFT_OK)
        s = run_right_channels(p, &converted, dst, fit, err);
    weft_picture_destroy(&converted);
    return s;
}

weft_status weft_preprocess_run(const weft_preprocess_plan *p, const void *bytes, size_t n_bytes, void *dst, weft_fit *fit,
                                weft_error *err)
{
    weft_picture picture = {0};
    weft_status s = weft_picture_decode(bytes, n_bytes, &p->limits, p->channels, &picture, err);
    if (s == WEFT_OK)
        s = run_right_channels(p, &picture, dst, fit, err);
    weft_picture_destroy(&picture);
    return s;
}
