/* The classification extension: scores -> "value:index[:label]". */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fp.h"
#include "server/v2_call.h"

#define MAX_CLASSES 1024 /* they are sorted by insertion */
#define MAX_BYTES (256u << 20)
#define CLASS_TEXT_BYTES 352 /* "%f" of the largest double has 316 characters, an index 20 */

#define LOAD(type)                                                                                                               \
    type v;                                                                                                                      \
    memcpy(&v, p, sizeof(v));                                                                                                    \
    return (double)v

/* For comparing; a 64-bit integer may lose its last digits here, its text does not. */
static double value_at(const weft_tensor *t, int64_t i)
{
    const uint8_t *p = (const uint8_t *)t->data + (size_t)i * weft_dtype_bytes(t->dtype);
    switch (t->dtype) {
    case WEFT_DT_BOOL:
    case WEFT_DT_U8:
        return *p;
    case WEFT_DT_I8:
        return (int8_t)*p;
    case WEFT_DT_U16: {
        LOAD(uint16_t);
    }
    case WEFT_DT_I16: {
        LOAD(int16_t);
    }
    case WEFT_DT_U32: {
        LOAD(uint32_t);
    }
    case WEFT_DT_I32: {
        LOAD(int32_t);
    }
    case WEFT_DT_U64: {
        LOAD(uint64_t);
    }
    case WEFT_DT_I64: {
        LOAD(int64_t);
    }
    case WEFT_DT_F32: {
        LOAD(float);
    }
    case WEFT_DT_F64: {
        LOAD(double);
    }
    case WEFT_DT_F16:
    case WEFT_DT_BF16: {
        uint16_t h;
        memcpy(&h, p, sizeof(h));
        return (double)(t->dtype == WEFT_DT_F16 ? weft_f16_to_f32(h) : weft_bf16_to_f32(h));
    }
    default:
        return 0;
    }
}

static bool is_real(weft_dtype t)
{
    return t == WEFT_DT_F16 || t == WEFT_DT_BF16 || t == WEFT_DT_F32 || t == WEFT_DT_F64;
}

/* Six decimals for reals, as clients of Triton expect; whole numbers as they are. */
static size_t print_class(const weft_tensor *t, int64_t at, int64_t index, char *text)
{
    int n;
    if (is_real(t->dtype)) {
        n = snprintf(text, CLASS_TEXT_BYTES, "%f", value_at(t, at));
        for (char *p = text; *p; p++) /* the locale's decimal sign */
            if (*p == ',')
                *p = '.';
    } else if (t->dtype == WEFT_DT_U64) {
        uint64_t v;
        memcpy(&v, (const uint8_t *)t->data + (size_t)at * 8, 8);
        n = snprintf(text, CLASS_TEXT_BYTES, "%llu", (unsigned long long)v);
    } else if (t->dtype == WEFT_DT_I64) {
        int64_t v;
        memcpy(&v, (const uint8_t *)t->data + (size_t)at * 8, 8);
        n = snprintf(text, CLASS_TEXT_BYTES, "%lld", (long long)v);
    } else {
        n = snprintf(text, CLASS_TEXT_BYTES, "%lld", (long long)value_at(t, at));
    }
    return (size_t)n + (size_t)snprintf(text + n, CLASS_TEXT_BYTES - (size_t)n, ":%lld", (long long)index);
}

/* Is a before b? Larger first, NaN last, ties by index. */
static bool before(const weft_tensor *t, int64_t a, int64_t b)
{
    double x = value_at(t, a), y = value_at(t, b);
    if (isnan(x) || isnan(y))
        return isnan(x) == isnan(y) ? a < b : isnan(y);
    return x > y || (x == y && a < b);
}

/* best[0..n) of elements first..first+count, by insertion: n is small beside count or count is small. */
static void pick(const weft_tensor *t, int64_t first, int64_t count, int64_t n, int64_t *best)
{
    int64_t have = 0;
    for (int64_t i = first; i < first + count; i++) {
        if (have == n && !before(t, i, best[n - 1]))
            continue;
        int64_t k = have < n ? have++ : n - 1;
        for (; k > 0 && before(t, i, best[k - 1]); k--)
            best[k] = best[k - 1];
        best[k] = i;
    }
}

/* Label of element i of a STRING tensor; walks from its start. */
static const uint8_t *label_at(const weft_tensor *labels, int64_t i, size_t *n)
{
    const uint8_t *p = labels->data, *end = p + labels->n_bytes;
    for (; p < end; i--) {
        *n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        if (i == 0)
            return p + 4;
        p += 4 + *n;
    }
    *n = 0;
    return NULL;
}

static uint8_t *put_class(uint8_t *to, const weft_tensor *t, int64_t at, int64_t index, const weft_tensor *labels)
{
    char text[CLASS_TEXT_BYTES];
    size_t n_text = print_class(t, at, index, text), n_label = 0;
    const uint8_t *label = labels ? label_at(labels, at, &n_label) : NULL;
    size_t n = n_text + (label ? n_label + 1 : 0);
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> 8 * i);
    to += 4;
    memcpy(to, text, n_text);
    to += n_text;
    if (label) {
        *to++ = ':';
        memcpy(to, label, n_label);
        to += n_label;
    }
    return to;
}

weft_status weft_v2_classes(weft_arena *arena, const weft_tensor *t, bool rows_first, int64_t n_classes,
                            const weft_tensor *labels, weft_tensor *out, weft_error *err)
{
    int64_t n_rows = rows_first && t->rank > 0 ? t->shape[0] : 1, count = 0;
    if (!weft_dtype_bytes(t->dtype))
        return weft_fail(err, WEFT_E_INVALID, "the output \"%.64s\" is %s; classes need numbers", t->name,
                         weft_dtype_name(t->dtype));
    weft_shape_elements(t->shape, t->rank, &count);
    count = n_rows ? count / n_rows : 0;
    int64_t n = n_classes < count ? n_classes : count;
    if (n > MAX_CLASSES)
        return weft_fail(err, WEFT_E_TOO_LARGE, "at most %d classes of \"%.64s\" can be asked for", MAX_CLASSES, t->name);
    size_t n_labels = labels ? labels->n_bytes : 0;
    int64_t *best = weft_arena_array(arena, (size_t)n + 1, sizeof(*best));
    size_t most;
    uint8_t *to = NULL;
    if (__builtin_mul_overflow((size_t)n_rows * (size_t)n, (size_t)(is_real(t->dtype) ? CLASS_TEXT_BYTES : 48), &most) ||
        most > MAX_BYTES)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the classes of \"%.64s\" take too much memory; ask for fewer", t->name);
    if (best)
        to = weft_arena_alloc(arena, most + n_labels + 64);
    if (!best || !to)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the classes of \"%.64s\"", t->name);
    *out = (weft_tensor){.name = t->name, .dtype = WEFT_DT_STRING, .data = to};
    for (int64_t row = 0; row < n_rows; row++) {
        pick(t, row * count, count, n, best);
        for (int64_t k = 0; k < n; k++)
            to = put_class(to, t, best[k], best[k] - row * count, labels);
    }
    if (rows_first)
        out->shape[out->rank++] = n_rows;
    out->shape[out->rank++] = n;
    out->n_bytes = (size_t)(to - (uint8_t *)out->data);
    return WEFT_OK;
}
