#include "executor/embed/embed.h"

#include <float.h>
#include <math.h>

#include "vision/outputs.h"
#include "vision/picture_input.h"

/* ---- declarations ---------------------------------------------------------------------------------------------------- */

typedef struct embed_postprocess {
    const char *output;
    bool normalize;
} embed_postprocess;

typedef struct embed_options {
    weft_preprocess_options preprocess;
    embed_postprocess postprocess;
} embed_options;

#define AT(field) offsetof(embed_postprocess, field)
static const weft_option postprocess_options[] = {
    {.name = "output",
     .kind = WEFT_OPT_STRING,
     .offset = AT(output),
     .max_count = 256,
     .help = "name of the model's output with the vector; needed only when more than one could be it"},
    {.name = "normalize",
     .alias = "normalise",
     .kind = WEFT_OPT_BOOL,
     .offset = AT(normalize),
     .def = "true",
     .help = "scale the vector to length 1, so that the product of two vectors is the cosine of their angle"},
    {0},
};
#undef AT

static const weft_option options[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(embed_options, preprocess),
     .fields = weft_preprocess_option_table,
     .item_size = sizeof(weft_preprocess_options),
     .help = "how a picture becomes the model's input",
     .details =
         "Without any of it: the whole picture stretched to the model's size, RGB, 0..1 (a model with 8-bit input gets the "
         "plain pixels). Face embeddings expect a cropped face."},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(embed_options, postprocess),
     .fields = postprocess_options,
     .item_size = sizeof(embed_postprocess),
     .help = "what an answer holds"},
    {0},
};

static const weft_field_decl fields[] = {
    {"embedding", WEFT_FIELD_NUMBER, WEFT_DT_F32, false, 0, "the vector"},
    {"norm", WEFT_FIELD_NUMBER, WEFT_DT_F32, false, 0,
     "its length before normalisation; small for pictures that the model makes little of"},
};

static const weft_preprocess_defaults zero_to_one = {
    .input_size = {224, 224}, .resize_mode = WEFT_RESIZE_STRETCH, .has_numbers = true, .scale = 1.0 / 255.0, .std = {1, 1, 1, 1}};
static const weft_preprocess_defaults plain_pixels = {.input_size = {224, 224}, .resize_mode = WEFT_RESIZE_STRETCH};

/* ---- work -------------------------------------------------------------------------------------------------------------- */

typedef struct embed_state {
    weft_picture_input input;
    const embed_options *options;
    size_t output;
    int64_t n; /* length of the vector, -1 = known with each answer only */
} embed_state;

static weft_status embed_open(const weft_open *o, void **state, weft_error *err)
{
    embed_state *st = o->alloc(o, sizeof *st);
    *state = NULL;
    if (!st)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the embedding");
    st->options = o->options;
    bool bytes = o->model && o->model->n_inputs == 1 && weft_dtype_bytes(o->model->inputs[0].dtype) == 1;
    weft_status s = weft_picture_input_open(&st->input, o, &st->options->preprocess, bytes ? &plain_pixels : &zero_to_one, err);
    if (s == WEFT_OK)
        s = weft_vector_output(o->model, st->options->postprocess.output, &st->output, &st->n, err);
    if (s == WEFT_OK)
        *state = st;
    return s;
}

static weft_status embed_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const embed_state *st = state;
    return weft_picture_input_plan(&st->input, call, plan, err);
}

static weft_status embed_preprocess(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst,
                                    size_t n_dst, weft_error *err)
{
    const embed_state *st = state;
    return weft_picture_input_run(&st->input, call, dst, n_dst, NULL, err);
}

static bool embed_warm(void *state, size_t i, weft_plan *plan)
{
    const embed_state *st = state;
    return weft_picture_input_warm(&st->input, i, plan);
}

static weft_status embed_postprocess_run(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs,
                                         size_t n_outputs, weft_builder *b, weft_error *err)
{
    const embed_state *st = state;
    const float *v;
    void *to, *norm;
    int64_t n;
    double sum = 0;
    weft_status s = weft_output_floats(&outputs[st->output], st->n, b, &v, &n, err);
    for (int64_t i = 0; s == WEFT_OK && i < n; i++)
        sum += (double)v[i] * v[i];
    if (s == WEFT_OK && !(sum < INFINITY))
        s = weft_fail(err, WEFT_E_RUN_FAILED, "the model's vector holds values that are not finite numbers");
    if (s == WEFT_OK)
        s = weft_builder_column(b, "embedding", (const int64_t[]){n}, 1, &to, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "norm", (const int64_t[]){1}, 1, &norm, err);
    if (s != WEFT_OK)
        return s;
    double scale = st->options->postprocess.normalize && sum > 0 ? 1.0 / sqrt(sum) : 1.0; /* a vector of zeros stays one */
    for (int64_t i = 0; i < n; i++)
        ((float *)to)[i] = (float)(v[i] * scale);
    *(float *)norm = (float)fmin(sqrt(sum), FLT_MAX);
    return WEFT_OK;
}

static const char *const aliases[] = {"EmbedExecutor", "FaceEmbedExecutor", "embedding", NULL};

const weft_executor weft_executor_embed = {
    .name = "embed",
    .aliases = aliases,
    .summary = "embedding: a picture as one vector, for comparing and searching",
    .details = "Takes any model with one picture input and an output shaped [batch, n].",
    .options = options,
    .options_size = sizeof(embed_options),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .picture_input = WEFT_PICTURE_INPUT,
    .open = embed_open,
    .plan = embed_plan,
    .preprocess = embed_preprocess,
    .postprocess = embed_postprocess_run,
    .warm = embed_warm,
};
