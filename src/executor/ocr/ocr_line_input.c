#include "executor/ocr/ocr_line_input.h"

#include <inttypes.h>
#include <math.h>

#include "image/geometry.h"
#include "image/resize.h"

#define LINE_HEIGHT 48 /* PP-OCR v3 and later, when the model does not fix it */
#define MAX_LINE_HEIGHT 256
#define TALL 1.5 /* higher than this times its width: a line that stands */
#define GREY 127 /* zero after normalisation, in pixels */

static weft_status bad_input(const char *what, const weft_model_view *m, weft_error *err)
{
    char shape[128] = "no input";
    if (m->n_inputs > 0)
        weft_shape_print(m->inputs[0].shape, m->inputs[0].rank, shape, sizeof shape);
    return weft_fail(err, WEFT_E_CONFIG,
                     "%s (model %s) takes %zu inputs, the first %s %s; one picture [N,3,H,W] or [N,H,W,3] of a float or 8-bit "
                     "type was expected",
                     what, m->name, m->n_inputs, m->n_inputs ? weft_dtype_name(m->inputs[0].dtype) : "", shape);
}

static weft_status read_layout(weft_ocr_line_input *in, const char *what, const weft_model_view *m, int64_t *height,
                               int64_t *width, weft_layout *layout, weft_error *err)
{
    if (m->n_inputs != 1)
        return bad_input(what, m, err);
    const weft_tensor_desc *d = &m->inputs[0];
    in->leading_one = d->rank == 4;
    const int64_t *dims = d->shape + (d->rank == 4);
    if ((d->rank != 3 && d->rank != 4) || (d->rank == 4 && !m->batched && d->shape[0] > 1))
        return bad_input(what, m, err);
    if (dims[0] == 3)
        *layout = WEFT_LAYOUT_NCHW;
    else if (dims[2] == 3)
        *layout = WEFT_LAYOUT_NHWC;
    else
        return bad_input(what, m, err);
    *height = dims[*layout == WEFT_LAYOUT_NCHW ? 1 : 0];
    *width = dims[*layout == WEFT_LAYOUT_NCHW ? 2 : 1];
    return WEFT_OK;
}

static weft_status set_widths(weft_ocr_line_input *in, const char *what, const weft_model_view *m, int64_t model_width,
                              const weft_ocr_lines_block *lines, int32_t fixed_width, weft_error *err)
{
    in->width_step = 1;
    if (model_width > 0 || !lines) {
        in->min_width = in->max_width = model_width > 0 ? (int32_t)model_width : fixed_width;
        return WEFT_OK;
    }
    if (lines->widths.n == 0) {
        in->min_width = (int32_t)lines->min_width;
        in->width_step = (int32_t)lines->width_step;
        in->max_width = (int32_t)lines->max_width;
        if (in->min_width > in->max_width)
            return weft_fail(err, WEFT_E_CONFIG, "lines.min_width is %d, over lines.max_width, which is %d", in->min_width,
                             in->max_width);
        return WEFT_OK;
    }
    in->widths = lines->widths.items;
    in->n_widths = lines->widths.n;
    for (size_t i = 1; i < in->n_widths; i++)
        if (in->widths[i] <= in->widths[i - 1])
            return weft_fail(err, WEFT_E_CONFIG, "lines.widths of %s (model %s) must rise, but %" PRId64 " follows %" PRId64,
                             what, m->name, in->widths[i], in->widths[i - 1]);
    in->min_width = (int32_t)in->widths[0];
    in->max_width = (int32_t)in->widths[in->n_widths - 1];
    return WEFT_OK;
}

weft_status weft_ocr_line_input_open(weft_ocr_line_input *in, const char *what, const weft_model_view *m,
                                     const weft_ocr_lines_block *lines, int32_t fixed_width, weft_error *err)
{
    static const double half[4] = {0.5, 0.5, 0.5, 0.5};
    *in = (weft_ocr_line_input){0};
    int64_t height = 0, width = 0;
    weft_layout layout = WEFT_LAYOUT_NCHW;
    weft_status s = read_layout(in, what, m, &height, &width, &layout, err);
    if (s != WEFT_OK)
        return s;
    if (height > MAX_LINE_HEIGHT || width > WEFT_OCR_MAX_LINE_WIDTH)
        return weft_fail(err, WEFT_E_CONFIG,
                         "%s (model %s) wants lines of %" PRId64 "x%" PRId64 " pixels; at most %dx%d was expected", what, m->name,
                         width, height, WEFT_OCR_MAX_LINE_WIDTH, MAX_LINE_HEIGHT);
    in->height = height > 0 ? (int32_t)height : LINE_HEIGHT;
    s = set_widths(in, what, m, width, lines, fixed_width, err);
    if (s != WEFT_OK)
        return s;
    weft_dtype dtype = m->inputs[0].dtype;
    in->raw = dtype == WEFT_DT_U8;
    if (!in->raw && dtype != WEFT_DT_F32 && dtype != WEFT_DT_F16 && dtype != WEFT_DT_BF16)
        return bad_input(what, m, err);
    s = weft_to_tensor_init(&in->to_tensor, dtype, layout, WEFT_CHANNELS_BGR, 3, in->raw ? 1 : 1 / 255.0, in->raw ? NULL : half,
                            in->raw ? NULL : half, err);
    if (s == WEFT_OK)
        in->max_bytes = weft_to_tensor_bytes(&in->to_tensor, in->max_width, in->height);
    return s;
}

/* Width of the line at the model's height, rounded up. */
static int64_t scaled_width(const weft_ocr_line_input *in, int32_t line_width, int32_t line_height)
{
    int64_t w = ((int64_t)in->height * line_width + line_height - 1) / line_height;
    return w < 1 ? 1 : w;
}

int32_t weft_ocr_line_width(const weft_ocr_line_input *in, int32_t line_width, int32_t line_height)
{
    int64_t need = scaled_width(in, line_width, line_height);
    for (size_t i = 0; i < in->n_widths; i++)
        if (in->widths[i] >= need)
            return (int32_t)in->widths[i];
    if (need <= in->min_width)
        return in->min_width;
    int64_t up = (need + in->width_step - 1) / in->width_step * in->width_step;
    return up > in->max_width ? in->max_width : (int32_t)up;
}

void weft_ocr_line_tensor(const weft_ocr_line_input *in, int32_t width, void *data, weft_tensor *t)
{
    const char *name = t->name;
    bool planes = in->to_tensor.layout == WEFT_LAYOUT_NCHW;
    int k = 0;
    *t = (weft_tensor){.name = name,
                       .dtype = in->to_tensor.dtype,
                       .data = data,
                       .n_bytes = weft_to_tensor_bytes(&in->to_tensor, width, in->height)};
    if (in->leading_one)
        t->shape[k++] = 1;
    if (planes)
        t->shape[k++] = 3;
    t->shape[k++] = in->height;
    t->shape[k++] = width;
    if (!planes)
        t->shape[k++] = 3;
    t->rank = k;
}

weft_status weft_ocr_line_write(const weft_ocr_line_input *in, const weft_picture *line, int32_t width, void *data,
                                weft_error *err)
{
    int64_t need = scaled_width(in, line->width, line->height);
    int32_t w = need > width ? width : (int32_t)need;
    const int32_t window[4] = {0, 0, w, in->height};
    uint8_t row[3 * WEFT_OCR_MAX_LINE_WIDTH];
    weft_resizer *resizer = NULL;
    weft_status s = weft_resizer_create(&resizer, line, w, in->height, window, WEFT_INTERPOLATION_BILINEAR, err);
    if (s != WEFT_OK)
        return s;
    for (int32_t y = 0; y < in->height; y++) {
        weft_resizer_row(resizer, y, row);
        weft_to_tensor_put_row(&in->to_tensor, row, w, data, width, in->height, 0, y);
    }
    weft_resizer_destroy(&resizer);
    static const uint8_t grey[4] = {GREY, GREY, GREY, 255};
    if (w < width && in->raw)
        weft_to_tensor_fill(&in->to_tensor, grey, data, width, in->height, w, 0, width - w, in->height);
    else if (w < width)
        weft_to_tensor_zero(&in->to_tensor, data, width, in->height, w, 0, width - w, in->height);
    return WEFT_OK;
}

/* ---- cutting ----------------------------------------------------------------------------------------------------------------
 */

static int32_t longer(float a[2], float b[2], float c[2], float d[2])
{
    double ab = hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]),
           cd = hypot((double)c[0] - (double)d[0], (double)c[1] - (double)d[1]);
    double l = fmax(ab, cd);
    return l < 1 ? 1 : l > 65536 ? 65536 : (int32_t)l;
}

bool weft_ocr_line_stands(int32_t width, int32_t height)
{
    return height >= TALL * width;
}

static void cut_size(float quad[4][2], int32_t *width, int32_t *height)
{
    *width = longer(quad[0], quad[1], quad[2], quad[3]);
    *height = longer(quad[0], quad[3], quad[1], quad[2]);
}

void weft_ocr_line_size(float quad[4][2], int32_t *width, int32_t *height)
{
    int32_t w, h;
    cut_size(quad, &w, &h);
    bool turn = weft_ocr_line_stands(w, h);
    *width = turn ? h : w;
    *height = turn ? w : h;
}

weft_status weft_ocr_line_cut(weft_ocr_cutter *c, const weft_picture *page, float (*quad)[2], bool flip,
                              const weft_picture **line, weft_error *err)
{
    *line = page;
    weft_status s = WEFT_OK;
    if (quad) {
        int32_t w, h;
        cut_size(quad, &w, &h);
        s = weft_picture_warp_quad(page, (const float(*)[2])quad, w, h, WEFT_INTERPOLATION_BICUBIC, &c->cut, err);
        *line = &c->cut;
    }
    if (s == WEFT_OK && weft_ocr_line_stands((*line)->width, (*line)->height)) {
        s = weft_picture_rotate(*line, -1, &c->turned, err);
        *line = &c->turned;
    }
    if (s == WEFT_OK && flip) {
        s = weft_picture_flip(*line, true, true, &c->flipped, err);
        *line = &c->flipped;
    }
    return s;
}

void weft_ocr_cutter_destroy(weft_ocr_cutter *c)
{
    weft_picture_destroy(&c->cut);
    weft_picture_destroy(&c->turned);
    weft_picture_destroy(&c->flipped);
}
