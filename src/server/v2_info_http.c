/* GET /v2 and below: what the server and its models say about themselves. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "server/v2_http.h"
#include "server/v2_model.h"
#include "wire/json.h"

#define ARENA_BYTES 4096

static weft_engine *engine_of(const weft_exchange *x)
{
    return x->loop->server->engine;
}

static bool take_arena(weft_exchange *x)
{
    weft_error err;
    x->arena = weft_arena_create(x->loop->server->pool, ARENA_BYTES);
    if (x->arena)
        return true;
    weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    weft_exchange_fail(x, &err);
    return false;
}

static void reply(weft_exchange *x, int status)
{
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, status, "application/json");
}

void weft_v2_server_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_json j;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "name", "weft");
    weft_json_key_string(&j, "version", weft_version());
    weft_json_key(&j, "extensions");
    weft_json_array_begin(&j);
    for (size_t i = 0; weft_v2_extensions[i]; i++)
        weft_json_string(&j, weft_v2_extensions[i]);
    weft_json_array_end(&j);
    weft_json_object_end(&j);
    reply(x, 200);
}

/* ---- one model ------------------------------------------------------------------------------------------------------------- */

static void put_dims(weft_json *j, const char *key, const int64_t *dims, int n)
{
    weft_json_key(j, key);
    weft_json_array_begin(j);
    for (int i = 0; i < n; i++)
        weft_json_int(j, dims[i]);
    weft_json_array_end(j);
}

static void put_tensors(weft_json *j, const char *key, const weft_v2_tensor_info *t, size_t n)
{
    weft_json_key(j, key);
    weft_json_array_begin(j);
    for (size_t i = 0; i < n; i++) {
        weft_json_object_begin(j);
        weft_json_key_string(j, "name", t[i].name);
        weft_json_key_string(j, "datatype", t[i].dtype ? weft_dtype_name(t[i].dtype) : "FP32");
        put_dims(j, "shape", t[i].shape, t[i].rank);
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

/* Opens the model of the path, or answers with the error. */
static bool open_model(weft_exchange *x, weft_v2_model *m)
{
    weft_error err;
    if (!take_arena(x))
        return false;
    if (weft_v2_model_open(engine_of(x), x->model, x->version, x->arena, m, &err) == WEFT_OK)
        return true;
    weft_exchange_fail(x, &err);
    return false;
}

void weft_v2_metadata_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_v2_model m;
    weft_json j;
    if (!open_model(x, &m))
        return;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "name", m.info->name);
    weft_json_key(&j, "versions");
    weft_json_array_begin(&j);
    weft_json_string(&j, m.info->version);
    weft_json_array_end(&j);
    weft_json_key_string(&j, "platform", m.platform);
    put_tensors(&j, "inputs", m.inputs, m.n_inputs);
    put_tensors(&j, "outputs", m.outputs, m.n_outputs);
    weft_json_object_end(&j);
    weft_v2_model_close(&m);
    reply(x, 200);
}

void weft_v2_model_ready_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_error err;
    weft_json j;
    weft_status st = weft_v2_model_ready(engine_of(x), x->model, x->version, &err);
    if (st && st != WEFT_E_UNAVAILABLE) {
        weft_exchange_fail(x, &err);
        return;
    }
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "name", x->model);
    weft_json_key_bool(&j, "ready", st == WEFT_OK);
    if (st)
        weft_json_key_string(&j, "error", err.text);
    weft_json_object_end(&j);
    reply(x, st ? 503 : 200);
}

/* ---- configuration in Triton's shape (extension_model_configuration.md, model_config.proto as JSON) -------------------------
 */

static void put_type(weft_json *j, weft_dtype t)
{
    char name[24];
    snprintf(name, sizeof(name), "TYPE_%s", t == WEFT_DT_STRING ? "STRING" : t ? weft_dtype_name(t) : "INVALID");
    weft_json_key_string(j, "data_type", name);
}

static void put_config_tensors(weft_json *j, const char *key, const weft_v2_model *m, const weft_v2_tensor_info *t, size_t n,
                               bool input)
{
    int skip = m->max_batch_size > 0; /* dims are without the batch axis */
    weft_json_key(j, key);
    weft_json_array_begin(j);
    for (size_t i = 0; i < n; i++) {
        weft_json_object_begin(j);
        weft_json_key_string(j, "name", t[i].name);
        put_type(j, t[i].dtype);
        if (input)
            weft_json_key_string(j, "format", "FORMAT_NONE");
        put_dims(j, "dims", t[i].shape + (t[i].rank > 0 ? skip : 0), t[i].rank - (t[i].rank > 0 ? skip : 0));
        weft_json_key_bool(j, "is_shape_tensor", false);
        if (input) {
            weft_json_key_bool(j, "allow_ragged_batch", false);
            weft_json_key_bool(j, "optional", t[i].optional);
        } else {
            weft_json_key_string(j, "label_filename", "");
        }
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

static void put_queue(weft_json *j, const weft_model_config *c)
{
    weft_json_key(j, "default_queue_policy");
    weft_json_object_begin(j);
    weft_json_key_string(j, "timeout_action", "REJECT");
    weft_json_key_uint(j, "default_timeout_microseconds", (uint64_t)(c->timeout_ms * 1000));
    weft_json_key_bool(j, "allow_timeout_override", true);
    weft_json_key_int(j, "max_queue_size", c->queue_size);
    weft_json_object_end(j);
}

/* What only the configuration knows: NULL when the model is not in it. */
static void put_configured(weft_json *j, const weft_v2_model *m, const weft_model_config *c)
{
    bool on_cpu = strcmp(m->info->backend, "acl") != 0;
    weft_json_key(j, "instance_group");
    weft_json_array_begin(j);
    weft_json_object_begin(j);
    weft_json_key_string(j, "name", m->info->name);
    weft_json_key_string(j, "kind", on_cpu ? "KIND_CPU" : "KIND_MODEL");
    weft_json_key_int(j, "count", c && c->instances > 0 ? c->instances : 1);
    weft_json_object_end(j);
    weft_json_array_end(j);
    if (!c)
        return;
    if (m->max_batch_size > 0) {
        weft_json_key(j, "dynamic_batching");
        weft_json_object_begin(j);
        weft_json_key_uint(j, "max_queue_delay_microseconds", (uint64_t)(c->batch_window_ms * 1000));
        weft_json_key_bool(j, "preserve_ordering", false);
        put_queue(j, c);
        weft_json_object_end(j);
    }
    weft_json_key(j, "parameters");
    weft_json_object_begin(j);
    weft_json_key(j, "executor");
    weft_json_object_begin(j);
    weft_json_key_string(j, "string_value", m->info->type);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

void weft_v2_config_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_v2_model m;
    weft_json j;
    if (!open_model(x, &m))
        return;
    const struct weft_config *file = atomic_load(&x->loop->server->config);
    const weft_config_model *c = file ? weft_config_find(file, m.info->name) : NULL;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "name", m.info->name);
    weft_json_key_string(&j, "platform", m.platform);
    weft_json_key_string(&j, "backend", m.info->backend);
    weft_json_key(&j, "version_policy");
    weft_json_object_begin(&j);
    weft_json_key(&j, "latest");
    weft_json_object_begin(&j);
    weft_json_key_int(&j, "num_versions", 1);
    weft_json_object_end(&j);
    weft_json_object_end(&j);
    weft_json_key_int(&j, "max_batch_size", m.max_batch_size);
    put_config_tensors(&j, "input", &m, m.inputs, m.n_inputs, true);
    put_config_tensors(&j, "output", &m, m.outputs, m.n_outputs, false);
    put_configured(&j, &m, c ? &c->config : NULL);
    weft_json_object_end(&j);
    weft_v2_model_close(&m);
    reply(x, 200);
}

/* ---- statistics ------------------------------------------------------------------------------------------------------------ */

static void put_duration(weft_json *j, const char *key, weft_v2_duration d)
{
    weft_json_key(j, key);
    weft_json_object_begin(j);
    weft_json_key_uint(j, "count", d.count);
    weft_json_key_uint(j, "ns", d.ns);
    weft_json_object_end(j);
}

static void put_batches(weft_json *j, const weft_v2_stats *s)
{
    weft_json_key(j, "batch_stats");
    weft_json_array_begin(j);
    for (size_t i = 0; i < s->n_batches; i++) {
        weft_json_object_begin(j);
        weft_json_key_uint(j, "batch_size", s->batches[i].batch_size);
        put_duration(j, "compute_input", s->batches[i].compute_input);
        put_duration(j, "compute_infer", s->batches[i].compute_infer);
        put_duration(j, "compute_output", s->batches[i].compute_output);
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

static void put_stats(weft_json *j, const weft_v2_stats *s)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "name", s->name);
    weft_json_key_string(j, "version", s->version);
    weft_json_key_uint(j, "last_inference", s->last_inference_ms);
    weft_json_key_uint(j, "inference_count", s->inference_count);
    weft_json_key_uint(j, "execution_count", s->execution_count);
    weft_json_key(j, "inference_stats");
    weft_json_object_begin(j);
    put_duration(j, "success", s->success);
    put_duration(j, "fail", s->fail);
    put_duration(j, "queue", s->queue);
    put_duration(j, "compute_input", s->compute_input);
    put_duration(j, "compute_infer", s->compute_infer);
    put_duration(j, "compute_output", s->compute_output);
    put_duration(j, "cache_hit", s->cache_hit);
    put_duration(j, "cache_miss", s->cache_miss);
    weft_json_object_end(j);
    weft_json_key(j, "response_stats"); /* of decoupled models only, which there are none */
    weft_json_object_begin(j);
    weft_json_object_end(j);
    put_batches(j, s);
    weft_json_key(j, "memory_usage");
    weft_json_array_begin(j);
    for (size_t i = 0; i < s->n_memory; i++) {
        weft_json_object_begin(j);
        weft_json_key_string(j, "type", s->memory[i].type);
        weft_json_key_int(j, "id", s->memory[i].id);
        weft_json_key_uint(j, "byte_size", s->memory[i].byte_size);
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
    weft_json_object_end(j);
}

void weft_v2_stats_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_error err;
    weft_v2_stats *stats;
    size_t n;
    weft_json j;
    if (!take_arena(x))
        return;
    if (weft_v2_model_stats(engine_of(x), x->model, x->version, x->arena, &stats, &n, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key(&j, "model_stats");
    weft_json_array_begin(&j);
    for (size_t i = 0; i < n; i++)
        put_stats(&j, &stats[i]);
    weft_json_array_end(&j);
    weft_json_object_end(&j);
    reply(x, 200);
}
