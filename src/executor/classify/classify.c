#include "executor/classify/classify.h"

#include <inttypes.h>

#include "vision/outputs.h"
#include "vision/picture_input.h"
#include "vision/ranking.h"

#define MAX_TOP_K 1000

typedef enum activation {
    ACTIVATION_AUTO = 0,
    ACTIVATION_SOFTMAX,
    ACTIVATION_SIGMOID,
    ACTIVATION_NONE,
} activation;

typedef struct classify_postprocess {
    int64_t top_k;
    double min_score;
    const char *labels;
    int activation;
    const char *output;
} classify_postprocess;

typedef struct classify_options {
    weft_preprocess_options preprocess;
    classify_postprocess postprocess;
} classify_options;

typedef struct classify_state {
    weft_picture_input input;
    const classify_options *options;
    weft_labels labels;
    size_t output;     /* index of the score vector */
    int64_t n_classes; /* -1 = known with each answer only */
} classify_state;

/* What one call asked for, decided in plan so that a bad parameter is refused before any work. */
typedef struct classify_request {
    int64_t top_k;
    double min_score;
} classify_request;

/* ---- declarations -------------------------------------------------------------------------------------------------- */

static const weft_enum_value activations[] = {
    {"auto", ACTIVATION_AUTO, "numbers in 0..1 that sum to 1 are taken as they are, anything else goes through softmax"},
    {"softmax", ACTIVATION_SOFTMAX, "the model gives logits of classes that exclude each other"},
    {"sigmoid", ACTIVATION_SIGMOID, "the model gives logits of classes that may hold together"},
    {"none", ACTIVATION_NONE, "the model gives scores in 0..1"},
    {0},
};

#define AT(field) offsetof(classify_postprocess, field)
static const weft_option postprocess_options[] = {
    {.name = "top_k",
     .kind = WEFT_OPT_INT,
     .offset = AT(top_k),
     .def = "5",
     .min = 1,
     .max = MAX_TOP_K,
     .unit = "classes",
     .help = "how many classes an answer holds at most; a call may set it with the parameter top_k"},
    {.name = "min_score",
     .alias = "min_confidence threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_score),
     .def = "0",
     .min = 0,
     .max = 1,
     .help = "classes with a lower score are left out; a call may set it with the parameter min_score"},
    {.name = "labels",
     .kind = WEFT_OPT_STRING,
     .offset = AT(labels),
     .is_path = true,
     .help = "text file with the class names, one a line in the order of the classes; without it they are \"class 0\", \"class "
             "1\", ..."},
    {.name = "activation",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(activation),
     .def = "auto",
     .values = activations,
     .help = "how the model's numbers become scores",
     .details = "auto looks at the numbers of each answer: all in 0..1 with a sum of 1 (within one percent) are probabilities "
                "already, everything else is put through "
                "softmax; a model with a single class is put through a sigmoid instead. Set it when scores of several classes "
                "may hold together (sigmoid, or none when "
                "the model ends in one): auto would take those for logits."},
    {.name = "output",
     .kind = WEFT_OPT_STRING,
     .offset = AT(output),
     .max_count = 256,
     .help = "name of the model's output with the class scores; needed only when more than one could be it"},
    {0},
};
#undef AT

static const weft_option options[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(classify_options, preprocess),
     .fields = weft_preprocess_option_table,
     .item_size = sizeof(weft_preprocess_options),
     .help = "how a picture becomes the model's input",
     .details = "Without any of it: the middle 87.5 % of the picture at the model's size, RGB, divided by 255, minus ImageNet's "
                "mean, divided by its standard deviation, as most "
                "classifiers are trained (a model with 8-bit input gets the plain pixels)."},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(classify_options, postprocess),
     .fields = postprocess_options,
     .item_size = sizeof(classify_postprocess),
     .help = "what an answer holds"},
    {0},
};

static const weft_field_decl fields[] = {
    {"label", WEFT_FIELD_LABEL, WEFT_DT_STRING, true, 0, "class name, best first"},
    {"index", WEFT_FIELD_NUMBER, WEFT_DT_I32, true, 0, "number of the class, from 0"},
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1"},
};

/* ImageNet evaluation: shorter side to size / 0.875, middle cut out, mean and standard deviation of the training set (He et al.,
 * 2015, and every torchvision model since). */
static const weft_preprocess_defaults imagenet = {
    .input_size = {224, 224},
    .resize_mode = WEFT_RESIZE_CROP,
    .crop_fraction = 0.875,
    .has_numbers = true,
    .scale = 1.0 / 255.0,
    .mean = {0.485, 0.456, 0.406},
    .std = {0.229, 0.224, 0.225},
};
static const weft_preprocess_defaults plain_pixels = {
    .input_size = {224, 224}, .resize_mode = WEFT_RESIZE_CROP, .crop_fraction = 0.875};

/* ---- open ---------------------------------------------------------------------------------------------------------- */

static weft_status classify_open(const weft_open *o, void **state, weft_error *err)
{
    classify_state *st = o->alloc(o, sizeof *st);
    *state = NULL;
    if (!st)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the classifier");
    st->options = o->options;
    bool bytes = o->model && o->model->n_inputs == 1 && weft_dtype_bytes(o->model->inputs[0].dtype) == 1;
    weft_status s = weft_picture_input_open(&st->input, o, &st->options->preprocess, bytes ? &plain_pixels : &imagenet, err);
    if (s == WEFT_OK)
        s = weft_vector_output(o->model, st->options->postprocess.output, &st->output, &st->n_classes, err);
    if (s == WEFT_OK)
        s = weft_labels_open(o, st->options->postprocess.labels, &st->labels, err);
    if (s == WEFT_OK)
        s = weft_labels_check(&st->labels, st->options->postprocess.labels, st->n_classes, err);
    if (s == WEFT_OK)
        *state = st;
    return s;
}

/* ---- a request ----------------------------------------------------------------------------------------------------- */

static weft_status classify_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const classify_state *st = state;
    classify_request *r = scratch;
    r->top_k = st->options->postprocess.top_k;
    r->min_score = st->options->postprocess.min_score;
    weft_status s = weft_param_int(call, "top_k", 1, MAX_TOP_K, &r->top_k, err);
    if (s == WEFT_OK)
        s = weft_param_float(call, "min_score", 0, 1, &r->min_score, err);
    return s == WEFT_OK ? weft_picture_input_plan(&st->input, call, plan, err) : s;
}

static weft_status classify_preprocess(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst,
                                       size_t n_dst, weft_error *err)
{
    const classify_state *st = state;
    return weft_picture_input_run(&st->input, call, dst, n_dst, NULL, err);
}

static bool classify_warm(void *state, size_t i, weft_plan *plan)
{
    const classify_state *st = state;
    return weft_picture_input_warm(&st->input, i, plan);
}

/* Scores of all classes, in memory of the result. */
static weft_status class_scores(const classify_state *st, const weft_tensor *output, weft_builder *b, float **scores, int64_t *n,
                                weft_error *err)
{
    const float *raw;
    weft_status s = weft_output_floats(output, st->n_classes, b, &raw, n, err);
    if (s != WEFT_OK)
        return s;
    size_t n_broken = weft_count_broken(raw, (size_t)*n);
    if (n_broken > 0)
        return weft_fail(err, WEFT_E_RUN_FAILED, "%zu of the model's %" PRId64 " class scores are not finite numbers", n_broken,
                         *n);
    float *v = *scores = weft_builder_alloc(b, (size_t)*n * sizeof *v);
    if (!v)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %" PRId64 " class scores", *n);
    for (int64_t i = 0; i < *n; i++)
        v[i] = raw[i];
    int how = st->options->postprocess.activation;
    if (how == ACTIVATION_AUTO)
        how = weft_is_distribution(v, (size_t)*n) ? ACTIVATION_NONE : *n == 1 ? ACTIVATION_SIGMOID : ACTIVATION_SOFTMAX;
    if (how == ACTIVATION_SOFTMAX)
        weft_softmax(v, (size_t)*n);
    for (int64_t i = 0; how == ACTIVATION_SIGMOID && i < *n; i++)
        v[i] = weft_sigmoid(v[i]);
    return WEFT_OK;
}

static weft_status write_result(const classify_state *st, const weft_ranked *best, size_t n, weft_builder *b, weft_error *err)
{
    void *index, *score;
    const char **names = weft_builder_alloc(b, (n + 1) * sizeof *names);
    char(*texts)[WEFT_LABEL_TEXT_BYTES] = weft_builder_alloc(b, (n + 1) * sizeof *texts);
    if (!names || !texts)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the names of %zu classes", n);
    for (size_t i = 0; i < n; i++)
        names[i] = weft_label(&st->labels, best[i].index, texts[i]);
    weft_builder_items(b, n);
    const int64_t shape[1] = {(int64_t)n};
    weft_status s = weft_builder_strings(b, "label", names, NULL, n, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "index", shape, 1, &index, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "score", shape, 1, &score, err);
    for (size_t i = 0; s == WEFT_OK && i < n; i++) {
        ((int32_t *)index)[i] = best[i].index;
        ((float *)score)[i] = best[i].score;
    }
    return s;
}

static weft_status classify_postprocess_run(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs,
                                            size_t n_outputs, weft_builder *b, weft_error *err)
{
    const classify_state *st = state;
    const classify_request *r = scratch;
    int64_t n_classes;
    float *scores;
    weft_status s = class_scores(st, &outputs[st->output], b, &scores, &n_classes, err);
    if (s != WEFT_OK)
        return s;
    size_t top_k = (size_t)r->top_k;
    weft_ranked *best = weft_builder_alloc(b, top_k * sizeof *best);
    if (!best)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the best classes");
    size_t n = weft_top_k(scores, (size_t)n_classes, best, top_k);
    while (n > 0 && best[n - 1].score < (float)r->min_score)
        n--;
    return write_result(st, best, n, b, err);
}

static const char *const aliases[] = {"ImageClsExecutor", "ClassifyExecutor", "image_classification", NULL};
static const char *const params[] = {"top_k", "min_score", NULL};

const weft_executor weft_executor_classify = {
    .name = "classify",
    .aliases = aliases,
    .summary = "image classification: the best classes of a picture with their scores",
    .details = "Takes any model with one picture input and one output shaped [batch, classes] (or [batch, classes, 1, 1]).",
    .options = options,
    .options_size = sizeof(classify_options),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .picture_input = WEFT_PICTURE_INPUT,
    .params = params,
    .scratch_bytes = sizeof(classify_request),
    .open = classify_open,
    .plan = classify_plan,
    .preprocess = classify_preprocess,
    .postprocess = classify_postprocess_run,
    .warm = classify_warm,
};
