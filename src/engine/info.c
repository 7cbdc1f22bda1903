/* What a model says about itself: one refcounted block, a copy, so that it outlives the model. */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

typedef struct info_block {
    weft_model_info info; /* first: the public pointer */
    _Atomic int refs;
    weft_arena *arena;
} info_block;

const char *weft_model_state_name(weft_model_state s)
{
    static const char *const names[] = {"unknown",   "loading",    "warming", "ready",    "degraded",
                                        "unhealthy", "recovering", "failed",  "unloading"};
    return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s] : names[0];
}

void weft_model_info_unref(const weft_model_info *info)
{
    info_block *b = (info_block *)(uintptr_t)info;
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_arena *arena = b->arena;
    weft_arena_destroy(&arena);
}

static bool copy_descs(weft_arena *a, const weft_tensor_desc *from, size_t n, const weft_tensor_desc **out)
{
    weft_tensor_desc *to = weft_arena_array(a, n, sizeof(*to));
    *out = to;
    for (size_t i = 0; to && i < n; i++) {
        to[i] = from[i];
        if (!(to[i].name = weft_arena_strdup(a, from[i].name ? from[i].name : "")))
            return false;
        for (int k = 0; k < WEFT_MAX_RANK; k++) {
            const char *dim = k < from[i].rank ? from[i].dim_names[k] : NULL;
            to[i].dim_names[k] = weft_arena_strdup(a, dim);
            if (dim && !to[i].dim_names[k])
                return false;
        }
    }
    return to != NULL;
}

static bool fill(info_block *b, weft_arena *a, weft_model *m)
{
    weft_model_info *info = &b->info;
    const weft_model_config *c = &m->config;
    const weft_executor *x = m->executor;
    const char *cause;
    char text[256];
    weft_lock_take(&m->engine->sched);
    info->state = weft_health_state(m, &cause);
    strncpy(text, cause, sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    info->state_since_unix_ns = m->health.since_unix_ns;
    weft_lock_drop(&m->engine->sched);
    info->name = weft_arena_strdup(a, c->name);
    info->version = weft_arena_strdup(a, c->version ? c->version : "");
    info->state_cause = weft_arena_strdup(a, text);
    info->type = x->name; /* static tables */
    info->backend = m->backend ? m->backend->table->name : "";
    info->fields = x->fields;
    info->n_fields = x->n_fields;
    info->picture_input = x->picture_input;
    info->params = x->params;
    info->hidden = c->hidden;
    info->required = c->required;
    if (!info->name || !info->version || !info->state_cause)
        return false;
    /* Until it is ready the descriptions are still being made; a pipeline has none. */
    if (info->state == WEFT_MODEL_LOADING || info->state == WEFT_MODEL_WARMING || !m->backend)
        return true;
    info->batched = m->view.batched;
    info->max_batch = m->view.max_batch;
    info->n_inputs = m->desc.n_inputs;
    info->n_outputs = m->desc.n_outputs;
    info->weights_bytes = m->desc.weights_bytes;
    if (m->backend->table->memory) {
        weft_backend_memory memory = {0};
        m->backend->table->memory(m->backend->self, m->handle, &memory);
        info->weights_bytes = memory.weights_bytes;
        info->work_bytes = memory.work_bytes;
        info->peak_bytes = memory.peak_work_bytes;
    }
    return copy_descs(a, m->desc.inputs, m->desc.n_inputs, &info->inputs) &&
           copy_descs(a, m->desc.outputs, m->desc.n_outputs, &info->outputs);
}

static const weft_model_info *snapshot(weft_model *m)
{
    weft_arena *a = weft_arena_create(NULL, 8192);
    info_block *b = a ? weft_arena_zalloc(a, sizeof(*b)) : NULL;
    if (!b || !fill(b, a, m)) {
        weft_arena_destroy(&a);
        return NULL;
    }
    b->arena = a;
    atomic_init(&b->refs, 1);
    return &b->info;
}

/* The served version, or what is being loaded, with a reference. */
static weft_model *shown(weft_entry *entry)
{
    weft_model *m = entry->served ? entry->served : entry->staging;
    return m ? weft_model_ref(m) : NULL;
}

weft_status weft_engine_model_info(weft_engine *e, const char *name, const weft_model_info **out, weft_error *err)
{
    weft_model *m = NULL;
    *out = NULL;
    if (!e || !name)
        return weft_fail(err, WEFT_E_INVALID, "an engine and a name are needed");
    weft_lock_take(&e->registry);
    weft_entry *entry = weft_registry_find(e, name);
    if (entry)
        m = shown(entry);
    weft_lock_drop(&e->registry);
    if (!m)
        return weft_registry_get(e, name, NULL, NULL, &m, err); /* NOT_FOUND, with the nearest name */
    *out = snapshot(m);
    weft_model_unref(m);
    return *out ? WEFT_OK : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the description of the model \"%.64s\"", name);
}

typedef struct listed {
    weft_model *model; /* with a reference */
    uint64_t order;
} listed;

static int by_order(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

void weft_engine_each_model(weft_engine *e, void (*fn)(void *cookie, const weft_model_info *info), void *cookie)
{
    if (!e)
        return;
    weft_lock_take(&e->registry);
    size_t n = 0, most = e->n_entries;
    listed *list = most ? malloc(most * sizeof(*list)) : NULL;
    for (size_t i = 0; list && i < WEFT_ENTRY_BUCKETS; i++) {
        weft_list_each(k, &e->entries[i])
        {
            weft_entry *entry = weft_container_of(k, weft_entry, node);
            weft_model *m = shown(entry);
            if (m)
                list[n++] = (listed){m, entry->order};
        }
    }
    weft_lock_drop(&e->registry);
    if (n)
        qsort(list, n, sizeof(*list), by_order);
    for (size_t i = 0; i < n; i++) {
        const weft_model_info *info = snapshot(list[i].model);
        weft_model_unref(list[i].model);
        if (!info)
            continue;
        fn(cookie, info);
        weft_model_info_unref(info);
    }
    free(list);
}
