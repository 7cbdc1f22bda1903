#include "wire/wire_pack.h"

#include "base/text.h"

#include <string.h>

#define NULL_STRING 0xffffffffu

static const uint8_t magic[4] = {'W', 'E', 'F', 'T'};

static void store(uint8_t *to, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t load(const uint8_t *from, int n)
{
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v |= (uint64_t)from[i] << (8 * i);
    return v;
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

static void append_number(weft_packer *p, uint64_t v, int n)
{
    uint8_t bytes[8];

    store(bytes, v, n);
    weft_buffer_append(p->out, bytes, (size_t)n);
}

void weft_pack_begin(weft_packer *p, weft_buffer *out, const weft_wire_limits *l, weft_message_type type, uint64_t ticket,
                     weft_error *err)
{
    *p = (weft_packer){.out = out, .limits = l, .err = err};
    weft_buffer_clear(out);
    weft_buffer_append(out, magic, 4);
    append_number(p, WEFT_WIRE_VERSION, 2);
    append_number(p, (uint64_t)type, 2);
    append_number(p, 0, 8); /* frame bytes: weft_pack_end */
    append_number(p, ticket, 8);
    append_number(p, 0, 4); /* head bytes: weft_pack_head_done */
    append_number(p, 0, 4);
}

void weft_pack_refuse(weft_packer *p, weft_status s, const char *fmt, ...)
{
    va_list ap;

    if (p->status)
        return;
    va_start(ap, fmt);
    p->status = weft_failv(p->err, s, fmt, ap);
    va_end(ap);
}

void weft_pack_u8(weft_packer *p, uint8_t v)
{
    append_number(p, v, 1);
}

void weft_pack_u32(weft_packer *p, uint32_t v)
{
    append_number(p, v, 4);
}

void weft_pack_u64(weft_packer *p, uint64_t v)
{
    append_number(p, v, 8);
}

void weft_pack_string(weft_packer *p, const char *s)
{
    size_t n;

    if (!s) {
        weft_pack_u32(p, NULL_STRING);
        return;
    }
    n = strlen(s);
    if (n > p->limits->max_string_bytes)
        weft_pack_refuse(p, WEFT_E_TOO_LARGE, "a name or parameter has %zu bytes; at most %u are possible", n,
                         p->limits->max_string_bytes);
    else if (!weft_utf8_valid(s, n))
        weft_pack_refuse(p, WEFT_E_INVALID, "a name or parameter is not valid UTF-8: \"%.64s\"", s);
    if (p->status)
        return;
    weft_pack_u32(p, (uint32_t)n);
    weft_buffer_append(p->out, s, n + 1);
}

void weft_pack_tensor_head(weft_packer *p, const weft_tensor *t)
{
    if (!p->status && weft_tensor_check(t, p->err))
        p->status = WEFT_E_INVALID;
    if (p->status)
        return;
    weft_pack_string(p, t->name);
    weft_pack_u8(p, (uint8_t)t->dtype);
    weft_pack_u8(p, (uint8_t)t->rank);
    for (int i = 0; i < t->rank; i++)
        weft_pack_u64(p, (uint64_t)t->shape[i]);
    weft_pack_u64(p, t->n_bytes);
}

void weft_pack_head_done(weft_packer *p)
{
    size_t n = p->out->n_bytes - WEFT_WIRE_HEADER_BYTES;

    if (p->out->failed)
        return;
    if (p->limits && n > p->limits->max_head_bytes)
        weft_pack_refuse(p, WEFT_E_TOO_LARGE, "the names and parameters of the message have %zu bytes; at most %u are possible",
                         n, p->limits->max_head_bytes);
    else
        store(p->out->data + 24, n, 4);
}

void weft_pack_payload(weft_packer *p, const void *data, size_t n_bytes)
{
    static const uint8_t zeros[WEFT_WIRE_ALIGNMENT];
    size_t gap = (WEFT_WIRE_ALIGNMENT - p->out->n_bytes % WEFT_WIRE_ALIGNMENT) % WEFT_WIRE_ALIGNMENT;

    if (p->status || !n_bytes)
        return;
    if (n_bytes > p->limits->max_frame_bytes || p->out->n_bytes + gap > p->limits->max_frame_bytes - n_bytes) {
        weft_pack_refuse(p, WEFT_E_TOO_LARGE, "the message is larger than %llu bytes",
                         (unsigned long long)p->limits->max_frame_bytes);
        return;
    }
    weft_buffer_append(p->out, zeros, gap);
    weft_buffer_append(p->out, data, n_bytes);
}

weft_status weft_pack_end(weft_packer *p)
{
    if (!p->status && p->out->failed)
        weft_pack_refuse(p, WEFT_E_NO_MEMORY, "out of memory while encoding a message");
    if (p->status) {
        weft_buffer_clear(p->out);
        return p->status;
    }
    store(p->out->data + 8, p->out->n_bytes, 8);
    return WEFT_OK;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

weft_status weft_wire_read_header(const void *bytes, const weft_wire_limits *l, weft_wire_header *out, weft_error *err)
{
    const uint8_t *p = bytes;
    unsigned version = (unsigned)load(p + 4, 2), type = (unsigned)load(p + 6, 2);

    memset(out, 0, sizeof *out);
    if (memcmp(p, magic, 4))
        return weft_fail(err, WEFT_E_INVALID, "this is not a message of weft: it begins with %02x %02x %02x %02x", p[0], p[1],
                         p[2], p[3]);
    if (version != WEFT_WIRE_VERSION)
        return weft_fail(err, WEFT_E_UNSUPPORTED,
                         "the other side speaks version %u of the protocol, this one version %d; use the same release on both",
                         version, WEFT_WIRE_VERSION);
    if (type < WEFT_MESSAGE_CALL || type > WEFT_MESSAGE_CANCEL)
        return weft_fail(err, WEFT_E_INVALID, "a message has the unknown type %u", type);
    if (load(p + 28, 4))
        return weft_fail(err, WEFT_E_INVALID, "the header of a message is damaged");
    out->frame_bytes = load(p + 8, 8);
    out->head_bytes = (uint32_t)load(p + 24, 4);
    if (out->frame_bytes > l->max_frame_bytes)
        return weft_fail(err, WEFT_E_TOO_LARGE, "a message of %llu bytes came; at most %llu are possible",
                         (unsigned long long)out->frame_bytes, (unsigned long long)l->max_frame_bytes);
    if (out->head_bytes > l->max_head_bytes)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the names and parameters of a message have %u bytes; at most %u are possible",
                         out->head_bytes, l->max_head_bytes);
    if (out->frame_bytes < WEFT_WIRE_HEADER_BYTES || out->head_bytes > out->frame_bytes - WEFT_WIRE_HEADER_BYTES)
        return weft_fail(err, WEFT_E_INVALID, "the sizes in the header of a message contradict each other");
    out->type = (weft_message_type)type;
    out->ticket = load(p + 16, 8);
    return WEFT_OK;
}

weft_status weft_unpack_begin(weft_unpacker *u, const void *frame, size_t n_bytes, const weft_wire_limits *l,
                              weft_message_type type, uint64_t *ticket, weft_error *err)
{
    weft_wire_header h;
    weft_status s;

    *u = (weft_unpacker){.frame = frame, .limits = l, .err = err, .at = WEFT_WIRE_HEADER_BYTES};
    if (n_bytes < WEFT_WIRE_HEADER_BYTES)
        return u->status = weft_fail(err, WEFT_E_INVALID, "a message of %zu bytes is too short", n_bytes);
    if ((s = weft_wire_read_header(frame, l, &h, err)))
        return u->status = s;
    if (h.type != type)
        return u->status =
                   weft_fail(err, WEFT_E_INVALID, "a message of type %d came where type %d is expected", (int)h.type, (int)type);
    if (h.frame_bytes != n_bytes)
        return u->status = weft_fail(err, WEFT_E_INVALID, "a message of %zu bytes says that it has %llu", n_bytes,
                                     (unsigned long long)h.frame_bytes);
    u->frame_bytes = n_bytes;
    u->head_end = WEFT_WIRE_HEADER_BYTES + h.head_bytes;
    u->payload_at = u->head_end;
    *ticket = h.ticket;
    return WEFT_OK;
}

void weft_unpack_refuse(weft_unpacker *u, const char *fmt, ...)
{
    va_list ap;

    if (u->status)
        return;
    va_start(ap, fmt);
    u->status = weft_failv(u->err, WEFT_E_INVALID, fmt, ap);
    va_end(ap);
}

void weft_unpack_no_memory(weft_unpacker *u)
{
    if (!u->status)
        u->status = weft_fail(u->err, WEFT_E_NO_MEMORY, "out of memory while decoding a message");
}

/* The next n bytes of the head, or NULL. */
static const uint8_t *take(weft_unpacker *u, size_t n)
{
    const uint8_t *p = u->frame + u->at;

    if (u->status)
        return NULL;
    if (n > u->head_end - u->at) {
        weft_unpack_refuse(u, "a message ends in the middle of a field");
        return NULL;
    }
    u->at += n;
    return p;
}

static uint64_t take_number(weft_unpacker *u, int n)
{
    const uint8_t *p = take(u, (size_t)n);

    return p ? load(p, n) : 0;
}

uint8_t weft_unpack_u8(weft_unpacker *u)
{
    return (uint8_t)take_number(u, 1);
}

uint32_t weft_unpack_u32(weft_unpacker *u)
{
    return (uint32_t)take_number(u, 4);
}

uint64_t weft_unpack_u64(weft_unpacker *u)
{
    return take_number(u, 8);
}

bool weft_unpack_bool(weft_unpacker *u)
{
    uint8_t v = weft_unpack_u8(u);

    if (v > 1)
        weft_unpack_refuse(u, "a yes-or-no field of a message holds %u", v);
    return v == 1;
}

const char *weft_unpack_string(weft_unpacker *u, uint32_t max_bytes, bool may_be_null)
{
    uint32_t n = weft_unpack_u32(u);
    const char *s;

    if (u->status)
        return NULL;
    if (n == NULL_STRING) {
        if (!may_be_null)
            weft_unpack_refuse(u, "a text is missing in a message");
        return NULL;
    }
    if (n > max_bytes || n > u->limits->max_string_bytes) {
        weft_unpack_refuse(u, "a text of %u bytes came; at most %u are possible", n,
                           max_bytes < u->limits->max_string_bytes ? max_bytes : u->limits->max_string_bytes);
        return NULL;
    }
    s = (const char *)take(u, (size_t)n + 1);
    if (s && (s[n] || memchr(s, 0, n) || !weft_utf8_valid(s, n))) {
        weft_unpack_refuse(u, "a text in a message is damaged");
        return NULL;
    }
    return s;
}

uint32_t weft_unpack_count(weft_unpacker *u, uint32_t max, const char *what)
{
    uint32_t n = weft_unpack_u32(u);

    if (n > max) {
        weft_unpack_refuse(u, "a message holds %u %s; at most %u are possible", n, what, max);
        n = 0;
    }
    return u->status ? 0 : n;
}

void weft_unpack_tensor_head(weft_unpacker *u, weft_tensor *t)
{
    uint64_t n_bytes;

    memset(t, 0, sizeof *t);
    t->name = weft_unpack_string(u, UINT32_MAX, true);
    t->dtype = (weft_dtype)weft_unpack_u8(u);
    t->rank = weft_unpack_u8(u);
    if (t->rank > WEFT_MAX_RANK) {
        weft_unpack_refuse(u, "a tensor in a message has %d dimensions; at most %d are possible", t->rank, WEFT_MAX_RANK);
        t->rank = 0;
    }
    for (int i = 0; i < t->rank; i++)
        t->shape[i] = (int64_t)weft_unpack_u64(u);
    n_bytes = weft_unpack_u64(u);
    if (n_bytes > u->frame_bytes)
        weft_unpack_refuse(u, "a tensor of %llu bytes is announced in a message of %zu", (unsigned long long)n_bytes,
                           u->frame_bytes);
    t->n_bytes = u->status ? 0 : (size_t)n_bytes;
}

void weft_unpack_head_done(weft_unpacker *u)
{
    if (u->at != u->head_end)
        weft_unpack_refuse(u, "a message has %zu bytes after its last field", u->head_end - u->at);
}

const void *weft_unpack_payload(weft_unpacker *u, size_t n_bytes)
{
    size_t gap = (WEFT_WIRE_ALIGNMENT - u->payload_at % WEFT_WIRE_ALIGNMENT) % WEFT_WIRE_ALIGNMENT;
    const uint8_t *p = u->frame + u->payload_at;

    if (u->status || !n_bytes)
        return NULL;
    if (gap > u->frame_bytes - u->payload_at || n_bytes > u->frame_bytes - u->payload_at - gap) {
        weft_unpack_refuse(u, "a message ends in the middle of its data");
        return NULL;
    }
    for (size_t i = 0; i < gap; i++)
        if (p[i]) {
            weft_unpack_refuse(u, "the gap before the data of a message is not empty");
            return NULL;
        }
    u->payload_at += gap + n_bytes;
    return p + gap;
}

weft_status weft_unpack_end(weft_unpacker *u)
{
    if (u->payload_at != u->frame_bytes)
        weft_unpack_refuse(u, "a message has %zu bytes after its data", u->frame_bytes - u->payload_at);
    return u->status;
}
