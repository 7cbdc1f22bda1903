/* The `preprocess:` block that every picture executor shares: options, their check against the model, and the run from encoded
 * picture to tensor row.
 *
 * An executor holds a weft_preprocess_options as the field `preprocess` of its options and names weft_preprocess_option_table for
 * it (docs/howto/add-an-executor.md shows how). Executors with one picture in use vision/picture_input.h, which does the rest;
 * the steps below are for others.
 *
 *   - open: weft_preprocess_open makes the plan from the options, the executor's defaults and the model's input.
 *   - plan: weft_picture_probe with the plan's limits, then weft_preprocess_row_shape.
 *   - preprocess: weft_preprocess_run writes the row and fills a weft_fit in scratch.
 *   - postprocess: weft_fit_box_back takes coordinates back to the picture.
 *
 * The numbers: value = (pixel * scale - mean) / std.
 *
 *   - Nothing given: the executor's own default; without one the pixel itself, 0..255.
 *   - normalize true: scale 1/255 with ImageNet's mean .485 .456 .406 and std .229 .224 .225; of mean and std those that are
 * given win.
 *   - mean or std given: the same; what is not given of the two is 0 or 1. scale is 1/255 while every mean and std is at most 1
 * in size, else 1 (they are in grey levels then).
 *   - scale given: always wins; alone: pixel * scale.
 *   - normalize false: the pixel itself, times scale when given; mean or std beside it are a contradiction and refused.
 *   - aipp true: the compiled model does colour and numbers itself. Bytes pass; all of the above only describes the model.
 */
#ifndef WEFT_IMAGE_PREPROCESS_H
#define WEFT_IMAGE_PREPROCESS_H

#include "image/geometry.h"
#include "image/picture.h"
#include "image/resize.h"
#include "image/to_tensor.h"
#include "weft/option.h"
#include "weft/tensor.h"

typedef enum weft_tristate {
    WEFT_TRI_AUTO = 0,
    WEFT_TRI_TRUE = 1,
    WEFT_TRI_FALSE = 2,
} weft_tristate;

typedef enum weft_input_dtype {
    WEFT_INPUT_DTYPE_AUTO = 0, /* the model's */
    WEFT_INPUT_DTYPE_FP32 = 1,
    WEFT_INPUT_DTYPE_FP16 = 2,
    WEFT_INPUT_DTYPE_UINT8 = 3,
} weft_input_dtype;

/* Filled by the option table below; zeroed = nothing given. */
typedef struct weft_preprocess_options {
    weft_size input_size; /* [width, height]; 0,0 = the model's */
    int resize_mode;      /* weft_resize_mode */
    int interpolation;    /* weft_interpolation */
    int channel_order;    /* weft_channel_order */
    int normalize;        /* weft_tristate */
    weft_list mean, std;  /* doubles; 0, 1 or `channels` of them, in the tensor's channel order */
    double scale;         /* 0 = not given */
    int layout;           /* weft_layout */
    int dtype;            /* weft_input_dtype */
    int64_t pad_value;    /* grey level 0..255 of letterbox borders, before normalisation; -1 = the executor's default, 0 where it
                             has none */
    bool aipp;
    double crop_fraction;                           /* 0 = not given: the executor's default, 1 where it has none */
    uint64_t max_picture_bytes, max_picture_pixels; /* 0 = default limits */
    int64_t max_picture_side_px;
} weft_preprocess_options;

extern const weft_option weft_preprocess_option_table[];

/* What an executor's model family wants where the file says nothing. Zeroed fields mean "no opinion". Static data of the
 * executor. */
typedef struct weft_preprocess_defaults {
    weft_size input_size; /* used when neither file nor model fixes it */
    weft_resize_mode resize_mode;
    weft_interpolation interpolation;
    weft_channel_order channel_order;
    bool has_numbers; /* scale, mean, std below apply when normalize, mean, std and scale are all absent from the file */
    double scale;
    double mean[4], std[4]; /* tensor channel order */
    uint8_t pad_value;
    double crop_fraction;
} weft_preprocess_defaults;

/* Immutable after open; a plain struct without pointers to free; shared by threads. */
typedef struct weft_preprocess_plan {
    int32_t width, height; /* of the model's input */
    int channels;          /* 1, 3 or 4 */
    weft_resize_mode resize_mode;
    weft_interpolation interpolation;
    double crop_fraction;
    uint8_t pad_value;
    double scale, mean[4], std[4]; /* what was decided, for logs */
    weft_channel_order channel_order;
    weft_picture_limits limits;
    weft_to_tensor to_tensor; /* layout and dtype inside */
} weft_preprocess_plan;

/* input: the model's picture input, rank 4 with the batch axis first or rank 3 without; 1, 3 or 4 channels. defaults may be NULL.
 * CONFIG with one sentence when options and model do not fit: a fixed side that differs from input_size, no size known, a layout
 * that cannot be told, a dtype or list of the wrong length. */
weft_status weft_preprocess_open(const weft_preprocess_options *options, const weft_preprocess_defaults *defaults,
                                 const weft_tensor_desc *input, weft_preprocess_plan *plan, weft_error *err);

/* Shape of one row without the batch axis: [C,H,W] or [H,W,C]. */
void weft_preprocess_row_shape(const weft_preprocess_plan *plan, int64_t dims[3]);
size_t weft_preprocess_row_bytes(const weft_preprocess_plan *plan);

/* Encoded picture -> one tensor row at dst (weft_preprocess_row_bytes, aligned to its element). *fit (may be NULL) says where the
 * picture lies. Threads: any. Errors: those of weft_picture_decode. */
weft_status weft_preprocess_run(const weft_preprocess_plan *plan, const void *bytes, size_t n_bytes, void *dst, weft_fit *fit,
                                weft_error *err);
/* The same from pixels (any channel count; converted when it differs). */
weft_status weft_preprocess_run_picture(const weft_preprocess_plan *plan, const weft_picture *picture, void *dst, weft_fit *fit,
                                        weft_error *err);

#endif
