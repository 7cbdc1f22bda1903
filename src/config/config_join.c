/* From drafts to the finished list: targets of sub-models, names, load order. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "config/config_models.h"

void weft_read_models(weft_drafts *d, weft_yaml_node *node)
{
    weft_reader *r = d->r;
    char words[80];
    weft_at *list = weft_read_alloc(r, 1, sizeof(*list));
    if (!list || weft_node_is_null(node))
        return;
    *list = (weft_at){.name = "models", .sections = d->root, .n_sections = 1};
    if (node->kind != WEFT_NODE_LIST) {
        weft_read_mistake(r, node->place, list, NULL, "expected a list of models (each \"- name: ...\"), got %s",
                          weft_node_words(node, words));
        return;
    }
    if (!node->first)
        weft_read_warning(r, node->place, list, "the list is empty: nothing would be served");
    size_t i = 0;
    for (weft_yaml_cell *c = node->first; c && weft_read_visit(r, c->value, list); c = c->next, i++) {
        weft_at *at = weft_read_alloc(r, 1, sizeof(*at));
        if (!at)
            return;
        *at = (weft_at){.up = list, .index = i};
        if (c->value->kind != WEFT_NODE_MAP) {
            weft_read_mistake(r, c->value->place, at, NULL, "expected a model (a block that starts with \"name:\"), got %s",
                              weft_node_words(c->value, words));
            continue;
        }
        weft_draft *m = weft_draft_new(d, at, NULL, c->value->place);
        if (!m)
            return;
        weft_draft_read(d, m, c->value);
    }
}

/* ---- names and targets ------------------------------------------------------------------------------------------------ */
static weft_draft *find_draft(weft_drafts *d, const char *name)
{
    for (weft_draft *m = d->first; m; m = m->next)
        if (m->m.config.name && !strcmp(m->m.config.name, name))
            return m;
    return NULL;
}

static void check_names(weft_drafts *d)
{
    for (weft_draft *m = d->first; m; m = m->next) {
        const char *name = m->m.config.name;
        weft_draft *first = name ? find_draft(d, name) : NULL;
        if (first && first != m)
            weft_read_mistake(d->r, m->m.place, m->at, NULL, "the name \"%.64s\" is taken by the model in line %d", name,
                              first->m.place.line);
        if (m->parent && name && m->parent->m.config.name && weft_name_valid(m->parent->m.config.name) && !weft_name_valid(name))
            weft_read_mistake(d->r, m->m.place, m->at, NULL,
                              "the sub-model would be called \"%.80s\", longer than 64: shorten the model's name", name);
    }
}

static const char *nearest_model(weft_drafts *d, const char *name)
{
    const char **names = weft_read_alloc(d->r, d->n, sizeof(*names));
    size_t n = 0;
    for (weft_draft *m = d->first; names && m; m = m->next)
        if (!m->parent)
            names[n++] = m->m.config.name;
    return names ? weft_nearest_name(name, names, n) : NULL;
}

/* The name of a model of this file, else a model file. */
static void find_target(weft_drafts *d, weft_draft *m, weft_draft_slot *slot)
{
    const char *text = slot->node->text, *backend;
    const weft_backend *b;
    char words[80];
    slot->target = find_draft(d, text);
    if (slot->target)
        return;
    if (weft_backend_of_path(d->backends, text, &b, &backend)) {
        slot->target = weft_draft_from_path(d, m, slot, text);
        return;
    }
    weft_read_mistake(d->r, slot->place, slot->at, nearest_model(d, text),
                      "expected the name of a model of this file or a model file, got %s", weft_node_words(slot->node, words));
}

static void find_targets(weft_drafts *d)
{
    for (weft_draft *m = d->first; m; m = m->next) { /* grows at its end: models made from a path have no slots */
        for (size_t i = 0; i < m->n_slots && !d->r->stopped; i++) {
            weft_draft_slot *slot = &m->slots[i];
            if (slot->node)
                find_target(d, m, slot);
            if (slot->target && slot->target->m.executor && slot->target->m.executor->run)
                weft_read_mistake(d->r, slot->place, slot->at, NULL,
                                  "the model \"%.64s\" works through sub-models itself: a sub-model must be one that runs a file",
                                  slot->target->m.config.name);
        }
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------------ */
/* What it uses first. Only pipelines use models, and a pipeline is never used, so a second level is a mistake that was reported;
 * the mark ends a circle of such. */
static void place_model(weft_draft *m, weft_draft **order, size_t *n)
{
    m->placed = true;
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->slots[i].target && !m->slots[i].target->placed)
            place_model(m->slots[i].target, order, n);
    m->position = *n;
    order[(*n)++] = m;
}

static bool move_slots(weft_drafts *d, const weft_draft *m, weft_config_model *to)
{
    weft_submodel_config *names = weft_read_alloc(d->r, m->n_slots, sizeof(*names));
    weft_config_slot *slots = names ? weft_read_alloc(d->r, m->n_slots, sizeof(*slots)) : NULL;
    size_t n = 0;
    if (!slots)
        return false;
    for (size_t i = 0; i < m->n_slots; i++) {
        const weft_draft_slot *s = &m->slots[i];
        if (!s->target)
            continue;
        names[n] = (weft_submodel_config){.slot = m->m.executor->submodels[s->index].slot, .model = s->target->m.config.name};
        slots[n++] = (weft_config_slot){.index = s->index, .model = s->target->position, .place = s->place};
    }
    to->config.submodels = (weft_list){.n = n, .items = names};
    to->slots = slots;
    to->n_slots = n;
    return true;
}

void weft_join_models(weft_drafts *d)
{
    if (d->r->stopped)
        return;
    find_targets(d);
    check_names(d);
    if (d->r->stopped || !d->n)
        return;
    weft_draft **order = weft_read_alloc(d->r, d->n, sizeof(*order));
    weft_config_model *models = order ? weft_read_alloc(d->r, d->n, sizeof(*models)) : NULL;
    size_t n = 0;
    if (!models)
        return;
    for (weft_draft *m = d->first; m; m = m->next)
        if (!m->placed)
            place_model(m, order, &n);
    for (size_t i = 0; i < n; i++) {
        models[i] = order[i]->m;
        if (!move_slots(d, order[i], &models[i]))
            return;
    }
    d->config->models = models;
    d->config->n_models = n;
}
