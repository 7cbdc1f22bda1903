#include "vision/outputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fp.h"

bool weft_is_float(weft_dtype t)
{
    return t == WEFT_DT_F32 || t == WEFT_DT_F16 || t == WEFT_DT_BF16 || t == WEFT_DT_F64;
}

static void widen(const weft_tensor *t, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == WEFT_DT_F64)
            to[i] = (float)((const double *)t->data)[i];
        else if (t->dtype == WEFT_DT_F16)
            to[i] = weft_f16_to_f32(((const uint16_t *)t->data)[i]);
        else
            to[i] = weft_bf16_to_f32(((const uint16_t *)t->data)[i]);
    }
}

weft_status weft_output_floats(const weft_tensor *t, int64_t n_expected, weft_builder *b, const float **values, int64_t *n,
                               weft_error *err)
{
    const char *name = t->name ? t->name : "?";
    char shape[128];
    size_t n_bytes;
    *values = NULL;
    if (!t->data || !weft_is_float(t->dtype))
        return weft_fail(err, WEFT_E_RUN_FAILED, "the model's output %s has %s; numbers of a floating type were expected", name,
                         t->data ? weft_dtype_name(t->dtype) : "no data");
    if (!weft_shape_elements(t->shape, t->rank, n) || !weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &n_bytes) ||
        n_bytes != t->n_bytes || *n <= 0 || (n_expected >= 0 && *n != n_expected))
        return weft_fail(err, WEFT_E_RUN_FAILED, "the model's output %s came as %s; %" PRId64 " elements were expected", name,
                         weft_shape_print(t->shape, t->rank, shape, sizeof shape), n_expected);
    if (t->dtype == WEFT_DT_F32) {
        *values = t->data;
        return WEFT_OK;
    }
    float *copy = weft_builder_alloc(b, (size_t)*n * sizeof *copy);
    if (!copy)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to convert the model's output %s", name);
    widen(t, copy, *n);
    *values = copy;
    return WEFT_OK;
}

char *weft_outputs_print(const weft_model_view *m, char *buf, size_t n_buf)
{
    size_t used = 0;
    buf[0] = 0;
    for (size_t i = 0; i < m->n_outputs && used < n_buf; i++) {
        char shape[128];
        const weft_tensor_desc *d = &m->outputs[i];
        used += (size_t)snprintf(buf + used, n_buf - used, "%s%s %s %s", i ? ", " : "", d->name,
                                 weft_shape_print(d->shape, d->rank, shape, sizeof shape), weft_dtype_name(d->dtype));
    }
    return buf;
}

int weft_output_index(const weft_model_view *m, const char *name)
{
    for (size_t i = 0; i < m->n_outputs; i++)
        if (strcmp(m->outputs[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* True when all dims of a row but one are 1; *n is that one, -1 if dynamic. */
static bool is_vector(const weft_tensor_desc *d, int64_t *n)
{
    if (!weft_is_float(d->dtype) || d->rank < 1)
        return false;
    int from = d->rank > 1; /* dim 0 is the batch, unless there is nothing else */
    *n = 1;
    for (int i = from; i < d->rank; i++) {
        if (d->shape[i] == 1)
            continue;
        if (*n != 1)
            return false;
        *n = d->shape[i];
    }
    return *n != 0;
}

weft_status weft_vector_output(const weft_model_view *m, const char *name, size_t *index, int64_t *n, weft_error *err)
{
    char list[512];
    size_t n_fit = 0;
    if (name && weft_output_index(m, name) < 0)
        return weft_fail(err, WEFT_E_CONFIG, "the model has no output %s; it has %s", name,
                         weft_outputs_print(m, list, sizeof list));
    for (size_t i = 0; i < m->n_outputs; i++) {
        int64_t length;
        if ((name && weft_output_index(m, name) != (int)i) || !is_vector(&m->outputs[i], &length))
            continue;
        *index = i;
        *n = length;
        n_fit++;
    }
    if (n_fit == 1)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_CONFIG, "%s shaped [batch, n] was expected; the model's outputs are %s%s",
                     name ? "a floating output" : "one floating output", weft_outputs_print(m, list, sizeof list),
                     n_fit > 1 ? "; name one with postprocess.output" : "");
}
