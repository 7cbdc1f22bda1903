#include "server/v2_model.h"

#include <string.h>

#include "base/clock.h"

const char *const weft_v2_extensions[] = {
    "classification",  "model_repository",    "model_repository(unload_dependents)",
    "schedule_policy", "model_configuration", "binary_tensor_data",
    "parameters",      "statistics",          NULL,
};

bool weft_v2_state_serves(weft_model_state s)
{
    return s == WEFT_MODEL_READY || s == WEFT_MODEL_DEGRADED;
}

/* <project>_<format>; the first is a name that clients know, the others follow its form. */
static const char *platform_of(const weft_model_info *info)
{
    if (strcmp(info->backend, "onnxruntime") == 0)
        return "onnx_onnxv1";
    if (strcmp(info->backend, "acl") == 0)
        return "ascend_om";
    return info->backend[0] ? "weft_backend" : "weft_pipeline";
}

/* ---- tensors of a file ----------------------------------------------------------------------------------------------------- */

static const weft_v2_tensor_info *from_descs(weft_arena *arena, const weft_tensor_desc *descs, size_t n)
{
    weft_v2_tensor_info *out = weft_arena_array(arena, n, sizeof(*out));
    for (size_t i = 0; out && i < n; i++) {
        out[i].name = descs[i].name;
        out[i].dtype = descs[i].dtype;
        out[i].optional = descs[i].optional;
        out[i].rank = descs[i].rank >= 0 ? descs[i].rank : 1;
        out[i].shape[0] = -1;
        for (int k = 0; k < descs[i].rank; k++)
            out[i].shape[k] = descs[i].shape[k];
    }
    return out;
}

/* ---- tensors of a declaration ---------------------------------------------------------------------------------------------- */

static void add_dim(weft_v2_tensor_info *t, int64_t dim)
{
    t->shape[t->rank++] = dim;
}

static void from_field(const weft_field_decl *f, weft_v2_tensor_info *t)
{
    t->name = f->name;
    t->dtype = f->dtype;
    if (f->per_item)
        add_dim(t, -1);
    switch (f->kind) {
    case WEFT_FIELD_BOX:
        add_dim(t, 4);
        break;
    case WEFT_FIELD_QUAD:
        add_dim(t, 4);
        add_dim(t, 2);
        break;
    case WEFT_FIELD_POINTS:
        add_dim(t, f->n_points > 0 ? f->n_points : -1);
        add_dim(t, 2);
        break;
    case WEFT_FIELD_MATTE:
        add_dim(t, -1);
        add_dim(t, -1);
        break;
    case WEFT_FIELD_PICTURE:
        add_dim(t, 1);
        break;
    default:
        if (!f->per_item)
            add_dim(t, -1);
    }
}

static const weft_v2_tensor_info *from_fields(weft_arena *arena, const weft_model_info *info, size_t *n)
{
    weft_v2_tensor_info *out = weft_arena_array(arena, info->n_fields + 1, sizeof(*out));
    bool per_item = false;
    *n = info->n_fields;
    for (size_t i = 0; out && i < info->n_fields; i++) {
        from_field(&info->fields[i], &out[i]);
        per_item = per_item || info->fields[i].per_item;
    }
    if (out && per_item && info->picture_input)
        out[(*n)++] = (weft_v2_tensor_info){.name = WEFT_V2_N_ITEMS, .dtype = WEFT_DT_I32, .rank = 1, .shape = {-1}};
    return out;
}

static const weft_v2_tensor_info *picture_input(weft_arena *arena, const weft_model_info *info)
{
    weft_v2_tensor_info *out = weft_arena_array(arena, 1, sizeof(*out));
    if (out)
        *out = (weft_v2_tensor_info){.name = info->picture_input, .dtype = WEFT_DT_STRING, .rank = 1, .shape = {-1}};
    return out;
}

/* ---- a model --------------------------------------------------------------------------------------------------------------- */

static weft_status no_version(const weft_model_info *info, const char *version, weft_error *err)
{
    return weft_fail(err, WEFT_E_NOT_FOUND, "the model \"%s\" has no version \"%.64s\"; version \"%s\" is served", info->name,
                     version, info->version);
}

weft_status weft_v2_model_open(weft_engine *e, const char *name, const char *version, weft_arena *arena, weft_v2_model *out,
                               weft_error *err)
{
    *out = (weft_v2_model){0};
    weft_status st = weft_engine_model_info(e, name, &out->info, err);
    if (st)
        return st;
    const weft_model_info *info = out->info;
    if (version && *version && strcmp(version, info->version) != 0)
        st = no_version(info, version, err);
    out->platform = platform_of(info);
    out->picture = info->picture_input != NULL;
    out->max_batch_size = info->batched && !out->picture ? info->max_batch : 0;
    out->n_inputs = out->picture ? 1 : info->n_inputs;
    out->inputs = out->picture ? picture_input(arena, info) : from_descs(arena, info->inputs, info->n_inputs);
    out->n_outputs = info->n_outputs;
    out->outputs = info->n_fields ? from_fields(arena, info, &out->n_outputs) : from_descs(arena, info->outputs, info->n_outputs);
    if (!st && (!out->inputs || !out->outputs))
        st = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the description of the model \"%.64s\"", name);
    if (st)
        weft_v2_model_close(out);
    return st;
}

void weft_v2_model_close(weft_v2_model *m)
{
    if (m && m->info)
        weft_model_info_unref(m->info);
    if (m)
        m->info = NULL;
}

weft_status weft_v2_model_ready(weft_engine *e, const char *name, const char *version, weft_error *err)
{
    const weft_model_info *info;
    weft_status st = weft_engine_model_info(e, name, &info, err);
    if (st)
        return st;
    if (version && *version && strcmp(version, info->version) != 0)
        st = no_version(info, version, err);
    else if (!weft_v2_state_serves(info->state))
        st = weft_fail(err, WEFT_E_UNAVAILABLE, "the model \"%s\" is %s%s%s", info->name, weft_model_state_name(info->state),
                       info->state_cause[0] ? ": " : "", info->state_cause);
    weft_model_info_unref(info);
    return st;
}

/* ---- statistics ------------------------------------------------------------------------------------------------------------ */

static void fill_batches(const weft_model_stats *s, weft_v2_stats *out)
{
    for (uint64_t i = 0; i < WEFT_STAT_BATCH_BUCKETS; i++) {
        uint64_t n = s->batch_rows[i];
        if (!n)
            continue;
        /* pre- and postprocessing belong to requests, not to batches: their time is in the sums above only */
        out->batches[out->n_batches++] = (weft_v2_batch_stats){
            .batch_size = i + 1, .compute_input = {n, 0}, .compute_infer = {n, s->batch_run_ns[i]}, .compute_output = {n, 0}};
    }
}

static void fill_stats(const weft_model_info *info, const weft_model_stats *s, weft_v2_stats *out)
{
    uint64_t n = s->succeeded;
    out->last_inference_ms = (uint64_t)(s->last_success_unix_ns / WEFT_MS);
    out->inference_count = s->rows;
    out->execution_count = s->runs;
    out->success = (weft_v2_duration){n, s->queue_ns + s->preprocess_ns + s->run_ns + s->postprocess_ns};
    out->fail = (weft_v2_duration){s->failed_client + s->failed_server + s->expired + s->cancelled + s->refused, s->failed_ns};
    out->queue = (weft_v2_duration){n, s->queue_ns};
    out->compute_input = (weft_v2_duration){n, s->preprocess_ns};
    out->compute_infer = (weft_v2_duration){n, s->run_ns};
    out->compute_output = (weft_v2_duration){n, s->postprocess_ns};
    fill_batches(s, out);
    uint64_t bytes = info->weights_bytes + info->work_bytes;
    if (bytes)
        out->memory[out->n_memory++] = (weft_v2_memory){"CPU", 0, bytes};
}

typedef struct stats_walk {
    weft_engine *engine;
    weft_arena *arena;
    const char *name, *version;
    weft_v2_stats *out;
    size_t n, capacity;
    bool no_memory, found, other_version;
} stats_walk;

static void add_stats(void *cookie, const weft_model_info *info)
{
    stats_walk *w = cookie;
    weft_model_stats s;
    bool named = w->name && *w->name;
    if (named ? strcmp(w->name, info->name) != 0 : info->hidden)
        return;
    w->found = true;
    if (w->version && *w->version && strcmp(w->version, info->version) != 0) {
        w->other_version = true;
        return;
    }
    if (weft_engine_model_stats(w->engine, info->name, &s, NULL) != WEFT_OK) /* not loaded yet */
        memset(&s, 0, sizeof(s));
    if (w->n == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 8;
        weft_v2_stats *more = weft_arena_array(w->arena, capacity, sizeof(*more));
        if (!more) {
            w->no_memory = true;
            return;
        }
        if (w->n)
            memcpy(more, w->out, w->n * sizeof(*more));
        w->out = more;
        w->capacity = capacity;
    }
    weft_v2_stats *one = &w->out[w->n];
    memset(one, 0, sizeof(*one));
    one->name = weft_arena_strdup(w->arena, info->name);
    one->version = weft_arena_strdup(w->arena, info->version);
    fill_stats(info, &s, one);
    w->no_memory = w->no_memory || !one->name || !one->version;
    w->n++;
}

weft_status weft_v2_model_stats(weft_engine *e, const char *name, const char *version, weft_arena *arena, weft_v2_stats **out,
                                size_t *n_out, weft_error *err)
{
    stats_walk w = {.engine = e, .arena = arena, .name = name, .version = version};
    const weft_model_info *info = NULL;
    weft_status st = WEFT_OK;
    *out = NULL;
    *n_out = 0;
    if (name && *name) {
        if ((st = weft_engine_model_info(e, name, &info, err)))
            return st;
        add_stats(&w, info);
        if (w.other_version)
            st = no_version(info, version, err);
        weft_model_info_unref(info);
    } else {
        weft_engine_each_model(e, add_stats, &w);
    }
    if (st)
        return st;
    if (w.no_memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the statistics");
    *out = w.out;
    *n_out = w.n;
    return WEFT_OK;
}
