#include "wire/message.h"

#include "base/result_block.h"
#include "base/text.h"
#include "weft/builder.h"
#include "wire/wire_pack.h"

#include <string.h>

void weft_wire_limits_init(weft_wire_limits *l)
{
    *l = (weft_wire_limits){
        .max_frame_bytes = (uint64_t)1 << 30,
        .max_head_bytes = 1 << 20,
        .max_string_bytes = 1 << 16,
        .max_inputs = 64,
        .max_params = 256,
        .max_outputs = 64,
        .max_items = 1 << 24,
    };
}

static const weft_wire_limits small_limits = {.max_frame_bytes = 4096, .max_head_bytes = 4064, .max_string_bytes = 0};

/* ---- calls ---------------------------------------------------------------------------------------------------------------- */

static uint64_t bits_of(double f)
{
    uint64_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static void pack_input(weft_packer *p, const weft_input *in)
{
    weft_pack_string(p, in->name);
    weft_pack_u8(p, in->is_bytes);
    if (!in->is_bytes) {
        weft_pack_tensor_head(p, &in->tensor);
        return;
    }
    if (!in->bytes && in->n_bytes)
        weft_pack_refuse(p, WEFT_E_INVALID, "the input \"%.64s\" has no data for its %zu bytes", in->name ? in->name : "",
                         in->n_bytes);
    weft_pack_u64(p, in->n_bytes);
}

static void pack_param(weft_packer *p, const weft_param *v)
{
    weft_pack_string(p, v->name ? v->name : "");
    weft_pack_u8(p, (uint8_t)v->kind);
    switch (v->kind) {
    case WEFT_PARAM_BOOL:
        weft_pack_u8(p, v->i != 0);
        return;
    case WEFT_PARAM_INT:
        weft_pack_u64(p, (uint64_t)v->i);
        return;
    case WEFT_PARAM_FLOAT:
        weft_pack_u64(p, bits_of(v->f));
        return;
    case WEFT_PARAM_STRING:
        weft_pack_string(p, v->s ? v->s : "");
        return;
    }
    weft_pack_refuse(p, WEFT_E_INVALID, "the parameter \"%.64s\" has the unknown kind %d", v->name ? v->name : "", (int)v->kind);
}

static void pack_count(weft_packer *p, size_t n, uint32_t max, const char *what)
{
    if (n > max)
        weft_pack_refuse(p, WEFT_E_TOO_LARGE, "the call has %zu %s; at most %u are possible", n, what, max);
    weft_pack_u32(p, (uint32_t)n);
}

weft_status weft_wire_encode_call(const weft_call *call, uint64_t ticket, const weft_wire_limits *l, weft_buffer *out,
                                  weft_error *err)
{
    weft_packer p;

    weft_pack_begin(&p, out, l, WEFT_MESSAGE_CALL, ticket, err);
    weft_pack_string(&p, call->model ? call->model : "");
    weft_pack_string(&p, call->version);
    weft_pack_string(&p, call->id);
    weft_pack_string(&p, call->trace);
    weft_pack_u64(&p, (uint64_t)call->timeout_ms);
    weft_pack_u32(&p, (uint32_t)call->priority);
    pack_count(&p, call->n_inputs, l->max_inputs, "inputs");
    pack_count(&p, call->n_params, l->max_params, "parameters");
    weft_pack_u8(&p, call->outputs != NULL); /* no list: all outputs */
    pack_count(&p, call->outputs ? call->n_outputs : 0, l->max_outputs, "outputs");
    for (size_t i = 0; i < call->n_inputs && !p.status; i++)
        pack_input(&p, &call->inputs[i]);
    for (size_t i = 0; i < call->n_params && !p.status; i++)
        pack_param(&p, &call->params[i]);
    for (size_t i = 0; call->outputs && i < call->n_outputs && !p.status; i++)
        weft_pack_string(&p, call->outputs[i] ? call->outputs[i] : "");
    weft_pack_head_done(&p);
    for (size_t i = 0; i < call->n_inputs && !p.status; i++) {
        const weft_input *in = &call->inputs[i];

        weft_pack_payload(&p, in->is_bytes ? in->bytes : in->tensor.data, in->is_bytes ? in->n_bytes : in->tensor.n_bytes);
    }
    return weft_pack_end(&p);
}

static void unpack_input(weft_unpacker *u, weft_input *in)
{
    uint64_t n_bytes;

    in->name = weft_unpack_string(u, UINT32_MAX, true);
    in->is_bytes = weft_unpack_bool(u);
    if (u->status)
        return;
    if (!in->is_bytes) {
        weft_unpack_tensor_head(u, &in->tensor);
        return;
    }
    n_bytes = weft_unpack_u64(u);
    if (n_bytes > u->frame_bytes)
        weft_unpack_refuse(u, "an input of %llu bytes is announced in a message of %zu", (unsigned long long)n_bytes,
                           u->frame_bytes);
    in->n_bytes = u->status ? 0 : (size_t)n_bytes;
}

static void unpack_param(weft_unpacker *u, weft_param *v)
{
    uint64_t bits;

    v->name = weft_unpack_string(u, UINT32_MAX, false);
    v->kind = (weft_param_kind)weft_unpack_u8(u);
    if (u->status)
        return;
    switch (v->kind) {
    case WEFT_PARAM_BOOL:
        v->i = weft_unpack_bool(u);
        return;
    case WEFT_PARAM_INT:
        v->i = (int64_t)weft_unpack_u64(u);
        return;
    case WEFT_PARAM_FLOAT:
        bits = weft_unpack_u64(u);
        memcpy(&v->f, &bits, sizeof v->f);
        return;
    case WEFT_PARAM_STRING:
        v->s = weft_unpack_string(u, UINT32_MAX, false);
        return;
    }
    weft_unpack_refuse(u, "a parameter in a message has the unknown kind %d", (int)v->kind);
}

/* Data of a tensor whose head has been read; copied where the address does not suit the element type. */
static void unpack_data(weft_unpacker *u, weft_arena *arena, weft_tensor *t)
{
    const void *data = weft_unpack_payload(u, t->n_bytes);
    size_t alignment = weft_dtype_bytes(t->dtype);

    if (u->status)
        return;
    t->data = (void *)(uintptr_t)data;
    if (data && alignment > 1 && (uintptr_t)data % alignment) {
        t->data = weft_arena_alloc(arena, t->n_bytes);
        if (!t->data) {
            weft_unpack_no_memory(u);
            return;
        }
        memcpy(t->data, data, t->n_bytes);
    }
    if (weft_tensor_check(t, u->err))
        u->status = WEFT_E_INVALID;
}

static void *array(weft_unpacker *u, weft_arena *arena, size_t n, size_t item_bytes)
{
    void *p = weft_arena_array(arena, n, item_bytes);

    if (!p)
        weft_unpack_no_memory(u);
    return p;
}

static void unpack_call(weft_unpacker *u, weft_arena *arena, weft_call *call)
{
    weft_input *inputs;
    weft_param *params;
    const char **outputs;
    bool has_outputs;

    call->model = weft_unpack_string(u, UINT32_MAX, false);
    call->version = weft_unpack_string(u, UINT32_MAX, true);
    call->id = weft_unpack_string(u, UINT32_MAX, true);
    call->trace = weft_unpack_string(u, UINT32_MAX, true);
    call->timeout_ms = (int64_t)weft_unpack_u64(u);
    call->priority = (int)(int32_t)weft_unpack_u32(u);
    call->n_inputs = weft_unpack_count(u, u->limits->max_inputs, "inputs");
    call->n_params = weft_unpack_count(u, u->limits->max_params, "parameters");
    has_outputs = weft_unpack_bool(u);
    call->n_outputs = weft_unpack_count(u, u->limits->max_outputs, "outputs");
    if (!has_outputs && call->n_outputs)
        weft_unpack_refuse(u, "a message asks for outputs and for all of them");
    if (u->status)
        return;
    call->inputs = inputs = array(u, arena, call->n_inputs, sizeof *inputs);
    call->params = params = array(u, arena, call->n_params, sizeof *params);
    outputs = array(u, arena, call->n_outputs, sizeof *outputs);
    for (size_t i = 0; i < call->n_inputs && !u->status; i++)
        unpack_input(u, &inputs[i]);
    for (size_t i = 0; i < call->n_params && !u->status; i++)
        unpack_param(u, &params[i]);
    for (size_t i = 0; i < call->n_outputs && !u->status; i++)
        outputs[i] = weft_unpack_string(u, UINT32_MAX, false);
    call->outputs = has_outputs ? outputs : NULL;
    weft_unpack_head_done(u);
    for (size_t i = 0; i < call->n_inputs && !u->status; i++) {
        if (inputs[i].is_bytes)
            inputs[i].bytes = weft_unpack_payload(u, inputs[i].n_bytes);
        else
            unpack_data(u, arena, &inputs[i].tensor);
    }
}

weft_status weft_wire_decode_call(const void *frame, size_t n_bytes, const weft_wire_limits *l, weft_arena *arena,
                                  const weft_call **out, uint64_t *ticket, weft_error *err)
{
    weft_unpacker u;
    weft_call *call;

    *out = NULL;
    if (weft_unpack_begin(&u, frame, n_bytes, l, WEFT_MESSAGE_CALL, ticket, err))
        return u.status;
    call = array(&u, arena, 1, sizeof *call);
    if (call)
        unpack_call(&u, arena, call);
    if (weft_unpack_end(&u))
        return u.status;
    *out = call;
    return WEFT_OK;
}

/* ---- results -------------------------------------------------------------------------------------------------------------- */

static void pack_timing(weft_packer *p, const weft_timing *t)
{
    weft_pack_u64(p, (uint64_t)t->arrived_unix_ns);
    weft_pack_u64(p, (uint64_t)t->total_ns);
    weft_pack_u64(p, (uint64_t)t->queue_ns);
    weft_pack_u64(p, (uint64_t)t->preprocess_ns);
    weft_pack_u64(p, (uint64_t)t->run_ns);
    weft_pack_u64(p, (uint64_t)t->postprocess_ns);
    weft_pack_u32(p, (uint32_t)t->batch_rows);
    weft_pack_u32(p, (uint32_t)t->n_runs);
}

static void unpack_timing(weft_unpacker *u, weft_timing *t)
{
    t->arrived_unix_ns = (int64_t)weft_unpack_u64(u);
    t->total_ns = (int64_t)weft_unpack_u64(u);
    t->queue_ns = (int64_t)weft_unpack_u64(u);
    t->preprocess_ns = (int64_t)weft_unpack_u64(u);
    t->run_ns = (int64_t)weft_unpack_u64(u);
    t->postprocess_ns = (int64_t)weft_unpack_u64(u);
    t->batch_rows = (int32_t)weft_unpack_u32(u);
    t->n_runs = (int32_t)weft_unpack_u32(u);
}

weft_status weft_wire_encode_result(const weft_result *r, uint64_t ticket, const weft_wire_limits *l, weft_buffer *out,
                                    weft_error *err)
{
    bool failed = r->error.status != WEFT_OK;
    size_t n_columns = failed ? 0 : r->n_columns;
    weft_packer p;

    weft_pack_begin(&p, out, l, WEFT_MESSAGE_RESULT, ticket, err);
    weft_pack_u32(&p, (uint32_t)r->error.status);
    weft_pack_u64(&p, (uint64_t)(failed ? r->error.retry_after_ms : 0));
    weft_pack_string(&p, failed ? r->error.text : "");
    weft_pack_string(&p, r->id ? r->id : "");
    weft_pack_string(&p, r->model ? r->model : "");
    weft_pack_string(&p, r->version ? r->version : "");
    pack_timing(&p, &r->timing);
    if (n_columns > WEFT_BUILDER_MAX_COLUMNS || r->n_items > l->max_items)
        weft_pack_refuse(&p, WEFT_E_TOO_LARGE, "a result of %zu columns and %zu items is too large for a message", n_columns,
                         r->n_items);
    weft_pack_u64(&p, failed ? 0 : r->n_items);
    weft_pack_u32(&p, (uint32_t)n_columns);
    for (size_t i = 0; i < n_columns && !p.status; i++) {
        weft_pack_u8(&p, (uint8_t)r->columns[i].kind);
        weft_pack_u8(&p, r->columns[i].per_item);
        weft_pack_tensor_head(&p, &r->columns[i].tensor);
    }
    weft_pack_head_done(&p);
    for (size_t i = 0; i < n_columns && !p.status; i++)
        weft_pack_payload(&p, r->columns[i].tensor.data, r->columns[i].tensor.n_bytes);
    return weft_pack_end(&p);
}

typedef struct result_head {
    weft_error error;
    const char *id, *model, *version;
    weft_timing timing;
    uint64_t n_items;
    uint32_t n_columns;
    weft_column *columns;
} result_head;

static void unpack_result_head(weft_unpacker *u, weft_arena *arena, result_head *h)
{
    int32_t status = (int32_t)weft_unpack_u32(u);
    int64_t retry_after_ms = (int64_t)weft_unpack_u64(u);
    const char *text = weft_unpack_string(u, WEFT_ERROR_TEXT_BYTES - 1, false);

    h->id = weft_unpack_string(u, WEFT_RESULT_ID_BYTES - 1, false);
    h->model = weft_unpack_string(u, WEFT_RESULT_MODEL_BYTES - 1, false);
    h->version = weft_unpack_string(u, WEFT_RESULT_VERSION_BYTES - 1, false);
    unpack_timing(u, &h->timing);
    h->n_items = weft_unpack_u64(u);
    h->n_columns = weft_unpack_count(u, WEFT_BUILDER_MAX_COLUMNS, "columns");
    if (u->status)
        return;
    if (status > 0 || status < -9999)
        weft_unpack_refuse(u, "a result has the impossible status %d", (int)status);
    else if (status ? h->n_columns || h->n_items : text[0] || retry_after_ms)
        weft_unpack_refuse(u, "a result is both a failure and a success");
    else if (h->n_items > u->limits->max_items)
        weft_unpack_refuse(u, "a result has %llu items; at most %llu are possible", (unsigned long long)h->n_items,
                           (unsigned long long)u->limits->max_items);
    if (u->status)
        return;
    h->error.status = (weft_status)status;
    h->error.retry_after_ms = retry_after_ms;
    memcpy(h->error.text, text, strlen(text) + 1);
    h->columns = array(u, arena, h->n_columns, sizeof *h->columns);
    for (uint32_t i = 0; i < h->n_columns && !u->status; i++) {
        h->columns[i].kind = (weft_field_kind)weft_unpack_u8(u);
        h->columns[i].per_item = weft_unpack_bool(u);
        weft_unpack_tensor_head(u, &h->columns[i].tensor);
        if (!u->status && !h->columns[i].tensor.name)
            weft_unpack_refuse(u, "a column of a result has no name");
    }
    weft_unpack_head_done(u);
}

weft_status weft_wire_decode_result(const void *frame, size_t n_bytes, const weft_wire_limits *l, weft_arena *arena,
                                    void (*release)(void *owner), void *owner, weft_result **out, uint64_t *ticket,
                                    weft_error *err)
{
    result_head h = {0};
    weft_unpacker u;
    weft_builder *b;
    weft_status s;

    *out = NULL;
    if (weft_unpack_begin(&u, frame, n_bytes, l, WEFT_MESSAGE_RESULT, ticket, err))
        return u.status;
    unpack_result_head(&u, arena, &h);
    for (uint32_t i = 0; i < h.n_columns && !u.status; i++)
        unpack_data(&u, arena, &h.columns[i].tensor);
    if (weft_unpack_end(&u))
        return u.status;
    if ((s = weft_builder_create(arena, NULL, 0, release, owner, &b, err)))
        return s;
    weft_builder_items(b, (size_t)h.n_items);
    for (uint32_t i = 0; i < h.n_columns; i++)
        if ((s = weft_builder_tensor(b, h.columns[i].kind, h.columns[i].per_item, &h.columns[i].tensor, false, err)))
            return s;
    *out = weft_builder_finish(b, h.id, h.model, h.version, &h.timing, h.error.status ? &h.error : NULL);
    return WEFT_OK;
}

/* ---- progress and cancel -------------------------------------------------------------------------------------------------- */

weft_status weft_wire_encode_progress(int32_t step, int32_t n_steps, uint64_t ticket, weft_buffer *out, weft_error *err)
{
    weft_packer p;

    weft_pack_begin(&p, out, &small_limits, WEFT_MESSAGE_PROGRESS, ticket, err);
    if (step < 0 || step > n_steps)
        weft_pack_refuse(&p, WEFT_E_INVALID, "step %d of %d is impossible", (int)step, (int)n_steps);
    weft_pack_u32(&p, (uint32_t)step);
    weft_pack_u32(&p, (uint32_t)n_steps);
    weft_pack_head_done(&p);
    return weft_pack_end(&p);
}

weft_status weft_wire_encode_cancel(uint64_t ticket, weft_buffer *out, weft_error *err)
{
    weft_packer p;

    weft_pack_begin(&p, out, &small_limits, WEFT_MESSAGE_CANCEL, ticket, err);
    weft_pack_head_done(&p);
    return weft_pack_end(&p);
}

weft_status weft_wire_decode_progress(const void *frame, size_t n_bytes, int32_t *step, int32_t *n_steps, uint64_t *ticket,
                                      weft_error *err)
{
    weft_unpacker u;

    *step = *n_steps = 0;
    if (weft_unpack_begin(&u, frame, n_bytes, &small_limits, WEFT_MESSAGE_PROGRESS, ticket, err))
        return u.status;
    *step = (int32_t)weft_unpack_u32(&u);
    *n_steps = (int32_t)weft_unpack_u32(&u);
    if (*step < 0 || *step > *n_steps)
        weft_unpack_refuse(&u, "step %d of %d is impossible", (int)*step, (int)*n_steps);
    weft_unpack_head_done(&u);
    return weft_unpack_end(&u);
}

weft_status weft_wire_decode_cancel(const void *frame, size_t n_bytes, uint64_t *ticket, weft_error *err)
{
    weft_unpacker u;

    if (weft_unpack_begin(&u, frame, n_bytes, &small_limits, WEFT_MESSAGE_CANCEL, ticket, err))
        return u.status;
    weft_unpack_head_done(&u);
    return weft_unpack_end(&u);
}
