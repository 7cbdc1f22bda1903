/* The YOLO families as their usual ONNX exports write them: one output, boxes as centre x, y, width, height in input pixels,
 * every score after its sigmoid. Sources: the export documentation of Ultralytics YOLOv5 and YOLOv8 and of YOLOv10. */
#include "executor/detect/detect_family.h"

#include <inttypes.h>
#include <math.h>

#include "vision/outputs.h"

/* Channels of a mask prototype output [N,m,h,w] of the segmentation variants: so many values at the end of each position are no
 * classes. */
static int64_t mask_values(const weft_model_view *m)
{
    for (size_t i = 0; i < m->n_outputs; i++)
        if (m->n_outputs == 2 && m->outputs[i].rank == 4 && m->outputs[i].shape[1] > 0 && m->outputs[i].shape[1] <= 256)
            return m->outputs[i].shape[1];
    return 0;
}

/* Reads an output of rank 3 as positions of n_values numbers, n_head of them before the class scores. */
static bool fits(const weft_tensor_desc *d, bool positions_last, int64_t n_head, int64_t n_masks, weft_detect_layout *l)
{
    if (d->rank != 3 || !weft_is_float(d->dtype))
        return false;
    l->n_values = d->shape[positions_last ? 1 : 2];
    l->n_positions = d->shape[positions_last ? 2 : 1];
    l->n_classes = l->n_values - n_head - n_masks;
    l->positions_last = positions_last;
    return l->n_classes > 0 && (l->n_positions < 0 || l->n_positions > 0);
}

/* Fills the layout from the only output that fits. */
static bool only_output(const weft_model_view *m, bool positions_last, int64_t n_head, bool chosen, weft_detect_layout *layout)
{
    int found = 0;
    int64_t n_masks = mask_values(m);
    for (size_t i = 0; i < m->n_outputs; i++) {
        weft_detect_layout l = {.scores = i, .boxes = i};
        if (!fits(&m->outputs[i], positions_last, n_head, n_masks, &l))
            continue;
        /* There are always far more positions than values; without a word from the configuration the longer axis is theirs. */
        if (!chosen && l.n_positions >= 0 && l.n_positions <= l.n_values)
            continue;
        *layout = l;
        found++;
    }
    return found == 1;
}

static bool rows_match(const weft_model_view *m, bool chosen, weft_detect_layout *layout)
{
    if (!only_output(m, false, 5, chosen, layout) || layout->n_values != 6)
        return false;
    layout->n_classes = -1;
    return chosen || (layout->n_positions > 0 && layout->n_positions <= 1000); /* more are raw anchors of a one-class YOLOv5 */
}

static bool yolov8_match(const weft_model_view *m, bool chosen, weft_detect_layout *layout)
{
    weft_detect_layout turned;
    if (only_output(m, true, 4, false, layout))
        return true;
    if (!chosen || !only_output(m, false, 4, false, &turned))
        return chosen && only_output(m, true, 4, true, layout);
    *layout = turned;
    return true;
}

static bool yolov5_match(const weft_model_view *m, bool chosen, weft_detect_layout *layout)
{
    return only_output(m, false, 5, chosen, layout);
}

/* ---- decoding ------------------------------------------------------------------------------------------------------ */

static weft_status read_output(const weft_detect_layout *l, const weft_tensor *t, weft_builder *b, const float **v,
                               int64_t *n_positions, weft_error *err)
{
    int64_t n;
    char shape[128];
    weft_status s = weft_output_floats(t, l->n_positions < 0 ? -1 : l->n_positions * l->n_values, b, v, &n, err);
    if (s != WEFT_OK)
        return s;
    *n_positions = n / l->n_values;
    if (n % l->n_values != 0 || t->rank != 3 || *n_positions > INT32_MAX)
        return weft_fail(err, WEFT_E_RUN_FAILED, "the model's output %s came as %s; %" PRId64 " values a position were expected",
                         t->name, weft_shape_print(t->shape, t->rank, shape, sizeof shape), l->n_values);
    return WEFT_OK;
}

static weft_status not_numbers(weft_error *err)
{
    return weft_fail(err, WEFT_E_RUN_FAILED, "the model's class scores are not finite numbers");
}

static void add(const weft_detect_rules *r, const weft_box *centred, float score, int32_t class_index, int64_t source,
                weft_candidates *c)
{
    if (!weft_detect_wants(r, class_index) || !(score >= r->min_confidence))
        return;
    float half_w = centred->x2 / 2, half_h = centred->y2 / 2;
    weft_candidate item = {{centred->x1 - half_w, centred->y1 - half_h, centred->x1 + half_w, centred->y1 + half_h},
                           score,
                           class_index,
                           (int32_t)source};
    weft_candidates_add(c, &item);
}

/* The best class of every position, walking the array as it lies in memory. */
static weft_status best_classes(const weft_detect_layout *l, const float *classes, int64_t n, float *best, int32_t *which,
                                weft_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        best[i] = -INFINITY;
        which[i] = 0;
    }
    int broken = 0;
    for (int64_t k = 0; k < l->n_classes; k++) {
        const float *row = classes + k * n;
        for (int64_t i = 0; i < n; i++) {
            bool better = row[i] > best[i];
            broken |= !(row[i] < INFINITY);
            which[i] = better ? (int32_t)k : which[i];
            best[i] = better ? row[i] : best[i];
        }
    }
    return broken ? not_numbers(err) : WEFT_OK;
}

/* The best of n class scores; false when one is not a finite number. */
static bool best_class(const float *v, int64_t n, float *best, int32_t *which)
{
    int broken = 0;
    *best = -INFINITY;
    *which = 0;
    for (int64_t k = 0; k < n; k++) {
        broken |= !(v[k] < INFINITY);
        if (v[k] > *best) {
            *best = v[k];
            *which = (int32_t)k;
        }
    }
    return !broken;
}

static weft_status collect_columns(const weft_detect_layout *l, const weft_detect_rules *r, const float *v, int64_t n,
                                   weft_builder *b, weft_candidates *c, weft_error *err)
{
    float *best = weft_builder_alloc(b, (size_t)n * sizeof *best);
    int32_t *which = weft_builder_alloc(b, (size_t)n * sizeof *which);
    if (!best || !which)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the scores of %" PRId64 " positions", n);
    weft_status s = best_classes(l, v + 4 * n, n, best, which, err);
    for (int64_t i = 0; s == WEFT_OK && i < n; i++) {
        weft_box centred = {v[i], v[n + i], v[2 * n + i], v[3 * n + i]};
        if (best[i] >= r->min_confidence)
            add(r, &centred, best[i], which[i], i, c);
    }
    return s;
}

static weft_status yolov8_collect(const weft_detect_layout *l, const weft_detect_rules *r, const weft_tensor *outputs,
                                  weft_builder *b, weft_candidates *c, weft_error *err)
{
    const float *v;
    int64_t n;
    weft_status s = read_output(l, &outputs[l->scores], b, &v, &n, err);
    if (s != WEFT_OK)
        return s;
    if (l->positions_last)
        return collect_columns(l, r, v, n, b, c, err);
    for (int64_t i = 0; i < n; i++, v += l->n_values) {
        float best;
        int32_t which;
        if (!best_class(v + 4, l->n_classes, &best, &which))
            return not_numbers(err);
        add(r, &(weft_box){v[0], v[1], v[2], v[3]}, best, which, i, c);
    }
    return WEFT_OK;
}

static weft_status yolov5_collect(const weft_detect_layout *l, const weft_detect_rules *r, const weft_tensor *outputs,
                                  weft_builder *b, weft_candidates *c, weft_error *err)
{
    const float *v;
    int64_t n;
    weft_status s = read_output(l, &outputs[l->scores], b, &v, &n, err);
    for (int64_t i = 0; s == WEFT_OK && i < n; i++, v += l->n_values) {
        float best;
        int32_t which;
        if (v[4] < r->min_confidence)
            continue;
        if (!(v[4] < INFINITY) || !best_class(v + 5, l->n_classes, &best, &which))
            return not_numbers(err);
        add(r, &(weft_box){v[0], v[1], v[2], v[3]}, v[4] * best, which, i, c);
    }
    return s;
}

static weft_status rows_collect(const weft_detect_layout *l, const weft_detect_rules *r, const weft_tensor *outputs,
                                weft_builder *b, weft_candidates *c, weft_error *err)
{
    const float *v;
    int64_t n;
    weft_status s = read_output(l, &outputs[l->scores], b, &v, &n, err);
    for (int64_t i = 0; s == WEFT_OK && i < n; i++, v += 6) {
        if (v[4] < r->min_confidence)
            continue;
        if (!(v[4] < INFINITY) || !(v[5] >= 0 && v[5] < 1e6f))
            return not_numbers(err);
        weft_candidate item = {{v[0], v[1], v[2], v[3]}, v[4], (int32_t)v[5], (int32_t)i};
        if (weft_detect_wants(r, item.class_index))
            weft_candidates_add(c, &item);
    }
    return s;
}

#define YOLO_PREPROCESS                                                                                                          \
    {                                                                                                                            \
        .input_size = {640, 640}, .resize_mode = WEFT_RESIZE_LETTERBOX, .has_numbers = true, .scale = 1.0 / 255.0,               \
        .std = {1, 1, 1, 1}, .pad_value = 114                                                                                    \
    }

const weft_detect_family weft_detect_yolov8 = {
    .outputs = "YOLOv8: [N,4+classes,positions]",
    .preprocess = YOLO_PREPROCESS,
    .match = yolov8_match,
    .collect = yolov8_collect,
};

const weft_detect_family weft_detect_yolov5 = {
    .outputs = "YOLOv5: [N,positions,5+classes]",
    .preprocess = YOLO_PREPROCESS,
    .match = yolov5_match,
    .collect = yolov5_collect,
};

const weft_detect_family weft_detect_rows = {
    .outputs = "finished rows: [N,rows,6] with x1,y1,x2,y2,score,class",
    .preprocess = YOLO_PREPROCESS,
    .suppressed = true,
    .match = rows_match,
    .collect = rows_collect,
};
