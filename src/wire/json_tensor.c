#include "wire/json_tensor.h"

#include <math.h>
#include <string.h>

#include "base/fp.h"
#include "base/text.h"
#include "wire/base64.h"
#include "wire/number_text.h"

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

typedef struct filler {
    weft_json_reader *r;
    weft_tensor *t;
    weft_error *err;
    uint8_t *to; /* the next element */
    int64_t n, done;
    bool base64;
} filler;

static weft_status broken(const filler *f)
{
    return weft_json_read_fail(f->r, "the request", f->err);
}

static weft_status wrong_count(const filler *f)
{
    char shape[160];
    return weft_fail(f->err, WEFT_E_INVALID, "the data of \"%.64s\" does not have the %lld elements of its shape %s", f->t->name,
                     (long long)f->n, weft_shape_print(f->t->shape, f->t->rank, shape, sizeof(shape)));
}

static weft_status wrong_element(const filler *f, const char *want)
{
    size_t n = f->r->n_token < 40 ? f->r->n_token : 40;
    return weft_fail(f->err, WEFT_E_INVALID, "element %lld of \"%.64s\" must be %s for %s, but is %.*s", (long long)f->done,
                     f->t->name, want, weft_dtype_name(f->t->dtype), (int)n, f->r->token ? f->r->token : "");
}

static weft_status wrong_kind(const filler *f, weft_json_event event)
{
    static const char *const names[] = {"nothing",  "an object", "the end", "a list", "the end", "a name",
                                        "a string", "a number",  "true",    "false",  "null"};
    const char *want = f->t->dtype == WEFT_DT_BOOL ? "true or false" : f->t->dtype == WEFT_DT_STRING ? "a string" : "a number";
    if (event == WEFT_JSON_ERROR)
        return broken(f);
    return weft_fail(f->err, WEFT_E_INVALID, "element %lld of \"%.64s\" must be %s for %s, but is %s", (long long)f->done,
                     f->t->name, want, weft_dtype_name(f->t->dtype), names[event]);
}

#define STORE(type, value)                                                                                                       \
    do {                                                                                                                         \
        type stored = (type)(value);                                                                                             \
        memcpy(f->to, &stored, sizeof(stored));                                                                                  \
        f->to += sizeof(stored);                                                                                                 \
    } while (0)

static weft_status put_signed(filler *f, int64_t min, int64_t max)
{
    int64_t v;
    if (!weft_json_read_i64(f->r, &v) || v < min || v > max)
        return wrong_element(f, "a whole number in range");
    if (max == INT8_MAX)
        STORE(int8_t, v);
    else if (max == INT16_MAX)
        STORE(int16_t, v);
    else if (max == INT32_MAX)
        STORE(int32_t, v);
    else
        STORE(int64_t, v);
    return WEFT_OK;
}

static weft_status put_unsigned(filler *f, uint64_t max)
{
    uint64_t v;
    if (!weft_json_read_u64(f->r, &v) || v > max)
        return wrong_element(f, "a whole number in range");
    if (max == UINT8_MAX)
        STORE(uint8_t, v);
    else if (max == UINT16_MAX)
        STORE(uint16_t, v);
    else if (max == UINT32_MAX)
        STORE(uint32_t, v);
    else
        STORE(uint64_t, v);
    return WEFT_OK;
}

static weft_status put_real(filler *f)
{
    double d;
    float v;
    static const char range[] = "a number in range";
    if (f->t->dtype == WEFT_DT_F64) {
        if (!weft_json_read_double(f->r, &d))
            return wrong_element(f, range);
        STORE(double, d);
        return WEFT_OK;
    }
    if (!weft_json_read_float(f->r, &v))
        return wrong_element(f, range);
    if (f->t->dtype == WEFT_DT_F32) {
        STORE(float, v);
        return WEFT_OK;
    }
    uint16_t half = f->t->dtype == WEFT_DT_F16 ? weft_f32_to_f16(v) : weft_f32_to_bf16(v);
    if (!isfinite(f->t->dtype == WEFT_DT_F16 ? weft_f16_to_f32(half) : weft_bf16_to_f32(half)))
        return wrong_element(f, range);
    STORE(uint16_t, half);
    return WEFT_OK;
}

static weft_status put_string(filler *f)
{
    size_t n = weft_json_read_text(f->r, (char *)f->to + 4);
    if (f->base64 && !weft_base64_decode((char *)f->to + 4, n, f->to + 4, &n))
        return weft_fail(f->err, WEFT_E_INVALID, "element %lld of \"%.64s\" is not base64", (long long)f->done, f->t->name);
    if (n > UINT32_MAX)
        return weft_fail(f->err, WEFT_E_TOO_LARGE, "element %lld of \"%.64s\" is too long", (long long)f->done, f->t->name);
    for (int i = 0; i < 4; i++)
        f->to[i] = (uint8_t)(n >> 8 * i);
    f->to += 4 + n;
    return WEFT_OK;
}

static weft_status put_number(filler *f)
{
    switch (f->t->dtype) {
    case WEFT_DT_I8:
        return put_signed(f, INT8_MIN, INT8_MAX);
    case WEFT_DT_I16:
        return put_signed(f, INT16_MIN, INT16_MAX);
    case WEFT_DT_I32:
        return put_signed(f, INT32_MIN, INT32_MAX);
    case WEFT_DT_I64:
        return put_signed(f, INT64_MIN, INT64_MAX);
    case WEFT_DT_U8:
        return put_unsigned(f, UINT8_MAX);
    case WEFT_DT_U16:
        return put_unsigned(f, UINT16_MAX);
    case WEFT_DT_U32:
        return put_unsigned(f, UINT32_MAX);
    case WEFT_DT_U64:
        return put_unsigned(f, UINT64_MAX);
    default:
        return put_real(f);
    }
}

static weft_status put_element(filler *f, weft_json_event event)
{
    weft_status st = WEFT_OK;
    weft_dtype t = f->t->dtype;
    if (f->done == f->n)
        return event == WEFT_JSON_ERROR ? broken(f) : wrong_count(f);
    if (t == WEFT_DT_BOOL && (event == WEFT_JSON_TRUE || event == WEFT_JSON_FALSE))
        *f->to++ = event == WEFT_JSON_TRUE;
    else if (t == WEFT_DT_STRING && event == WEFT_JSON_STRING)
        st = put_string(f);
    else if (t != WEFT_DT_BOOL && t != WEFT_DT_STRING && event == WEFT_JSON_NUMBER)
        st = put_number(f);
    else
        return wrong_kind(f, event);
    f->done++;
    return st;
}

static weft_status fill_flat(filler *f, weft_json_event event)
{
    for (; event != WEFT_JSON_ARRAY_END; event = weft_json_read(f->r)) {
        weft_status st = put_element(f, event);
        if (st)
            return st;
    }
    return f->done == f->n ? WEFT_OK : wrong_count(f);
}

/* The opening bracket of the first level and `event`, which is another one, have been read. */
static weft_status fill_nested(filler *f, weft_json_event event)
{
    int64_t count[WEFT_MAX_RANK] = {0};
    char shape[160];
    int level = 0;
    for (;; event = weft_json_read(f->r)) {
        weft_status st = WEFT_OK;
        bool fits = true;
        if (event == WEFT_JSON_ARRAY_END) {
            fits = count[level] == f->t->shape[level];
            if (fits && level-- == 0)
                return f->done == f->n ? WEFT_OK : wrong_count(f);
        } else if (event == WEFT_JSON_ARRAY) {
            fits = level + 1 < f->t->rank && count[level]++ < f->t->shape[level];
            if (fits)
                count[++level] = 0;
        } else {
            fits = event == WEFT_JSON_ERROR || (level == f->t->rank - 1 && count[level]++ < f->t->shape[level]);
            if (fits)
                st = put_element(f, event);
        }
        if (!fits)
            return weft_fail(f->err, WEFT_E_INVALID,
                             "the nesting of the data of \"%.64s\" does not fit its shape %s; a flat list does as well",
                             f->t->name, weft_shape_print(f->t->shape, f->t->rank, shape, sizeof(shape)));
        if (st)
            return st;
    }
}

/* Bytes that strings need: what stands in the text, and a length for each. Looks ahead on a copy of the reader. */
static bool string_bytes(const weft_json_reader *r, int64_t n, size_t *n_bytes)
{
    weft_json_reader ahead = *r;
    int depth = ahead.depth;
    *n_bytes = 4 * (size_t)n;
    do {
        weft_json_event event = weft_json_read(&ahead);
        if (event == WEFT_JSON_ERROR)
            return false;
        if (event == WEFT_JSON_STRING)
            *n_bytes += ahead.n_token;
    } while (ahead.depth > depth);
    return true;
}

static weft_status take_memory(filler *f, weft_arena *arena, size_t max_bytes)
{
    weft_tensor *t = f->t;
    size_t n_bytes, size = weft_dtype_bytes(t->dtype);
    size_t left = f->r->n_bytes - f->r->at;
    if (!weft_shape_elements(t->shape, t->rank, &f->n))
        return weft_fail(f->err, WEFT_E_INVALID, "the shape of \"%.64s\" is impossible", t->name);
    if (f->n > 0 && (uint64_t)f->n > left / 2 + 1) /* a digit and a comma each */
        return wrong_count(f);
    if (!size && !string_bytes(f->r, f->n, &n_bytes))
        n_bytes = left + 4 * (size_t)f->n; /* the text is broken: filling finds out where */
    else if (size)
        n_bytes = (size_t)f->n * size;
    if (n_bytes > max_bytes)
        return weft_fail(f->err, WEFT_E_TOO_LARGE, "the tensor \"%.64s\" has %zu bytes, more than the %zu that are accepted",
                         t->name, n_bytes, max_bytes);
    t->data = f->to = weft_arena_alloc(arena, n_bytes < 64 ? 64 : n_bytes);
    return t->data ? WEFT_OK : weft_fail(f->err, WEFT_E_NO_MEMORY, "out of memory for the tensor \"%.64s\"", t->name);
}

weft_status weft_json_read_tensor(weft_json_reader *r, weft_arena *arena, size_t max_bytes, bool base64, weft_tensor *t,
                                  weft_error *err)
{
    filler f = {.r = r, .t = t, .err = err, .base64 = base64 && t->dtype == WEFT_DT_STRING};
    weft_status st = take_memory(&f, arena, max_bytes);
    if (st)
        return st;
    weft_json_event event = weft_json_read(r);
    if (event == WEFT_JSON_ERROR)
        return broken(&f);
    if (event != WEFT_JSON_ARRAY)
        return weft_fail(err, WEFT_E_INVALID, "the data of \"%.64s\" must be a list", t->name);
    event = weft_json_read(r);
    st = event == WEFT_JSON_ARRAY && t->rank > 1 ? fill_nested(&f, event) : fill_flat(&f, event);
    if (st)
        return st;
    t->n_bytes = (size_t)(f.to - (uint8_t *)t->data);
    return WEFT_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

static size_t next_string(const uint8_t **p, const char **s)
{
    const uint8_t *at = *p;
    size_t n = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    *s = (const char *)at + 4;
    *p = at + 4 + n;
    return n;
}

bool weft_tensor_is_text(const weft_tensor *t)
{
    const uint8_t *p = t->data, *end = p + t->n_bytes;
    const char *s;
    while (p < end) {
        size_t n = next_string(&p, &s);
        if (!weft_utf8_valid(s, n))
            return false;
    }
    return true;
}

#define LOAD(type)                                                                                                               \
    type v;                                                                                                                      \
    memcpy(&v, p, sizeof(v))

static void print_real(double d, bool is_float, unsigned how, char *text)
{
    if (isnan(d))
        strcpy(text, how & WEFT_JSON_NAN ? "NaN" : "null");
    else if (isinf(d) && how & WEFT_JSON_NAN)
        strcpy(text, d < 0 ? "-Infinity" : "Infinity");
    else if (isinf(d))
        strcpy(text, d < 0 ? "-1e999" : "1e999");
    else if (is_float)
        weft_print_float((float)d, text);
    else
        weft_print_double(d, text);
}

static void print_element(weft_dtype t, const uint8_t *p, unsigned how, char *text)
{
    switch (t) {
    case WEFT_DT_BOOL:
        strcpy(text, *p ? "true" : "false");
        return;
    case WEFT_DT_U8:
        weft_print_uint(*p, text);
        return;
    case WEFT_DT_I8:
        weft_print_int((int8_t)*p, text);
        return;
    case WEFT_DT_U16: {
        LOAD(uint16_t);
        weft_print_uint(v, text);
        return;
    }
    case WEFT_DT_I16: {
        LOAD(int16_t);
        weft_print_int(v, text);
        return;
    }
    case WEFT_DT_U32: {
        LOAD(uint32_t);
        weft_print_uint(v, text);
        return;
    }
    case WEFT_DT_I32: {
        LOAD(int32_t);
        weft_print_int(v, text);
        return;
    }
    case WEFT_DT_U64: {
        LOAD(uint64_t);
        weft_print_uint(v, text);
        return;
    }
    case WEFT_DT_I64: {
        LOAD(int64_t);
        weft_print_int(v, text);
        return;
    }
    case WEFT_DT_F16: {
        LOAD(uint16_t);
        print_real((double)weft_f16_to_f32(v), true, how, text);
        return;
    }
    case WEFT_DT_BF16: {
        LOAD(uint16_t);
        print_real((double)weft_bf16_to_f32(v), true, how, text);
        return;
    }
    case WEFT_DT_F32: {
        LOAD(float);
        print_real((double)v, true, how, text);
        return;
    }
    case WEFT_DT_F64: {
        LOAD(double);
        print_real(v, false, how, text);
        return;
    }
    default:
        strcpy(text, "null");
    }
}

static void write_strings(weft_json *j, const weft_tensor *t, bool base64)
{
    const uint8_t *p = t->data, *end = p + t->n_bytes;
    const char *s;
    while (p < end) {
        size_t n = next_string(&p, &s);
        if (base64)
            weft_json_base64(j, s, n);
        else
            weft_json_text(j, s, n);
    }
}

void weft_json_write_tensor(weft_json *j, const weft_tensor *t, unsigned how)
{
    size_t size = weft_dtype_bytes(t->dtype);
    weft_json_array_begin(j);
    if (!size)
        write_strings(j, t, how & WEFT_JSON_BASE64);
    /* The elements go past the writer: on one line, its array needs nothing but the commas. */
    for (size_t at = 0; size && at + size <= t->n_bytes; at += size) {
        char text[WEFT_NUMBER_BYTES + 1];
        print_element(t->dtype, (const uint8_t *)t->data + at, how, text + 1);
        text[0] = ',';
        weft_buffer_puts(j->out, at ? text : text + 1);
    }
    weft_json_array_end(j);
}
