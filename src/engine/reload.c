/* Reload: a new version of a model, and of the pipelines that use it. All entries switch together or not at all.
 *
 *   SWAP     the new versions are loaded and warmed beside the old ones, then switched; the old ones finish what they accepted
 *   REPLACE  the old ones finish and are unloaded first, calls wait meanwhile; if the new version fails, the old configuration is
 * loaded again */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

typedef struct reload {
    weft_change ch; /* [0] the model, then its sub-models, then the pipelines that use it */
    size_t first_user;
    size_t n; /* versions: the model and its users */
    weft_model *old[WEFT_MAX_INVOLVED], *fresh[WEFT_MAX_INVOLVED];
    weft_model *subs[WEFT_MAX_SUBMODELS];
    weft_arena *arena; /* REPLACE: copies of the old configurations */
    weft_model_config configs[WEFT_MAX_INVOLVED];
} reload;

static weft_entry *entry_of(reload *r, size_t i)
{
    return r->ch.entries[i ? r->first_user + i - 1 : 0];
}

/* Lock held. Names everything the change touches. */
static weft_status involve(weft_engine *e, const weft_model_config *c, reload *r, weft_error *err)
{
    const weft_submodel_config *s = c->submodels.items;
    weft_entry *entry = weft_registry_find(e, c->name);
    if (!entry || (!entry->served && !entry->busy))
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no model \"%.64s\" to reload; load it", c->name);
    r->ch.entries[0] = entry;
    r->ch.n = 1;
    for (size_t i = 0; i < c->submodels.n; i++) {
        weft_entry *sub = s[i].model ? weft_registry_find(e, s[i].model) : NULL;
        bool known = sub == entry;
        if (!sub || sub == entry || !s[i].slot || (!sub->served && !sub->busy))
            return weft_fail(err, WEFT_E_CONFIG, "the pipeline \"%s\" names the sub-model \"%.64s\", which is not loaded",
                             c->name, s[i].model ? s[i].model : "");
        r->subs[i] = sub->served;
        for (size_t k = 1; k < r->ch.n; k++)
            known |= r->ch.entries[k] == sub;
        if (!known)
            r->ch.entries[r->ch.n++] = sub;
    }
    r->first_user = r->ch.n;
    if (entry->served && !weft_change_add_dependents(e, &r->ch, entry->served))
        return weft_fail(err, WEFT_E_UNSUPPORTED, "the model \"%s\" is used by more than %d pipelines", c->name,
                         WEFT_MAX_INVOLVED - 2);
    return WEFT_OK;
}

/* Waits until nothing of it is being changed, then holds it all: nobody holds one entry while waiting for another. */
static weft_status begin(weft_engine *e, const weft_model_config *c, reload *r, weft_error *err)
{
    weft_status s;
    bool busy;
    weft_lock_take(&e->registry);
    do {
        s = involve(e, c, r, err);
        busy = false;
        for (size_t i = 0; i < r->ch.n && !s; i++)
            busy |= r->ch.entries[i]->busy;
        if (busy)
            weft_cond_wait(&e->registry_changed, &e->registry);
    } while (busy);
    for (size_t i = 0; i < r->ch.n && !s; i++)
        r->ch.entries[i]->busy = true;
    for (size_t i = 0; i < c->submodels.n && !s; i++)
        weft_model_ref(r->subs[i]);
    r->n = 1 + r->ch.n - r->first_user;
    for (size_t i = 0; i < r->n && !s; i++)
        r->old[i] = weft_model_ref(entry_of(r, i)->served);
    weft_lock_drop(&e->registry);
    return s;
}

static void unref(weft_model **m)
{
    if (*m)
        weft_model_unref(*m);
    *m = NULL;
}

static void discard_fresh(reload *r)
{
    for (size_t i = r->n; i-- > 0;) {
        weft_registry_staging(entry_of(r, i), NULL);
        if (r->fresh[i])
            weft_model_stop(r->fresh[i]);
        unref(&r->fresh[i]);
    }
}

/* A pipeline that uses the model, with the fresh version in the old one's place. */
static weft_status reopen(weft_engine *e, reload *r, size_t i, const weft_model_config *c, weft_error *err)
{
    weft_model *subs[WEFT_MAX_SUBMODELS];
    const weft_submodel_config *given = c->submodels.items;
    weft_status s = WEFT_OK;
    size_t n = 0;
    weft_lock_take(&e->registry);
    for (; n < c->submodels.n; n++) {
        weft_entry *sub = weft_registry_find(e, given[n].model);
        weft_model *m = sub == entry_of(r, 0) ? r->fresh[0] : sub ? sub->served : NULL;
        if (!m)
            break;
        subs[n] = weft_model_ref(m);
    }
    weft_lock_drop(&e->registry);
    if (n < c->submodels.n)
        s = weft_fail(err, WEFT_E_CONFLICT, "the sub-model \"%s\" of the pipeline \"%s\" is gone", given[n].model, c->name);
    if (!s)
        s = weft_model_load(e, c, subs, entry_of(r, i), &r->fresh[i], err);
    while (n > 0)
        weft_model_unref(subs[--n]);
    return s;
}

static weft_status load_all(weft_engine *e, reload *r, const weft_model_config *c, const weft_model_config *users,
                            weft_error *err)
{
    weft_status s = weft_model_load(e, c, r->subs, entry_of(r, 0), &r->fresh[0], err);
    for (size_t i = 1; i < r->n && !s; i++)
        s = reopen(e, r, i, &users[i], err);
    if (s)
        discard_fresh(r);
    return s;
}

/* From one moment on all of them are served. */
static void show_fresh(weft_engine *e, reload *r)
{
    weft_model *staging[WEFT_MAX_INVOLVED];
    weft_lock_take(&e->registry);
    for (size_t i = 0; i < r->n; i++) {
        weft_entry *entry = entry_of(r, i);
        staging[i] = entry->staging;
        entry->staging = NULL;
        entry->served = r->fresh[i]; /* the registry's reference to the old version is the caller's to retire */
        r->fresh[i] = NULL;
    }
    weft_lock_drop(&e->registry);
    for (size_t i = 0; i < r->n; i++)
        unref(&staging[i]);
}

/* Users first: they hold the old version of the model. */
static void retire_old(reload *r)
{
    for (size_t i = r->n; i-- > 0;) {
        weft_model *m = r->old[i];
        r->old[i] = NULL;
        weft_model_unref(m);  /* ours */
        weft_model_retire(m); /* the registry's */
    }
}

static weft_status copy_configs(reload *r, weft_error *err)
{
    r->arena = weft_arena_create(NULL, 0);
    if (!r->arena)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the old configuration of a model");
    for (size_t i = 0; i < r->n; i++) {
        const weft_model *m = r->old[i];
        const weft_backend *b = m->backend ? m->backend->table : NULL;
        weft_status s = weft_config_copy(r->arena, &m->config, m->executor->options, m->executor->options_size,
                                         b ? b->options : NULL, b ? b->options_size : 0, &r->configs[i], err);
        if (s)
            return s;
    }
    return WEFT_OK;
}

static weft_status swap(weft_engine *e, reload *r, const weft_model_config *c, weft_error *err)
{
    weft_status s = copy_configs(r, err); /* the users' as they are */
    if (!s)
        s = load_all(e, r, c, r->configs, err);
    if (s)
        return s;
    show_fresh(e, r);
    retire_old(r);
    return WEFT_OK;
}

static weft_status replace(weft_engine *e, reload *r, const weft_model_config *c, weft_error *err)
{
    weft_error again;
    weft_status s = copy_configs(r, err);
    if (s)
        return s;
    weft_lock_take(&e->registry);
    for (size_t i = 0; i < r->n; i++) {
        entry_of(r, i)->replacing = true; /* calls wait from now on */
        entry_of(r, i)->served = NULL;
    }
    weft_lock_drop(&e->registry);
    retire_old(r);
    s = load_all(e, r, c, r->configs, err);
    if (s) {
        weft_error_clear(&again);
        weft_status back = load_all(e, r, &r->configs[0], r->configs, &again);
        if (back)
            weft_engine_log(e, WEFT_LOG_ERROR, "model.reload", c->name,
                            "the new version failed, and the old one cannot be loaded again: %s", again.text);
        else
            show_fresh(e, r);
    } else {
        show_fresh(e, r);
    }
    for (size_t i = 0; i < r->n; i++)
        weft_registry_release_parked(e, entry_of(r, i));
    return s;
}

weft_status weft_engine_reload(weft_engine *e, const weft_model_config *c, weft_reload_mode mode, weft_error *err)
{
    weft_error local;
    if (!err)
        err = &local;
    weft_error_clear(err);
    weft_status s = weft_registry_check_config(e, c, err);
    if (s)
        return s;
    if (mode != WEFT_RELOAD_SWAP && mode != WEFT_RELOAD_REPLACE)
        return weft_fail(err, WEFT_E_INVALID, "the reload mode %d is unknown", (int)mode);
    reload *r = calloc(1, sizeof(*r));
    if (!r)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the reload of the model \"%s\"", c->name);
    s = begin(e, c, r, err);
    if (s) {
        free(r);
        return s;
    }
    s = mode == WEFT_RELOAD_SWAP ? swap(e, r, c, err) : replace(e, r, c, err);
    for (size_t i = 0; i < r->n; i++)
        unref(&r->old[i]);
    for (size_t i = 0; i < c->submodels.n; i++)
        unref(&r->subs[i]);
    weft_registry_drop_dead(e, &r->ch);
    weft_change_end(e, &r->ch);
    weft_arena_destroy(&r->arena);
    free(r);
    return s;
}
