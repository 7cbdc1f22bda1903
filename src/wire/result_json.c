#include "wire/result_json.h"

#include "base/fp.h"

#include <stdio.h>
#include <string.h>

const char *weft_field_kind_name(weft_field_kind k)
{
    static const char *const names[] = {"?",      "text",   "label", "score",   "box",   "quad",
                                        "points", "number", "matte", "picture", "tensor"};

    return k >= WEFT_FIELD_TEXT && k <= WEFT_FIELD_TENSOR ? names[k] : "?";
}

/* Own table: the engine's weft_model_state_name lies in a part that this one may not know. */
static const char *state_name(weft_model_state s)
{
    static const char *const names[] = {"unknown",   "loading",    "warming", "ready",    "degraded",
                                        "unhealthy", "recovering", "failed",  "unloading"};

    return s >= WEFT_MODEL_LOADING && s <= WEFT_MODEL_UNLOADING ? names[s] : names[0];
}

/* ---- elements ------------------------------------------------------------------------------------------------------------- */

#define LOAD(type)                                                                                                               \
    type v;                                                                                                                      \
    memcpy(&v, p, sizeof v)

/* One element of a dense type; p need not be aligned. */
static void put_number(weft_json *j, weft_dtype t, const uint8_t *p)
{
    switch (t) {
    case WEFT_DT_BOOL:
        weft_json_bool(j, *p != 0);
        break;
    case WEFT_DT_U8:
        weft_json_uint(j, *p);
        break;
    case WEFT_DT_I8:
        weft_json_int(j, (int8_t)*p);
        break;
    case WEFT_DT_U16: {
        LOAD(uint16_t);
        weft_json_uint(j, v);
        break;
    }
    case WEFT_DT_I16: {
        LOAD(int16_t);
        weft_json_int(j, v);
        break;
    }
    case WEFT_DT_U32: {
        LOAD(uint32_t);
        weft_json_uint(j, v);
        break;
    }
    case WEFT_DT_I32: {
        LOAD(int32_t);
        weft_json_int(j, v);
        break;
    }
    case WEFT_DT_U64: {
        LOAD(uint64_t);
        weft_json_uint(j, v);
        break;
    }
    case WEFT_DT_I64: {
        LOAD(int64_t);
        weft_json_int(j, v);
        break;
    }
    case WEFT_DT_F16: {
        LOAD(uint16_t);
        weft_json_float(j, weft_f16_to_f32(v));
        break;
    }
    case WEFT_DT_BF16: {
        LOAD(uint16_t);
        weft_json_float(j, weft_bf16_to_f32(v));
        break;
    }
    case WEFT_DT_F32: {
        LOAD(float);
        weft_json_float(j, v);
        break;
    }
    case WEFT_DT_F64: {
        LOAD(double);
        weft_json_double(j, v);
        break;
    }
    case WEFT_DT_NONE:
    case WEFT_DT_STRING:
        weft_json_null(j);
        break;
    }
}

/* Walks a STRING tensor. */
static const char *next_string(const uint8_t **p, size_t *n)
{
    const uint8_t *at = *p;

    *n = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    *p = at + 4 + *n;
    return (const char *)at + 4;
}

/* A place in a tensor's bytes, moved on by each element that is written. */
typedef struct cursor {
    const uint8_t *p;
    weft_dtype dtype;
} cursor;

static void put_element(weft_json *j, cursor *c, bool as_base64)
{
    size_t n;
    const char *s;

    if (c->dtype != WEFT_DT_STRING) {
        put_number(j, c->dtype, c->p);
        c->p += weft_dtype_bytes(c->dtype);
        return;
    }
    s = next_string(&c->p, &n);
    if (as_base64)
        weft_json_base64(j, s, n);
    else
        weft_json_text(j, s, n);
}

/* Nested arrays of the given dims; no dims is one element. What holds no element is [] at once: a shape like [2^40,0] must not
 * cost time. */
static void put_nested(weft_json *j, cursor *c, const int64_t *shape, int rank)
{
    int64_t n = 0;

    if (rank == 0) {
        put_element(j, c, false);
        return;
    }
    weft_json_array_begin(j);
    for (int64_t i = 0; weft_shape_elements(shape, rank, &n) && n && i < shape[0]; i++)
        put_nested(j, c, shape + 1, rank - 1);
    weft_json_array_end(j);
}

void weft_json_tensor_data(weft_json *j, const weft_tensor *t)
{
    cursor c = {t->data, t->dtype};
    int64_t n = 0;

    weft_shape_elements(t->shape, t->rank, &n);
    weft_json_array_begin(j);
    for (int64_t i = 0; i < n; i++)
        put_element(j, &c, false);
    weft_json_array_end(j);
}

/* ---- columns -------------------------------------------------------------------------------------------------------------- */

static void put_shape(weft_json *j, const int64_t *shape, int rank)
{
    weft_json_array_begin(j);
    for (int i = 0; i < rank; i++)
        weft_json_int(j, shape[i]);
    weft_json_array_end(j);
}

static void put_outputs(weft_json *j, const weft_result *r)
{
    bool any = false;

    for (size_t i = 0; i < r->n_columns; i++) {
        const weft_column *c = &r->columns[i];

        if (c->kind != WEFT_FIELD_TENSOR)
            continue;
        if (!any) {
            weft_json_key(j, "outputs");
            weft_json_object_begin(j);
        }
        any = true;
        weft_json_key(j, c->tensor.name);
        weft_json_object_begin(j);
        weft_json_key_string(j, "datatype", weft_dtype_name(c->tensor.dtype));
        weft_json_key(j, "shape");
        put_shape(j, c->tensor.shape, c->tensor.rank);
        weft_json_key(j, "data");
        weft_json_tensor_data(j, &c->tensor);
        weft_json_object_end(j);
    }
    if (any)
        weft_json_object_end(j);
}

static void put_items(weft_json *j, const weft_result *r)
{
    cursor at[64]; /* one a column; more columns than a result can have would be left out */
    size_t n_columns = r->n_columns < 64 ? r->n_columns : 64;
    bool any = false;

    for (size_t k = 0; k < n_columns; k++) {
        at[k] = (cursor){r->columns[k].tensor.data, r->columns[k].tensor.dtype};
        any = any || r->columns[k].per_item;
    }
    if (!any)
        return;
    weft_json_key(j, "items");
    weft_json_array_begin(j);
    for (size_t i = 0; i < r->n_items; i++) {
        weft_json_object_begin(j);
        for (size_t k = 0; k < n_columns; k++) {
            const weft_column *c = &r->columns[k];

            if (!c->per_item)
                continue;
            weft_json_key(j, c->tensor.name);
            put_nested(j, &at[k], c->tensor.shape + 1, c->tensor.rank - 1);
        }
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

static void put_free_key(weft_json *j, const char *name)
{
    static const char *const fixed[] = {"id", "model", "version", "items", "outputs", "timing", "error"};
    char longer[80];

    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (!strcmp(name, fixed[i])) {
            snprintf(longer, sizeof longer, "%s_", name);
            weft_json_key(j, longer);
            return;
        }
    weft_json_key(j, name);
}

static void put_column(weft_json *j, const weft_column *c)
{
    const weft_tensor *t = &c->tensor;
    cursor at = {t->data, t->dtype};

    put_free_key(j, t->name);
    if (c->kind == WEFT_FIELD_PICTURE) {
        put_element(j, &at, true);
    } else if (c->kind == WEFT_FIELD_MATTE) {
        weft_json_object_begin(j);
        weft_json_key_int(j, "width", t->shape[1]);
        weft_json_key_int(j, "height", t->shape[0]);
        weft_json_key(j, "data");
        weft_json_base64(j, t->data, t->n_bytes);
        weft_json_object_end(j);
    } else {
        put_nested(j, &at, t->shape, t->rank);
    }
}

/* ---- documents ------------------------------------------------------------------------------------------------------------ */

static void put_ms(weft_json *j, const char *key, int64_t ns)
{
    weft_json_key_double(j, key, (double)ns / 1e6);
}

static void put_timing(weft_json *j, const weft_timing *t)
{
    weft_json_key(j, "timing");
    weft_json_object_begin(j);
    weft_json_key_int(j, "arrived_unix_ms", t->arrived_unix_ns / 1000000);
    put_ms(j, "total_ms", t->total_ns);
    put_ms(j, "queue_ms", t->queue_ns);
    put_ms(j, "preprocess_ms", t->preprocess_ns);
    put_ms(j, "run_ms", t->run_ns);
    put_ms(j, "postprocess_ms", t->postprocess_ns);
    weft_json_key_int(j, "batch_rows", t->batch_rows);
    weft_json_key_int(j, "runs", t->n_runs);
    weft_json_object_end(j);
}

void weft_json_error(weft_json *j, const weft_error *err)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "code", weft_status_name(err->status));
    weft_json_key_string(j, "message", err->text);
    if (err->retry_after_ms > 0)
        weft_json_key_int(j, "retry_after_ms", err->retry_after_ms);
    weft_json_object_end(j);
}

void weft_json_result(weft_json *j, const weft_result *r)
{
    weft_json_object_begin(j);
    if (r->id && r->id[0])
        weft_json_key_string(j, "id", r->id);
    weft_json_key_string(j, "model", r->model ? r->model : "");
    weft_json_key_string(j, "version", r->version ? r->version : "");
    if (r->error.status != WEFT_OK) {
        weft_json_key(j, "error");
        weft_json_error(j, &r->error);
    } else {
        put_items(j, r);
        for (size_t i = 0; i < r->n_columns; i++)
            if (!r->columns[i].per_item && r->columns[i].kind != WEFT_FIELD_TENSOR)
                put_column(j, &r->columns[i]);
        put_outputs(j, r);
    }
    put_timing(j, &r->timing);
    weft_json_object_end(j);
}

static void put_descs(weft_json *j, const char *key, const weft_tensor_desc *d, size_t n)
{
    weft_json_key(j, key);
    weft_json_array_begin(j);
    for (size_t i = 0; i < n; i++) {
        bool named = false;

        weft_json_object_begin(j);
        weft_json_key_string(j, "name", d[i].name);
        weft_json_key_string(j, "datatype", weft_dtype_name(d[i].dtype));
        weft_json_key(j, "shape");
        if (d[i].rank >= 0)
            put_shape(j, d[i].shape, d[i].rank);
        else
            weft_json_null(j); /* the rank itself is not known */
        for (int k = 0; k < d[i].rank; k++)
            named = named || d[i].dim_names[k];
        if (named) {
            weft_json_key(j, "dim_names");
            weft_json_array_begin(j);
            for (int k = 0; k < d[i].rank; k++)
                weft_json_string(j, d[i].dim_names[k]);
            weft_json_array_end(j);
        }
        if (d[i].optional)
            weft_json_key_bool(j, "optional", true);
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

static void put_fields(weft_json *j, const weft_field_decl *f, size_t n)
{
    weft_json_key(j, "fields");
    weft_json_array_begin(j);
    for (size_t i = 0; i < n; i++) {
        weft_json_object_begin(j);
        weft_json_key_string(j, "name", f[i].name);
        weft_json_key_string(j, "kind", weft_field_kind_name(f[i].kind));
        if (f[i].dtype != WEFT_DT_NONE)
            weft_json_key_string(j, "datatype", weft_dtype_name(f[i].dtype));
        weft_json_key_bool(j, "per_item", f[i].per_item);
        if (f[i].n_points)
            weft_json_key_int(j, "points", f[i].n_points);
        weft_json_key_string(j, "help", f[i].help ? f[i].help : "");
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

void weft_json_model_info(weft_json *j, const weft_model_info *m)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "name", m->name);
    weft_json_key_string(j, "version", m->version);
    weft_json_key_string(j, "type", m->type);
    if (m->backend && m->backend[0])
        weft_json_key_string(j, "backend", m->backend);
    weft_json_key_string(j, "state", state_name(m->state));
    if (m->state_cause && m->state_cause[0])
        weft_json_key_string(j, "state_cause", m->state_cause);
    weft_json_key_int(j, "state_since_unix_ms", m->state_since_unix_ns / 1000000);
    weft_json_key_bool(j, "required", m->required);
    weft_json_key_bool(j, "batched", m->batched);
    weft_json_key_int(j, "max_batch", m->max_batch);
    if (m->picture_input)
        weft_json_key_string(j, "picture_input", m->picture_input);
    if (m->params) {
        weft_json_key(j, "parameters");
        weft_json_array_begin(j);
        for (size_t i = 0; m->params[i]; i++)
            weft_json_string(j, m->params[i]);
        weft_json_array_end(j);
    }
    put_descs(j, "inputs", m->inputs, m->n_inputs);
    put_descs(j, "outputs", m->outputs, m->n_outputs);
    put_fields(j, m->fields, m->n_fields);
    weft_json_key(j, "memory");
    weft_json_object_begin(j);
    weft_json_key_uint(j, "weights_bytes", m->weights_bytes);
    weft_json_key_uint(j, "work_bytes", m->work_bytes);
    weft_json_key_uint(j, "peak_bytes", m->peak_bytes);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

void weft_json_model_stats(weft_json *j, const weft_model_stats *s)
{
    weft_json_object_begin(j);
#define COUNTER(name) weft_json_key_uint(j, #name, s->name)
    COUNTER(accepted);
    COUNTER(succeeded);
    COUNTER(failed_client);
    COUNTER(failed_server);
    COUNTER(expired);
    COUNTER(cancelled);
    COUNTER(refused);
    COUNTER(runs);
    COUNTER(rows);
    COUNTER(splits);
    COUNTER(lost_runs);
    COUNTER(queued);
    COUNTER(queued_bytes);
    COUNTER(ready_rows);
    COUNTER(running);
#undef COUNTER
    put_ms(j, "oldest_wait_ms", s->oldest_wait_ns);
    put_ms(j, "expected_wait_ms", s->expected_wait_ns);
    weft_json_key_int(j, "last_success_unix_ms", s->last_success_unix_ns / 1000000);
    put_ms(j, "queue_ms", (int64_t)s->queue_ns);
    put_ms(j, "preprocess_ms", (int64_t)s->preprocess_ns);
    put_ms(j, "run_ms", (int64_t)s->run_ns);
    put_ms(j, "postprocess_ms", (int64_t)s->postprocess_ns);
    weft_json_key(j, "batch_rows");
    weft_json_array_begin(j);
    for (int i = 0; i < WEFT_STAT_BATCH_BUCKETS; i++)
        weft_json_uint(j, s->batch_rows[i]);
    weft_json_array_end(j);
    weft_json_object_end(j);
}

void weft_result_json(weft_buffer *out, const weft_result *r)
{
    weft_json j;

    weft_json_init(&j, out);
    weft_json_result(&j, r);
}

void weft_model_info_json(weft_buffer *out, const weft_model_info *info)
{
    weft_json j;

    weft_json_init(&j, out);
    weft_json_model_info(&j, info);
}

void weft_error_json(weft_buffer *out, const weft_error *err)
{
    weft_json j;

    weft_json_init(&j, out);
    weft_json_object_begin(&j);
    weft_json_key(&j, "error");
    weft_json_error(&j, err);
    weft_json_object_end(&j);
}
