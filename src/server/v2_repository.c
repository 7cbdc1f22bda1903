#include "server/v2_repository.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "wire/json_read.h"

#define MAX_DEPTH 16 /* of pipelines that use pipelines */

/* ---- the index ------------------------------------------------------------------------------------------------------------- */

static const char *index_state(weft_model_state s)
{
    switch (s) {
    case WEFT_MODEL_READY:
    case WEFT_MODEL_DEGRADED:
        return "READY";
    case WEFT_MODEL_LOADING:
    case WEFT_MODEL_WARMING:
    case WEFT_MODEL_RECOVERING:
        return "LOADING";
    case WEFT_MODEL_UNLOADING:
        return "UNLOADING";
    default:
        return "UNAVAILABLE";
    }
}

typedef struct index_walk {
    weft_arena *arena;
    weft_v2_index_entry *entries;
    size_t n, capacity;
    bool only_ready, no_memory;
} index_walk;

static weft_v2_index_entry *add_entry(index_walk *w)
{
    if (w->n == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 16;
        weft_v2_index_entry *more = weft_arena_array(w->arena, capacity, sizeof(*more));
        if (!more) {
            w->no_memory = true;
            return NULL;
        }
        if (w->n)
            memcpy(more, w->entries, w->n * sizeof(*more));
        w->entries = more;
        w->capacity = capacity;
    }
    return &w->entries[w->n++];
}

static void add_loaded(void *cookie, const weft_model_info *info)
{
    index_walk *w = cookie;
    const char *state = index_state(info->state);
    if (info->hidden || (w->only_ready && strcmp(state, "READY") != 0))
        return;
    weft_v2_index_entry *e = add_entry(w);
    if (!e)
        return;
    e->name = weft_arena_strdup(w->arena, info->name);
    e->version = weft_arena_strdup(w->arena, info->version);
    e->state = state;
    e->reason = weft_arena_strdup(w->arena, info->state_cause);
    w->no_memory = w->no_memory || !e->name || !e->version || !e->reason;
}

static bool listed(const index_walk *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->entries[i].name && strcmp(w->entries[i].name, name) == 0)
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const weft_v2_index_entry *)a)->name, ((const weft_v2_index_entry *)b)->name);
}

weft_status weft_v2_repository_index(weft_engine *e, const weft_config *config, bool only_ready, weft_arena *arena,
                                     weft_v2_index_entry **out, size_t *n_out, weft_error *err)
{
    index_walk w = {.arena = arena, .only_ready = only_ready};
    weft_engine_each_model(e, add_loaded, &w);
    for (size_t i = 0; config && !only_ready && i < config->n_models; i++) {
        const weft_model_config *c = &config->models[i].config;
        weft_v2_index_entry *entry = c->hidden || listed(&w, c->name) ? NULL : add_entry(&w);
        if (entry)
            *entry = (weft_v2_index_entry){c->name, c->version ? c->version : "", "UNAVAILABLE", "unloaded"};
    }
    *out = NULL;
    *n_out = 0;
    if (w.no_memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the list of models");
    if (w.n)
        qsort(w.entries, w.n, sizeof(*w.entries), by_name);
    *out = w.entries;
    *n_out = w.n;
    return WEFT_OK;
}

/* ---- the override ---------------------------------------------------------------------------------------------------------- */

typedef struct override {
    weft_json_reader r;
    weft_model_config *c;
    weft_error *err;
} override_reader;

static weft_status broken(override_reader *o)
{
    return weft_json_read_fail(&o->r, "the config", o->err);
}

static weft_status read_number(override_reader *o, const char *name, int64_t min, int64_t max, int64_t *v)
{
    weft_json_event e = weft_json_read(&o->r);
    if (e == WEFT_JSON_ERROR)
        return broken(o);
    if (e != WEFT_JSON_NUMBER || !weft_json_read_i64(&o->r, v) || *v < min || *v > max)
        return weft_fail(o->err, WEFT_E_INVALID, "%s must be a whole number from %lld to %lld", name, (long long)min,
                         (long long)max);
    return WEFT_OK;
}

static weft_status skip_value(override_reader *o)
{
    weft_json_event e = weft_json_read(&o->r);
    return weft_json_skip(&o->r, e) ? WEFT_OK : broken(o);
}

static weft_status not_allowed(override_reader *o, const char *where)
{
    return weft_fail(o->err, WEFT_E_FORBIDDEN, "%s%.*s cannot be set by a client; change the server's configuration", where,
                     (int)(o->r.n_token < 64 ? o->r.n_token : 64), o->r.token);
}

static weft_status each_member(override_reader *o, const char *what, weft_status (*member)(override_reader *o))
{
    weft_json_event e = weft_json_read(&o->r);
    if (e == WEFT_JSON_ERROR)
        return broken(o);
    if (e != WEFT_JSON_OBJECT)
        return weft_fail(o->err, WEFT_E_INVALID, "%s must be an object", what);
    for (;;) {
        e = weft_json_read(&o->r);
        if (e == WEFT_JSON_OBJECT_END)
            return WEFT_OK;
        weft_status st = e == WEFT_JSON_KEY ? member(o) : broken(o);
        if (st)
            return st;
    }
}

static weft_status queue_member(override_reader *o)
{
    int64_t v;
    weft_status st;
    if (weft_json_read_is(&o->r, "max_queue_size")) {
        if (!(st = read_number(o, "max_queue_size", 1, 1000000, &v)))
            o->c->queue_size = v;
        return st;
    }
    if (weft_json_read_is(&o->r, "default_timeout_microseconds")) {
        if (!(st = read_number(o, "default_timeout_microseconds", 0, 86400000000, &v)))
            o->c->timeout_ms = (double)v / 1000;
        return st;
    }
    if (weft_json_read_is(&o->r, "timeout_action") || weft_json_read_is(&o->r, "allow_timeout_override"))
        return skip_value(o);
    return not_allowed(o, "dynamic_batching.default_queue_policy.");
}

static weft_status batching_member(override_reader *o)
{
    int64_t v;
    weft_status st;
    if (weft_json_read_is(&o->r, "max_queue_delay_microseconds")) {
        if (!(st = read_number(o, "max_queue_delay_microseconds", 0, 60000000, &v)))
            o->c->batch_window_ms = (double)v / 1000;
        return st;
    }
    if (weft_json_read_is(&o->r, "default_queue_policy"))
        return each_member(o, "default_queue_policy", queue_member);
    if (weft_json_read_is(&o->r, "preserve_ordering"))
        return skip_value(o);
    return not_allowed(o, "dynamic_batching.");
}

static weft_status group_member(override_reader *o)
{
    int64_t v;
    weft_status st;
    if (weft_json_read_is(&o->r, "count")) {
        if (!(st = read_number(o, "instance_group.count", 1, 64, &v)))
            o->c->instances = v;
        return st;
    }
    if (weft_json_read_is(&o->r, "name") || weft_json_read_is(&o->r, "kind"))
        return skip_value(o);
    return not_allowed(o, "instance_group.");
}

static weft_status read_groups(override_reader *o)
{
    weft_json_event e = weft_json_read(&o->r);
    if (e == WEFT_JSON_ERROR)
        return broken(o);
    if (e != WEFT_JSON_ARRAY)
        return weft_fail(o->err, WEFT_E_INVALID, "instance_group must be a list with one entry");
    weft_status st = each_member(o, "an entry of instance_group", group_member);
    if (!st && weft_json_read(&o->r) != WEFT_JSON_ARRAY_END)
        return weft_fail(o->err, WEFT_E_INVALID, "instance_group must be a list with one entry");
    return st;
}

/* Descriptions that our own answer holds and that change nothing: they follow from the file. */
static bool is_description(const weft_json_reader *r)
{
    static const char *const names[] = {"platform", "version_policy", "input", "output", "parameters", NULL};
    for (size_t i = 0; names[i]; i++)
        if (weft_json_read_is(r, names[i]))
            return true;
    return false;
}

static weft_status same_text(override_reader *o, const char *name, const char *is)
{
    weft_json_event e = weft_json_read(&o->r);
    if (e == WEFT_JSON_ERROR)
        return broken(o);
    if (e == WEFT_JSON_STRING && (!is || o->r.n_token == 0 || weft_json_read_is(&o->r, is)))
        return WEFT_OK;
    return weft_fail(o->err, WEFT_E_FORBIDDEN, "%s cannot be changed by a client; it is \"%s\"", name, is ? is : "");
}

static weft_status top_member(override_reader *o)
{
    int64_t v;
    weft_status st;
    if (weft_json_read_is(&o->r, "max_batch_size")) {
        if (!(st = read_number(o, "max_batch_size", 0, 4096, &v)))
            o->c->max_batch = v ? v : 1;
        return st;
    }
    if (weft_json_read_is(&o->r, "instance_group"))
        return read_groups(o);
    if (weft_json_read_is(&o->r, "dynamic_batching"))
        return each_member(o, "dynamic_batching", batching_member);
    if (weft_json_read_is(&o->r, "name"))
        return same_text(o, "name", o->c->name);
    if (weft_json_read_is(&o->r, "backend"))
        return same_text(o, "backend", o->c->backend);
    return is_description(&o->r) ? skip_value(o) : not_allowed(o, "");
}

weft_status weft_v2_config_override(weft_model_config *c, const char *text, size_t n_bytes, weft_error *err)
{
    override_reader o = {.c = c, .err = err};
    weft_json_read_init(&o.r, text, n_bytes);
    weft_status st = each_member(&o, "the config", top_member);
    if (!st && weft_json_read(&o.r) != WEFT_JSON_END)
        st = broken(&o);
    return st;
}

/* ---- loading --------------------------------------------------------------------------------------------------------------- */

static bool is_loaded(weft_engine *e, const char *name)
{
    const weft_model_info *info;
    if (weft_engine_model_info(e, name, &info, NULL) != WEFT_OK)
        return false;
    weft_model_info_unref(info);
    return true;
}

static weft_status load_missing(weft_engine *e, const weft_config *config, const weft_config_model *m, int depth, weft_error *err)
{
    weft_status st = WEFT_OK;
    if (depth > MAX_DEPTH)
        return weft_fail(err, WEFT_E_CONFIG, "pipelines use each other too deeply");
    for (size_t i = 0; !st && i < m->n_slots; i++) {
        const weft_config_model *used = &config->models[m->slots[i].model];
        if (is_loaded(e, used->config.name))
            continue;
        st = load_missing(e, config, used, depth + 1, err);
        if (!st)
            st = weft_engine_load(e, &used->config, err);
        if (st == WEFT_E_CONFLICT) /* somebody else was quicker */
            st = WEFT_OK;
    }
    return st;
}

weft_status weft_v2_repository_load(weft_engine *e, const weft_config *config, const char *name, const char *override,
                                    size_t n_override, weft_error *err)
{
    const weft_config_model *m = config ? weft_config_find(config, name) : NULL;
    if (!m || m->config.hidden)
        return weft_fail(err, WEFT_E_NOT_FOUND, "the configuration has no model \"%.64s\" to load", name);
    weft_model_config c = m->config;
    weft_status st = override ? weft_v2_config_override(&c, override, n_override, err) : WEFT_OK;
    if (!st)
        st = load_missing(e, config, m, 0, err);
    if (st)
        return st;
    return is_loaded(e, name) ? weft_engine_reload(e, &c, WEFT_RELOAD_SWAP, err) : weft_engine_load(e, &c, err);
}

weft_status weft_v2_repository_unload(weft_engine *e, const weft_config *config, const char *name, bool unload_dependents,
                                      weft_error *err)
{
    const weft_config_model *m = config ? weft_config_find(config, name) : NULL;
    if (m && m->config.hidden)
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no model \"%.64s\"", name);
    if (m && !is_loaded(e, name)) /* as Triton: unloading what is not loaded is fine */
        return WEFT_OK;
    weft_status st = weft_engine_unload(e, name, err);
    for (size_t i = 0; !st && unload_dependents && m && i < m->n_slots; i++) {
        const weft_config_model *used = &config->models[m->slots[i].model];
        if (!used->is_inline) /* those went with it; CONFLICT: somebody else uses this one */
            weft_v2_repository_unload(e, config, used->config.name, true, NULL);
    }
    return st;
}
