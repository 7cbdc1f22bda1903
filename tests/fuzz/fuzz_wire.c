/* Frames from a worker or front that lies. Whatever is accepted must have exactly these bytes as its encoding, and a result must
 * go through the JSON writer. */
#include "wire/message.h"
#include "wire/result_json.h"

#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void same_bytes(weft_status s, weft_buffer *b, const uint8_t *data, size_t n)
{
    must(s == WEFT_OK && b->n_bytes == n && !memcmp(b->data, data, n));
    weft_buffer_fini(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_wire_limits l;
    weft_buffer b;
    weft_error err;
    const weft_call *call;
    weft_result *r;
    int32_t step, n_steps;
    uint64_t ticket;

    must(a != NULL);
    weft_wire_limits_init(&l);
    l.max_items = 100000; /* only so that one input does not take long */
    weft_buffer_init(&b, 0);
    if (!weft_wire_decode_call(data, n, &l, a, &call, &ticket, &err))
        same_bytes(weft_wire_encode_call(call, ticket, &l, &b, &err), &b, data, n);
    if (!weft_wire_decode_result(data, n, &l, a, NULL, NULL, &r, &ticket, &err)) {
        same_bytes(weft_wire_encode_result(r, ticket, &l, &b, &err), &b, data, n);
        weft_buffer_init(&b, 0);
        weft_result_json(&b, r);
        must(!b.failed);
        weft_buffer_fini(&b);
        weft_result_unref(r);
    }
    if (!weft_wire_decode_progress(data, n, &step, &n_steps, &ticket, &err))
        same_bytes(weft_wire_encode_progress(step, n_steps, ticket, &b, &err), &b, data, n);
    if (!weft_wire_decode_cancel(data, n, &ticket, &err))
        same_bytes(weft_wire_encode_cancel(ticket, &b, &err), &b, data, n);
    weft_arena_destroy(&a);
    return 0;
}
