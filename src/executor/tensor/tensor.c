/* The raw tensor executor: any model, its inputs and outputs as they are. Nothing is copied or decoded: the rows of a run are
 * gathered straight from the caller's tensors. */
#include <stdio.h>
#include <string.h>

#include "weft/executor.h"

static weft_status tensor_open(const weft_open *o, void **state, weft_error *err)
{
    if (!o->model)
        return weft_fail(err, WEFT_E_CONFIG, "the executor \"tensor\" needs a model file");
    *state = (void *)(uintptr_t)o->model; /* only read */
    return WEFT_OK;
}

static void list_names(const weft_tensor_desc *descs, size_t n, char *buf, size_t n_buf)
{
    size_t at = 0;
    snprintf(buf, n_buf, "none");
    for (size_t i = 0; i < n && at + 1 < n_buf; i++) {
        int k = snprintf(buf + at, n_buf - at, "%s\"%.64s\"", i ? ", " : "", descs[i].name);
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Which input of the model this is; an unnamed one is the next that was not named. */
static weft_status find_input(const weft_model_view *m, const weft_input *in, const bool *given, size_t *index, weft_error *err)
{
    const char *name = in->name ? in->name : in->is_bytes ? NULL : in->tensor.name;
    char names[400];
    for (*index = 0; *index < m->n_inputs; ++*index) {
        if (name && *name ? !strcmp(m->inputs[*index].name, name) : !given[*index])
            break;
    }
    if (*index < m->n_inputs && !given[*index])
        return WEFT_OK;
    if (*index < m->n_inputs)
        return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" was given twice", name);
    list_names(m->inputs, m->n_inputs, names, sizeof(names));
    if (!name)
        return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has %zu inputs (%s); more came", m->name, m->n_inputs, names);
    return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has no input \"%.64s\"; its inputs: %s", m->name, name, names);
}

/* Raw bytes as a tensor: the type is the model's, and one free dim follows from the length. */
static weft_status tensor_of_bytes(const weft_tensor_desc *d, const weft_input *in, weft_tensor *t, weft_error *err)
{
    size_t size = weft_dtype_bytes(d->dtype), fixed = size;
    int free_dim = -1;
    *t = (weft_tensor){
        .name = d->name, .dtype = d->dtype, .rank = d->rank, .data = (void *)(uintptr_t)in->bytes, .n_bytes = in->n_bytes};
    for (int i = 0; i < d->rank; i++) {
        t->shape[i] = d->shape[i];
        if (d->shape[i] >= 0) {
            if (__builtin_mul_overflow(fixed, (size_t)d->shape[i], &fixed))
                fixed = 0;
        } else if (free_dim >= 0) {
            free_dim = WEFT_MAX_RANK;
        } else {
            free_dim = i;
        }
    }
    if (!size || d->rank < 0 || free_dim == WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_INVALID,
                         "the input \"%s\" has a shape that does not follow from its bytes; send it as a tensor", d->name);
    if (free_dim >= 0 && fixed && in->n_bytes % fixed == 0)
        t->shape[free_dim] = (int64_t)(in->n_bytes / fixed);
    else if (free_dim >= 0 || in->n_bytes != fixed)
        return weft_fail(err, WEFT_E_INVALID, "the input \"%s\" needs %s%zu bytes; %zu came", d->name,
                         free_dim >= 0 ? "a multiple of " : "", fixed, in->n_bytes);
    return WEFT_OK;
}

/* A tensor with the batch axis in front, as rows. */
static weft_status split_rows(const weft_model_view *m, size_t i, weft_tensor *t, int64_t *n_rows, weft_error *err)
{
    char want[160], came[160];
    if (t->rank != m->inputs[i].rank || t->shape[0] < 1)
        return weft_fail(err, WEFT_E_INVALID, "input \"%s\" of the model \"%s\" has the shape %s with at least one row; %s came",
                         m->inputs[i].name, m->name, weft_shape_print(m->inputs[i].shape, m->inputs[i].rank, want, sizeof(want)),
                         weft_shape_print(t->shape, t->rank, came, sizeof(came)));
    if (*n_rows && *n_rows != t->shape[0])
        return weft_fail(err, WEFT_E_INVALID, "input \"%s\" has %lld rows, but another has %lld", m->inputs[i].name,
                         (long long)t->shape[0], (long long)*n_rows);
    *n_rows = t->shape[0];
    t->rank--;
    memmove(t->shape, t->shape + 1, (size_t)t->rank * sizeof(t->shape[0]));
    return WEFT_OK;
}

static weft_status tensor_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const weft_model_view *m = state;
    bool given[WEFT_MAX_MODEL_INPUTS] = {false};
    int64_t n_rows = 0;
    for (size_t k = 0; k < call->n_inputs; k++) {
        const weft_input *in = &call->inputs[k];
        size_t i;
        weft_status s = find_input(m, in, given, &i, err);
        if (s)
            return s;
        given[i] = true;
        weft_tensor *t = &plan->rows[i];
        *t = in->tensor;
        if (in->is_bytes)
            s = tensor_of_bytes(&m->inputs[i], in, t, err);
        if (!s && m->batched && !m->shared_input[i])
            s = split_rows(m, i, t, &n_rows, err);
        if (s)
            return s;
        t->name = m->inputs[i].name;
    }
    plan->n_inputs = m->n_inputs;
    plan->n_rows = n_rows ? n_rows : 1;
    return WEFT_OK;
}

const weft_executor weft_executor_tensor = {
    .name = "tensor",
    .aliases = (const char *const[]){"TensorExecutor", NULL},
    .summary = "any model: its own inputs in, its own outputs out",
    .details = "Inputs are sent as tensors under the model's own names and types, with the batch axis in front; every asked-for "
               "output comes back as a "
               "column. A model that batches shares its runs between requests of equal row shapes.",
    .open = tensor_open,
    .plan = tensor_plan,
};
