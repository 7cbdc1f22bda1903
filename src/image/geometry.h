/* Where a picture lands in a model's input and how coordinates come back; crops, turns, perspective.
 *
 * Coordinates are continuous pixel coordinates: pixel (i, j) covers [i, i+1) x [j, j+1), a full picture is the box
 * 0,0,width,height. Threads: any. Errors: INVALID (sizes, channels, a quad without area), NO_MEMORY. */
#ifndef WEFT_IMAGE_GEOMETRY_H
#define WEFT_IMAGE_GEOMETRY_H

#include "image/picture.h"
#include "image/resize.h"

typedef enum weft_resize_mode {
    WEFT_RESIZE_AUTO = 0,      /* the executor's default; STRETCH where it has none */
    WEFT_RESIZE_STRETCH = 1,   /* both axes scaled to the input, ratio not kept */
    WEFT_RESIZE_LETTERBOX = 2, /* ratio kept, centred, the rest padded */
    WEFT_RESIZE_CROP = 3,      /* ratio kept, input filled, what sticks out is cut evenly on both sides */
    WEFT_RESIZE_TOP_LEFT = 4,  /* letterbox with the picture in the top left corner */
} weft_resize_mode;

/* input = source * scale + offset, per axis. */
typedef struct weft_fit {
    int32_t src_width, src_height;       /* the upright picture */
    int32_t input_width, input_height;   /* the model's input */
    int32_t scaled_width, scaled_height; /* the whole picture after scaling (before cutting, without padding) */
    int32_t x, y;                        /* where its top left corner lies in the input; negative when cut */
    float scale_x, scale_y;              /* scaled / src, exactly as resized */
    float offset_x, offset_y;            /* x, y as floats */
} weft_fit;

/* crop_fraction (CROP only; 0 = 1): the part of the shorter scaled side that the input keeps; 0.875 with a 224 input scales the
 * shorter side to 256 and cuts 224 from the middle, as torchvision's Resize(256), CenterCrop(224). Sizes >= 1. */
void weft_fit_plan(weft_fit *fit, weft_resize_mode mode, int32_t src_width, int32_t src_height, int32_t input_width,
                   int32_t input_height, float crop_fraction);
/* Input coordinates -> source coordinates, in place; n_points pairs (x, y). `clamp` limits them to the picture. NaN becomes 0
 * when clamped. */
void weft_fit_points_back(const weft_fit *fit, float *xy, size_t n_points, bool clamp);
/* One box x1,y1,x2,y2, always clamped to the picture and ordered (x1 <= x2, y1 <= y2). */
void weft_fit_box_back(const weft_fit *fit, float box[4]);
/* Source -> input coordinates. */
void weft_fit_points(const weft_fit *fit, float *xy, size_t n_points);

/* dst is created. The rectangle is clipped to src; INVALID when nothing is left. */
weft_status weft_picture_crop(const weft_picture *src, int32_t x, int32_t y, int32_t width, int32_t height, weft_picture *dst,
                              weft_error *err);
/* A border of one colour (channel values in src's order). */
weft_status weft_picture_pad(const weft_picture *src, int32_t left, int32_t top, int32_t right, int32_t bottom,
                             const uint8_t color[4], weft_picture *dst, weft_error *err);
/* quarter_turns clockwise, any integer (negative = counter-clockwise). */
weft_status weft_picture_rotate(const weft_picture *src, int quarter_turns, weft_picture *dst, weft_error *err);
weft_status weft_picture_flip(const weft_picture *src, bool horizontal, bool vertical, weft_picture *dst, weft_error *err);
/* What EXIF orientation 1..8 asks for to stand upright (other values: a plain copy). */
weft_status weft_picture_orient(const weft_picture *src, int orientation, weft_picture *dst, weft_error *err);

/* Cuts the quadrilateral tl, tr, br, bl (x, y in src's pixels; corner points as OpenCV counts them, pixel centres at whole
 * numbers) out of src and straightens it to width x height; outside of src its border pixels repeat. Equal to
 * cv2.getPerspectiveTransform(quad, [[0,0],[width,0],[width,height],[0,height]]) and cv2.warpPerspective(..., BORDER_REPLICATE)
 * with INTER_LINEAR (BILINEAR) or INTER_CUBIC (BICUBIC); other values are INVALID. */
weft_status weft_picture_warp_quad(const weft_picture *src, const float quad[4][2], int32_t width, int32_t height,
                                   weft_interpolation how, weft_picture *dst, weft_error *err);

#endif
