#include "executor/face/face.h"

#include <stdio.h>

#include "executor/face/face_family.h"
#include "vision/outputs.h"
#include "vision/picture_input.h"

#define MAX_FACES 1000

/* Asked in this order. */
static const weft_face_family *const families[] = {&weft_face_blazeface};
#define N_FAMILIES (sizeof families / sizeof *families)

typedef struct face_postprocess {
    double min_confidence;
    double iou;
    int nms;
    int64_t max_faces;
    double min_size_px;
} face_postprocess;

typedef struct face_options {
    weft_preprocess_options preprocess;
    face_postprocess postprocess;
} face_options;

typedef struct face_state {
    weft_picture_input input;
    const face_options *options;
    const weft_face_family *family;
    const void *decoder;
} face_state;

/* One request: where its picture lies in the input, and what the call asked for (decided in plan, so that a bad parameter is
 * refused before any work). */
typedef struct face_request {
    weft_fit fit;
    double min_confidence;
    int64_t max_faces;
} face_request;

/* ---- declarations -------------------------------------------------------------------------------------------------- */

enum { NMS_WEIGHTED = 0, NMS_GREEDY = 1 };
static const weft_enum_value nms_kinds[] = {
    {"weighted", NMS_WEIGHTED, "the boxes and points found for one face are averaged by their scores"},
    {"greedy", NMS_GREEDY, "the best box of each face is taken as it is"},
    {0},
};

#define AT(field) offsetof(face_postprocess, field)
static const weft_option postprocess_options[] = {
    {.name = "min_confidence",
     .alias = "min_score threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_confidence),
     .def = "0.6",
     .min = 0,
     .max = 1,
     .help = "faces with a lower score are left out; a call may set it with the parameter min_confidence"},
    {.name = "nms",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(nms),
     .def = "weighted",
     .values = nms_kinds,
     .help = "how several boxes of one face become one"},
    {.name = "iou",
     .alias = "nms_iou nms_threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(iou),
     .def = "0.3",
     .min = 0,
     .max = 1,
     .help = "boxes whose overlap (intersection over union) is larger are the same face"},
    {.name = "max_faces",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_faces),
     .def = "100",
     .min = 1,
     .max = MAX_FACES,
     .unit = "faces",
     .help = "at most so many, the surest ones; a call may set it with the parameter max_faces"},
    {.name = "min_size",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_size_px),
     .def = "0",
     .min = 0,
     .max = 65536,
     .unit = "px",
     .help = "faces whose shorter side in the picture is smaller are left out"},
    {0},
};
#undef AT

static const weft_option options[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(face_options, preprocess),
     .fields = weft_preprocess_option_table,
     .item_size = sizeof(weft_preprocess_options),
     .help = "how a picture becomes the model's input",
     .details = "What the detector was trained with is the default (BlazeFace: letterbox, RGB, -1..1), so that usually nothing "
                "is to be set here."},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(face_options, postprocess),
     .fields = postprocess_options,
     .item_size = sizeof(face_postprocess),
     .help = "which faces an answer holds"},
    {0},
};

static const weft_field_decl fields[] = {
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1, surest first"},
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, "x1,y1,x2,y2 in pixels of the upright picture"},
    {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, WEFT_FACE_POINTS,
     "right eye, left eye, nose, mouth, right ear, left ear (the person's right and left), in pixels; a hidden one may lie "
     "outside the picture"},
};

/* ---- open ---------------------------------------------------------------------------------------------------------- */

static weft_status find_family(const weft_model_view *m, const weft_face_family **out, weft_error *err)
{
    char seen[400], known[400];
    size_t at = 0;
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i]->match(m)) {
            *out = families[i];
            return WEFT_OK;
        }
    for (size_t i = 0; i < N_FAMILIES && at < sizeof known; i++)
        at +=
            (size_t)snprintf(known + at, sizeof known - at, "%s%s (%s)", i ? "; " : "", families[i]->name, families[i]->outputs);
    return weft_fail(err, WEFT_E_CONFIG, "this is no face detector that weft can read: its outputs are %s; known is %s",
                     weft_outputs_print(m, seen, sizeof seen), known);
}

static weft_status face_open(const weft_open *o, void **state, weft_error *err)
{
    face_state *st = o->alloc(o, sizeof *st);
    *state = NULL;
    if (!st)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the face detector");
    st->options = o->options;
    weft_status s = o->model ? find_family(o->model, &st->family, err) : WEFT_OK;
    if (s == WEFT_OK)
        s = weft_picture_input_open(&st->input, o, &st->options->preprocess, st->family ? &st->family->preprocess : NULL, err);
    if (s == WEFT_OK)
        s = st->family->open(o, &st->input.preprocess, &st->decoder, err);
    if (s == WEFT_OK)
        *state = st;
    return s;
}

/* ---- a request ----------------------------------------------------------------------------------------------------- */

static weft_status face_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const face_state *st = state;
    face_request *r = scratch;
    r->min_confidence = st->options->postprocess.min_confidence;
    r->max_faces = st->options->postprocess.max_faces;
    weft_status s = weft_param_float(call, "min_confidence", 0, 1, &r->min_confidence, err);
    if (s == WEFT_OK)
        s = weft_param_int(call, "max_faces", 1, MAX_FACES, &r->max_faces, err);
    return s == WEFT_OK ? weft_picture_input_plan(&st->input, call, plan, err) : s;
}

static weft_status face_preprocess(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst, size_t n_dst,
                                   weft_error *err)
{
    const face_state *st = state;
    face_request *r = scratch;
    return weft_picture_input_run(&st->input, call, dst, n_dst, &r->fit, err);
}

static bool face_warm(void *state, size_t i, weft_plan *plan)
{
    const face_state *st = state;
    return weft_picture_input_warm(&st->input, i, plan);
}

/* Takes faces to the picture's pixels and drops those that end up too small or outside; keeps the order. Returns how many are
 * left. */
static size_t to_picture(const weft_fit *fit, double min_size_px, int64_t max_faces, weft_face *faces, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < (size_t)max_faces; i++) {
        weft_face f = faces[i];
        float corners[4] = {f.box.x1, f.box.y1, f.box.x2, f.box.y2};
        weft_fit_box_back(fit, corners);
        weft_fit_points_back(fit, &f.points[0][0], WEFT_FACE_POINTS, false);
        f.box = (weft_box){corners[0], corners[1], corners[2], corners[3]};
        float w = f.box.x2 - f.box.x1, h = f.box.y2 - f.box.y1;
        if (weft_box_valid(&f.box) && weft_face_points_finite(&f) && (w < h ? w : h) >= (float)min_size_px)
            faces[kept++] = f;
    }
    return kept;
}

static weft_status write_result(const weft_face *faces, size_t n, weft_builder *b, weft_error *err)
{
    void *score, *box, *points;
    const int64_t shape[] = {(int64_t)n, 4}, points_shape[] = {(int64_t)n, WEFT_FACE_POINTS, 2};
    weft_builder_items(b, n);
    weft_status s = weft_builder_column(b, "score", shape, 1, &score, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "box", shape, 2, &box, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "points", points_shape, 3, &points, err);
    for (size_t i = 0; s == WEFT_OK && i < n; i++) {
        ((float *)score)[i] = faces[i].score;
        ((weft_box *)box)[i] = faces[i].box;
        for (int k = 0; k < 2 * WEFT_FACE_POINTS; k++)
            ((float *)points)[i * 2 * WEFT_FACE_POINTS + (size_t)k] = faces[i].points[k / 2][k % 2];
    }
    return s;
}

static weft_status face_postprocess_run(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs,
                                        size_t n_outputs, weft_builder *b, weft_error *err)
{
    const face_state *st = state;
    const face_request *r = scratch;
    const face_postprocess *p = &st->options->postprocess;
    weft_face_rules rules = {(float)r->min_confidence, (float)p->iou, p->nms == NMS_WEIGHTED};
    weft_face *faces;
    size_t n;
    weft_status s = st->family->decode(st->decoder, &rules, outputs, n_outputs, b, &faces, &n, err);
    if (s != WEFT_OK)
        return s;
    return write_result(faces, to_picture(&r->fit, p->min_size_px, r->max_faces, faces, n), b, err);
}

static const char *const aliases[] = {"FaceDetectExecutor", "face_detect", NULL};
static const char *const params[] = {"min_confidence", "max_faces", NULL};

const weft_executor weft_executor_face = {
    .name = "face",
    .aliases = aliases,
    .summary = "face detection: box, score and six points of each face",
    .details = "Reads BlazeFace models (front 128, back 256, full range 192).",
    .options = options,
    .options_size = sizeof(face_options),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .picture_input = WEFT_PICTURE_INPUT,
    .params = params,
    .scratch_bytes = sizeof(face_request),
    .open = face_open,
    .plan = face_plan,
    .preprocess = face_preprocess,
    .postprocess = face_postprocess_run,
    .warm = face_warm,
};
