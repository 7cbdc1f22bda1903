#include "weft/tensor.h"

#include <stdio.h>
#include <string.h>

size_t weft_dtype_bytes(weft_dtype t)
{
    switch ((int)t) {
#define CASE(name, value, bytes, oip, np)                                                                                        \
    case value:                                                                                                                  \
        return bytes;
        WEFT_DTYPE_TABLE(CASE)
#undef CASE
    }
    return 0;
}

const char *weft_dtype_name(weft_dtype t)
{
    switch ((int)t) {
#define CASE(name, value, bytes, oip, np)                                                                                        \
    case value:                                                                                                                  \
        return oip;
        WEFT_DTYPE_TABLE(CASE)
#undef CASE
    }
    return "?";
}

const char *weft_dtype_np_name(weft_dtype t)
{
    switch ((int)t) {
#define CASE(name, value, bytes, oip, np)                                                                                        \
    case value:                                                                                                                  \
        return np;
        WEFT_DTYPE_TABLE(CASE)
#undef CASE
    }
    return "?";
}

weft_dtype weft_dtype_from_name(const char *name)
{
    if (!name)
        return WEFT_DT_NONE;
#define COMPARE(id, value, bytes, oip, np)                                                                                       \
    if (!strcmp(name, oip) || !strcmp(name, np))                                                                                 \
        return WEFT_DT_##id;
    WEFT_DTYPE_TABLE(COMPARE)
#undef COMPARE
    return WEFT_DT_NONE;
}

bool weft_shape_elements(const int64_t *shape, int rank, int64_t *n)
{
    int64_t product = 1;
    bool empty = false;

    if (rank < 0 || rank > WEFT_MAX_RANK)
        return false;
    /* [huge, huge, 0] has no elements; overflow counts only between dims that are not 0. */
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        empty = empty || shape[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(product, shape[i], &product))
            return false;
    *n = empty ? 0 : product;
    return true;
}

bool weft_tensor_dense_bytes(weft_dtype t, const int64_t *shape, int rank, size_t *n_bytes)
{
    size_t one = weft_dtype_bytes(t);
    int64_t n;

    return one && weft_shape_elements(shape, rank, &n) && !__builtin_mul_overflow((size_t)n, one, n_bytes);
}

char *weft_shape_print(const int64_t *shape, int rank, char *buf, size_t n_buf)
{
    size_t at = 0;

    if (!n_buf)
        return buf;
    buf[0] = 0;
    for (int i = 0; i <= rank && at < n_buf; i++) {
        const char *before = i ? "," : "[";
        int n;

        if (i == rank)
            n = snprintf(buf + at, n_buf - at, "%s", i ? "]" : "[]");
        else
            n = snprintf(buf + at, n_buf - at, "%s%lld", before, (long long)shape[i]);
        at += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

/* Walks the 4-byte lengths of a STRING tensor; they must end exactly at n_bytes after n elements. */
static weft_status check_strings(const weft_tensor *t, const char *name, int64_t n, weft_error *err)
{
    const uint8_t *p = t->data;
    size_t left = t->n_bytes;
    int64_t i;

    for (i = 0; i < n; i++) {
        uint32_t length;

        if (left < 4)
            return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" holds %lld of the %lld strings its shape asks for", name,
                             (long long)i, (long long)n);
        length = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        if (length > left - 4)
            return weft_fail(err, WEFT_E_INVALID, "string %lld of tensor \"%.64s\" is said to have %u bytes, but %zu are left",
                             (long long)i, name, (unsigned)length, left - 4);
        p += 4 + (size_t)length;
        left -= 4 + (size_t)length;
    }
    if (left)
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" has %zu bytes after the last of its %lld strings", name, left,
                         (long long)n);
    return WEFT_OK;
}

weft_status weft_tensor_check(const weft_tensor *t, weft_error *err)
{
    const char *name = t->name ? t->name : "(unnamed)";
    char shape[160];
    int64_t n;
    size_t want;

    if (t->dtype < WEFT_DT_BOOL || t->dtype > WEFT_DT_STRING)
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" has the unknown element type %d", name, (int)t->dtype);
    if (t->rank < 0 || t->rank > WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" has %d dimensions; 0 to %d are possible", name, t->rank,
                         WEFT_MAX_RANK);
    weft_shape_print(t->shape, t->rank, shape, sizeof shape);
    if (!weft_shape_elements(t->shape, t->rank, &n))
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" has the impossible shape %s", name, shape);
    if (!t->data && t->n_bytes)
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" has no data for its %zu bytes", name, t->n_bytes);
    if (t->dtype == WEFT_DT_STRING)
        return check_strings(t, name, n, err);
    if (!weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &want))
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" of shape %s is larger than memory", name, shape);
    if (t->n_bytes != want)
        return weft_fail(err, WEFT_E_INVALID, "tensor \"%.64s\" of %s%s needs %zu bytes, but %zu came", name,
                         weft_dtype_name(t->dtype), shape, want, t->n_bytes);
    return WEFT_OK;
}
