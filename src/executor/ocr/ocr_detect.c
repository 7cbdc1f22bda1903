/* Picture -> detector -> boxes in reading order. */
#include "executor/ocr/ocr_state.h"

#include <inttypes.h>
#include <math.h>

#include "vision/outputs.h"

/* Sides of the detector's input are multiples of this: the network halves them five times. */
#define DETECT_STEP 32

static int32_t round_side(double v)
{
    double r = rint(v / DETECT_STEP) * DETECT_STEP;
    return r < DETECT_STEP ? DETECT_STEP : r > WEFT_OCR_MAX_LIMIT_SIDE ? WEFT_OCR_MAX_LIMIT_SIDE : (int32_t)r;
}

/* The size for one picture when nothing fixes it. */
static void choose_size(const weft_ocr_boxes_block *o, const weft_picture *p, int32_t *width, int32_t *height)
{
    double longest = p->width > p->height ? p->width : p->height, shortest = p->width < p->height ? p->width : p->height;
    double limit = (double)o->limit_side, r = 1;
    if (o->limit_rule == WEFT_OCR_LIMIT_LONGEST && longest > limit)
        r = limit / longest;
    if (o->limit_rule == WEFT_OCR_LIMIT_SHORTEST && shortest < limit)
        r = limit / shortest;
    if (longest * r > WEFT_OCR_MAX_LIMIT_SIDE)
        r = WEFT_OCR_MAX_LIMIT_SIDE / longest;
    *width = round_side(p->width * r);
    *height = round_side(p->height * r);
}

/* Mean colour of the outermost pixels, so that a border makes no edge where the background is plain. */
static void edge_color(const weft_picture *p, uint8_t color[4])
{
    uint64_t sum[3] = {0}, n = 0;
    for (int32_t y = 0; y < p->height; y++) {
        const uint8_t *row = p->data + (size_t)y * p->stride_bytes;
        bool inside = y > 0 && y + 1 < p->height;
        int32_t step = inside && p->width > 1 ? p->width - 1 : 1;
        for (int32_t x = 0; x < p->width; x += step, n++)
            for (int c = 0; c < 3; c++)
                sum[c] += row[x * 3 + c];
    }
    for (int c = 0; c < 3; c++)
        color[c] = (uint8_t)(sum[c] / n);
    color[3] = 255;
}

/* The picture as the detector sees it: with a border when it is small. */
static weft_status add_border(weft_ocr_page *page, weft_picture *framed, const weft_picture **seen, int32_t *border,
                              weft_error *err)
{
    const weft_picture *p = &page->picture;
    *border = (int32_t)page->state->options->boxes.small_border;
    *seen = p;
    if ((p->width < p->height ? p->width : p->height) >= 5 * *border)
        *border = 0;
    if (*border == 0)
        return WEFT_OK;
    uint8_t color[4];
    edge_color(p, color);
    *seen = framed;
    return weft_picture_pad(p, *border, *border, *border, *border, color, framed, err);
}

static weft_status write_input(weft_ocr_page *page, const weft_picture *seen, weft_tensor *t, weft_fit *fit, weft_error *err)
{
    const weft_ocr_state *st = page->state;
    const weft_tensor_desc *d = &st->detect.model->inputs[0];
    weft_preprocess_plan plan = st->detect_input;
    if (st->any_size) {
        plan.resize_mode = WEFT_RESIZE_STRETCH;
        choose_size(&st->options->boxes, seen, &plan.width, &plan.height);
    }
    int64_t dims[3];
    weft_preprocess_row_shape(&plan, dims);
    *t = (weft_tensor){
        .name = d->name, .dtype = plan.to_tensor.dtype, .rank = d->rank, .n_bytes = weft_preprocess_row_bytes(&plan)};
    t->shape[0] = 1; /* the batch axis of a model of rank 4 */
    for (int i = 0; i < 3; i++)
        t->shape[d->rank - 3 + i] = dims[i];
    t->data = weft_pipe_alloc(page->pipe, t->n_bytes);
    if (!t->data)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a detector input of %dx%d pixels", plan.width, plan.height);
    return weft_preprocess_run_picture(&plan, seen, t->data, fit, err);
}

static weft_status detector_input(weft_ocr_page *page, weft_tensor *t, weft_fit *fit, int32_t *border, weft_error *err)
{
    weft_picture framed = {0};
    const weft_picture *seen;
    weft_status s = add_border(page, &framed, &seen, border, err);
    if (s == WEFT_OK)
        s = write_input(page, seen, t, fit, err);
    weft_picture_destroy(&framed);
    return s;
}

/* [1,1,H,W], [1,H,W,1] or one of them without the leading 1. */
static bool map_size(const weft_tensor *t, int32_t *width, int32_t *height)
{
    int64_t dim[2];
    int n = 0, from = t->rank - 3;
    if (t->rank < 3 || t->rank > 4 || (from == 1 && t->shape[0] != 1))
        return false;
    bool last = t->shape[from] != 1 && t->shape[t->rank - 1] == 1;
    if (!last && t->shape[from] != 1)
        return false;
    for (int i = from + !last; i < t->rank - last; i++)
        dim[n++] = t->shape[i];
    if (n != 2 || dim[0] < 1 || dim[1] < 1 || dim[0] > WEFT_OCR_MAX_MAP_SIDE || dim[1] > WEFT_OCR_MAX_MAP_SIDE)
        return false;
    *height = (int32_t)dim[0];
    *width = (int32_t)dim[1];
    return true;
}

/* The part of the map that the picture covers, and how its coordinates come back. A map may be smaller than the input. */
static void window(const weft_fit *fit, int32_t border, const float *p, int32_t map_width, int32_t map_height, weft_ocr_map *map)
{
    double kx = (double)map_width / fit->input_width, ky = (double)map_height / fit->input_height;
    int32_t x = (int32_t)(fit->x * kx), y = (int32_t)(fit->y * ky);
    double w = fit->scaled_width * kx, h = fit->scaled_height * ky;
    *map = (weft_ocr_map){.stride = (size_t)map_width,
                          .border = border,
                          .picture_width = fit->src_width - 2 * border,
                          .picture_height = fit->src_height - 2 * border};
    map->p = p + (size_t)y * (size_t)map_width + (size_t)x;
    map->width = (int32_t)fmin(fmax(rint(w), 1), map_width - x);
    map->height = (int32_t)fmin(fmax(rint(h), 1), map_height - y);
    map->scale_x = fit->src_width / w;
    map->scale_y = fit->src_height / h;
}

static weft_status boxes_of_map(weft_ocr_page *page, const weft_tensor *output, const weft_fit *fit, int32_t border,
                                weft_error *err)
{
    const weft_ocr_options *o = page->state->options;
    int32_t width, height;
    const float *p;
    int64_t n;
    char shape[128];
    if (!map_size(output, &width, &height))
        return weft_fail(err, WEFT_E_RUN_FAILED, "the detector %s gave %s; one map [1,1,H,W] of at most %d a side was expected",
                         page->state->detect.model->name, weft_shape_print(output->shape, output->rank, shape, sizeof shape),
                         WEFT_OCR_MAX_MAP_SIDE);
    weft_status s = weft_output_floats(output, (int64_t)width * height, page->builder, &p, &n, err);
    if (s != WEFT_OK)
        return s;
    weft_ocr_map map;
    window(fit, border, p, width, height, &map);
    void *work = weft_pipe_alloc(page->pipe, weft_ocr_boxes_work_bytes(map.width, map.height));
    page->boxes = weft_pipe_alloc(page->pipe, (size_t)o->boxes.max_boxes * sizeof *page->boxes);
    if (!work || !page->boxes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to find boxes in a map of %dx%d", width, height);
    const weft_ocr_box_options options = {(float)o->boxes.threshold, (float)o->boxes.box_threshold, (float)o->boxes.unclip,
                                          (float)o->boxes.min_side, (size_t)o->boxes.max_boxes};
    s = weft_ocr_boxes_find(&map, &options, work, page->boxes, &page->n_boxes, err);
    /* Rows are told apart at the size that the detector saw. */
    page->row_tolerance = (float)(o->postprocess.row_tolerance * fmax(1, map.scale_y));
    return s;
}

void weft_ocr_page_sort(weft_ocr_page *page, bool turned)
{
    weft_ocr_boxes_sort(page->boxes, page->n_boxes, (weft_ocr_direction)page->state->options->postprocess.direction,
                        page->row_tolerance, turned);
}

weft_status weft_ocr_detect(weft_ocr_page *page, weft_error *err)
{
    const weft_ocr_part *part = &page->state->detect;
    weft_tensor input;
    weft_fit fit;
    int32_t border;
    weft_sub_result r;
    weft_status s = detector_input(page, &input, &fit, &border, err);
    if (s != WEFT_OK)
        return s;
    weft_sub_call call = {.submodel = part->slot, .inputs = &input, .n_inputs = 1, .n_rows = 1};
    s = weft_group_submit(page->group, &call, err);
    if (s == WEFT_OK)
        s = weft_group_wait_any(page->group, &r, err);
    if (s != WEFT_OK)
        return s;
    if (r.status != WEFT_OK) {
        if (err)
            *err = r.error;
        s = weft_fail_prefix(err, r.status, "looking for text");
    } else if (part->output >= r.n_outputs) {
        s = weft_fail(err, WEFT_E_RUN_FAILED, "the detector %s gave %zu outputs, output %zu was expected", part->model->name,
                      r.n_outputs, part->output + 1);
    } else {
        s = boxes_of_map(page, &r.outputs[part->output], &fit, border, err);
    }
    weft_group_release(page->group, r.slot);
    if (s == WEFT_OK)
        weft_ocr_page_sort(page, false);
    return s;
}
