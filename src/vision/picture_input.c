#include "vision/picture_input.h"

#include <inttypes.h>
#include <string.h>

#include "image/decode.h"

static weft_status plan_row(const weft_picture_input *in, weft_plan *plan, weft_error *err)
{
    int64_t dims[3];
    weft_preprocess_row_shape(&in->preprocess, dims);
    plan->n_rows = 1;
    plan->n_inputs = 1;
    return weft_plan_row(plan, in->model, 0, dims, 3, err);
}

/* What is wrong with a row at open is the configuration's fault, not a caller's. */
static weft_status refuse(weft_error *err)
{
    if (err)
        err->status = WEFT_E_CONFIG;
    return WEFT_E_CONFIG;
}

weft_status weft_picture_input_open(weft_picture_input *in, const weft_open *o, const weft_preprocess_options *options,
                                    const weft_preprocess_defaults *defaults, weft_error *err)
{
    if (!o->model)
        return weft_fail(err, WEFT_E_CONFIG, "this type needs a model file; give its path");
    if (o->model->n_inputs != 1)
        return weft_fail(
            err, WEFT_E_CONFIG,
            "this type needs a model with one input, a picture; this model has %zu inputs (type: tensor takes any model)",
            o->model->n_inputs);
    in->model = o->model;
    weft_status s = weft_preprocess_open(options, defaults, &o->model->inputs[0], &in->preprocess, err);
    if (s != WEFT_OK)
        return s;
    weft_plan plan = {0};
    return plan_row(in, &plan, err) == WEFT_OK ? WEFT_OK : refuse(err);
}

weft_status weft_picture_input_plan(const weft_picture_input *in, const weft_call *call, weft_plan *plan, weft_error *err)
{
    const void *bytes;
    size_t n_bytes;
    weft_picture_info info;
    weft_status s = weft_call_picture(call, WEFT_PICTURE_INPUT, &bytes, &n_bytes, err);
    if (s == WEFT_OK)
        s = weft_picture_probe(bytes, n_bytes, &in->preprocess.limits, &info, err);
    if (s != WEFT_OK)
        return s;
    plan->host_work_bytes = info.decode_bytes;
    return plan_row(in, plan, err);
}

weft_status weft_picture_input_run(const weft_picture_input *in, const weft_call *call, weft_tensor *dst, size_t n_dst,
                                   weft_fit *fit, weft_error *err)
{
    const void *bytes;
    size_t n_bytes;
    if (n_dst != 1 || dst[0].n_bytes != weft_preprocess_row_bytes(&in->preprocess))
        return weft_fail(err, WEFT_E_INTERNAL, "the row of the picture has the wrong size");
    weft_status s = weft_call_picture(call, WEFT_PICTURE_INPUT, &bytes, &n_bytes, err);
    return s == WEFT_OK ? weft_preprocess_run(&in->preprocess, bytes, n_bytes, dst[0].data, fit, err) : s;
}

bool weft_picture_input_warm(const weft_picture_input *in, size_t i, weft_plan *plan)
{
    return i == 0 && plan_row(in, plan, NULL) == WEFT_OK;
}

static void *state_memory(void *cookie, size_t n_bytes)
{
    const weft_open *o = cookie;
    return o->alloc(o, n_bytes);
}

weft_status weft_labels_open(const weft_open *o, const char *path, weft_labels *out, weft_error *err)
{
    const char *text;
    size_t n_bytes;
    *out = (weft_labels){NULL, 0};
    if (!path || !*path)
        return WEFT_OK;
    weft_status s = o->read_file(o, path, WEFT_LABELS_MAX_BYTES, &text, &n_bytes, err);
    if (s != WEFT_OK)
        return weft_fail_prefix(err, s, "labels");
    return weft_labels_parse(path, text, n_bytes, state_memory, (void *)(uintptr_t)o, out, err);
}

/* The number a parameter holds, whichever numeric kind it came as. */
static bool number_of(const weft_param *p, double *value)
{
    if (p->kind == WEFT_PARAM_INT)
        *value = (double)p->i;
    else if (p->kind == WEFT_PARAM_FLOAT)
        *value = p->f;
    else
        return false;
    return true;
}

weft_status weft_param_float(const weft_call *call, const char *name, double min, double max, double *value, weft_error *err)
{
    const weft_param *p = weft_call_param(call, name);
    double given;
    if (!p)
        return WEFT_OK;
    if (!number_of(p, &given) || !(given >= min && given <= max))
        return weft_fail(err, WEFT_E_INVALID, "the parameter %s must be a number from %g to %g", name, min, max);
    *value = given;
    return WEFT_OK;
}

weft_status weft_param_int(const weft_call *call, const char *name, int64_t min, int64_t max, int64_t *value, weft_error *err)
{
    const weft_param *p = weft_call_param(call, name);
    double given;
    if (!p)
        return WEFT_OK;
    if (!number_of(p, &given) || !(given >= (double)min && given <= (double)max) || given != (double)(int64_t)given)
        return weft_fail(err, WEFT_E_INVALID, "the parameter %s must be a whole number from %" PRId64 " to %" PRId64, name, min,
                         max);
    *value = (int64_t)given;
    return WEFT_OK;
}
