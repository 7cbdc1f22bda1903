/* One line of text: cut out of the page, stood upright, and written as the input of the recogniser or of the orientation model.
 *
 * A model's input is immutable after open and may be used by many threads. */
#ifndef WEFT_EXECUTOR_OCR_LINE_INPUT_H
#define WEFT_EXECUTOR_OCR_LINE_INPUT_H

#include "executor/ocr/ocr_options.h"
#include "image/to_tensor.h"
#include "weft/executor.h"

typedef struct weft_ocr_line_input {
    int32_t height; /* of the model's input */
    int32_t min_width, width_step, max_width;
    const int64_t *widths; /* rising; NULL = the three above */
    size_t n_widths;
    bool raw;         /* 8-bit model: pixels as they are */
    bool leading_one; /* the input's shape begins with a batch axis */
    weft_to_tensor to_tensor;
    size_t max_bytes; /* of one line at the largest width */
} weft_ocr_line_input;

/* `what` ("the recogniser") begins the messages. A width that the model fixes wins; else `lines` says (NULL: fixed_width). CONFIG
 * when the model's only input is not a picture [N,3,H,W] or [N,H,W,3] of a float or 8-bit type, or when its fixed sizes do not
 * fit the options. */
weft_status weft_ocr_line_input_open(weft_ocr_line_input *in, const char *what, const weft_model_view *m,
                                     const weft_ocr_lines_block *lines, int32_t fixed_width, weft_error *err);

/* Width of the input for a line of this size: a function of the line alone. */
int32_t weft_ocr_line_width(const weft_ocr_line_input *in, int32_t line_width, int32_t line_height);
/* Name apart, the tensor of one line at `data` with an input width. */
void weft_ocr_line_tensor(const weft_ocr_line_input *in, int32_t width, void *data, weft_tensor *t);
/* Writes the line: scaled to the height, at most `width` wide, zeros after normalisation to its right. */
weft_status weft_ocr_line_write(const weft_ocr_line_input *in, const weft_picture *line, int32_t width, void *data,
                                weft_error *err);

/* At least 1.5 times as high as wide: a line of text that stands, to be turned. */
bool weft_ocr_line_stands(int32_t width, int32_t height);
/* Pixels of the line that a quad (tl, tr, br, bl) holds once it stands upright, without cutting it: what weft_ocr_line_cut will
 * give. */
void weft_ocr_line_size(float quad[4][2], int32_t *width, int32_t *height);

/* Three pictures whose blocks are reused from line to line. */
typedef struct weft_ocr_cutter {
    weft_picture cut, turned, flipped;
} weft_ocr_cutter;

/* Cuts the quad out of the page and straightens it; a line at least 1.5 times as high as wide is turned by a quarter
 * counter-clockwise; `flip` turns it by 180 degrees. quad NULL: the whole page is the line. *line points into c or at page and is
 * good until the next call. */
weft_status weft_ocr_line_cut(weft_ocr_cutter *c, const weft_picture *page, float (*quad)[2], bool flip,
                              const weft_picture **line, weft_error *err);
void weft_ocr_cutter_destroy(weft_ocr_cutter *c); /* zeroed is allowed */

#endif
