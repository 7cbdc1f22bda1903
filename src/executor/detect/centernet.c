/* CenterNet (Zhou et al., Objects as Points, 2019), the variant with four distances for each cell: a heat map a class, whose
 * local maxima are object centres, and left, top, right, bottom from the centre, in input pixels. */
#include "executor/detect/detect_family.h"

#include <inttypes.h>

#include "vision/outputs.h"

/* True when `h` is a heat map over the same cells as the four distances in `w`. `nhwc`: channels last. */
static bool pair_fits(const weft_tensor_desc *h, const weft_tensor_desc *w, bool nhwc)
{
    int y = nhwc ? 1 : 2, x = nhwc ? 2 : 3, channel = nhwc ? 3 : 1;
    return h->rank == 4 && w->rank == 4 && weft_is_float(h->dtype) && weft_is_float(w->dtype) && w->shape[channel] == 4 &&
           h->shape[channel] > 0 && h->shape[y] > 1 && h->shape[x] > 1 && h->shape[y] == w->shape[y] &&
           h->shape[x] == w->shape[x];
}

static void describe(weft_detect_layout *l, const weft_tensor_desc *h, bool nhwc)
{
    l->n_classes = h->shape[nhwc ? 3 : 1];
    l->height = h->shape[nhwc ? 1 : 2];
    l->width = h->shape[nhwc ? 2 : 3];
    l->n_positions = l->height * l->width;
    l->of_channel = nhwc ? 1 : l->n_positions;
    l->of_x = nhwc ? l->n_classes : 1;
    l->of_y = l->width * l->of_x;
    l->box_channel = l->of_channel;
    l->box_x = nhwc ? 4 : 1;
    l->box_y = l->width * l->box_x;
}

static bool centernet_match(const weft_model_view *m, bool chosen, weft_detect_layout *layout)
{
    int found = 0;
    if (m->n_outputs != 2)
        return false;
    for (size_t i = 0; i < 2; i++)
        for (int nhwc = 0; nhwc < 2; nhwc++) {
            if (!pair_fits(&m->outputs[i], &m->outputs[1 - i], nhwc))
                continue;
            layout->scores = i;
            layout->boxes = 1 - i;
            describe(layout, &m->outputs[i], nhwc);
            found++;
        }
    return found == 1; /* two ways to read it are no way */
}

/* No cell of the 3x3 around (y, x) is hotter. */
static bool is_peak(const weft_detect_layout *l, const float *heat, int64_t y, int64_t x, int64_t c)
{
    float v = heat[y * l->of_y + x * l->of_x + c * l->of_channel];
    for (int64_t ny = y > 0 ? y - 1 : 0; ny <= y + 1 && ny < l->height; ny++)
        for (int64_t nx = x > 0 ? x - 1 : 0; nx <= x + 1 && nx < l->width; nx++)
            if (heat[ny * l->of_y + nx * l->of_x + c * l->of_channel] > v)
                return false;
    return true;
}

static void add_cell(const weft_detect_layout *l, const weft_detect_rules *r, const float *heat, const float *boxes, int64_t y,
                     int64_t x, int64_t c, weft_candidates *out)
{
    if (!weft_detect_wants(r, (int32_t)c) || !is_peak(l, heat, y, x, c))
        return;
    const float *d = boxes + y * l->box_y + x * l->box_x;
    float cx = (float)x * r->input_width / (float)l->width, cy = (float)y * r->input_height / (float)l->height;
    weft_candidate item = {{cx - d[0], cy - d[l->box_channel], cx + d[2 * l->box_channel], cy + d[3 * l->box_channel]},
                           heat[y * l->of_y + x * l->of_x + c * l->of_channel],
                           (int32_t)c,
                           (int32_t)(y * l->width + x)};
    weft_candidates_add(out, &item);
}

/* One comparison for "sure enough" and "not a number": most of the map is neither, and the compiler does many at once. */
static bool any_interesting(const float *v, int64_t n, float min_confidence)
{
    int any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= !(v[i] < min_confidence);
    return any;
}

static weft_status centernet_collect(const weft_detect_layout *l, const weft_detect_rules *r, const weft_tensor *outputs,
                                     weft_builder *b, weft_candidates *c, weft_error *err)
{
    const float *heat, *boxes;
    int64_t n_heat, n_boxes;
    weft_status s = weft_output_floats(&outputs[l->scores], l->n_positions * l->n_classes, b, &heat, &n_heat, err);
    if (s == WEFT_OK)
        s = weft_output_floats(&outputs[l->boxes], l->n_positions * 4, b, &boxes, &n_boxes, err);
    if (s != WEFT_OK)
        return s;
    int64_t inner = l->of_channel == 1 ? l->n_classes : l->width; /* a run of neighbours in memory */
    for (int64_t start = 0; start < n_heat; start += inner) {
        if (!any_interesting(heat + start, inner, r->min_confidence))
            continue;
        for (int64_t i = start; i < start + inner; i++) {
            if (heat[i] < r->min_confidence)
                continue;
            if (heat[i] != heat[i])
                return weft_fail(err, WEFT_E_RUN_FAILED,
                                 "the model's heat map holds values that are not numbers (element %" PRId64 ")", i);
            int64_t cell = l->of_channel == 1 ? i / l->n_classes : i % l->n_positions;
            int64_t class_index = l->of_channel == 1 ? i % l->n_classes : i / l->n_positions;
            add_cell(l, r, heat, boxes, cell / l->width, cell % l->width, class_index, c);
        }
    }
    return WEFT_OK;
}

const weft_detect_family weft_detect_centernet = {
    .outputs = "CenterNet: a heat map [N,h,w,classes] and distances [N,h,w,4], or both with channels first",
    .preprocess =
        {.input_size = {512, 512}, .resize_mode = WEFT_RESIZE_STRETCH, .has_numbers = true, .scale = 1.0, .std = {1, 1, 1, 1}},
    .match = centernet_match,
    .collect = centernet_collect,
};
