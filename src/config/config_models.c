/* One model: its block of keys, its type, its backend. */
#include "config/config_models.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/option_text.h"
#include "base/text.h"

#define MAX_SPECIALS 64 /* sub-model slots and backends of one model */
#define MAX_NAMES 256

const weft_known_backend weft_known_backends[] = {{"onnxruntime", ".onnx"}, {"acl", ".om"}, {NULL, NULL}};

static bool has_extension(const char *path, const char *extension)
{
    size_t n = strlen(path), m = strlen(extension);
    return n > m && !strcasecmp(path + n - m, extension);
}

bool weft_backend_of_path(const weft_backend *const *backends, const char *path, const weft_backend **out, const char **name)
{
    *out = NULL;
    *name = NULL;
    for (const weft_backend *const *b = backends; b && *b; b++) {
        for (const char *const *e = (*b)->extensions; e && *e; e++) {
            if (has_extension(path, *e)) {
                *out = *b;
                *name = (*b)->name;
                return true;
            }
        }
    }
    for (const weft_known_backend *k = weft_known_backends; k->name; k++) {
        if (has_extension(path, k->extension)) {
            *name = k->name;
            return true;
        }
    }
    return false;
}

static bool known_backend(const char *name)
{
    for (const weft_known_backend *k = weft_known_backends; k->name; k++)
        if (!strcmp(k->name, name))
            return true;
    return false;
}

static const weft_executor *tensor_executor(weft_drafts *d)
{
    return weft_executor_by_name(d->executors, "tensor");
}

/* ---- drafts ----------------------------------------------------------------------------------------------------------- */
weft_draft *weft_draft_new(weft_drafts *d, weft_at *at, const weft_draft *parent, weft_place place)
{
    if (d->r->stopped)
        return NULL;
    if (d->n == WEFT_CONFIG_MAX_MODELS) {
        weft_read_mistake(d->r, place, at, NULL, "too many models: at most %u are read, sub-models included",
                          WEFT_CONFIG_MAX_MODELS);
        d->r->stopped = d->r->too_many = true;
        return NULL;
    }
    weft_draft *m = weft_read_alloc(d->r, 1, sizeof(*m));
    if (!m)
        return NULL;
    weft_model_config_init(&m->m.config);
    m->at = at;
    m->parent = parent;
    m->m.place = m->m.type_place = place;
    m->m.is_inline = parent;
    m->m.config.device_id = parent ? parent->m.config.device_id : d->config->device_id;
    if (parent) {
        m->m.config.priority = parent->m.config.priority;
        m->m.config.required = parent->m.config.required;
        m->m.config.hidden = true;
    }
    *(d->last ? &d->last->next : &d->first) = m;
    d->last = m;
    d->n++;
    return m;
}

/* A struct for a table, with its defaults; NULL without a table or when out of memory. */
static void *new_options(weft_drafts *d, const weft_option *table, size_t n_bytes, const weft_at *at, weft_place place)
{
    weft_error err;
    void *p = table ? weft_read_alloc(d->r, 1, n_bytes) : NULL;
    weft_status s = p ? weft_options_defaults(table, p, d->r->arena, &err) : WEFT_OK;
    if (!s)
        return p;
    if (s == WEFT_E_NO_MEMORY)
        d->r->stopped = d->r->no_memory = true;
    else
        weft_read_mistake(d->r, place, at, NULL, "a fault inside weft: %s", err.text);
    return NULL;
}

const char *weft_draft_inline_name(weft_drafts *d, const weft_draft *parent, size_t slot)
{
    const char *name = weft_arena_printf(d->r->arena, "%s.%s", parent->m.config.name ? parent->m.config.name : "?",
                                         parent->m.executor->submodels[slot].slot);
    if (!name)
        d->r->stopped = d->r->no_memory = true;
    return name;
}

/* ---- backend ---------------------------------------------------------------------------------------------------------- */
static void list_extensions(weft_drafts *d, char *buf, size_t n)
{
    size_t len = 0;
    buf[0] = 0;
    for (const weft_backend *const *b = d->backends; b && *b; b++)
        for (const char *const *e = (*b)->extensions; e && *e && len + 80 < n; e++)
            len += (size_t)snprintf(buf + len, n - len, "%s%s (%s)", len ? ", " : "", *e, (*b)->name);
    for (const weft_known_backend *k = weft_known_backends; k->name && len + 80 < n; k++)
        if (!weft_backend_by_name(d->backends, k->name))
            len += (size_t)snprintf(buf + len, n - len, "%s%s (%s)", len ? ", " : "", k->extension, k->name);
}

static void backend_by_name(weft_drafts *d, weft_draft *m, weft_place place, const weft_at *at)
{
    const char *name = m->m.config.backend, *names[MAX_NAMES];
    size_t n = 0;
    m->m.backend = weft_backend_by_name(d->backends, name);
    if (m->m.backend || known_backend(name))
        return;
    for (const weft_backend *const *b = d->backends; b && *b && n < MAX_NAMES; b++)
        names[n++] = (*b)->name;
    for (const weft_known_backend *k = weft_known_backends; k->name && n < MAX_NAMES; k++)
        if (!weft_backend_by_name(d->backends, k->name))
            names[n++] = k->name;
    char list[300] = "";
    for (size_t i = 0, len = 0; i < n && len + 70 < sizeof(list); i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", names[i]);
    weft_read_mistake(d->r, place, at, weft_nearest_name(name, names, n), "expected a backend (%s), got \"%s\"", list, name);
}

static void backend_by_extension(weft_drafts *d, weft_draft *m, const weft_at *at)
{
    const char *const *paths = m->m.config.paths.items, *name;
    for (size_t i = 0; i < m->m.config.paths.n; i++) {
        const weft_backend *b;
        weft_place place = m->m.path_places ? m->m.path_places[i] : m->m.place;
        if (!weft_backend_of_path(d->backends, paths[i], &b, &name)) {
            char list[400];
            list_extensions(d, list, sizeof(list));
            weft_read_mistake(d->r, place, at, NULL,
                              "no backend goes with the file name \"%s\"; known: %s; another name needs \"backend:\"", paths[i],
                              list);
            return;
        }
        if (i && strcmp(name, m->m.config.backend)) {
            weft_read_mistake(d->r, place, at, NULL,
                              "the files of one model must be of one kind: \"%s\" runs on %s, the first one on %s", paths[i],
                              name, m->m.config.backend);
            return;
        }
        m->m.backend = b;
        m->m.config.backend = name;
    }
}

static void finish_backend(weft_drafts *d, weft_draft *m, const weft_yaml_node *given)
{
    const weft_at at = {.up = m->at, .name = given ? "backend" : "path"};
    if (m->m.config.backend)
        backend_by_name(d, m, given ? given->place : m->m.place, &at);
    else
        backend_by_extension(d, m, &at);
    if (m->m.backend)
        m->m.config.backend_options = new_options(d, m->m.backend->options, m->m.backend->options_size, m->at, m->m.place);
}

static void read_backend_block(weft_drafts *d, weft_draft *m, const weft_special *block)
{
    const weft_at at = {.up = m->at, .name = block->name};
    const char *runs_on = m->m.config.backend;
    if (!runs_on) {
        weft_read_mistake(d->r, block->key->place, &at, NULL,
                          "the model has no file of its own that a backend could run: set this in the block of the sub-model");
    } else if (strcmp(runs_on, block->name)) {
        weft_read_mistake(d->r, block->key->place, &at, NULL, "these are options of the backend %s, but the model runs on %s",
                          block->name, runs_on);
    } else if (!m->m.backend) {
        weft_read_warning(d->r, block->key->place, &at, "the backend %s is not in this build: its options were not read",
                          block->name);
    } else if (!m->m.backend->options) {
        weft_read_mistake(d->r, block->key->place, &at, NULL, "the backend %s has no options", block->name);
    } else if (m->m.config.backend_options) {
        const weft_option o = {.name = block->name,
                               .kind = WEFT_OPT_STRUCT,
                               .fields = m->m.backend->options,
                               .item_size = m->m.backend->options_size};
        weft_read_value(d->r, &o, block->value, &at, (void *)(uintptr_t)m->m.config.backend_options);
    }
}

/* ---- type ------------------------------------------------------------------------------------------------------------- */
static const weft_entry *find_entry(const weft_entry *entries, size_t n, const weft_yaml_node *key)
{
    for (size_t i = 0; key && i < n; i++)
        if (entries[i].key == key)
            return &entries[i];
    return NULL;
}

static weft_yaml_node *value_of(const weft_entry *entries, size_t n, const weft_section *s, size_t offset)
{
    const weft_entry *e = find_entry(entries, n, weft_section_seen(s, offset));
    return e ? e->value : NULL;
}

static const weft_entry *entry_named(const weft_entry *entries, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(entries[i].key->text, name))
            return &entries[i];
    return NULL;
}

static void unknown_type(weft_drafts *d, weft_draft *m, const weft_yaml_node *node)
{
    const weft_at at = {.up = m->at, .name = "type"};
    const char *names[MAX_NAMES];
    char list[600] = "";
    size_t n = 0, len = 0;
    for (const weft_executor *const *e = d->executors; e && *e; e++) {
        if (len + 70 < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "", (*e)->name);
        if (n < MAX_NAMES)
            names[n++] = (*e)->name;
        for (const char *const *a = (*e)->aliases; a && *a && n < MAX_NAMES; a++)
            names[n++] = *a;
    }
    weft_read_mistake(d->r, node->place, &at, weft_nearest_name(node->text, names, n), "expected an executor (%s), got \"%.64s\"",
                      list, node->text);
}

/* The executor must be known before the other keys of the block can be. NULL: unknown, and reported. */
static const weft_executor *find_type(weft_drafts *d, weft_draft *m, const weft_entry *entries, size_t n)
{
    const weft_entry *e = entry_named(entries, n, "type");
    const weft_executor *tensor = tensor_executor(d);
    if (!e || e->value->kind != WEFT_NODE_SCALAR || weft_node_is_null(e->value)) {
        if (!tensor)
            weft_read_mistake(d->r, m->m.place, m->at, NULL, "this build has no tensor executor, and no \"type\" is given");
        return tensor;
    }
    m->m.type_place = e->value->place;
    const weft_executor *x = weft_executor_by_name(d->executors, e->value->text);
    if (!x)
        unknown_type(d, m, e->value);
    if (x && m->parent && x != tensor) {
        const weft_at at = {.up = m->at, .name = "type"};
        weft_read_mistake(
            d->r, e->value->place, &at, NULL,
            "a sub-model written in place is always of the type tensor: for another, list the model by itself and name it here");
    }
    return x;
}

/* ---- block ------------------------------------------------------------------------------------------------------------ */
static void read_places(weft_drafts *d, weft_draft *m, weft_yaml_node *paths)
{
    size_t n = m->m.config.paths.n, i = 0;
    weft_place *places = n ? weft_read_alloc(d->r, n, sizeof(*places)) : NULL;
    if (!places)
        return;
    if (paths->kind == WEFT_NODE_LIST) {
        for (const weft_yaml_cell *c = paths->first; c && i < n; c = c->next)
            places[i++] = c->value->place;
    } else {
        places[0] = paths->place;
    }
    m->m.path_places = places;
}

static void finish_name(weft_drafts *d, weft_draft *m, const weft_yaml_node *given)
{
    if (!m->m.config.name || !given)
        return;
    m->m.place = given->place;
    if (!weft_name_valid(m->m.config.name)) {
        const weft_at at = {.up = m->at, .name = "name"};
        char words[80];
        weft_read_mistake(d->r, given->place, &at, NULL,
                          "expected letters, digits, \".\", \"_\", \"-\" (at most 64, no dot first), got %s",
                          weft_node_words(given, words));
    }
}

static void read_slots(weft_drafts *d, weft_draft *m, const weft_special *specials, size_t n)
{
    size_t filled = 0;
    m->slots = weft_read_alloc(d->r, n, sizeof(*m->slots));
    for (size_t i = 0; i < n && !d->r->stopped; i++) {
        weft_yaml_node *value = specials[i].value;
        if (!value || weft_node_is_null(value))
            continue;
        weft_draft_slot *slot = &m->slots[filled];
        slot->at = weft_read_alloc(d->r, 1, sizeof(*slot->at));
        if (!slot->at)
            return;
        *slot->at = (weft_at){.up = m->at, .name = specials[i].name};
        slot->index = i;
        slot->place = value->place;
        m->n_slots = ++filled;
        if (value->kind == WEFT_NODE_LIST || (value->kind == WEFT_NODE_SCALAR && strlen(value->text) != value->n_bytes)) {
            weft_read_mistake(d->r, value->place, slot->at, NULL,
                              "expected the name of a model, a model file, or a block with the options of a model, got %s",
                              value->kind == WEFT_NODE_LIST ? "a list" : "text with a NUL character");
            continue;
        }
        if (value->kind == WEFT_NODE_MAP) {
            slot->target = weft_draft_new(d, slot->at, m, specials[i].key->place);
            if (!slot->target)
                return;
            slot->target->m.config.name = weft_draft_inline_name(d, m, i);
            weft_draft_read(d, slot->target, value);
        } else {
            slot->node = value;
        }
    }
}

/* Has it everything to run? */
static bool slot_given(const weft_draft *m, size_t index)
{
    for (size_t k = 0; k < m->n_slots; k++)
        if (m->slots[k].index == index)
            return true;
    return false;
}

static void check_files(weft_drafts *d, const weft_draft *m, bool path_was_wrong)
{
    const weft_executor *x = m->m.executor;
    const weft_submodel_decl *s = x->submodels;
    bool any = m->n_slots || m->m.config.paths.n || path_was_wrong;
    char list[300] = "";
    size_t len = 0;
    for (size_t i = 0; s && s[i].slot; i++) {
        if (s[i].required && !slot_given(m, i)) {
            any = true;
            weft_read_mistake(d->r, m->m.place, m->at, NULL,
                              "the sub-model \"%s\" is missing (%s): expected a model's name, a file or a block", s[i].slot,
                              s[i].help ? s[i].help : "");
        }
        if (len + 70 < sizeof(list) && strcmp(s[i].slot, "model"))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s\"%s\"", len ? ", " : "", s[i].slot);
    }
    if (!any || (!x->run && !m->m.config.paths.n && !path_was_wrong))
        weft_read_mistake(d->r, m->m.place, m->at, NULL, "\"path\" is missing: the type %s runs a model file%s%s", x->name,
                          len ? ", or the sub-models " : "", list);
}

/* Files of a pipeline's own block: they are the model "<name>.model" in its slot "model" (weft/executor.h), with everything that
 * the block says about running it. */
static void split_own_files(weft_drafts *d, weft_draft *m)
{
    const weft_submodel_decl *s = m->m.executor->submodels;
    const weft_executor *tensor = tensor_executor(d);
    size_t index = 0;
    weft_at at = {.up = m->at, .name = "path"};
    while (s && s[index].slot && strcmp(s[index].slot, "model"))
        index++;
    if (!s || !s[index].slot) {
        weft_read_mistake(d->r, m->m.path_places[0], &at, NULL,
                          "the type %s works through its sub-models and has no file of its own", m->m.executor->name);
        return;
    }
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->slots[i].index == index) {
            weft_read_mistake(d->r, m->slots[i].place, m->slots[i].at, NULL,
                              "\"path\" and \"model\" are the same sub-model: give one of them");
            return;
        }
    }
    weft_draft_slot *slots = weft_read_alloc(d->r, m->n_slots + 1, sizeof(*slots));
    weft_draft *own = slots && tensor ? weft_draft_new(d, m->at, m, m->m.path_places[0]) : NULL;
    if (!own)
        return;
    if (m->n_slots)
        memcpy(slots, m->slots, m->n_slots * sizeof(*slots));
    own->m.config = m->m.config;
    own->m.config.name = weft_draft_inline_name(d, m, index);
    own->m.config.type = tensor->name;
    own->m.config.hidden = true;
    own->m.config.executor_options = new_options(d, tensor->options, tensor->options_size, m->at, m->m.place);
    own->m.executor = tensor;
    own->m.backend = m->m.backend;
    own->m.path_places = m->m.path_places;
    m->m.config.paths = (weft_list){0};
    m->m.config.backend = NULL;
    m->m.config.backend_options = NULL;
    m->m.backend = NULL;
    slots[m->n_slots] = (weft_draft_slot){.index = index, .place = m->m.path_places[0], .at = m->at, .target = own};
    m->slots = slots;
    m->n_slots++;
}

static size_t make_specials(weft_drafts *d, const weft_executor *x, weft_special *specials, size_t *n_slots)
{
    size_t n = 0;
    for (size_t i = 0; x && x->submodels && x->submodels[i].slot && n < MAX_SPECIALS; i++)
        specials[n++] = (weft_special){.name = x->submodels[i].slot};
    *n_slots = n;
    for (const weft_backend *const *b = d->backends; b && *b && n < MAX_SPECIALS; b++)
        specials[n++] = (weft_special){.name = (*b)->name};
    for (const weft_known_backend *k = weft_known_backends; k->name && n < MAX_SPECIALS; k++)
        if (!weft_backend_by_name(d->backends, k->name))
            specials[n++] = (weft_special){.name = k->name};
    return n;
}

/* Does the executor have this key in a model's block, and everything that is written below it? */
static bool takes_key(const weft_executor *x, const weft_yaml_node *key, const weft_yaml_node *value)
{
    const weft_option *o = weft_option_find(x->options, key->text, strlen(key->text));
    for (const weft_submodel_decl *s = x->submodels; s && s->slot; s++)
        if (!strcmp(s->slot, key->text))
            return true;
    if (!o)
        return false;
    if (o->kind == WEFT_OPT_STRUCT && value->kind == WEFT_NODE_MAP)
        for (const weft_yaml_cell *c = value->first; c; c = c->next)
            if (c->key->kind != WEFT_NODE_SCALAR || !weft_option_find(o->fields, c->key->text, strlen(c->key->text)))
                return false;
    return true;
}

/* A key of a picture model in a block without a type, which therefore is of type tensor. */
static const char *explain_missing_type(void *cookie, const weft_yaml_node *key, const weft_yaml_node *value)
{
    const weft_drafts *d = cookie;
    char list[400] = "";
    size_t n = 0, left, len = 0;
    for (const weft_executor *const *x = d->executors; x && *x; x++)
        n += takes_key(*x, key, value);
    left = n;
    for (const weft_executor *const *x = d->executors; x && *x; x++) {
        if (!takes_key(*x, key, value) || len + 60 > sizeof(list))
            continue;
        left--;
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s\"type: %.32s\"",
                                len == 0 ? ""
                                : left   ? ", "
                                         : " or ",
                                (*x)->name);
    }
    return n ? weft_arena_printf(d->r->arena,
                                 "\"%.64s\" is not a key of type tensor (which applies because \"type\" is not given); did you "
                                 "forget %s?",
                                 key->text, list)
             : NULL;
}

static void read_block(weft_drafts *d, weft_draft *m, weft_yaml_node *node, weft_section sections[2])
{
    static const weft_key_value inline_refused[] = {{"name", "a sub-model written in place is called MODEL.SLOT"},
                                                    {"hidden", "a sub-model written in place is always hidden"},
                                                    {"required", "it follows the model that uses it"},
                                                    {NULL, NULL}};
    weft_special specials[MAX_SPECIALS];
    weft_entry *entries;
    size_t n, n_slots;
    if (!weft_read_entries(d->r, node, m->at, &entries, &n))
        return;
    const weft_executor *x = m->m.executor = find_type(d, m, entries, n);
    sections[0] =
        (weft_section){.table = weft_model_option_table, .base = &m->m.config, .refused = m->parent ? inline_refused : NULL};
    size_t n_specials = make_specials(d, x, specials, &n_slots), n_sections = x && x->options ? 2 : 1;
    if (n_sections == 2) {
        m->m.config.executor_options = new_options(d, x->options, x->options_size, m->at, m->m.place);
        sections[1] = (weft_section){.table = x->options, .base = (void *)(uintptr_t)m->m.config.executor_options};
        n_sections = sections[1].base ? 2 : 1;
    }
    m->at->sections = sections;
    m->at->n_sections = n_sections;
    d->r->ignore_unknown = !x; /* its own keys are not known; that the type is wrong was said */
    if (!m->parent && !entry_named(entries, n, "type")) {
        d->r->explain = explain_missing_type;
        d->r->explain_cookie = d;
        d->r->explain_at = m->at;
    }
    weft_read_sections(d->r, node, entries, n, m->at, sections, n_sections, specials, n_specials);
    d->r->explain = NULL;
    d->r->ignore_unknown = false;
    if (d->r->stopped || !sections[0].seen)
        return;
    if (x)
        m->m.config.type = x->name;
    finish_name(d, m, value_of(entries, n, &sections[0], offsetof(weft_model_config, name)));
    if (!entry_named(entries, n, "type"))
        m->m.type_place = m->m.place;
    weft_yaml_node *paths = value_of(entries, n, &sections[0], offsetof(weft_model_config, paths));
    if (paths)
        read_places(d, m, paths);
    finish_backend(d, m, value_of(entries, n, &sections[0], offsetof(weft_model_config, backend)));
    for (size_t i = n_slots; i < n_specials; i++)
        if (specials[i].key && !weft_node_is_null(specials[i].value))
            read_backend_block(d, m, &specials[i]);
    if (!x)
        return;
    read_slots(d, m, specials, n_slots);
    check_files(d, m, paths && !m->m.config.paths.n);
    if (x->run && m->m.config.paths.n && m->m.path_places)
        split_own_files(d, m);
}

void weft_draft_read(weft_drafts *d, weft_draft *m, weft_yaml_node *node)
{
    weft_section sections[2];
    read_block(d, m, node, sections);
    m->at->sections = NULL; /* they end here; the place is used longer, by messages */
    m->at->n_sections = 0;
}

weft_draft *weft_draft_from_path(weft_drafts *d, const weft_draft *parent, const weft_draft_slot *slot, const char *path)
{
    weft_draft *m = weft_draft_new(d, slot->at, parent, slot->place);
    const char **paths = m ? weft_read_alloc(d->r, 1, sizeof(*paths)) : NULL;
    weft_place *places = paths ? weft_read_alloc(d->r, 1, sizeof(*places)) : NULL;
    const weft_executor *x = tensor_executor(d);
    if (!places)
        return NULL;
    if (!x) {
        weft_read_mistake(d->r, slot->place, slot->at, NULL, "this build has no tensor executor for a sub-model");
        return NULL;
    }
    paths[0] = weft_read_path(d->r, path);
    places[0] = slot->place;
    m->m.config.paths = (weft_list){.n = 1, .items = paths};
    m->m.path_places = places;
    m->m.executor = x;
    m->m.config.type = x->name;
    m->m.config.name = weft_draft_inline_name(d, parent, slot->index);
    if (d->r->stopped)
        return NULL;
    m->m.config.executor_options = new_options(d, x->options, x->options_size, m->at, m->m.place);
    finish_backend(d, m, NULL);
    return m;
}
