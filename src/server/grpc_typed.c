#include "server/grpc_typed.h"

#include <string.h>

/* Which field carries a type. */
typedef struct carrier {
    uint32_t number;
    weft_pb_type type; /* of one element */
    bool is_signed;
} carrier;

static const carrier carriers[] = {
    [WEFT_DT_BOOL] = {1, WEFT_PB_VARINT, false}, [WEFT_DT_I8] = {2, WEFT_PB_VARINT, true},
    [WEFT_DT_I16] = {2, WEFT_PB_VARINT, true},   [WEFT_DT_I32] = {2, WEFT_PB_VARINT, true},
    [WEFT_DT_I64] = {3, WEFT_PB_VARINT, true},   [WEFT_DT_U8] = {4, WEFT_PB_VARINT, false},
    [WEFT_DT_U16] = {4, WEFT_PB_VARINT, false},  [WEFT_DT_U32] = {4, WEFT_PB_VARINT, false},
    [WEFT_DT_U64] = {5, WEFT_PB_VARINT, false},  [WEFT_DT_F32] = {6, WEFT_PB_FIXED32, false},
    [WEFT_DT_F64] = {7, WEFT_PB_FIXED64, false}, [WEFT_DT_STRING] = {8, WEFT_PB_BYTES, false},
};

static size_t fixed_bytes(weft_pb_type type)
{
    return type == WEFT_PB_FIXED32 ? 4 : 8;
}

/* ---- counting, before memory is taken -------------------------------------------------------------------------------------- */

static weft_status count(const weft_pb_field *contents, const carrier *ca, const weft_tensor *t, uint64_t *n, uint64_t *n_text,
                         weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f;
    *n = *n_text = 0;
    weft_pb_read_init(&r, contents->data, contents->n_bytes);
    while (weft_pb_next(&r, &f)) {
        if (f.number != ca->number) {
            if (f.number <= 8 && (f.type != WEFT_PB_BYTES || f.n_bytes))
                return weft_fail(err, WEFT_E_INVALID,
                                 "the input \"%.64s\" is %s, but its contents are in the field of another type", t->name,
                                 weft_dtype_name(t->dtype));
            continue;
        }
        if (f.type == ca->type) {
            ++*n;
            *n_text += f.n_bytes;
        } else if (f.type != WEFT_PB_BYTES) {
            r.bad = true;
        } else if (ca->type == WEFT_PB_VARINT) {
            for (size_t i = 0; i < f.n_bytes; i++)
                *n += f.data[i] < 0x80;
        } else {
            *n += f.n_bytes / fixed_bytes(ca->type);
            r.bad = r.bad || f.n_bytes % fixed_bytes(ca->type) != 0;
        }
    }
    return r.bad ? weft_fail(err, WEFT_E_INVALID, "the contents of the input \"%.64s\" are not a valid protobuf message", t->name)
                 : WEFT_OK;
}

/* ---- filling --------------------------------------------------------------------------------------------------------------- */

typedef struct filler {
    weft_dtype dtype;
    uint8_t *to, *end;
    bool out_of_range;
} filler;

static void put_varint(filler *w, uint64_t v)
{
    int64_t i = (int64_t)v;
    switch (w->dtype) {
    case WEFT_DT_BOOL:
        *w->to++ = v != 0;
        return;
    case WEFT_DT_I8:
        w->out_of_range = w->out_of_range || i < INT8_MIN || i > INT8_MAX;
        *w->to++ = (uint8_t)v;
        return;
    case WEFT_DT_U8:
        w->out_of_range = w->out_of_range || v > UINT8_MAX;
        *w->to++ = (uint8_t)v;
        return;
    case WEFT_DT_I16:
    case WEFT_DT_U16: {
        w->out_of_range = w->out_of_range || (w->dtype == WEFT_DT_U16 ? v > UINT16_MAX : i < INT16_MIN || i > INT16_MAX);
        uint16_t h = (uint16_t)v;
        memcpy(w->to, &h, 2);
        w->to += 2;
        return;
    }
    case WEFT_DT_I32:
    case WEFT_DT_U32: {
        w->out_of_range = w->out_of_range || (w->dtype == WEFT_DT_U32 ? v > UINT32_MAX : i < INT32_MIN || i > INT32_MAX);
        uint32_t k = (uint32_t)v;
        memcpy(w->to, &k, 4);
        w->to += 4;
        return;
    }
    default:
        memcpy(w->to, &v, 8);
        w->to += 8;
    }
}

static void put_text(filler *w, const weft_pb_field *f)
{
    for (int i = 0; i < 4; i++)
        *w->to++ = (uint8_t)(f->n_bytes >> (8 * i));
    if (f->n_bytes)
        memcpy(w->to, f->data, f->n_bytes);
    w->to += f->n_bytes;
}

static void put_bytes(filler *w, const void *data, size_t n)
{
    if (n)
        memcpy(w->to, data, n);
    w->to += n;
}

static bool fill(const weft_pb_field *contents, const carrier *ca, filler *w)
{
    weft_pb_reader r, packed;
    weft_pb_field f;
    uint64_t v;
    weft_pb_read_init(&r, contents->data, contents->n_bytes);
    while (weft_pb_next(&r, &f)) {
        if (f.number != ca->number)
            continue;
        if (ca->type == WEFT_PB_BYTES) {
            put_text(w, &f);
        } else if (f.type == WEFT_PB_VARINT) {
            put_varint(w, f.value);
        } else if (f.type != WEFT_PB_BYTES) {
            put_bytes(w, &f.value, fixed_bytes(ca->type)); /* little endian, as every machine that weft runs on */
        } else if (ca->type != WEFT_PB_VARINT) {
            put_bytes(w, f.data, f.n_bytes);
        } else {
            weft_pb_read_init(&packed, f.data, f.n_bytes);
            while (weft_pb_varint(&packed, &v))
                put_varint(w, v);
            if (packed.bad)
                return false;
        }
    }
    return w->to == w->end;
}

weft_status weft_grpc_typed_read(weft_arena *arena, const weft_pb_field *contents, weft_tensor *t, size_t *max_bytes,
                                 weft_error *err)
{
    const carrier *ca = &carriers[t->dtype];
    uint64_t n, n_text;
    int64_t want;
    if (!ca->number)
        return weft_fail(err, WEFT_E_INVALID, "%s has no typed contents; send the input \"%.64s\" in raw_input_contents",
                         weft_dtype_name(t->dtype), t->name);
    if (!weft_shape_elements(t->shape, t->rank, &want))
        return weft_fail(err, WEFT_E_INVALID, "the shape of the input \"%.64s\" has too many elements", t->name);
    weft_status st = count(contents, ca, t, &n, &n_text, err);
    if (st)
        return st;
    char shape[128];
    if (n != (uint64_t)want)
        return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" has the shape %s, so %lld elements, but %llu came", t->name,
                         weft_shape_print(t->shape, t->rank, shape, sizeof(shape)), (long long)want, (unsigned long long)n);
    /* n is bounded by the bytes of the message */
    uint64_t n_bytes = ca->type == WEFT_PB_BYTES ? n_text + 4 * n : n * weft_dtype_bytes(t->dtype);
    if (n_bytes > *max_bytes)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the inputs become larger than this server accepts (server.max_body_bytes)");
    *max_bytes -= (size_t)n_bytes;
    uint8_t *data = weft_arena_alloc(arena, n_bytes < 64 ? 64 : (size_t)n_bytes);
    if (!data)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    filler w = {.dtype = t->dtype, .to = data, .end = data + n_bytes};
    bool whole = fill(contents, ca, &w);
    if (!whole || w.out_of_range)
        return weft_fail(err, WEFT_E_INVALID,
                         whole ? "the input \"%.64s\" has a value that does not fit its type"
                               : "the contents of the input \"%.64s\" are not a valid protobuf message",
                         t->name);
    t->data = data;
    t->n_bytes = (size_t)n_bytes;
    return WEFT_OK;
}
