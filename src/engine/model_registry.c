/* The registry: names, which version is served, and every change of that. A change holds its entries `busy`, so that changes of
 * different models go on beside each other and changes of one model one after the other. Requests look up the served version and
 * pin it, with its sub-models, by a reference. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine_internal.h"

static weft_node *bucket_of(weft_engine *e, const char *name)
{
    return &e->entries[weft_hash_str(WEFT_HASH_SEED, name) % WEFT_ENTRY_BUCKETS];
}

/* Lock held. */
weft_entry *weft_registry_find(weft_engine *e, const char *name)
{
    weft_list_each(n, bucket_of(e, name))
    {
        weft_entry *entry = weft_container_of(n, weft_entry, node);
        if (!strcmp(entry->name, name))
            return entry;
    }
    return NULL;
}

static weft_status unknown(weft_engine *e, const char *name, weft_error *err)
{
    const char *names[256], *near;
    char text[WEFT_NAME_BYTES] = "";
    size_t n = 0;
    weft_lock_take(&e->registry);
    for (size_t i = 0; i < WEFT_ENTRY_BUCKETS; i++) {
        weft_list_each(k, &e->entries[i])
        {
            weft_entry *entry = weft_container_of(k, weft_entry, node);
            if (n < 256 && entry->served && !entry->served->config.hidden)
                names[n++] = entry->name;
        }
    }
    near = weft_nearest_name(name, names, n);
    if (near)
        strcpy(text, near);
    weft_lock_drop(&e->registry);
    if (near)
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no model \"%.64s\"; did you mean \"%s\"?", name, text);
    return weft_fail(err, WEFT_E_NOT_FOUND, "there is no model \"%.64s\"", name);
}

weft_status weft_registry_get(weft_engine *e, const char *name, const char *version, bool *replacing, weft_model **out,
                              weft_error *err)
{
    weft_model *m = NULL;
    bool known, waits = false;
    *out = NULL;
    weft_lock_take(&e->registry);
    weft_entry *entry = weft_registry_find(e, name);
    known = entry != NULL;
    if (entry && entry->served)
        m = weft_model_ref(entry->served);
    waits = entry && entry->replacing;
    weft_lock_drop(&e->registry);
    if (replacing)
        *replacing = !m && waits;
    if (!known)
        return unknown(e, name, err);
    if (!m)
        return weft_fail(err, WEFT_E_UNAVAILABLE, "the model \"%.64s\" is being loaded; try again later", name);
    if (version && *version && strcmp(version, m->config.version)) {
        weft_fail(err, WEFT_E_NOT_FOUND, "the model \"%s\" has no version \"%.64s\"; version \"%s\" is served", name, version,
                  m->config.version);
        weft_model_unref(m);
        return WEFT_E_NOT_FOUND;
    }
    *out = m;
    return WEFT_OK;
}

void weft_registry_staging(weft_entry *entry, weft_model *m)
{
    weft_model *old = entry->staging;
    weft_engine *e = m ? m->engine : old ? old->engine : NULL;
    if (!e)
        return;
    if (m)
        weft_model_ref(m);
    weft_lock_take(&e->registry);
    entry->staging = m;
    weft_lock_drop(&e->registry);
    if (old)
        weft_model_unref(old);
}

/* ---- calls that wait for a replaced model ---- */
bool weft_registry_park(weft_engine *e, weft_request *r)
{
    bool parked = false;
    weft_lock_take(&e->registry);
    weft_entry *entry = weft_registry_find(e, r->call.model);
    if (entry && entry->replacing) {
        parked = true;
        weft_node_push_back(&entry->limbo, &r->park_node);
        if (r->call.timeout_ms > 0) {
            r->deadline_ns = weft_time_add(r->admitted_ns, weft_ms_to_ns((double)r->call.timeout_ms));
            weft_timer_set(&e->timers, &r->deadline, r->deadline_ns);
        }
    }
    weft_lock_drop(&e->registry);
    return parked;
}

bool weft_registry_unpark(weft_request *r)
{
    weft_engine *e = r->engine;
    weft_lock_take(&e->registry);
    bool was = weft_node_linked(&r->park_node);
    weft_node_remove(&r->park_node);
    weft_lock_drop(&e->registry);
    return was;
}

/* The replaced model is there (or not): what waited goes on. */
void weft_registry_release_parked(weft_engine *e, weft_entry *entry)
{
    for (;;) {
        weft_lock_take(&e->registry);
        entry->replacing = false;
        weft_node *n = weft_node_pop_front(&entry->limbo);
        weft_model *m = n && entry->served ? weft_model_ref(entry->served) : NULL;
        weft_lock_drop(&e->registry);
        if (!n)
            return;
        weft_admit_parked(weft_container_of(n, weft_request, park_node), m);
    }
}

/* ---- changes ---- */
static bool uses(const weft_model *pipeline, const weft_model *m)
{
    for (size_t i = 0; pipeline && i < pipeline->n_subs; i++)
        if (pipeline->subs[i] == m)
            return true;
    return false;
}

/* Lock held: the pipelines that use a served model, after it. */
bool weft_change_add_dependents(weft_engine *e, weft_change *c, const weft_model *m)
{
    for (size_t i = 0; i < WEFT_ENTRY_BUCKETS; i++) {
        weft_list_each(n, &e->entries[i])
        {
            weft_entry *entry = weft_container_of(n, weft_entry, node);
            if (!uses(entry->served, m))
                continue;
            if (c->n == WEFT_MAX_INVOLVED)
                return false;
            c->entries[c->n++] = entry;
        }
    }
    return true;
}

void weft_change_end(weft_engine *e, weft_change *c)
{
    weft_lock_take(&e->registry);
    for (size_t i = 0; i < c->n; i++)
        c->entries[i]->busy = false;
    weft_cond_broadcast(&e->registry_changed);
    weft_lock_drop(&e->registry);
}

/* Lock held. Waits for the entries named by the model and its sub-models; the served sub-models are returned with references. */
static weft_status claim_subs(weft_engine *e, const weft_model_config *c, weft_change *ch, weft_model **subs, weft_error *err)
{
    const weft_submodel_config *s = c->submodels.items;
again:
    ch->n = 1; /* the model's own entry */
    for (size_t i = 0; i < c->submodels.n; i++) {
        weft_entry *entry = s[i].model ? weft_registry_find(e, s[i].model) : NULL;
        if (!entry || entry == ch->entries[0] || !s[i].slot)
            return weft_fail(err, WEFT_E_CONFIG, "the pipeline \"%s\" names the sub-model \"%.64s\", which is not loaded",
                             c->name, s[i].model ? s[i].model : "");
        if (entry->busy) {
            weft_cond_wait(&e->registry_changed, &e->registry);
            goto again;
        }
        if (!entry->served)
            return weft_fail(err, WEFT_E_CONFIG, "the sub-model \"%s\" of the pipeline \"%s\" is not ready", entry->name,
                             c->name);
        bool twice = false;
        for (size_t k = 1; k < ch->n; k++)
            twice |= ch->entries[k] == entry;
        if (!twice)
            ch->entries[ch->n++] = entry;
        subs[i] = entry->served;
    }
    for (size_t i = 1; i < ch->n; i++)
        ch->entries[i]->busy = true;
    for (size_t i = 0; i < c->submodels.n; i++)
        weft_model_ref(subs[i]);
    return WEFT_OK;
}

static void unref_all(weft_model **models, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (models[i])
            weft_model_unref(models[i]);
}

weft_status weft_registry_check_config(weft_engine *e, const weft_model_config *c, weft_error *err)
{
    if (!e || !c)
        return weft_fail(err, WEFT_E_INVALID, "an engine and a configuration are needed");
    bool inner = c->name && c->hidden && strlen(c->name) < WEFT_NAME_BYTES; /* "<parent>.<slot>" may be longer than a name */
    if (!c->name || (!inner && !weft_name_valid(c->name)))
        return weft_fail(
            err, WEFT_E_CONFIG,
            "a model's name has 1 to 64 letters, digits, dots, underscores or minus signs and does not start with a dot; "
            "\"%.64s\" is not one",
            c->name ? c->name : "");
    if (c->submodels.n > WEFT_MAX_SUBMODELS)
        return weft_fail(err, WEFT_E_CONFIG, "the pipeline \"%s\" names %zu sub-models; at most %d are possible", c->name,
                         c->submodels.n, WEFT_MAX_SUBMODELS);
    if (atomic_load(&e->closing) || atomic_load(&e->draining))
        return weft_fail(err, WEFT_E_UNAVAILABLE, "the engine is shutting down");
    return WEFT_OK;
}

static weft_entry *entry_create(const char *name)
{
    weft_entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    strcpy(entry->name, name);
    weft_node_init(&entry->limbo);
    return entry;
}

/* Lock held. */
static void entry_remove(weft_engine *e, weft_entry *entry)
{
    weft_node_remove(&entry->node);
    e->n_entries--;
}

void weft_registry_drop_dead(weft_engine *e, weft_change *c)
{
    weft_entry *dead[WEFT_MAX_INVOLVED];
    size_t n_dead = 0, n = 0;
    weft_lock_take(&e->registry);
    for (size_t i = 0; i < c->n; i++) {
        if (c->entries[i]->served) {
            c->entries[n++] = c->entries[i];
            continue;
        }
        entry_remove(e, c->entries[i]);
        dead[n_dead++] = c->entries[i];
    }
    c->n = n;
    weft_lock_drop(&e->registry);
    for (size_t i = 0; i < n_dead; i++)
        free(dead[i]);
}

weft_status weft_engine_load(weft_engine *e, const weft_model_config *c, weft_error *err)
{
    weft_model *subs[WEFT_MAX_SUBMODELS] = {0}, *m = NULL;
    weft_change ch = {.n = 1};
    weft_status s = weft_registry_check_config(e, c, err);
    if (s)
        return s;
    weft_entry *entry = entry_create(c->name);
    if (!entry)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the model \"%s\"", c->name);
    weft_lock_take(&e->registry);
    if (weft_registry_find(e, c->name)) {
        weft_lock_drop(&e->registry);
        free(entry);
        return weft_fail(err, WEFT_E_CONFLICT, "a model \"%s\" is there already; reload it, or unload it first", c->name);
    }
    entry->busy = true;
    ch.entries[0] = entry;
    weft_node_push_back(bucket_of(e, c->name), &entry->node);
    e->n_entries++;
    entry->order = e->n_entries_ever++;
    s = claim_subs(e, c, &ch, subs, err);
    if (s)
        ch.n = 1;
    weft_lock_drop(&e->registry);
    if (!s) {
        s = weft_model_load(e, c, subs, entry, &m, err);
        unref_all(subs, c->submodels.n);
    }
    weft_lock_take(&e->registry);
    weft_model *staging = entry->staging;
    entry->staging = NULL;
    entry->served = m;
    if (s)
        entry_remove(e, entry);
    weft_lock_drop(&e->registry);
    if (staging)
        weft_model_unref(staging);
    weft_change_end(e, &ch);
    if (s)
        free(entry);
    return s;
}

/* Waits until the entry is free and makes it ours. NULL and NOT_FOUND. */
static weft_entry *claim(weft_engine *e, const char *name, weft_change *ch)
{
    weft_lock_take(&e->registry);
    for (;;) {
        weft_entry *entry = weft_registry_find(e, name);
        if (!entry || !entry->busy) {
            if (entry) {
                entry->busy = true;
                ch->entries[0] = entry;
                ch->n = 1;
            }
            weft_lock_drop(&e->registry);
            return entry;
        }
        weft_cond_wait(&e->registry_changed, &e->registry);
    }
}

/* Lock held: hidden sub-models of m that no other pipeline uses. */
static size_t orphans(weft_engine *e, const weft_model *m, weft_entry **out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_subs; i++) {
        weft_entry *entry = m->subs[i] && m->subs[i]->config.hidden ? weft_registry_find(e, m->subs[i]->config.name) : NULL;
        bool ours = entry && !entry->busy && entry->served == m->subs[i];
        for (size_t k = 0; k < n && ours; k++)
            ours = out[k] != entry;
        if (ours)
            out[n++] = entry;
    }
    return n;
}

static weft_status unload_one(weft_engine *e, const char *name, weft_entry **hidden, size_t *n_hidden, weft_error *err)
{
    weft_change ch = {.n = 0}, users = {.n = 0};
    weft_entry *entry = claim(e, name, &ch);
    *n_hidden = 0;
    if (!entry)
        return unknown(e, name, err);
    weft_lock_take(&e->registry);
    weft_model *m = entry->served;
    weft_change_add_dependents(e, &users, m);
    if (users.n) {
        char user[WEFT_NAME_BYTES];
        strcpy(user, users.entries[0]->name);
        weft_lock_drop(&e->registry);
        weft_change_end(e, &ch);
        return weft_fail(err, WEFT_E_CONFLICT, "the model \"%s\" is used by the pipeline \"%s\"; unload that first", name, user);
    }
    entry->served = NULL;
    entry_remove(e, entry);
    *n_hidden = orphans(e, m, hidden);
    weft_lock_drop(&e->registry);
    weft_model_retire(m);
    weft_change_end(e, &ch); /* whoever waits looks the name up again */
    free(entry);
    return WEFT_OK;
}

weft_status weft_engine_unload(weft_engine *e, const char *name, weft_error *err)
{
    weft_entry *hidden[WEFT_MAX_SUBMODELS], *none[WEFT_MAX_SUBMODELS];
    char names[WEFT_MAX_SUBMODELS][WEFT_NAME_BYTES];
    size_t n, unused;
    if (!e || !name)
        return weft_fail(err, WEFT_E_INVALID, "an engine and a name are needed");
    weft_status s = unload_one(e, name, hidden, &n, err);
    if (s)
        return s;
    for (size_t i = 0; i < n; i++)
        strcpy(names[i], hidden[i]->name);
    for (size_t i = 0; i < n; i++)
        unload_one(e, names[i], none, &unused, NULL); /* CONFLICT: another pipeline has it, too */
    return WEFT_OK;
}

/* ---- the end ---- */
/* Lock held: an entry that no pipeline uses. */
static weft_entry *next_to_close(weft_engine *e)
{
    for (size_t i = 0; i < WEFT_ENTRY_BUCKETS; i++) {
        weft_list_each(n, &e->entries[i])
        {
            weft_entry *entry = weft_container_of(n, weft_entry, node);
            weft_change users = {.n = 0};
            if (entry->served)
                weft_change_add_dependents(e, &users, entry->served);
            if (!users.n)
                return entry;
        }
    }
    return NULL;
}

void weft_registry_close(weft_engine *e)
{
    weft_lock_take(&e->registry);
    for (;;) {
        weft_entry *entry = next_to_close(e);
        if (!entry)
            break;
        if (entry->busy) { /* a load or reload in progress ends by itself */
            weft_cond_wait(&e->registry_changed, &e->registry);
            continue;
        }
        weft_model *m = entry->served;
        entry_remove(e, entry);
        weft_lock_drop(&e->registry);
        if (m)
            weft_model_retire(m);
        free(entry);
        weft_lock_take(&e->registry);
    }
    weft_lock_drop(&e->registry);
}
