/* What executors ask of a call and of a model's description; needs nothing but the structs. */
#include "weft/executor.h"

#include <stdio.h>
#include <string.h>

/* "a", "b", (unnamed) */
static void list_inputs(const weft_call *call, char *buf, size_t n_buf)
{
    size_t at = 0;

    snprintf(buf, n_buf, "none");
    for (size_t i = 0; i < call->n_inputs && at + 1 < n_buf; i++) {
        const char *name = call->inputs[i].name;
        int n = name ? snprintf(buf + at, n_buf - at, "%s\"%.64s\"", i ? ", " : "", name)
                     : snprintf(buf + at, n_buf - at, "%san unnamed one", i ? ", " : "");
        at += n > 0 ? (size_t)n : 0;
    }
}

weft_status weft_call_input(const weft_call *call, const char *name, const weft_input **out, weft_error *err)
{
    char came[400];

    *out = NULL;
    if (!name && call->n_inputs == 1)
        *out = &call->inputs[0];
    for (size_t i = 0; name && i < call->n_inputs && !*out; i++)
        if (call->inputs[i].name && !strcmp(call->inputs[i].name, name))
            *out = &call->inputs[i];
    if (!*out && name && call->n_inputs && (!call->inputs[0].name || !call->inputs[0].name[0]))
        *out = &call->inputs[0]; /* an unnamed input is the first of the model */
    if (*out)
        return WEFT_OK;
    list_inputs(call, came, sizeof came);
    if (!name)
        return weft_fail(err, WEFT_E_INVALID, "one input is expected; these came: %s", came);
    return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" is missing; these came: %s", name, came);
}

/* The one element of a STRING tensor. */
static weft_status only_string(const weft_tensor *t, const void **bytes, size_t *n_bytes, weft_error *err)
{
    weft_status s = weft_tensor_check(t, err);
    int64_t n = 0;

    if (s)
        return s;
    weft_shape_elements(t->shape, t->rank, &n);
    if (n != 1)
        return weft_fail(err, WEFT_E_INVALID, "one encoded picture is expected; the tensor \"%.64s\" holds %lld",
                         t->name ? t->name : "", (long long)n);
    *bytes = (const uint8_t *)t->data + 4;
    *n_bytes = t->n_bytes - 4;
    return WEFT_OK;
}

weft_status weft_call_picture(const weft_call *call, const char *name, const void **bytes, size_t *n_bytes, weft_error *err)
{
    const weft_input *in;
    weft_status s = weft_call_input(call, name, &in, err);

    *bytes = NULL;
    *n_bytes = 0;
    if (s)
        return s;
    if (in->is_bytes) {
        *bytes = in->bytes;
        *n_bytes = in->bytes ? in->n_bytes : 0;
    } else if (in->tensor.dtype == WEFT_DT_STRING) {
        if ((s = only_string(&in->tensor, bytes, n_bytes, err)))
            return s;
    } else {
        return weft_fail(err, WEFT_E_INVALID,
                         "the input \"%.64s\" must be an encoded picture (raw bytes, or BYTES with one element), not %s",
                         name       ? name
                         : in->name ? in->name
                                    : "",
                         weft_dtype_name(in->tensor.dtype));
    }
    if (!*n_bytes) {
        *bytes = NULL;
        return weft_fail(err, WEFT_E_INVALID, "the picture is empty; send an encoded one");
    }
    return WEFT_OK;
}

const weft_param *weft_call_param(const weft_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_params; i++)
        if (call->params[i].name && !strcmp(call->params[i].name, name))
            return &call->params[i];
    return NULL;
}

static bool dims_fit(const int64_t *want, const int64_t *dims, int n)
{
    for (int i = 0; i < n; i++)
        if (dims[i] < 0 || (want[i] >= 0 && want[i] != dims[i]))
            return false;
    return true;
}

weft_status weft_plan_row(weft_plan *plan, const weft_model_view *m, size_t i, const int64_t *dims, int n_dims, weft_error *err)
{
    const weft_tensor_desc *d;
    weft_tensor *row;
    bool rows_apart, fits;
    char came[160], want[160];
    int lead;

    if (i >= m->n_inputs || i >= WEFT_MAX_MODEL_INPUTS)
        return weft_fail(err, WEFT_E_INVALID, "the model \"%.64s\" has %zu inputs, so there is no input %zu", m->name,
                         m->n_inputs, i);
    d = &m->inputs[i];
    rows_apart = m->batched && !m->shared_input[i];
    lead = d->rank - n_dims; /* 1: a batch axis of the model, or a 1 that we add */
    fits = n_dims >= 0 && (lead == 1 || (lead == 0 && !rows_apart)) && dims_fit(d->shape + lead, dims, n_dims);
    if (fits && lead && !rows_apart)
        fits = d->shape[0] == 1 || d->shape[0] < 0;
    if (!fits)
        return weft_fail(
            err, WEFT_E_INVALID, "the input \"%.64s\" of the model \"%.64s\" has the shape %s%s; a row of shape %s does not fit",
            d->name, m->name, weft_shape_print(d->shape, d->rank, want, sizeof want), rows_apart ? " with the batch first" : "",
            weft_shape_print(dims, n_dims < 0 ? 0 : n_dims, came, sizeof came));
    row = &plan->rows[i];
    *row = (weft_tensor){.name = d->name, .dtype = d->dtype};
    if (lead && !rows_apart)
        row->shape[row->rank++] = 1;
    for (int k = 0; k < n_dims; k++)
        row->shape[row->rank++] = dims[k];
    if (plan->n_inputs < i + 1)
        plan->n_inputs = i + 1;
    return WEFT_OK;
}
