/* BlazeFace (Bazarevsky et al., 2019): front camera 128, back camera 256, and the full range variant 192.
 *
 * Each anchor gives one raw score and 16 numbers: centre x, y, width, height and six points x, y, all in input pixels; centre and
 * points count from the anchor's centre. Anchors lie in the middle of the cells of one or two square grids, several with the same
 * centre in each cell, and have no size of their own. Source: MediaPipe's face_detection_*.pbtxt graphs. */
#include "executor/face/face_family.h"

#include <inttypes.h>
#include <math.h>

#include "vision/outputs.h"
#include "vision/ranking.h"

#define VALUES 16 /* per anchor */
#define MAX_GRIDS 2
#define MAX_PARTS 2

typedef struct grid {
    int side, per_cell; /* side x side cells */
} grid;

/* One pair of outputs [N,anchors,1] and [N,anchors,16] over the grids it holds. */
typedef struct layout_part {
    int64_t n_anchors;
    grid grids[MAX_GRIDS]; /* side 0 = none */
} layout_part;

typedef struct layout {
    layout_part parts[MAX_PARTS]; /* n_anchors 0 = none */
} layout;

static const layout layouts[] = {
    {{{512, {{16, 2}}}, {384, {{8, 6}}}}}, /* front and back with one pair of outputs a grid */
    {{{896, {{16, 2}, {8, 6}}}}},          /* the same, joined */
    {{{2304, {{48, 1}}}}},                 /* full range */
};

typedef struct part {
    size_t scores, values; /* output indices */
    int64_t n_anchors;
    const float (*anchors)[2]; /* centres in input pixels */
} part;

typedef struct blazeface {
    size_t n_parts;
    part parts[MAX_PARTS];
} blazeface;

/* The only output [N,n_anchors,n_values], or -1. */
static int find_output(const weft_model_view *m, int64_t n_anchors, int64_t n_values)
{
    int found = -1;
    for (size_t i = 0; i < m->n_outputs; i++) {
        const weft_tensor_desc *d = &m->outputs[i];
        if (d->rank != 3 || d->shape[1] != n_anchors || d->shape[2] != n_values || !weft_is_float(d->dtype))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

static const layout *find_layout(const weft_model_view *m)
{
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        bool all = true;
        for (size_t p = 0; p < MAX_PARTS && layouts[l].parts[p].n_anchors > 0; p++) {
            int64_t n = layouts[l].parts[p].n_anchors;
            all = all && find_output(m, n, 1) >= 0 && find_output(m, n, VALUES) >= 0;
        }
        if (all)
            return &layouts[l];
    }
    return NULL;
}

static bool blazeface_match(const weft_model_view *m)
{
    return find_layout(m) != NULL;
}

static void place_anchors(const layout_part *lp, int32_t width, int32_t height, float (*anchors)[2])
{
    size_t at = 0;
    for (size_t g = 0; g < MAX_GRIDS && lp->grids[g].side > 0; g++) {
        int side = lp->grids[g].side;
        for (int cell = 0; cell < side * side; cell++)
            for (int k = 0; k < lp->grids[g].per_cell; k++, at++) {
                anchors[at][0] = ((float)(cell % side) + 0.5f) / (float)side * (float)width;
                anchors[at][1] = ((float)(cell / side) + 0.5f) / (float)side * (float)height;
            }
    }
}

static weft_status blazeface_open(const weft_open *o, const weft_preprocess_plan *plan, const void **decoder, weft_error *err)
{
    const layout *l = find_layout(o->model);
    blazeface *d = o->alloc(o, sizeof *d);
    *decoder = NULL;
    for (size_t p = 0; d && p < MAX_PARTS && l->parts[p].n_anchors > 0; p++) {
        const layout_part *lp = &l->parts[p];
        float(*anchors)[2] = o->alloc(o, (size_t)lp->n_anchors * sizeof *anchors);
        if (!anchors)
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the anchors of the face detector");
        place_anchors(lp, plan->width, plan->height, anchors);
        d->parts[p] = (part){(size_t)find_output(o->model, lp->n_anchors, 1),
                             (size_t)find_output(o->model, lp->n_anchors, VALUES), lp->n_anchors, (const float(*)[2])anchors};
        d->n_parts = p + 1;
    }
    if (!d)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the face detector");
    *decoder = d;
    return WEFT_OK;
}

/* ---- decoding ------------------------------------------------------------------------------------------------------ */

typedef struct raw_part {
    const float *scores, *values;
} raw_part;

/* The face of anchor `source` (counted over all parts). */
static weft_face face_at(const blazeface *d, const raw_part *raw, int32_t source)
{
    size_t p = 0;
    int64_t i = source;
    for (; i >= d->parts[p].n_anchors; p++)
        i -= d->parts[p].n_anchors;
    const float *v = raw[p].values + i * VALUES, *a = d->parts[p].anchors[i];
    float cx = a[0] + v[0], cy = a[1] + v[1], half_w = v[2] / 2, half_h = v[3] / 2;
    weft_face f = {{cx - half_w, cy - half_h, cx + half_w, cy + half_h}, weft_sigmoid(raw[p].scores[i]), {{0}}};
    for (int k = 0; k < WEFT_FACE_POINTS; k++) {
        f.points[k][0] = a[0] + v[4 + 2 * k];
        f.points[k][1] = a[1] + v[5 + 2 * k];
    }
    return f;
}

/* Counts the anchors that are sure enough; RUN_FAILED for scores that are not numbers. */
static weft_status count_candidates(const blazeface *d, const raw_part *raw, float min_confidence, size_t *n, weft_error *err)
{
    *n = 0;
    for (size_t p = 0; p < d->n_parts; p++)
        for (int64_t i = 0; i < d->parts[p].n_anchors; i++) {
            if (isnan(raw[p].scores[i]))
                return weft_fail(err, WEFT_E_RUN_FAILED, "the model's face scores are not numbers (anchor %" PRId64 ")", i);
            *n += weft_sigmoid(raw[p].scores[i]) >= min_confidence;
        }
    return WEFT_OK;
}

static void collect(const blazeface *d, const raw_part *raw, float min_confidence, weft_candidates *c)
{
    int32_t source = 0;
    for (size_t p = 0; p < d->n_parts; p++)
        for (int64_t i = 0; i < d->parts[p].n_anchors; i++, source++) {
            if (weft_sigmoid(raw[p].scores[i]) < min_confidence)
                continue;
            weft_face f = face_at(d, raw, source);
            weft_candidate item = {f.box, f.score, 0, source};
            if (weft_face_points_finite(&f))
                weft_candidates_add(c, &item);
        }
}

/* Blending: each group starts with its best member, whose score it keeps; boxes and points become the mean weighted by score. */
typedef struct blend {
    const blazeface *d;
    const raw_part *raw;
    bool average;
    weft_face *faces;
    double *weights;
} blend;

static void mix(float *sum, float v, double old_weight, double weight)
{
    *sum = (float)((*sum * old_weight + v * weight) / (old_weight + weight));
}

static void blend_member(void *cookie, size_t group, const weft_candidate *member)
{
    blend *m = cookie;
    weft_face f = face_at(m->d, m->raw, member->source), *to = &m->faces[group];
    double old = m->weights[group], w = member->score;
    if (old == 0.0) {
        *to = f;
        m->weights[group] = w > 0 ? w : 1e-30;
        return;
    }
    if (!m->average || !(w > 0))
        return;
    mix(&to->box.x1, f.box.x1, old, w);
    mix(&to->box.y1, f.box.y1, old, w);
    mix(&to->box.x2, f.box.x2, old, w);
    mix(&to->box.y2, f.box.y2, old, w);
    for (int k = 0; k < WEFT_FACE_POINTS; k++) {
        mix(&to->points[k][0], f.points[k][0], old, w);
        mix(&to->points[k][1], f.points[k][1], old, w);
    }
    m->weights[group] = old + w;
}

static weft_status blazeface_decode(const void *decoder, const weft_face_rules *rules, const weft_tensor *outputs,
                                    size_t n_outputs, weft_builder *b, weft_face **faces, size_t *n_faces, weft_error *err)
{
    const blazeface *d = decoder;
    raw_part raw[MAX_PARTS];
    size_t n = 0;
    int64_t ignored;
    weft_status s = WEFT_OK;
    *faces = NULL;
    *n_faces = 0;
    for (size_t p = 0; s == WEFT_OK && p < d->n_parts; p++) {
        s = weft_output_floats(&outputs[d->parts[p].scores], d->parts[p].n_anchors, b, &raw[p].scores, &ignored, err);
        if (s == WEFT_OK)
            s = weft_output_floats(&outputs[d->parts[p].values], d->parts[p].n_anchors * VALUES, b, &raw[p].values, &ignored,
                                   err);
    }
    if (s == WEFT_OK)
        s = count_candidates(d, raw, rules->min_confidence, &n, err);
    if (s != WEFT_OK || n == 0)
        return s;
    weft_candidates c = {weft_builder_alloc(b, n * sizeof(weft_candidate)), 0, n};
    blend m = {d, raw, rules->blend, weft_builder_alloc(b, n * sizeof(weft_face)), weft_builder_alloc(b, n * sizeof(double))};
    if (!c.items || !m.faces || !m.weights)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu candidate faces", n);
    for (size_t i = 0; i < n; i++)
        m.weights[i] = 0;
    collect(d, raw, rules->min_confidence, &c);
    *n_faces = weft_nms_groups(&c, rules->iou, n, blend_member, &m);
    *faces = m.faces;
    return WEFT_OK;
}

const weft_face_family weft_face_blazeface = {
    .name = "BlazeFace",
    .outputs = "scores [N,512,1] and [N,384,1] with boxes [N,512,16] and [N,384,16], or both joined to [N,896,1] and [N,896,16], "
               "or [N,2304,1] and [N,2304,16]",
    .preprocess = {.resize_mode = WEFT_RESIZE_LETTERBOX,
                   .has_numbers = true,
                   .scale = 1.0,
                   .mean = {127.5, 127.5, 127.5},
                   .std = {127.5, 127.5, 127.5}},
    .match = blazeface_match,
    .open = blazeface_open,
    .decode = blazeface_decode,
};
