/* Rows: what a plan says about a request's inputs, checked against the model; buckets; the memory of preprocessed rows; parts. */
#include <string.h>

#include "engine_internal.h"

static size_t round64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Does input i have one row per row of the request? */
static bool per_row(const weft_model *m, size_t i)
{
    return m->view.batched && !m->view.shared_input[i];
}

static weft_status check_shape(const weft_model *m, size_t i, const weft_tensor *row, weft_error *err)
{
    const weft_tensor_desc *d = &m->desc.inputs[i];
    int skip = per_row(m, i) ? 1 : 0;
    bool fits = d->rank < 0 || row->rank == d->rank - skip;
    for (int k = 0; fits && d->rank >= 0 && k < row->rank; k++)
        fits = d->shape[k + skip] < 0 || d->shape[k + skip] == row->shape[k];
    if (fits)
        return WEFT_OK;
    char want[160], came[160];
    return weft_fail(err, WEFT_E_INVALID, "input \"%s\" of the model \"%s\" has the shape %s%s; a row of shape %s does not fit",
                     d->name, m->config.name, weft_shape_print(d->shape, d->rank, want, sizeof(want)),
                     skip ? " with the batch first" : "", weft_shape_print(row->shape, row->rank, came, sizeof(came)));
}

static weft_status check_row(const weft_model *m, size_t i, weft_plan *p, weft_error *err)
{
    const weft_tensor_desc *d = &m->desc.inputs[i];
    weft_tensor *row = &p->rows[i];
    size_t one = 0;
    if (i >= p->n_inputs)
        *row = (weft_tensor){0};
    row->name = d->name;
    if (row->dtype == WEFT_DT_NONE) {
        if (d->optional)
            return WEFT_OK;
        return weft_fail(err, WEFT_E_INVALID, "input \"%s\" of the model \"%s\" is missing", d->name, m->config.name);
    }
    if (row->dtype != d->dtype)
        return weft_fail(err, WEFT_E_INVALID, "input \"%s\" of the model \"%s\" must be %s, not %s", d->name, m->config.name,
                         weft_dtype_name(d->dtype), weft_dtype_name(row->dtype));
    weft_status s = check_shape(m, i, row, err);
    if (s)
        return s;
    if (row->dtype == WEFT_DT_STRING) {
        if (!row->data && row->n_bytes)
            return weft_fail(err, WEFT_E_INVALID, "input \"%s\" has no data", d->name);
        return WEFT_OK;
    }
    int64_t n = per_row(m, i) ? p->n_rows : 1;
    size_t all;
    if (!weft_tensor_dense_bytes(row->dtype, row->shape, row->rank, &one) || __builtin_mul_overflow(one, (size_t)n, &all))
        return weft_fail(err, WEFT_E_TOO_LARGE, "input \"%s\" is larger than any memory", d->name);
    if (row->data && row->n_bytes < all)
        return weft_fail(err, WEFT_E_INVALID, "input \"%s\" needs %zu bytes for %lld rows; %zu came", d->name, all, (long long)n,
                         row->n_bytes);
    row->n_bytes = all;
    if (!row->data && all && !m->executor->preprocess)
        return weft_fail(err, WEFT_E_INTERNAL, "the executor \"%s\" gives no data for input \"%s\"", m->executor->name, d->name);
    return WEFT_OK;
}

weft_status weft_rows_check(const weft_model *m, weft_plan *p, weft_error *err)
{
    if (p->n_rows < 1 || p->n_rows > WEFT_MAX_REQUEST_ROWS)
        return weft_fail(err, WEFT_E_INVALID, "the request has %lld rows; expected 1 to %d", (long long)p->n_rows,
                         WEFT_MAX_REQUEST_ROWS);
    if (!m->view.batched && p->n_rows != 1)
        return weft_fail(err, WEFT_E_INTERNAL, "the executor \"%s\" planned %lld rows for a model that is not batched",
                         m->executor->name, (long long)p->n_rows);
    for (size_t i = 0; i < m->desc.n_inputs; i++) {
        weft_status s = check_row(m, i, p, err);
        if (s)
            return s;
    }
    return WEFT_OK;
}

uint64_t weft_rows_shape_key(const weft_tensor *rows, size_t n)
{
    uint64_t h = WEFT_HASH_SEED;
    for (size_t i = 0; i < n; i++) {
        int64_t head[2] = {(int64_t)rows[i].dtype, rows[i].rank};
        h = weft_hash(h, head, sizeof(head));
        h = weft_hash(h, rows[i].shape, (size_t)rows[i].rank * sizeof(rows[i].shape[0]));
    }
    return h;
}

void weft_rows_key(const weft_model *m, weft_request *r)
{
    r->row_bytes = 0;
    r->key = r->shape_key = weft_rows_shape_key(r->rows, r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++) {
        const weft_tensor *t = &r->rows[i];
        if (m->view.batched && m->view.shared_input[i] && t->n_bytes)
            r->key = weft_hash(r->key, t->data, t->n_bytes);
        r->row_bytes += (double)(per_row(m, i) ? t->n_bytes / (size_t)r->n_rows : t->n_bytes);
    }
}

bool weft_rows_same_bucket(const weft_model *m, const weft_request *a, const weft_request *b)
{
    if (a == b)
        return true;
    if (a->key != b->key || a->n_inputs != b->n_inputs)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++) {
        const weft_tensor *x = &a->rows[i], *y = &b->rows[i];
        if (x->dtype != y->dtype || x->rank != y->rank || memcmp(x->shape, y->shape, (size_t)x->rank * sizeof(x->shape[0])))
            return false;
        if (m->view.shared_input[i] && (x->n_bytes || y->n_bytes) &&
            (x->n_bytes != y->n_bytes || memcmp(x->data, y->data, x->n_bytes)))
            return false;
    }
    return true;
}

size_t weft_rows_missing_bytes(const weft_model *m, const weft_request *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_inputs; i++)
        if (!r->rows[i].data && r->rows[i].dtype != WEFT_DT_NONE)
            n += round64(r->rows[i].n_bytes);
    return n;
}

weft_status weft_rows_take(weft_request *r, weft_error *err)
{
    size_t n = weft_rows_missing_bytes(r->model, r);
    char *at = weft_chunk_take(r->home->pool, n);
    if (!at)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for %zu bytes of input rows; try again later", n);
    r->row_chunk = at;
    for (size_t i = 0; i < r->n_inputs; i++) {
        weft_tensor *t = &r->rows[i];
        if (t->data || t->dtype == WEFT_DT_NONE)
            continue;
        t->data = at;
        at += round64(t->n_bytes);
    }
    return WEFT_OK;
}

weft_status weft_parts_make(weft_request *r, weft_error *err)
{
    int64_t most = r->model->max_rows;
    r->n_parts = 1;
    r->n_left = 1;
    r->parts = &r->first;
    r->parts_released = true;
    r->first = (weft_part){.request = r, .n_rows = r->n_rows, .cap_rows = most};
    if (r->n_rows <= most || !r->model->view.batched)
        return WEFT_OK;
    size_t n = (size_t)((r->n_rows + most - 1) / most);
    weft_part *parts = weft_arena_array(r->arena, n, sizeof(*parts));
    if (!parts)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a request of %lld rows", (long long)r->n_rows);
    for (size_t i = 0; i < n; i++) {
        int64_t first = (int64_t)i * most, left = r->n_rows - first;
        parts[i] = (weft_part){.request = r, .first_row = first, .n_rows = left < most ? left : most, .cap_rows = most};
    }
    r->parts = parts;
    r->n_parts = r->n_left = n;
    r->parts_released = false;
    return WEFT_OK;
}
