#include "base/list.h"
#include "base/lock.h"
#include "base/result_block.h"

#include <stdatomic.h>
#include <string.h>

static weft_result_block *block_of(const weft_result *r)
{
    return weft_container_of((weft_result *)(uintptr_t)r, weft_result_block, result);
}

weft_result *weft_result_ref(weft_result *r)
{
    uint32_t before = atomic_fetch_add_explicit(&block_of(r)->refs, 1, memory_order_relaxed);

    weft_assert(before > 0 && before < UINT32_MAX);
    return r;
}

void weft_result_unref(weft_result *r)
{
    weft_result_block *b;
    uint32_t before;

    if (!r)
        return;
    b = block_of(r);
    before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    weft_assert(before > 0);
    if (before == 1 && b->release)
        b->release(b->owner);
}

const weft_column *weft_result_column(const weft_result *r, const char *name)
{
    if (!r || !name)
        return NULL;
    for (size_t i = 0; i < r->n_columns; i++)
        if (!strcmp(r->columns[i].tensor.name, name))
            return &r->columns[i];
    return NULL;
}

const char *weft_result_text(const weft_result *r, const char *name, size_t i, size_t *n_bytes)
{
    const weft_column *c = weft_result_column(r, name);
    const size_t *ends;
    size_t start;
    int64_t n;

    if (n_bytes)
        *n_bytes = 0;
    if (!c || c->tensor.dtype != WEFT_DT_STRING || !weft_shape_elements(c->tensor.shape, c->tensor.rank, &n) || i >= (size_t)n)
        return NULL;
    ends = block_of(r)->ends[c - r->columns];
    start = (i ? ends[i - 1] : 0) + 4;
    if (n_bytes)
        *n_bytes = ends[i] - start;
    return (const char *)c->tensor.data + start;
}

float weft_result_f32(const weft_result *r, const char *name, size_t i, size_t k)
{
    const weft_column *c = weft_result_column(r, name);
    const weft_tensor *t;
    int64_t first, inner;

    if (!c || c->tensor.dtype != WEFT_DT_F32)
        return 0;
    t = &c->tensor;
    first = t->rank ? t->shape[0] : 1;
    if (!weft_shape_elements(t->shape + 1, t->rank ? t->rank - 1 : 0, &inner) || i >= (size_t)first || k >= (size_t)inner)
        return 0;
    return ((const float *)t->data)[i * (size_t)inner + k];
}
