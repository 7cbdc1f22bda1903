#include "executor/detect/detect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "executor/detect/detect_family.h"
#include "vision/outputs.h"
#include "vision/picture_input.h"

#define MAX_DETECTIONS 1000

/* Asked in this order; the number is the value of the option `family` minus one. */
static const weft_detect_family *const families[] = {&weft_detect_centernet, &weft_detect_rows, &weft_detect_yolov8,
                                                     &weft_detect_yolov5};
#define N_FAMILIES (sizeof families / sizeof *families)

typedef struct detect_postprocess {
    int family;
    double min_confidence;
    double iou;
    bool class_agnostic;
    int64_t max_detections;
    const char *labels;
    weft_list classes; /* const char * */
} detect_postprocess;

typedef struct detect_options {
    weft_preprocess_options preprocess;
    detect_postprocess postprocess;
} detect_options;

typedef struct detect_state {
    weft_picture_input input;
    const detect_options *options;
    const weft_detect_family *family;
    weft_detect_layout layout;
    weft_labels labels;
    const bool *wanted; /* by class, n_wanted of them; NULL = all */
    size_t n_wanted;
} detect_state;

/* One request: where its picture lies in the input, and what the call asked for (decided in plan, so that a bad parameter is
 * refused before any work). */
typedef struct detect_request {
    weft_fit fit;
    double min_confidence;
    int64_t max_detections;
} detect_request;

/* ---- declarations -------------------------------------------------------------------------------------------------- */

static const weft_enum_value family_names[] = {
    {"auto", 0, "from the shapes of the outputs"},
    {"centernet", 1, "a heat map a class and four distances a cell"},
    {"rows", 2, "finished rows x1,y1,x2,y2,score,class (YOLOv10 and exports with suppression inside)"},
    {"yolov8", 3, "[N,4+classes,positions], or its transpose (v8, v9, v11)"},
    {"yolov5", 4, "[N,positions,5+classes] (v5, v7)"},
    {0},
};

#define AT(field) offsetof(detect_postprocess, field)
static const weft_option postprocess_options[] = {
    {.name = "family",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(family),
     .def = "auto",
     .values = family_names,
     .help = "how the model writes its boxes"},
    {.name = "min_confidence",
     .alias = "min_score threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_confidence),
     .def = "0.3",
     .min = 0,
     .max = 1,
     .help = "objects with a lower score are left out; a call may set it with the parameter min_confidence"},
    {.name = "iou",
     .alias = "nms_iou nms_threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(iou),
     .def = "0.5",
     .min = 0,
     .max = 1,
     .help = "of two boxes that overlap more (intersection over union) only the surer one stays"},
    {.name = "class_agnostic",
     .kind = WEFT_OPT_BOOL,
     .offset = AT(class_agnostic),
     .def = "false",
     .help = "suppress overlapping boxes of different classes too"},
    {.name = "max_detections",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_detections),
     .def = "100",
     .min = 1,
     .max = MAX_DETECTIONS,
     .unit = "objects",
     .help = "at most so many, the surest ones; a call may set it with the parameter max_detections"},
    {.name = "labels",
     .kind = WEFT_OPT_STRING,
     .offset = AT(labels),
     .is_path = true,
     .help = "text file with the class names, one a line; without it a model with 80 classes has those of COCO, others \"class "
             "0\", \"class 1\", ..."},
    {.name = "classes",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_STRING,
     .offset = AT(classes),
     .max_count = 1024,
     .help = "only objects of these classes (names or numbers); without it all"},
    {0},
};
#undef AT

static const weft_option options[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(detect_options, preprocess),
     .fields = weft_preprocess_option_table,
     .item_size = sizeof(weft_preprocess_options),
     .help = "how a picture becomes the model's input",
     .details = "What the family is trained with is the default (CenterNet: stretched, 0..255; YOLO: letterbox with grey 114, "
                "0..1; all RGB), so that usually nothing is to be set "
                "here."},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(detect_options, postprocess),
     .fields = postprocess_options,
     .item_size = sizeof(detect_postprocess),
     .help = "which objects an answer holds"},
    {0},
};

static const weft_field_decl fields[] = {
    {"label", WEFT_FIELD_LABEL, WEFT_DT_STRING, true, 0, "class name"},
    {"index", WEFT_FIELD_NUMBER, WEFT_DT_I32, true, 0, "number of the class, from 0"},
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1, surest first"},
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, "x1,y1,x2,y2 in pixels of the upright picture"},
};

/* ---- open ---------------------------------------------------------------------------------------------------------- */

static weft_status find_family(detect_state *st, const weft_model_view *m, weft_error *err)
{
    int chosen = st->options->postprocess.family;
    char seen[400], known[400];
    size_t at = 0;
    for (size_t i = 0; i < N_FAMILIES; i++)
        if ((chosen == 0 || (size_t)chosen == i + 1) && families[i]->match(m, chosen != 0, &st->layout)) {
            st->family = families[i];
            return WEFT_OK;
        }
    for (size_t i = 0; i < N_FAMILIES && at < sizeof known; i++)
        if (chosen == 0 || (size_t)chosen == i + 1)
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? "; " : "", families[i]->outputs);
    return weft_fail(err, WEFT_E_CONFIG, "this is no detector that weft can read%s: its outputs are %s; expected was %s",
                     chosen ? " in the way postprocess.family says" : "", weft_outputs_print(m, seen, sizeof seen), known);
}

static weft_status open_labels(detect_state *st, const weft_open *o, weft_error *err)
{
    const char *path = st->options->postprocess.labels;
    weft_status s = weft_labels_open(o, path, &st->labels, err);
    if (s == WEFT_OK)
        s = weft_labels_check(&st->labels, path, st->layout.n_classes, err);
    if (s == WEFT_OK && st->labels.n == 0 && (size_t)st->layout.n_classes == weft_coco80.n)
        st->labels = weft_coco80;
    return s;
}

static size_t count_classes(const detect_state *st)
{
    return st->layout.n_classes >= 0 ? (size_t)st->layout.n_classes : st->labels.n;
}

static weft_status find_class(const detect_state *st, const char *name, size_t n_classes, size_t *index, weft_error *err)
{
    char *end;
    int64_t found = weft_label_index(&st->labels, name);
    if (found < 0) {
        found = strtoll(name, &end, 10);
        found = end == name || *end ? -1 : found;
    }
    *index = (size_t)found;
    if (found >= 0 && *index < n_classes)
        return WEFT_OK;
    const char *near = weft_nearest_name(name, st->labels.names, st->labels.n);
    return weft_fail(err, WEFT_E_CONFIG,
                     "postprocess.classes: the model has no class %s%s%s; it has %zu classes, give their names or numbers from 0",
                     name, near ? ", did you mean " : "", near ? near : "", n_classes);
}

static weft_status open_classes(detect_state *st, const weft_open *o, weft_error *err)
{
    const weft_list *list = &st->options->postprocess.classes;
    size_t n_classes = count_classes(st), index;
    if (list->n == 0)
        return WEFT_OK;
    bool *wanted = o->alloc(o, n_classes + 1);
    if (!wanted)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu classes", n_classes);
    for (size_t i = 0; i < list->n; i++) {
        weft_status s = find_class(st, ((const char *const *)list->items)[i], n_classes, &index, err);
        if (s != WEFT_OK)
            return s;
        wanted[index] = true;
    }
    st->wanted = wanted;
    st->n_wanted = n_classes;
    return WEFT_OK;
}

static weft_status detect_open(const weft_open *o, void **state, weft_error *err)
{
    detect_state *st = o->alloc(o, sizeof *st);
    *state = NULL;
    if (!st)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the detector");
    st->options = o->options;
    weft_status s = o->model ? find_family(st, o->model, err) : WEFT_OK;
    if (s == WEFT_OK)
        s = weft_picture_input_open(&st->input, o, &st->options->preprocess, st->family ? &st->family->preprocess : NULL, err);
    if (s == WEFT_OK)
        s = open_labels(st, o, err);
    if (s == WEFT_OK)
        s = open_classes(st, o, err);
    if (s == WEFT_OK)
        *state = st;
    return s;
}

/* ---- a request ----------------------------------------------------------------------------------------------------- */

static weft_status detect_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const detect_state *st = state;
    detect_request *r = scratch;
    r->min_confidence = st->options->postprocess.min_confidence;
    r->max_detections = st->options->postprocess.max_detections;
    weft_status s = weft_param_float(call, "min_confidence", 0, 1, &r->min_confidence, err);
    if (s == WEFT_OK)
        s = weft_param_int(call, "max_detections", 1, MAX_DETECTIONS, &r->max_detections, err);
    return s == WEFT_OK ? weft_picture_input_plan(&st->input, call, plan, err) : s;
}

static weft_status detect_preprocess(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst,
                                     size_t n_dst, weft_error *err)
{
    const detect_state *st = state;
    detect_request *r = scratch;
    return weft_picture_input_run(&st->input, call, dst, n_dst, &r->fit, err);
}

static bool detect_warm(void *state, size_t i, weft_plan *plan)
{
    const detect_state *st = state;
    return weft_picture_input_warm(&st->input, i, plan);
}

/* Takes boxes to the picture's pixels and drops those that lie outside it; keeps the order. RUN_FAILED for a score that is no
 * score. */
static weft_status to_picture(const weft_fit *fit, weft_candidates *c, weft_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        weft_candidate item = c->items[i];
        float corners[4] = {item.box.x1, item.box.y1, item.box.x2, item.box.y2};
        if (item.score > 1.001f)
            return weft_fail(err, WEFT_E_RUN_FAILED,
                             "the model gave the score %g, expected was 0..1; its export seems to lack the last sigmoid",
                             (double)item.score);
        weft_fit_box_back(fit, corners);
        item.box = (weft_box){corners[0], corners[1], corners[2], corners[3]};
        item.score = item.score > 1 ? 1 : item.score;
        if (weft_box_valid(&item.box))
            c->items[kept++] = item;
    }
    c->n = kept;
    return WEFT_OK;
}

static weft_status write_result(const detect_state *st, const weft_candidates *c, weft_builder *b, weft_error *err)
{
    void *index, *score, *box;
    const int64_t shape[] = {(int64_t)c->n, 4};
    const char **names = weft_builder_alloc(b, (c->n + 1) * sizeof *names);
    char(*texts)[WEFT_LABEL_TEXT_BYTES] = weft_builder_alloc(b, (c->n + 1) * sizeof *texts);
    if (!names || !texts)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the names of %zu objects", c->n);
    for (size_t i = 0; i < c->n; i++)
        names[i] = weft_label(&st->labels, c->items[i].class_index, texts[i]);
    weft_builder_items(b, c->n);
    weft_status s = weft_builder_strings(b, "label", names, NULL, c->n, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "index", shape, 1, &index, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "score", shape, 1, &score, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "box", shape, 2, &box, err);
    for (size_t i = 0; s == WEFT_OK && i < c->n; i++) {
        ((int32_t *)index)[i] = c->items[i].class_index;
        ((float *)score)[i] = c->items[i].score;
        ((weft_box *)box)[i] = c->items[i].box;
    }
    return s;
}

static weft_status detect_postprocess_run(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs,
                                          size_t n_outputs, weft_builder *b, weft_error *err)
{
    const detect_state *st = state;
    const detect_request *r = scratch;
    const detect_postprocess *p = &st->options->postprocess;
    const weft_preprocess_plan *in = &st->input.preprocess;
    weft_detect_rules rules = {(float)r->min_confidence, st->wanted, st->n_wanted, (float)in->width, (float)in->height};
    weft_candidates c = {weft_builder_alloc(b, WEFT_DETECT_MAX_CANDIDATES * sizeof(weft_candidate)), 0,
                         WEFT_DETECT_MAX_CANDIDATES};
    size_t max = (size_t)r->max_detections;
    if (!c.items)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %d candidate boxes", WEFT_DETECT_MAX_CANDIDATES);
    weft_status s = st->family->collect(&st->layout, &rules, outputs, b, &c, err);
    if (s != WEFT_OK)
        return s;
    if (st->family->suppressed) {
        weft_candidates_sort(&c);
        c.n = c.n < max ? c.n : max;
    } else {
        weft_nms(&c, (float)p->iou, !p->class_agnostic, max);
    }
    s = to_picture(&r->fit, &c, err);
    return s == WEFT_OK ? write_result(st, &c, b, err) : s;
}

static const char *const aliases[] = {"DetectExecutor", "ObjectDetectExecutor", "object_detection", NULL};
static const char *const params[] = {"min_confidence", "max_detections", NULL};

const weft_executor weft_executor_detect = {
    .name = "detect",
    .aliases = aliases,
    .summary = "object detection: label, score and box of each object",
    .details = "Reads CenterNet (heat map and four distances), YOLOv5/v7, YOLOv8/v9/v11 and exports that end in finished rows.",
    .options = options,
    .options_size = sizeof(detect_options),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .picture_input = WEFT_PICTURE_INPUT,
    .params = params,
    .scratch_bytes = sizeof(detect_request),
    .open = detect_open,
    .plan = detect_plan,
    .preprocess = detect_preprocess,
    .postprocess = detect_postprocess_run,
    .warm = detect_warm,
};
