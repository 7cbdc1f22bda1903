#include "server/pb_read.h"

void weft_pb_read_init(weft_pb_reader *r, const void *data, size_t n_bytes)
{
    static const uint8_t nothing[1];
    r->p = n_bytes ? data : nothing;
    r->end = r->p + n_bytes;
    r->bad = false;
}

bool weft_pb_varint(weft_pb_reader *r, uint64_t *v)
{
    *v = 0;
    if (r->bad || r->p == r->end)
        return false;
    for (int shift = 0; shift < 70; shift += 7) {
        if (r->p == r->end)
            break;
        uint8_t b = *r->p++;
        if (shift == 63 && b > 1)
            break;
        *v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return true;
    }
    r->bad = true;
    return false;
}

static bool fixed(weft_pb_reader *r, size_t n, uint64_t *v)
{
    *v = 0;
    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        *v |= (uint64_t)r->p[i] << (8 * i);
    r->p += n;
    return true;
}

/* Tag and, for BYTES, the length; r->p is at the content then. */
static bool begin_field(weft_pb_reader *r, weft_pb_field *f)
{
    uint64_t tag, n = 0;
    f->data = NULL;
    f->n_bytes = 0;
    f->value = 0;
    if (!weft_pb_varint(r, &tag))
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->type = (weft_pb_type)(tag & 7);
    bool known =
        f->type == WEFT_PB_VARINT || f->type == WEFT_PB_FIXED64 || f->type == WEFT_PB_BYTES || f->type == WEFT_PB_FIXED32;
    if (tag > UINT32_MAX || f->number == 0 || !known)
        r->bad = true;
    else if (f->type == WEFT_PB_BYTES && (!weft_pb_varint(r, &n) || n > SIZE_MAX / 2))
        r->bad = true; /* a missing length is malformed, not the end */
    f->n_bytes = (size_t)n;
    f->data = r->p;
    return !r->bad;
}

bool weft_pb_next(weft_pb_reader *r, weft_pb_field *f)
{
    if (!begin_field(r, f))
        return false;
    if (f->type == WEFT_PB_FIXED64)
        return fixed(r, 8, &f->value);
    if (f->type == WEFT_PB_FIXED32)
        return fixed(r, 4, &f->value);
    if (f->type == WEFT_PB_VARINT) {
        r->bad = r->p == r->end; /* a tag without its value */
        return weft_pb_varint(r, &f->value);
    }
    if ((size_t)(r->end - r->p) < f->n_bytes) {
        r->bad = true;
        return false;
    }
    r->p += f->n_bytes;
    return true;
}

size_t weft_pb_find_bytes(const void *data, size_t n_bytes, uint32_t number)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_pb_read_init(&r, data, n_bytes);
    const uint8_t *begin = r.p;
    for (;;) {
        const uint8_t *at = r.p;
        if (!begin_field(&r, &f))
            return 0;
        if (f.type == WEFT_PB_BYTES && f.number == number)
            return (size_t)(r.p - begin);
        r.p = at;
        if (!weft_pb_next(&r, &f))
            return 0;
    }
}
