/* Loading a model: configuration, backend, executor, instances, warm-up. Blocks; on the caller's thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_text.h"
#include "base/text.h"
#include "engine_internal.h"

#define SPARE_INSTANCES 8 /* that lost runs may be replaced by, at most */
#define MAX_TEXT_BYTES (64u << 20)

/* ---- what an executor is given ---- */
static weft_status read_text(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                             weft_error *err)
{
    weft_model *m = o->internal;
    *text = NULL;
    *n_bytes = 0;
    if (max_bytes > MAX_TEXT_BYTES)
        max_bytes = MAX_TEXT_BYTES;
    FILE *f = fopen(path, "rb");
    if (!f)
        return weft_fail(err, WEFT_E_NOT_FOUND, "the file \"%.512s\" cannot be opened; check the path and its permissions", path);
    weft_status s = WEFT_OK;
    long size = -1;
    if (!fseek(f, 0, SEEK_END))
        size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET))
        s = weft_fail(err, WEFT_E_IO, "the size of the file \"%.512s\" cannot be read", path);
    else if ((unsigned long)size > max_bytes)
        s = weft_fail(err, WEFT_E_TOO_LARGE, "the file \"%.512s\" has %ld bytes; at most %zu are expected", path, size,
                      max_bytes);
    char *data = s ? NULL : weft_arena_alloc(m->arena, (size_t)size + 1);
    if (!s && !data)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the file \"%.512s\"", path);
    if (!s && fread(data, 1, (size_t)size, f) != (size_t)size)
        s = weft_fail(err, WEFT_E_IO, "the file \"%.512s\" cannot be read", path);
    fclose(f);
    if (s)
        return s;
    data[size] = 0;
    *text = data;
    *n_bytes = (size_t)size;
    return WEFT_OK;
}

static void *open_alloc(const weft_open *o, size_t n_bytes)
{
    weft_model *m = o->internal;
    return weft_arena_zalloc(m->arena, n_bytes < 64 ? 64 : n_bytes);
}

weft_status weft_model_open_state(weft_model *m, weft_error *err)
{
    m->open = (weft_open){.name = m->config.name,
                          .options = m->config.executor_options,
                          .model = m->backend ? &m->view : NULL,
                          .submodels = m->sub_views,
                          .log = m->engine->options.log,
                          .log_cookie = m->engine->options.log_cookie,
                          .read_file = read_text,
                          .alloc = open_alloc,
                          .internal = m};
    if (!m->executor->open)
        return WEFT_OK;
    weft_status s = m->executor->open(&m->open, &m->state, err);
    if (s)
        return weft_fail_prefix(err, s, "model \"%s\"", m->config.name);
    m->state_open = true;
    return WEFT_OK;
}

void weft_model_close_state(weft_model *m)
{
    if (m->state_open && m->executor->close)
        m->executor->close(m->state);
    m->state = NULL;
    m->state_open = false;
}

/* ---- the object ---- */
/* The served model that pays for a model's time: a hidden "<parent>.<slot>" is its parent's. */
static void account_name(const weft_model_config *c, char *name)
{
    snprintf(name, WEFT_NAME_BYTES, "%s", c->name);
    char *dot = c->hidden ? strrchr(name, '.') : NULL;
    if (dot && dot != name)
        *dot = 0;
}

static weft_account *account_get(weft_engine *e, const weft_model_config *c)
{
    char name[WEFT_NAME_BYTES];
    weft_account *fresh = calloc(1, sizeof(*fresh)), *a = NULL;
    if (!fresh)
        return NULL;
    account_name(c, name);
    weft_lock_take(&e->sched);
    weft_list_each(n, &e->accounts)
    {
        weft_account *known = weft_container_of(n, weft_account, node);
        if (!strcmp(known->name, name))
            a = known;
    }
    if (!a) {
        a = fresh;
        fresh = NULL;
        memcpy(a->name, name, sizeof(name));
        a->share.vtime_ns = e->lane.vnow_ns;
        a->share.weight = c->weight;
        weft_node_push_back(&e->accounts, &a->node);
    }
    if (!strcmp(c->name, name)) {
        a->share.weight = c->weight;
        a->max_tokens = c->max_cores;
    }
    a->refs++;
    weft_lock_drop(&e->sched);
    free(fresh);
    return a;
}

static void init_fields(weft_engine *e, weft_model *m)
{
    atomic_init(&m->refs, 1);
    m->engine = e;
    weft_engine_ref(e);
    weft_lock_init(&m->stats_lock, "stats", 600);
    weft_cond_init(&m->changed);
    weft_queue_init(&m->waiting);
    weft_queue_init(&m->ready);
    weft_queue_init(&m->post);
    weft_queue_init(&m->resumes);
    weft_node_init(&m->idle);
    weft_node_init(&m->pipe_idle);
    m->wake.kind = WEFT_TIMER_WAKE;
    m->phase = WEFT_MODEL_LOADING;
    m->loaded_unix_ns = weft_unix_ns();
    m->max_rows = 1;
}

static weft_status create(weft_engine *e, const weft_model_config *c, weft_model **out, weft_error *err)
{
    *out = NULL;
    const weft_executor *x = weft_engine_executor_find(e, c->type ? c->type : "tensor");
    if (!x)
        return weft_engine_unknown_executor(e, c->type, err);
    weft_engine_backend *b = NULL;
    weft_status s = WEFT_OK;
    const char *path = c->paths.n ? ((const char *const *)c->paths.items)[0] : NULL;
    if (!x->run)
        s = weft_engine_backend_get(e, c->backend, path, &b, err);
    else if (c->paths.n)
        s = weft_fail(err, WEFT_E_CONFIG, "the pipeline \"%s\" has no file of its own; give its sub-models instead of a path",
                      c->name);
    if (s)
        return s;
    weft_arena *arena = weft_arena_create(NULL, 65536);
    weft_model *m = arena ? weft_arena_zalloc(arena, sizeof(*m)) : NULL;
    if (!m) {
        weft_arena_destroy(&arena);
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the model \"%s\"", c->name);
    }
    m->arena = arena;
    init_fields(e, m);
    m->executor = x;
    m->backend = b;
    s = weft_config_copy(arena, c, x->options, x->options_size, b ? b->table->options : NULL, b ? b->table->options_size : 0,
                         &m->config, err);
    if (!s && !(m->account = account_get(e, &m->config)))
        s = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the model \"%s\"", c->name);
    if (!s && !(s = weft_timers_reserve(&e->timers, 1, err)))
        m->wake_reserved = true;
    if (s) {
        weft_model_unref(m);
        return s;
    }
    c = &m->config;
    m->window_ns = weft_ms_to_ns(c->batch_window_ms);
    m->cohort_wait_ns = weft_ms_to_ns(c->cohort_wait_ms);
    m->run_timeout_ns = weft_ms_to_ns(c->run_timeout_ms);
    m->timeout_ns = weft_ms_to_ns(c->timeout_ms);
    *out = m;
    return WEFT_OK;
}

/* ---- batching ---- */
static bool has_batch_axis(const weft_tensor_desc *d, const weft_model_desc *desc)
{
    if (d->rank < 1 || d->dtype == WEFT_DT_STRING)
        return false;
    return d->shape[0] == -1 || (desc->n_batch_sizes == 1 && desc->batch_sizes[0] > 1 && d->shape[0] == desc->batch_sizes[0]);
}

/* Could rows of different requests share a run, by the descriptions? The proof comes at warm-up. */
static bool may_batch(const weft_model *m)
{
    const weft_model_desc *d = &m->desc;
    bool any = false;
    if (m->config.max_batch < 2 || !d->n_outputs)
        return false;
    for (size_t i = 0; i < d->n_inputs; i++) {
        if (d->inputs[i].rank < 0 || d->inputs[i].dtype == WEFT_DT_STRING)
            return false;
        any |= has_batch_axis(&d->inputs[i], d);
    }
    for (size_t i = 0; i < d->n_outputs; i++)
        if (!has_batch_axis(&d->outputs[i], d) || d->outputs[i].size_kind == WEFT_SIZE_RUNTIME)
            return false;
    return any;
}

static void set_view(weft_model *m, bool batched)
{
    const weft_model_desc *d = &m->desc;
    m->view = (weft_model_view){.name = m->config.name,
                                .inputs = d->inputs,
                                .outputs = d->outputs,
                                .n_inputs = d->n_inputs,
                                .n_outputs = d->n_outputs,
                                .max_batch = 1,
                                .batched = batched};
    weft_gears_init(&m->gears, batched ? m->config.max_batch : 1, d->batch_sizes, batched ? d->n_batch_sizes : 0);
    if (batched)
        m->view.max_batch = m->max_rows = m->gears.rows[m->gears.n - 1];
    else
        m->max_rows = 1;
    for (size_t i = 0; i < d->n_inputs; i++)
        m->view.shared_input[i] = !has_batch_axis(&d->inputs[i], d);
}

static void guess_answer_bytes(weft_model *m)
{
    m->answer_bytes = 0;
    for (size_t i = 0; i < m->desc.n_outputs; i++) {
        const weft_tensor_desc *d = &m->desc.outputs[i];
        int64_t shape[WEFT_MAX_RANK];
        size_t n;
        if (d->rank < 0)
            continue;
        memcpy(shape, d->shape, sizeof(shape));
        if (d->rank > 0 && shape[0] < 0)
            shape[0] = 1;
        if (weft_tensor_dense_bytes(d->dtype, shape, d->rank, &n) && n < 1u << 30)
            m->answer_bytes += n + 64;
    }
}

weft_status weft_model_unbatch(weft_model *m, weft_error *err)
{
    weft_model_close_state(m);
    set_view(m, false);
    return weft_model_open_state(m, err);
}

/* ---- steps ---- */
static weft_status load_file(weft_model *m, weft_error *err)
{
    const weft_model_config *c = &m->config;
    weft_engine *e = m->engine;
    weft_model_source src = {.name = c->name,
                             .paths = c->paths.items,
                             .n_paths = c->paths.n,
                             .device_id = c->device_id,
                             .threads = c->threads,
                             .max_batch = c->max_batch,
                             .memory_limit = c->memory_limit,
                             .options = c->backend_options};
    m->tokens = m->backend->table->on_cpu ? (c->threads < e->cores ? c->threads : e->cores) : 0;
    weft_status s = m->backend->table->model_load(m->backend->self, &src, &m->handle, &m->desc, err);
    if (s)
        return weft_fail_prefix(err, s, "model \"%s\"", c->name);
    if (m->desc.n_inputs > WEFT_MAX_MODEL_INPUTS || m->desc.n_outputs > WEFT_MAX_MODEL_OUTPUTS)
        return weft_fail(err, WEFT_E_UNSUPPORTED,
                         "the model \"%s\" has %zu inputs and %zu outputs; at most %d and %d are possible", c->name,
                         m->desc.n_inputs, m->desc.n_outputs, WEFT_MAX_MODEL_INPUTS, WEFT_MAX_MODEL_OUTPUTS);
    set_view(m, may_batch(m));
    guess_answer_bytes(m);
    return WEFT_OK;
}

static weft_status start_instances(weft_model *m, weft_error *err)
{
    weft_engine *e = m->engine;
    int64_t n = m->config.instances;
    if (!n)
        n = m->tokens ? e->cores / m->tokens : 1;
    m->instances_capacity = (size_t)n + SPARE_INSTANCES;
    m->instances = calloc(m->instances_capacity, sizeof(weft_instance *));
    if (!m->instances)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the instances of the model \"%s\"", m->config.name);
    weft_lock_take(&e->sched);
    e->n_card_models += m->tokens == 0;
    weft_node_push_back(&e->models, &m->all_node);
    weft_lock_drop(&e->sched);
    for (int64_t i = 0; i < n; i++) {
        weft_instance *instance;
        weft_status s = weft_instance_create(m, &instance, err);
        if (s)
            return weft_fail_prefix(err, s, "model \"%s\"", m->config.name);
    }
    return WEFT_OK;
}

static void set_credits(weft_model *m)
{
    int64_t n = m->config.ready_rows;
    if (!n)
        n = 2 * m->max_rows * (int64_t)m->n_instances;
    m->credits = m->credits_total = n < 4 && !m->config.ready_rows ? 4 : n;
}

static weft_status load_simple(weft_model *m, weft_error *err)
{
    weft_status s = load_file(m, err);
    if (!s)
        s = weft_model_open_state(m, err);
    if (!s)
        s = start_instances(m, err);
    if (!s) {
        weft_lock_take(&m->engine->sched);
        weft_health_phase(m, WEFT_MODEL_WARMING);
        weft_lock_drop(&m->engine->sched);
        s = weft_model_warm(m, err);
    }
    if (!s)
        set_credits(m);
    return s;
}

/* Puts the given versions into the executor's slots. */
static weft_status fill_slots(weft_model *m, weft_model *const *subs, weft_error *err)
{
    const weft_submodel_config *given = m->config.submodels.items;
    const weft_submodel_decl *d = m->executor->submodels;
    while (d && d[m->n_subs].slot)
        m->n_subs++;
    if (m->n_subs > WEFT_MAX_SUBMODELS)
        return weft_fail(err, WEFT_E_INTERNAL, "the executor \"%s\" declares too many sub-models", m->executor->name);
    for (size_t k = 0; k < m->config.submodels.n; k++) {
        size_t i = 0;
        while (i < m->n_subs && strcmp(d[i].slot, given[k].slot))
            i++;
        if (i == m->n_subs)
            return weft_fail(err, WEFT_E_CONFIG, "the executor \"%s\" has no slot \"%.64s\" for a sub-model", m->executor->name,
                             given[k].slot);
        if (m->subs[i])
            return weft_fail(err, WEFT_E_CONFIG, "the slot \"%s\" of the pipeline \"%s\" is filled twice", d[i].slot,
                             m->config.name);
        if (!subs[k]->backend)
            return weft_fail(err, WEFT_E_CONFIG,
                             "the slot \"%s\" of the pipeline \"%s\" needs a compiled model; \"%s\" is a pipeline itself",
                             d[i].slot, m->config.name, given[k].model);
        m->subs[i] = weft_model_ref(subs[k]);
        m->sub_views[i] = &subs[k]->view;
    }
    for (size_t i = 0; i < m->n_subs; i++)
        if (d[i].required && !m->subs[i])
            return weft_fail(err, WEFT_E_CONFIG, "the pipeline \"%s\" needs a sub-model in its slot \"%s\" (%s)", m->config.name,
                             d[i].slot, d[i].help);
    return WEFT_OK;
}

static weft_status load_pipeline(weft_model *m, weft_model *const *subs, weft_error *err)
{
    weft_engine *e = m->engine;
    weft_status s = fill_slots(m, subs, err);
    if (!s)
        s = weft_model_open_state(m, err);
    if (s)
        return s;
    m->tokens = 1;
    weft_lock_take(&e->sched);
    weft_node_push_back(&e->models, &m->all_node);
    weft_lock_drop(&e->sched);
    return weft_pipes_start(m, err);
}

weft_status weft_model_load(weft_engine *e, const weft_model_config *c, weft_model *const *subs, weft_entry *staging,
                            weft_model **out, weft_error *err)
{
    weft_model *m;
    *out = NULL;
    weft_status s = weft_options_check(weft_model_option_table, c, err);
    if (s)
        return weft_fail_prefix(err, s, "model \"%.64s\"", c->name ? c->name : "");
    s = create(e, c, &m, err);
    if (s)
        return s;
    weft_registry_staging(staging, m);
    s = m->executor->run ? load_pipeline(m, subs, err) : load_simple(m, err);
    if (s) {
        weft_registry_staging(staging, NULL);
        weft_model_stop(m);
        weft_model_unref(m);
        return s;
    }
    weft_lock_take(&e->sched);
    weft_health_phase(m, WEFT_MODEL_READY);
    weft_lock_drop(&e->sched);
    *out = m;
    return WEFT_OK;
}
