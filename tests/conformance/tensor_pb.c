#include "conformance/tensor_pb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const uint8_t *p, *end;
    bool bad;
} reader;

static uint64_t varint(reader *r)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (r->p == r->end)
            break;
        byte = *r->p++;
        v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return v;
    }
    r->bad = true;
    return 0;
}

static uint64_t fixed(reader *r, size_t n)
{
    uint64_t v = 0;

    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, r->p, n);
    r->p += n;
    return v;
}

/* The bytes of a length-delimited field. */
static reader piece(reader *r)
{
    uint64_t n = varint(r);
    reader sub = {r->p, r->p, false};

    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return sub;
    }
    sub.end = r->p + n;
    r->p = sub.end;
    return sub;
}

typedef struct proto {
    int64_t dims[WEFT_MAX_RANK];
    int rank, type;
    reader name, raw;
    bool has_raw;
    uint8_t *values; /* the typed lists, narrowed to the element type */
    size_t n_values, room;
    const char *why; /* set: refused */
} proto;

/* Bytes of an element by data_type: 1 FLOAT 2 UINT8 3 INT8 4 UINT16 5 INT16 6 INT32 7 INT64 8 STRING 9 BOOL 10 FLOAT16 11 DOUBLE
 * 12 UINT32 13 UINT64 16 BFLOAT16 */
static weft_dtype dtype_of(int type)
{
    static const weft_dtype table[] = {
        [1] = WEFT_DT_F32,  [2] = WEFT_DT_U8,   [3] = WEFT_DT_I8,     [4] = WEFT_DT_U16,  [5] = WEFT_DT_I16,
        [6] = WEFT_DT_I32,  [7] = WEFT_DT_I64,  [8] = WEFT_DT_STRING, [9] = WEFT_DT_BOOL, [10] = WEFT_DT_F16,
        [11] = WEFT_DT_F64, [12] = WEFT_DT_U32, [13] = WEFT_DT_U64,   [16] = WEFT_DT_BF16};

    return type > 0 && (size_t)type < sizeof table / sizeof *table ? table[type] : WEFT_DT_NONE;
}

static void add_value(proto *t, uint64_t v, size_t n_bytes)
{
    if (t->n_values + n_bytes > t->room) {
        size_t room = t->room ? t->room * 2 : 256;
        uint8_t *more = room <= TENSOR_PB_MAX_BYTES ? realloc(t->values, room) : NULL;

        if (!more) {
            t->why = "too large";
            return;
        }
        t->values = more;
        t->room = room;
    }
    memcpy(t->values + t->n_values, &v, n_bytes);
    t->n_values += n_bytes;
}

/* A repeated number, packed or not. `wire` 0: varints; 1 and 5: fixed. */
static void numbers(reader *r, proto *t, int wire, int packed_wire, size_t n_bytes)
{
    reader list = *r;

    if (wire == 2)
        list = piece(r);
    do {
        uint64_t v;

        if (wire == 2 && list.p == list.end)
            break;
        v = packed_wire == 0 ? varint(&list) : fixed(&list, packed_wire == 1 ? 8 : 4);
        if (list.bad) {
            r->bad = true;
            return;
        }
        add_value(t, v, n_bytes);
    } while (wire == 2 && !t->why);
    if (wire != 2)
        *r = list;
}

static void dims(reader *r, proto *t, int wire)
{
    reader list = *r;

    if (wire == 2)
        list = piece(r);
    while (!list.bad && (wire != 2 || list.p != list.end)) {
        uint64_t v = varint(&list);

        if (t->rank == WEFT_MAX_RANK || v > INT64_MAX) {
            t->why = "more dims than possible, or a negative one";
            return;
        }
        t->dims[t->rank++] = (int64_t)v;
        if (wire != 2)
            break;
    }
    if (wire != 2)
        *r = list;
    r->bad = r->bad || list.bad;
}

static void skip(reader *r, int wire)
{
    if (wire == 0)
        varint(r);
    else if (wire == 1)
        fixed(r, 8);
    else if (wire == 2)
        piece(r);
    else if (wire == 5)
        fixed(r, 4);
    else
        r->bad = true;
}

/* Everything but the strings. The type must come before the values of int32_data; writers put it in front (field 2). */
static void scan(reader r, proto *t)
{
    while (r.p < r.end && !r.bad && !t->why) {
        uint64_t key = varint(&r);
        int wire = (int)(key & 7);
        size_t width = weft_dtype_bytes(dtype_of(t->type));

        switch (key >> 3) {
        case 1:
            dims(&r, t, wire);
            break;
        case 2:
            t->type = wire == 0 ? (int)(varint(&r) & 0xffff) : 0;
            break;
        case 4:
            numbers(&r, t, wire, 5, 4);
            break;
        case 5:
            numbers(&r, t, wire, 0, width ? width : 4);
            break;
        case 6:
            if (wire == 2)
                piece(&r); /* taken by strings() */
            else
                skip(&r, wire);
            break;
        case 7:
        case 11:
            numbers(&r, t, wire, 0, width ? width : 8);
            break;
        case 8:
            t->name = piece(&r);
            break;
        case 9:
            t->raw = piece(&r);
            t->has_raw = true;
            break;
        case 10:
            numbers(&r, t, wire, 1, 8);
            break;
        case 13:
            t->why = "its data is in another file";
            break;
        default:
            skip(&r, wire);
        }
    }
    if (r.bad)
        t->why = "not a TensorProto";
}

/* Writes the strings in weft's form; with to NULL only counts the bytes. */
static size_t strings(reader r, uint8_t *to)
{
    size_t n = 0;

    while (r.p < r.end && !r.bad) {
        uint64_t key = varint(&r);
        int wire = (int)(key & 7);
        reader s;
        uint32_t length;

        if (key >> 3 != 6 || wire != 2) {
            skip(&r, wire);
            continue;
        }
        s = piece(&r);
        length = (uint32_t)(s.end - s.p);
        if (to) {
            memcpy(to + n, &length, 4);
            memcpy(to + n + 4, s.p, length);
        }
        n += 4 + (size_t)length;
    }
    return n;
}

static weft_status finish(const proto *t, const reader *all, weft_arena *arena, weft_tensor *out, weft_error *err)
{
    const uint8_t *from = t->has_raw ? t->raw.p : t->values;
    size_t n = t->has_raw ? (size_t)(t->raw.end - t->raw.p) : t->n_values;
    char *name;

    out->dtype = dtype_of(t->type);
    out->rank = t->rank;
    memcpy(out->shape, t->dims, sizeof t->dims);
    if (out->dtype == WEFT_DT_STRING)
        n = strings(*all, NULL);
    name = weft_arena_strndup(arena, (const char *)t->name.p, (size_t)(t->name.end - t->name.p));
    out->data = weft_arena_alloc(arena, n);
    out->n_bytes = n;
    out->name = name;
    if (!name || !out->data)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a tensor");
    if (out->dtype == WEFT_DT_STRING)
        strings(*all, out->data);
    else if (n)
        memcpy(out->data, from, n);
    return weft_tensor_check(out, err);
}

weft_status tensor_pb_parse(const uint8_t *data, size_t n_bytes, weft_arena *arena, weft_tensor *out, weft_error *err)
{
    reader all = {data, data + n_bytes, false};
    proto t = {.name = {data, data, false}};
    weft_status s;

    memset(out, 0, sizeof *out);
    scan(all, &t);
    if (!t.why && dtype_of(t.type) == WEFT_DT_NONE)
        t.why = "an element type that weft does not serve";
    s = t.why ? weft_fail(err, WEFT_E_INVALID, "cannot use this tensor: %s", t.why) : finish(&t, &all, arena, out, err);
    free(t.values);
    return s;
}

weft_status tensor_pb_read(const char *path, weft_arena *arena, weft_tensor *out, weft_error *err)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    long n = -1;
    weft_status s;

    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && (size_t)n <= TENSOR_PB_MAX_BYTES && fseek(f, 0, SEEK_SET) == 0)
        data = malloc((size_t)n + 1);
    if (!data || fread(data, 1, (size_t)n, f) != (size_t)n)
        s = weft_fail(err, WEFT_E_IO, "cannot read %s", path);
    else
        s = tensor_pb_parse(data, (size_t)n, arena, out, err);
    free(data);
    if (f)
        fclose(f);
    return s;
}
