#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/fake/fake_model.h"
#include "base/fp.h"
#include "base/tensor_match.h"

static bool has_batch_axis(const weft_tensor_desc *d)
{
    return d->rank > 0 && d->shape[0] < 0;
}

int64_t weft_fake_rows(const weft_fake_model *m, const weft_run *run)
{
    return m->batched_input < m->n_inputs ? run->inputs[m->batched_input].shape[0] : 1;
}

static double string_sum(const uint8_t **p)
{
    uint32_t n = (uint32_t)(*p)[0] | (uint32_t)(*p)[1] << 8 | (uint32_t)(*p)[2] << 16 | (uint32_t)(*p)[3] << 24;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (*p)[4 + i];
    *p += 4 + (size_t)n;
    return sum;
}

static double load(weft_dtype t, const uint8_t *p)
{
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } v;

    memcpy(&v, p, weft_dtype_bytes(t));
    switch (t) {
    case WEFT_DT_BOOL:
        return v.u8 != 0;
    case WEFT_DT_U8:
        return v.u8;
    case WEFT_DT_U16:
        return v.u16;
    case WEFT_DT_U32:
        return v.u32;
    case WEFT_DT_U64:
        return (double)v.u64;
    case WEFT_DT_I8:
        return v.i8;
    case WEFT_DT_I16:
        return v.i16;
    case WEFT_DT_I32:
        return v.i32;
    case WEFT_DT_I64:
        return (double)v.i64;
    case WEFT_DT_F16:
        return weft_f16_to_f32(v.u16);
    case WEFT_DT_BF16:
        return weft_bf16_to_f32(v.u16);
    case WEFT_DT_F32:
        return v.f32;
    case WEFT_DT_F64:
        return v.f64;
    default:
        return 0;
    }
}

/* Integers wrap; what does not fit 64 bits is 0. */
static uint64_t to_integer(double v)
{
    return fabs(v) < 9223372036854775808.0 ? (uint64_t)(int64_t)v : 0;
}

static void store(weft_dtype t, uint8_t *p, double v)
{
    uint64_t integer = to_integer(v);
    float f32 = (float)v;
    uint16_t half;

    switch (t) {
    case WEFT_DT_BOOL:
        p[0] = integer & 1;
        return;
    case WEFT_DT_F16:
        half = weft_f32_to_f16(f32);
        memcpy(p, &half, 2);
        return;
    case WEFT_DT_BF16:
        half = weft_f32_to_bf16(f32);
        memcpy(p, &half, 2);
        return;
    case WEFT_DT_F32:
        memcpy(p, &f32, 4);
        return;
    case WEFT_DT_F64:
        memcpy(p, &v, 8);
        return;
    default: /* little endian: the low bytes come first */
        memcpy(p, &integer, weft_dtype_bytes(t));
    }
}

/* Adds weight * (sum of n elements) and moves *p behind them. */
static double sum_of(weft_dtype t, const uint8_t **p, int64_t n)
{
    size_t step = weft_dtype_bytes(t);
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        if (t == WEFT_DT_STRING) {
            sum += string_sum(p);
        } else {
            sum += load(t, *p);
            *p += step;
        }
    }
    return sum;
}

double weft_fake_sums(const weft_fake_model *m, const weft_run *run, double *sums, int64_t n_rows)
{
    double total = 0;

    memset(sums, 0, (size_t)n_rows * sizeof *sums);
    for (size_t i = 0; i < m->n_inputs; i++) {
        const weft_tensor *t = &run->inputs[i];
        const uint8_t *p = t->data;
        bool batched = has_batch_axis(&m->inputs[i]) && t->shape[0] == n_rows;
        int64_t n = 0;

        if (weft_tensor_absent(t) || !weft_shape_elements(t->shape, t->rank, &n) || n == 0)
            continue;
        if (batched) {
            for (int64_t r = 0; r < n_rows; r++)
                sums[r] += (double)(i + 1) * sum_of(t->dtype, &p, n / n_rows);
        } else {
            double s = (double)(i + 1) * sum_of(t->dtype, &p, n);

            for (int64_t r = 0; r < n_rows; r++)
                sums[r] += s;
        }
    }
    for (int64_t r = 0; r < n_rows; r++)
        total += sums[r];
    return total;
}

bool weft_fake_row_has_value(const weft_fake_model *m, const weft_run *run, const weft_list *values)
{
    const weft_tensor *t = run->inputs;
    const double *v = values->items;
    int64_t n_rows = weft_fake_rows(m, run), n;

    if (!m->n_inputs || weft_tensor_absent(t) || t->dtype == WEFT_DT_STRING || !weft_shape_elements(t->shape, t->rank, &n) ||
        n == 0)
        return false;
    if (m->batched_input != 0)
        n_rows = 1;
    for (int64_t r = 0; r < n_rows; r++) {
        double first = load(t->dtype, (const uint8_t *)t->data + (size_t)(r * (n / n_rows)) * weft_dtype_bytes(t->dtype));

        for (size_t k = 0; k < values->n; k++)
            if (first == v[k])
                return true;
    }
    return false;
}

/* The axis whose size is only known after the run, or -1. */
static int open_axis(const weft_tensor_desc *d)
{
    int axis = -1;

    if (d->size_kind == WEFT_SIZE_FIXED || (d->size_kind == WEFT_SIZE_BOUNDED && !d->max_bytes))
        return -1;
    for (int k = 0; k < d->rank; k++)
        if (d->shape[k] < 0)
            axis = k;
    return axis;
}

static int64_t dim_of_inputs(const weft_fake_model *m, const weft_run *run, int axis)
{
    for (size_t i = 0; i < m->n_inputs; i++)
        if (!weft_tensor_absent(&run->inputs[i]) && run->inputs[i].rank > axis)
            return run->inputs[i].shape[axis];
    return 1;
}

static void output_shape(const weft_fake_model *m, const weft_run *run, size_t output, int64_t n_rows, double total,
                         weft_tensor *t)
{
    const weft_tensor_desc *d = &m->outputs[output];
    int open = open_axis(d);
    int64_t others = 1, most;

    t->rank = d->rank;
    for (int k = 0; k < d->rank; k++) {
        t->shape[k] = d->shape[k];
        if (d->shape[k] < 0 && k != open)
            t->shape[k] = k == 0 ? n_rows : dim_of_inputs(m, run, k);
    }
    if (open < 0)
        return;
    t->shape[open] = (int64_t)(to_integer(fabs(total)) % 8);
    if (d->size_kind != WEFT_SIZE_BOUNDED || d->dtype == WEFT_DT_STRING)
        return;
    for (int k = open == 0 ? 1 : (d->shape[0] < 0); k < d->rank; k++)
        if (k != open && __builtin_mul_overflow(others, t->shape[k], &others))
            others = INT64_MAX;
    most = others > 0 ? (int64_t)(d->max_bytes / weft_dtype_bytes(d->dtype)) / others : t->shape[open];
    if (t->shape[open] > most)
        t->shape[open] = most;
}

static double element(const weft_fake_model *m, size_t output, const double *sums, double total, int64_t n_rows, int64_t row,
                      int64_t j, int64_t n_run)
{
    int values = ((const weft_fake_tensor *)m->o.outputs.items)[output].values;
    bool batched = has_batch_axis(&m->outputs[output]);

    switch (values) {
    case WEFT_FAKE_ROWS:
        return (double)n_rows;
    case WEFT_FAKE_RUN:
        return (double)n_run;
    case WEFT_FAKE_MIX:
        return total + (double)j;
    default:
        if (!batched || n_rows == 0)
            return total + (double)j;
        return sums[row < n_rows ? row : n_rows - 1] + (double)j;
    }
}

static bool room(weft_run *run, size_t output, size_t n_bytes)
{
    weft_tensor *t = &run->outputs[output];

    if (!t->data || t->n_bytes < n_bytes) {
        void *p = n_bytes ? run->alloc(run->cookie, output, n_bytes) : t->data;

        if (n_bytes && !p)
            return false;
        t->data = p;
    }
    t->n_bytes = n_bytes;
    return true;
}

static int print_number(double v, char *buf, size_t n_buf)
{
    return snprintf(buf, n_buf, "%lld", (long long)(int64_t)to_integer(v));
}

weft_status weft_fake_output(const weft_fake_model *m, weft_run *run, size_t output, const double *sums, double total,
                             int64_t n_rows, const weft_fake_order *order, weft_error *err)
{
    const weft_fake_tensor *ot = (const weft_fake_tensor *)m->o.outputs.items + output;
    weft_tensor *t = &run->outputs[output];
    weft_dtype dtype = m->outputs[output].dtype;
    double wrong = order->kind == WEFT_FAKE_WRONG_VALUES;
    size_t n_bytes = 0, copied = 0, step = weft_dtype_bytes(dtype);
    const weft_tensor *from = NULL;
    int64_t n, per_row;
    char text[32];
    uint8_t *p;

    output_shape(m, run, output, n_rows, total, t);
    if (ot->values == WEFT_FAKE_COPY) {
        from = &run->inputs[output < m->n_inputs ? output : m->n_inputs - 1];
        copied = from->n_bytes;
        t->rank = from->rank;
        memcpy(t->shape, from->shape, sizeof t->shape);
    }
    if (order->kind == WEFT_FAKE_WRONG_SIZE) {
        if (t->rank)
            t->shape[0]++;
        else
            t->shape[t->rank++] = 2;
    }
    t->name = m->outputs[output].name;
    t->dtype = dtype;
    if (!weft_shape_elements(t->shape, t->rank, &n) || (step && !weft_tensor_dense_bytes(dtype, t->shape, t->rank, &n_bytes)))
        return weft_fail(err, WEFT_E_NO_MEMORY, "output \"%s\" would be larger than memory", t->name);
    per_row = t->rank && t->shape[0] ? n / t->shape[0] : n;
    if (!has_batch_axis(&m->outputs[output]))
        per_row = n;
    if (from && dtype == WEFT_DT_STRING)
        n_bytes = copied + (order->kind == WEFT_FAKE_WRONG_SIZE ? (size_t)per_row * 4 : 0);
    else if (dtype == WEFT_DT_STRING)
        for (int64_t i = 0; i < n; i++)
            n_bytes += 4 + (size_t)print_number(element(m, output, sums, total, n_rows, per_row ? i / per_row : 0,
                                                        per_row ? i % per_row : 0, order->run) +
                                                    wrong,
                                                text, sizeof text);
    if (!room(run, output, n_bytes))
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the %zu bytes of output \"%s\"", n_bytes, t->name);
    p = t->data;
    if (from) {
        if (copied)
            memcpy(p, from->data, copied < n_bytes ? copied : n_bytes);
        if (n_bytes > copied)
            memset(p + copied, 0, n_bytes - copied);
        if (wrong && n_bytes)
            p[n_bytes - 1] ^= 1;
        return WEFT_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        double v = element(m, output, sums, total, n_rows, i / per_row, i % per_row, order->run) + wrong;

        if (dtype == WEFT_DT_STRING) {
            uint32_t length = (uint32_t)print_number(v, text, sizeof text);

            memcpy(p, &length, 4);
            memcpy(p + 4, text, length);
            p += 4 + length;
        } else {
            store(dtype, p, v);
            p += step;
        }
    }
    return WEFT_OK;
}
