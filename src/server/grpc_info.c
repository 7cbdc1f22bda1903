/* What the server and its models say about themselves over gRPC. */
#include <string.h>

#include "config/config.h"
#include "server/grpc_internal.h"
#include "server/pb_write.h"
#include "server/v2_model.h"

#define MAX_NAME 256

static weft_engine *engine_of(const weft_exchange *x)
{
    return x->loop->server->engine;
}

/* {string name=1, version=2}, of ModelReady-, ModelMetadata-, ModelConfig- and ModelStatisticsRequest. False: answered. */
static bool read_names(weft_exchange *x, const char **name, const char **version)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_error err;
    weft_status st = WEFT_OK;
    *name = *version = "";
    weft_pb_read_init(&r, x->body, x->n_body);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(x->arena, &f, MAX_NAME, "the model's name", name, &err);
        else if (f.number == 2)
            st = weft_grpc_text(x->arena, &f, MAX_NAME, "the model's version", version, &err);
    }
    if (!st && r.bad)
        st = weft_grpc_malformed("request", &err);
    if (st)
        weft_exchange_fail(x, &err);
    return !st;
}

static void reply_bool(weft_exchange *x, bool v)
{
    weft_pb_put_uint(&x->answer, 1, v);
    weft_grpc_reply(x);
}

void weft_grpc_server_live(weft_exchange *x)
{
    reply_bool(x, true);
}

void weft_grpc_server_ready(weft_exchange *x)
{
    reply_bool(x, weft_server_is_ready(x->loop->server));
}

void weft_grpc_model_ready(weft_exchange *x)
{
    const char *name, *version;
    weft_error err;
    if (!read_names(x, &name, &version))
        return;
    weft_status st = weft_v2_model_ready(engine_of(x), name, version, &err);
    reply_bool(x, st == WEFT_OK); /* one that is not known is not ready, as in Triton */
}

/* ServerMetadataResponse: name=1 version=2 extensions=3 */
void weft_grpc_server_metadata(weft_exchange *x)
{
    weft_pb_put_string(&x->answer, 1, "weft");
    weft_pb_put_string(&x->answer, 2, weft_version());
    for (size_t i = 0; weft_v2_extensions[i]; i++)
        weft_pb_put_string(&x->answer, 3, weft_v2_extensions[i]);
    weft_grpc_reply(x);
}

/* ---- one model ------------------------------------------------------------------------------------------------------------- */

static bool open_model(weft_exchange *x, weft_v2_model *m)
{
    const char *name, *version;
    weft_error err;
    if (!read_names(x, &name, &version))
        return false;
    if (weft_v2_model_open(engine_of(x), name, version, x->arena, m, &err) == WEFT_OK)
        return true;
    weft_exchange_fail(x, &err);
    return false;
}

/* TensorMetadata: name=1 datatype=2 shape=3 */
static void put_tensors(weft_buffer *b, uint32_t number, const weft_v2_tensor_info *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t begun = weft_pb_begin(b, number);
        weft_pb_put_string(b, 1, t[i].name);
        weft_pb_put_string(b, 2, t[i].dtype ? weft_dtype_name(t[i].dtype) : "FP32");
        weft_pb_put_packed(b, 3, t[i].shape, (size_t)t[i].rank);
        weft_pb_end(b, begun);
    }
}

/* ModelMetadataResponse: name=1 versions=2 platform=3 inputs=4 outputs=5 */
void weft_grpc_model_metadata(weft_exchange *x)
{
    weft_v2_model m;
    if (!open_model(x, &m))
        return;
    weft_buffer *b = &x->answer;
    weft_pb_put_string(b, 1, m.info->name);
    weft_pb_put_string(b, 2, m.info->version);
    weft_pb_put_string(b, 3, m.platform);
    put_tensors(b, 4, m.inputs, m.n_inputs);
    put_tensors(b, 5, m.outputs, m.n_outputs);
    weft_v2_model_close(&m);
    weft_grpc_reply(x);
}

/* ---- configuration (model_config.proto of triton-inference-server/common) -------------------------------------------------- */

/* enum DataType */
static uint64_t config_type(weft_dtype t)
{
    static const uint8_t types[] = {
        [WEFT_DT_NONE] = 0, [WEFT_DT_BOOL] = 1, [WEFT_DT_U8] = 2,   [WEFT_DT_U16] = 3,     [WEFT_DT_U32] = 4,
        [WEFT_DT_U64] = 5,  [WEFT_DT_I8] = 6,   [WEFT_DT_I16] = 7,  [WEFT_DT_I32] = 8,     [WEFT_DT_I64] = 9,
        [WEFT_DT_F16] = 10, [WEFT_DT_F32] = 11, [WEFT_DT_F64] = 12, [WEFT_DT_STRING] = 13, [WEFT_DT_BF16] = 14,
    };
    return types[t];
}

/* ModelInput: name=1 data_type=2 dims=4 optional=8; ModelOutput: name=1 data_type=2 dims=3. Dims are without the batch axis. */
static void put_config_tensors(weft_buffer *b, uint32_t number, const weft_v2_model *m, const weft_v2_tensor_info *t, size_t n,
                               bool input)
{
    for (size_t i = 0; i < n; i++) {
        int skip = m->max_batch_size > 0 && t[i].rank > 0;
        size_t begun = weft_pb_begin(b, number);
        weft_pb_put_string(b, 1, t[i].name);
        weft_pb_put_uint(b, 2, config_type(t[i].dtype));
        weft_pb_put_packed(b, input ? 4 : 3, t[i].shape + skip, (size_t)(t[i].rank - skip));
        if (input)
            weft_pb_put_uint(b, 8, t[i].optional);
        weft_pb_end(b, begun);
    }
}

/* ModelDynamicBatching (11): max_queue_delay_microseconds=2 default_queue_policy=6 {default_timeout_microseconds=2
 * allow_timeout_override=3 max_queue_size=4} */
static void put_batching(weft_buffer *b, const weft_model_config *c)
{
    size_t batching = weft_pb_begin(b, 11);
    weft_pb_put_uint(b, 2, (uint64_t)(c->batch_window_ms * 1000));
    size_t policy = weft_pb_begin(b, 6);
    weft_pb_put_uint(b, 2, (uint64_t)(c->timeout_ms * 1000));
    weft_pb_put_uint(b, 3, 1);
    weft_pb_put_uint(b, 4, (uint64_t)c->queue_size);
    weft_pb_end(b, policy);
    weft_pb_end(b, batching);
}

/* ModelInstanceGroup (7): name=1 count=2 kind=4 (2 = CPU, 3 = MODEL); parameters (14): map of {string_value=1} */
static void put_configured(weft_buffer *b, const weft_v2_model *m, const weft_model_config *c)
{
    size_t group = weft_pb_begin(b, 7);
    weft_pb_put_string(b, 1, m->info->name);
    weft_pb_put_int(b, 2, c && c->instances > 0 ? c->instances : 1);
    weft_pb_put_uint(b, 4, strcmp(m->info->backend, "acl") == 0 ? 3 : 2);
    weft_pb_end(b, group);
    if (!c)
        return;
    if (m->max_batch_size > 0)
        put_batching(b, c);
    size_t entry = weft_pb_begin(b, 14);
    weft_pb_put_string(b, 1, "executor");
    size_t value = weft_pb_begin(b, 2);
    weft_pb_put_string(b, 1, m->info->type);
    weft_pb_end(b, value);
    weft_pb_end(b, entry);
}

/* ModelConfigResponse: config=1; ModelConfig: name=1 platform=2 version_policy=3 {latest=1 {num_versions=1}} max_batch_size=4
 * input=5 output=6 backend=17 */
void weft_grpc_model_config(weft_exchange *x)
{
    weft_v2_model m;
    if (!open_model(x, &m))
        return;
    const struct weft_config *file = atomic_load(&x->loop->server->config);
    const weft_config_model *c = file ? weft_config_find(file, m.info->name) : NULL;
    weft_buffer *b = &x->answer;
    size_t config = weft_pb_begin(b, 1);
    weft_pb_put_string(b, 1, m.info->name);
    weft_pb_put_string(b, 2, m.platform);
    size_t policy = weft_pb_begin(b, 3), latest = weft_pb_begin(b, 1);
    weft_pb_put_uint(b, 1, 1);
    weft_pb_end(b, latest);
    weft_pb_end(b, policy);
    weft_pb_put_int(b, 4, m.max_batch_size);
    put_config_tensors(b, 5, &m, m.inputs, m.n_inputs, true);
    put_config_tensors(b, 6, &m, m.outputs, m.n_outputs, false);
    weft_pb_put_string(b, 17, m.info->backend);
    put_configured(b, &m, c ? &c->config : NULL);
    weft_pb_end(b, config);
    weft_v2_model_close(&m);
    weft_grpc_reply(x);
}

/* ---- statistics ------------------------------------------------------------------------------------------------------------ */

/* StatisticDuration: count=1 ns=2 */
static void put_duration(weft_buffer *b, uint32_t number, weft_v2_duration d)
{
    size_t begun = weft_pb_begin(b, number);
    weft_pb_put_uint(b, 1, d.count);
    weft_pb_put_uint(b, 2, d.ns);
    weft_pb_end(b, begun);
}

/* InferBatchStatistics: batch_size=1 compute_input=2 compute_infer=3 compute_output=4 */
static void put_batch(weft_buffer *b, const weft_v2_batch_stats *s)
{
    size_t begun = weft_pb_begin(b, 7);
    weft_pb_put_uint(b, 1, s->batch_size);
    put_duration(b, 2, s->compute_input);
    put_duration(b, 3, s->compute_infer);
    put_duration(b, 4, s->compute_output);
    weft_pb_end(b, begun);
}

/* ModelStatistics: name=1 version=2 last_inference=3 inference_count=4 execution_count=5 inference_stats=6 batch_stats=7
 * memory_usage=8 {type=1 id=2 byte_size=3}; InferStatistics: success=1 fail=2 queue=3 compute_input=4 compute_infer=5
 * compute_output=6 cache_hit=7 cache_miss=8 */
static void put_stats(weft_buffer *b, const weft_v2_stats *s)
{
    const weft_v2_duration d[] = {s->success,       s->fail,           s->queue,     s->compute_input,
                                  s->compute_infer, s->compute_output, s->cache_hit, s->cache_miss};
    size_t begun = weft_pb_begin(b, 1);
    weft_pb_put_string(b, 1, s->name);
    weft_pb_put_string(b, 2, s->version);
    weft_pb_put_uint(b, 3, s->last_inference_ms);
    weft_pb_put_uint(b, 4, s->inference_count);
    weft_pb_put_uint(b, 5, s->execution_count);
    size_t infer = weft_pb_begin(b, 6);
    for (uint32_t i = 0; i < sizeof(d) / sizeof(d[0]); i++)
        put_duration(b, i + 1, d[i]);
    weft_pb_end(b, infer);
    for (size_t i = 0; i < s->n_batches; i++)
        put_batch(b, &s->batches[i]);
    for (size_t i = 0; i < s->n_memory; i++) {
        size_t memory = weft_pb_begin(b, 8);
        weft_pb_put_string(b, 1, s->memory[i].type);
        weft_pb_put_int(b, 2, s->memory[i].id);
        weft_pb_put_uint(b, 3, s->memory[i].byte_size);
        weft_pb_end(b, memory);
    }
    weft_pb_end(b, begun);
}

void weft_grpc_model_statistics(weft_exchange *x)
{
    const char *name, *version;
    weft_v2_stats *stats;
    size_t n;
    weft_error err;
    if (!read_names(x, &name, &version))
        return;
    if (weft_v2_model_stats(engine_of(x), name, version, x->arena, &stats, &n, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    for (size_t i = 0; i < n; i++)
        put_stats(&x->answer, &stats[i]);
    weft_grpc_reply(x);
}

/* ---- grpc.health.v1 -------------------------------------------------------------------------------------------------------- */

/* HealthCheckRequest: service=1; HealthCheckResponse: status=1 (1 = SERVING, 2 = NOT_SERVING). The service is "" or
 * "inference.GRPCInferenceService" for the server, else the name of a model; one that is not known is NOT_FOUND (health.proto).
 */
void weft_grpc_health_check(weft_exchange *x)
{
    const char *name, *version;
    weft_error err;
    weft_status st = WEFT_OK;
    if (!read_names(x, &name, &version))
        return;
    if (name[0] && strcmp(name, "inference.GRPCInferenceService") != 0)
        st = weft_v2_model_ready(engine_of(x), name, NULL, &err);
    else if (!weft_server_is_ready(x->loop->server))
        st = WEFT_E_UNAVAILABLE;
    if (st == WEFT_OK || st == WEFT_E_UNAVAILABLE) {
        weft_pb_put_uint(&x->answer, 1, st == WEFT_OK ? 1 : 2);
        weft_grpc_reply(x);
        return;
    }
    weft_exchange_fail(x, &err);
}
