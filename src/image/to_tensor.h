/* Pixels -> numbers of a model's input: channel order, scale, mean, std, layout, element type.
 *
 *   value[c] = (pixel[order(c)] * scale - mean[c]) / std[c]         (computed in double, rounded once to the element type)
 * A pixel has 256 values, so each channel is one table of 256 ready elements; no arithmetic is left in the pass over the picture.
 * mean[c] and std[c] belong to tensor channel c: with BGR order mean[0] is blue's.
 * A weft_to_tensor is a plain struct, immutable after init: many threads may use one. */
#ifndef WEFT_IMAGE_TO_TENSOR_H
#define WEFT_IMAGE_TO_TENSOR_H

#include "image/picture.h"
#include "weft/tensor.h"

typedef enum weft_channel_order {
    WEFT_CHANNELS_AUTO = 0, /* the executor's default; RGB where it has none */
    WEFT_CHANNELS_RGB = 1,
    WEFT_CHANNELS_BGR = 2,
} weft_channel_order;

typedef enum weft_layout {
    WEFT_LAYOUT_AUTO = 0, /* from the model's shape */
    WEFT_LAYOUT_NCHW = 1, /* planes */
    WEFT_LAYOUT_NHWC = 2, /* pixels */
} weft_layout;

typedef struct weft_to_tensor {
    weft_dtype dtype;
    weft_layout layout;
    int channels;      /* 1, 3 or 4: of the tensor and of the pictures it takes */
    int order[4];      /* tensor channel c comes from pixel channel order[c] */
    size_t item_bytes; /* of one element */
    union {
        float f32[256];
        uint16_t u16[256]; /* FP16 or BF16 bits */
        uint8_t u8[256];   /* UINT8; INT8 as its bits */
    } table[4];            /* by tensor channel */
} weft_to_tensor;

/* dtype: FP32, FP16, BF16, UINT8, INT8 (the last two round and saturate). channels 1, 3, 4 (4: alpha goes through the fourth
 * table); layout NCHW or NHWC; mean/std: `channels` values each, NULL = 0 and 1. INVALID on anything else, on std 0 and on
 * numbers that are not finite. */
weft_status weft_to_tensor_init(weft_to_tensor *t, weft_dtype dtype, weft_layout layout, weft_channel_order order, int channels,
                                double scale, const double *mean, const double *std, weft_error *err);

size_t weft_to_tensor_bytes(const weft_to_tensor *t, int32_t width, int32_t height);

/* Writes the picture at (x, y) of a width x height tensor; what lies outside is cut, what is not covered is left as it is.
 * p->channels must be t->channels. dst: the whole row of the batch, weft_to_tensor_bytes(t, width, height) bytes, aligned to its
 * element. */
void weft_to_tensor_put(const weft_to_tensor *t, const weft_picture *p, void *dst, int32_t width, int32_t height, int32_t x,
                        int32_t y);
/* One row of pixels (n_pixels * channels bytes) at (x, y); must lie inside the tensor. */
void weft_to_tensor_put_row(const weft_to_tensor *t, const uint8_t *pixels, int32_t n_pixels, void *dst, int32_t width,
                            int32_t height, int32_t x, int32_t y);
/* Fills the rectangle with one colour as if pixels of it were put there (values in pixel order R,G,B,A). */
void weft_to_tensor_fill(const weft_to_tensor *t, const uint8_t color[4], void *dst, int32_t width, int32_t height, int32_t x,
                         int32_t y, int32_t fill_width, int32_t fill_height);
/* Fills the rectangle with zeros of the element type (padding after normalisation, as PP-OCR's recogniser wants it). */
void weft_to_tensor_zero(const weft_to_tensor *t, void *dst, int32_t width, int32_t height, int32_t x, int32_t y,
                         int32_t fill_width, int32_t fill_height);

#endif
