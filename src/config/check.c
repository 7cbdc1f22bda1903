#include "config/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/thread.h"

#define SCRATCH_BYTES 65536

/* What is open of one model; everything is closed in reverse order at the end, as later models look at earlier ones. */
typedef struct checked {
    void *handle; /* of the backend */
    bool loaded;
    bool usable; /* its executor opened, or a pipeline may at least look at it */
    weft_model_desc desc;
    weft_model_view view;
    void *state; /* of the executor */
    bool opened;
} checked;

typedef struct backend_use {
    const weft_backend *table;
    void *self;
    bool tried, is_open;
} backend_use;

typedef struct check {
    const weft_config *config;
    weft_diagnostics *diags;
    weft_arena *arena;
    weft_log_fn log;
    void *log_cookie;
    backend_use *backends;
    size_t n_backends;
    checked *models;
    bool no_memory;
} check;

static void mistake(check *k, weft_severity severity, weft_place place, const weft_config_model *m, const char *text)
{
    weft_diagnostics_add(k->diags, severity, place, m->config.name, NULL, "%s", text);
}

/* ---- what an executor is given ---------------------------------------------------------------------------------------- */
static weft_status read_stream(const weft_open *o, FILE *f, const char *path, size_t max_bytes, const char **text,
                               size_t *n_bytes, weft_error *err)
{
    check *k = o->internal;
    char chunk[4096], *all = NULL;
    size_t n = 0, capacity = 0;
    while (!feof(f) && !ferror(f)) {
        size_t got = fread(chunk, 1, sizeof(chunk), f);
        if (got > max_bytes - n)
            return weft_fail(err, WEFT_E_TOO_LARGE, "the file %s has more than %zu bytes", path, max_bytes);
        if (n + got + 1 > capacity) {
            size_t more = capacity ? capacity * 2 : 2 * sizeof(chunk);
            char *grown = weft_arena_alloc(k->arena, more);
            if (!grown)
                return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading %s", path);
            if (n)
                memcpy(grown, all, n);
            all = grown;
            capacity = more;
        }
        memcpy(all + n, chunk, got);
        n += got;
        all[n] = 0;
    }
    if (ferror(f))
        return weft_fail(err, WEFT_E_IO, "the file %s cannot be read: %s", path, strerror(errno));
    *text = all;
    *n_bytes = n;
    return WEFT_OK;
}

static weft_status open_read_file(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                                  weft_error *err)
{
    *text = NULL;
    *n_bytes = 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return weft_fail(err, errno == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "the file %s cannot be opened: %s", path,
                         strerror(errno));
    weft_status s = read_stream(o, f, path, max_bytes, text, n_bytes, err);
    fclose(f);
    return s;
}

static void *open_alloc(const weft_open *o, size_t n_bytes)
{
    check *k = o->internal;
    return weft_arena_zalloc(k->arena, n_bytes);
}

static void no_log(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */
static bool files_exist(check *k, const weft_config_model *m)
{
    const char *const *paths = m->config.paths.items;
    bool good = true;
    for (size_t i = 0; i < m->config.paths.n; i++) {
        struct stat st;
        char text[512];
        weft_place place = m->path_places ? m->path_places[i] : m->place;
        const char *what = NULL;
        if (stat(paths[i], &st))
            what = strerror(errno);
        else if (S_ISDIR(st.st_mode))
            what = "it is a folder";
        else if (S_ISREG(st.st_mode) && st.st_size == 0)
            what = "it is empty";
        if (!what)
            continue;
        snprintf(text, sizeof(text), "the model file %.300s cannot be used: %s", paths[i], what);
        mistake(k, WEFT_SEVERITY_ERROR, place, m, text);
        good = false;
    }
    return good;
}

static void missing_backend(check *k, const weft_config_model *m)
{
    char text[512], have[200] = "";
    size_t len = 0;
    for (size_t i = 0; i < k->n_backends && len + 70 < sizeof(have); i++)
        len += (size_t)snprintf(have + len, sizeof(have) - len, "%s%s", len ? ", " : "", k->backends[i].table->name);
    snprintf(text, sizeof(text), "the file needs the backend %s, which is not in this build (it has: %s)", m->config.backend,
             len ? have : "none");
    mistake(k, WEFT_SEVERITY_ERROR, m->path_places ? m->path_places[0] : m->place, m, text);
}

static backend_use *open_backend(check *k, const weft_backend *table)
{
    backend_use *b = k->backends;
    while (b->table != table)
        b++;
    if (b->tried)
        return b->is_open ? b : NULL;
    weft_error err;
    const weft_backend_env env = {.log = k->log ? k->log : no_log,
                                  .log_cookie = k->log_cookie,
                                  .library = k->config->engine.onnxruntime_library,
                                  .cores = k->config->engine.cores ? k->config->engine.cores : weft_cores()};
    b->tried = true;
    if (table->abi != WEFT_BACKEND_ABI) {
        weft_diagnostics_add(k->diags, WEFT_SEVERITY_ERROR, (weft_place){0}, NULL, NULL,
                             "the backend %s was built for interface %u, this program has %u", table->name, table->abi,
                             WEFT_BACKEND_ABI);
        return NULL;
    }
    b->is_open = !table->open || !table->open(&env, &b->self, &err);
    if (!b->is_open)
        weft_diagnostics_add(k->diags, WEFT_SEVERITY_ERROR, (weft_place){0}, NULL, NULL, "the backend %s cannot start: %s",
                             table->name, err.text);
    return b->is_open ? b : NULL;
}

/* The engine's rule by the descriptions; its proof by two runs comes at load. */
static bool has_batch_axis(const weft_model_desc *d, const weft_tensor_desc *t)
{
    if (t->rank < 1 || t->dtype == WEFT_DT_STRING)
        return false;
    return t->shape[0] == -1 || (d->n_batch_sizes == 1 && d->batch_sizes[0] > 1 && t->shape[0] == d->batch_sizes[0]);
}

static void fill_view(checked *c, const weft_config_model *m)
{
    weft_model_view *v = &c->view;
    const weft_model_desc *d = &c->desc;
    *v = (weft_model_view){.name = m->config.name,
                           .inputs = d->inputs,
                           .outputs = d->outputs,
                           .n_inputs = d->n_inputs,
                           .n_outputs = d->n_outputs,
                           .max_batch = 1};
    bool inputs = false, all = m->config.max_batch > 1 && d->n_outputs > 0;
    for (size_t i = 0; i < d->n_inputs; i++) {
        bool axis = has_batch_axis(d, &d->inputs[i]);
        inputs |= axis;
        all &= d->inputs[i].rank >= 0 && d->inputs[i].dtype != WEFT_DT_STRING;
        if (i < WEFT_MAX_MODEL_INPUTS)
            v->shared_input[i] = !axis;
    }
    for (size_t i = 0; i < d->n_outputs; i++)
        all &= has_batch_axis(d, &d->outputs[i]) && d->outputs[i].size_kind != WEFT_SIZE_RUNTIME;
    v->batched = inputs && all;
    int64_t largest = d->n_batch_sizes ? d->batch_sizes[d->n_batch_sizes - 1] : m->config.max_batch;
    if (v->batched)
        v->max_batch = largest < m->config.max_batch ? largest : m->config.max_batch;
}

static void load_file(check *k, const weft_config_model *m, checked *c)
{
    backend_use *b = open_backend(k, m->backend);
    if (!b)
        return;
    weft_error err;
    const weft_model_source source = {.name = m->config.name,
                                      .paths = m->config.paths.items,
                                      .n_paths = m->config.paths.n,
                                      .device_id = m->config.device_id,
                                      .threads = m->config.threads,
                                      .max_batch = m->config.max_batch,
                                      .memory_limit = m->config.memory_limit,
                                      .options = m->config.backend_options};
    weft_status s = m->backend->model_load(b->self, &source, &c->handle, &c->desc, &err);
    if (s) {
        mistake(k, WEFT_SEVERITY_ERROR, m->path_places ? m->path_places[0] : m->place, m, err.text);
        k->no_memory |= s == WEFT_E_NO_MEMORY;
        return;
    }
    c->loaded = true;
    if (c->desc.n_inputs > WEFT_MAX_MODEL_INPUTS || c->desc.n_outputs > WEFT_MAX_MODEL_OUTPUTS) {
        char text[200];
        snprintf(text, sizeof(text), "the model has %zu inputs and %zu outputs: at most %d and %d can be used", c->desc.n_inputs,
                 c->desc.n_outputs, WEFT_MAX_MODEL_INPUTS, WEFT_MAX_MODEL_OUTPUTS);
        mistake(k, WEFT_SEVERITY_ERROR, m->path_places ? m->path_places[0] : m->place, m, text);
        return;
    }
    fill_view(c, m);
    c->usable = true;
}

/* ---- comparing options and model -------------------------------------------------------------------------------------- */
static void put_tensors(char *buf, size_t n, size_t *len, const char *what, const weft_tensor_desc *t, size_t count)
{
    char shape[160];
    for (size_t i = 0; i < count && *len + 300 < n; i++)
        *len += (size_t)snprintf(buf + *len, n - *len, "%s %.60s %s%s", i ? "," : what, t[i].name, weft_dtype_name(t[i].dtype),
                                 weft_shape_print(t[i].shape, t[i].rank, shape, sizeof(shape)));
}

static void describe(check *k, const weft_config_model *m, const checked *c)
{
    char text[1600], bytes[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "%s on %s", m->executor->name, m->backend->name);
    if (c->desc.weights_bytes)
        len += (size_t)snprintf(text + len, sizeof(text) - len, ", %s of weights",
                                weft_print_bytes(c->desc.weights_bytes, bytes, sizeof(bytes)));
    put_tensors(text, sizeof(text), &len, "; in:", c->desc.inputs, c->desc.n_inputs);
    put_tensors(text, sizeof(text), &len, "; out:", c->desc.outputs, c->desc.n_outputs);
    if (c->view.batched)
        snprintf(text + len, sizeof(text) - len, "; up to %lld rows in one run", (long long)c->view.max_batch);
    else
        snprintf(text + len, sizeof(text) - len, "; one request in one run");
    mistake(k, WEFT_SEVERITY_NOTE, m->place, m, text);
}

/* A pipeline whose path became the sub-model in its slot "model": what it says about batches is that one's. */
static bool has_own_file(const check *k, const weft_config_model *m)
{
    const weft_submodel_config *names = m->config.submodels.items;
    for (size_t i = 0; i < m->n_slots; i++)
        if (!strcmp(names[i].slot, "model") && k->config->models[m->slots[i].model].is_inline)
            return true;
    return false;
}

static void compare(check *k, const weft_config_model *m, const checked *c)
{
    char text[300];
    int64_t cores = k->config->engine.cores ? k->config->engine.cores : weft_cores();
    if (m->config.max_batch > 1 && !m->config.paths.n && !has_own_file(k, m)) {
        mistake(k, WEFT_SEVERITY_WARNING, m->place, m,
                "max_batch has no effect: the model has no file of its own; set it in its sub-models");
    } else if (c->usable && m->config.max_batch > 1 && !c->view.batched) {
        snprintf(
            text, sizeof(text),
            "max_batch is %lld, but not every output of the model has a free batch axis: each request will be a run of its own",
            (long long)m->config.max_batch);
        mistake(k, WEFT_SEVERITY_WARNING, m->place, m, text);
    } else if (c->usable && c->desc.n_batch_sizes && m->config.max_batch > c->desc.batch_sizes[c->desc.n_batch_sizes - 1]) {
        snprintf(text, sizeof(text), "max_batch is %lld, but the model was compiled for at most %lld rows",
                 (long long)m->config.max_batch, (long long)c->desc.batch_sizes[c->desc.n_batch_sizes - 1]);
        mistake(k, WEFT_SEVERITY_WARNING, m->place, m, text);
    }
    if (m->backend && m->backend->on_cpu && m->config.threads > cores) {
        snprintf(text, sizeof(text), "threads is %lld, but there are %lld cores", (long long)m->config.threads, (long long)cores);
        mistake(k, WEFT_SEVERITY_WARNING, m->place, m, text);
    }
}

static void open_executor(check *k, const weft_config_model *m, checked *c)
{
    const weft_executor *x = m->executor;
    size_t n = 0;
    while (x->submodels && x->submodels[n].slot)
        n++;
    const weft_model_view **views = weft_arena_array(k->arena, n + 1, sizeof(*views));
    weft_open *o = weft_arena_zalloc(k->arena, sizeof(*o)); /* the state may keep a pointer to it */
    if (!views || !o) {
        k->no_memory = true;
        return;
    }
    for (size_t i = 0; i < m->n_slots; i++) {
        const checked *sub = &k->models[m->slots[i].model];
        if (!sub->loaded || !sub->usable)
            return; /* its own mistake was reported */
        views[m->slots[i].index] = &sub->view;
    }
    *o = (weft_open){.name = m->config.name,
                     .options = m->config.executor_options,
                     .model = m->config.paths.n ? &c->view : NULL,
                     .submodels = n ? views : NULL,
                     .log = k->log ? k->log : no_log,
                     .log_cookie = k->log_cookie,
                     .read_file = open_read_file,
                     .alloc = open_alloc,
                     .internal = k};
    weft_error err;
    weft_status s = x->open ? x->open(o, &c->state, &err) : WEFT_OK;
    if (s) {
        mistake(k, WEFT_SEVERITY_ERROR, m->type_place, m, err.text);
        k->no_memory |= s == WEFT_E_NO_MEMORY;
        return;
    }
    c->opened = true;
}

static void check_model(check *k, size_t i)
{
    const weft_config_model *m = &k->config->models[i];
    checked *c = &k->models[i];
    if (m->config.paths.n && !m->backend) {
        missing_backend(k, m);
        files_exist(k, m);
        return;
    }
    if (m->config.paths.n) {
        if (files_exist(k, m))
            load_file(k, m, c);
        if (!c->usable)
            return;
    }
    compare(k, m, c);
    open_executor(k, m, c);
    if (c->opened && m->config.paths.n)
        describe(k, m, c);
}

static void close_all(check *k)
{
    for (size_t i = k->models ? k->config->n_models : 0; i-- > 0;) {
        const weft_config_model *m = &k->config->models[i];
        checked *c = &k->models[i];
        if (c->opened && m->executor->close)
            m->executor->close(c->state);
    }
    for (size_t i = k->models ? k->config->n_models : 0; i-- > 0;) {
        const weft_config_model *m = &k->config->models[i];
        for (size_t b = 0; k->models[i].loaded && b < k->n_backends; b++)
            if (k->backends[b].table == m->backend)
                m->backend->model_unload(k->backends[b].self, k->models[i].handle);
    }
    for (size_t b = k->backends ? k->n_backends : 0; b-- > 0;)
        if (k->backends[b].is_open && k->backends[b].table->close)
            k->backends[b].table->close(k->backends[b].self);
}

weft_status weft_config_check(const weft_config *c, weft_log_fn log, void *log_cookie, weft_diagnostics *diags, weft_error *err)
{
    weft_diagnostics *own = diags ? NULL : weft_diagnostics_create();
    check k = {.config = c, .diags = diags ? diags : own, .log = log, .log_cookie = log_cookie};
    k.arena = weft_arena_create(NULL, SCRATCH_BYTES);
    if (k.diags && !*weft_diagnostics_file(k.diags))
        weft_diagnostics_source(k.diags, c->file, NULL, 0); /* places without quoted lines */
    while (c->engine.backends && c->engine.backends[k.n_backends])
        k.n_backends++;
    if (k.arena && k.diags) {
        k.backends = weft_arena_array(k.arena, k.n_backends + 1, sizeof(*k.backends));
        k.models = weft_arena_array(k.arena, c->n_models + 1, sizeof(*k.models));
    }
    k.no_memory = !k.backends || !k.models;
    for (size_t b = 0; !k.no_memory && b < k.n_backends; b++)
        k.backends[b].table = c->engine.backends[b];
    for (size_t i = 0; !k.no_memory && i < c->n_models; i++)
        check_model(&k, i);
    close_all(&k);
    weft_diagnostics_sort(k.diags);
    weft_status s = k.no_memory ? weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while checking the configuration")
                                : weft_diagnostics_status(k.diags, err);
    weft_arena_destroy(&k.arena);
    weft_diagnostics_destroy(&own);
    return s;
}
