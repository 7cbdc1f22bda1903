#include "base/tensor_match.h"

#include <stdio.h>

/* "FP32[-1,3,224,224]"; an unknown rank gives "FP32 of any shape". */
static void print_kind(weft_dtype dtype, const int64_t *shape, int rank, char *buf, size_t n_buf)
{
    char dims[160];

    if (rank < 0 || rank > WEFT_MAX_RANK)
        snprintf(buf, n_buf, "%s of any shape", weft_dtype_name(dtype));
    else
        snprintf(buf, n_buf, "%s%s", weft_dtype_name(dtype), weft_shape_print(shape, rank, dims, sizeof dims));
}

static bool dims_match(const weft_tensor_desc *d, const weft_tensor *t)
{
    if (d->rank < 0)
        return true;
    if (d->rank != t->rank)
        return false;
    for (int i = 0; i < d->rank; i++)
        if (d->shape[i] >= 0 && d->shape[i] != t->shape[i])
            return false;
    return true;
}

weft_status weft_tensor_match(const weft_tensor_desc *d, const weft_tensor *t, weft_error *err)
{
    char expected[192], came[192];
    weft_tensor named = *t;

    if (t->rank < 0 || t->rank > WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" has %d dimensions; 0 to %d are possible", d->name, t->rank,
                         WEFT_MAX_RANK);
    if (d->dtype != t->dtype || !dims_match(d, t)) {
        print_kind(d->dtype, d->shape, d->rank, expected, sizeof expected);
        print_kind(t->dtype, t->shape, t->rank, came, sizeof came);
        return weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" must be %s%s, but %s came", d->name, expected,
                         d->rank > 0 ? " (-1 = any size)" : "", came);
    }
    named.name = d->name;
    return weft_tensor_check(&named, err);
}

bool weft_tensor_absent(const weft_tensor *t)
{
    int64_t n;

    if (t->data || t->n_bytes)
        return false;
    if (t->rank < 0 || t->rank > WEFT_MAX_RANK || t->dtype == WEFT_DT_NONE)
        return true;
    return !weft_shape_elements(t->shape, t->rank, &n) || n > 0;
}

weft_status weft_tensors_match(const weft_tensor_desc *descs, size_t n_descs, const weft_tensor *inputs, size_t n_inputs,
                               weft_error *err)
{
    weft_status s;

    if (n_inputs != n_descs)
        return weft_fail(err, WEFT_E_INVALID, "the model has %zu inputs, but %zu came", n_descs, n_inputs);
    for (size_t i = 0; i < n_descs; i++) {
        if (weft_tensor_absent(&inputs[i])) {
            if (descs[i].optional)
                continue;
            return weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" is required, but it is missing", descs[i].name);
        }
        s = weft_tensor_match(&descs[i], &inputs[i], err);
        if (s)
            return s;
    }
    return WEFT_OK;
}
