#include "config/config_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/option_text.h"
#include "base/text.h"
#include "config/config.h"

#define KEY_BYTES 256
#define SENTENCE_BYTES 1024

/* ---- messages --------------------------------------------------------------------------------------------------------- */
char *weft_at_print(const weft_at *at, char *buf, size_t n)
{
    const weft_at *chain[WEFT_CONFIG_MAX_DEPTH * 2];
    size_t depth = 0, len = 0;
    for (; at && depth < sizeof(chain) / sizeof(*chain); at = at->up)
        chain[depth++] = at;
    buf[0] = 0;
    while (depth-- && len < n) {
        at = chain[depth];
        if (at->name)
            len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? "." : "", at->name);
        else
            len += (size_t)snprintf(buf + len, n - len, "[%zu]", at->index);
    }
    buf[weft_utf8_cut(buf, strlen(buf), n - 1)] = 0;
    return buf;
}

static void say(weft_reader *r, weft_severity severity, weft_place place, const weft_at *at, const char *suggestion,
                const char *fmt, va_list ap)
{
    char text[SENTENCE_BYTES], key[KEY_BYTES];
    vsnprintf(text, sizeof(text), fmt, ap);
    weft_diagnostics_add(r->diags, severity, place, weft_at_print(at, key, sizeof(key)), suggestion, "%s", text);
}

void weft_read_mistake(weft_reader *r, weft_place place, const weft_at *at, const char *suggestion, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(r, WEFT_SEVERITY_ERROR, place, at, suggestion, fmt, ap);
    va_end(ap);
}

void weft_read_warning(weft_reader *r, weft_place place, const weft_at *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(r, WEFT_SEVERITY_WARNING, place, at, NULL, fmt, ap);
    va_end(ap);
}

const char *weft_node_words(const weft_yaml_node *node, char buf[80])
{
    if (node->kind == WEFT_NODE_LIST)
        return "a list";
    if (node->kind == WEFT_NODE_MAP)
        return "a block of keys";
    if (weft_node_is_null(node))
        return "nothing";
    size_t n = strlen(node->text), cut = weft_utf8_cut(node->text, n, 60);
    size_t k = (size_t)snprintf(buf, 80, "\"%.*s%s\"", (int)cut, node->text, cut < n ? "..." : "");
    for (size_t i = 0; i < k; i++)
        if ((unsigned char)buf[i] < 0x20)
            buf[i] = ' ';
    return buf;
}

bool weft_node_is_null(const weft_yaml_node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != WEFT_NODE_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(node->text, words[i]))
            return true;
    return false;
}

/* Enough was said: suggestions cost time and nobody would see them. */
static bool quiet(const weft_reader *r)
{
    return weft_diagnostics_count(r->diags) >= WEFT_DIAGNOSTICS_MAX || !r->diags;
}

void *weft_read_alloc(weft_reader *r, size_t n, size_t item_bytes)
{
    void *p = weft_arena_array(r->arena, n ? n : 1, item_bytes);
    if (!p)
        r->stopped = r->no_memory = true;
    return p;
}

bool weft_read_visit(weft_reader *r, const weft_yaml_node *node, const weft_at *at)
{
    if (r->stopped)
        return false;
    if (++r->n_visited <= WEFT_CONFIG_MAX_NODES)
        return true;
    r->stopped = r->too_many = true;
    weft_read_mistake(r, node->place, at, NULL, "the file has too many values when its aliases are counted: at most %u are read",
                      WEFT_CONFIG_MAX_NODES);
    return false;
}

const char *weft_read_path(weft_reader *r, const char *text)
{
    if (*text == '/' || !*text || !*r->directory)
        return text;
    while (text[0] == '.' && text[1] == '/') {
        text += 2;
        text += strspn(text, "/");
    }
    size_t n = strlen(r->directory);
    r->n_visited += (n + strlen(text)) / 64; /* the copies of aliased paths are bounded too */
    const char *path = weft_arena_printf(r->arena, "%s%s%s", r->directory, r->directory[n - 1] == '/' ? "" : "/", text);
    if (!path)
        r->stopped = r->no_memory = true;
    return path;
}

/* ---- mappings --------------------------------------------------------------------------------------------------------- */
typedef struct entries {
    weft_entry *items;
    size_t n, capacity;
} entries;

static bool push_entry(weft_reader *r, entries *e, weft_entry entry)
{
    if (e->n == e->capacity) {
        size_t more = e->capacity ? e->capacity * 2 : 16;
        weft_entry *items = weft_read_alloc(r, more, sizeof(*items));
        if (!items)
            return false;
        if (e->n)
            memcpy(items, e->items, e->n * sizeof(*items));
        e->items = items;
        e->capacity = more;
    }
    e->items[e->n++] = entry;
    return true;
}

static const weft_entry *find_entry(const entries *e, const char *key)
{
    for (size_t i = 0; i < e->n; i++)
        if (!strcmp(e->items[i].key->text, key))
            return &e->items[i];
    return NULL;
}

static bool is_merge(const weft_yaml_node *key)
{
    return key->kind == WEFT_NODE_SCALAR && key->plain && !strcmp(key->text, "<<");
}

static bool key_usable(weft_reader *r, const weft_yaml_node *key, const weft_at *at)
{
    char words[80];
    if (key->kind != WEFT_NODE_SCALAR) {
        weft_read_mistake(r, key->place, at, NULL, "expected a name as key, got %s", weft_node_words(key, words));
        return false;
    }
    if (strlen(key->text) != key->n_bytes) {
        weft_read_mistake(r, key->place, at, NULL, "expected a name as key, got text with a NUL character");
        return false;
    }
    return true;
}

/* own: keys written in the mapping itself; a second one of a name is a mistake. Merged keys only fill gaps. */
static void collect(weft_reader *r, weft_yaml_node *map, const weft_at *at, entries *e, bool own)
{
    for (weft_yaml_cell *c = map->first; c; c = c->next) {
        if (is_merge(c->key))
            continue;
        if (!weft_read_visit(r, c->key, at))
            return;
        if (!key_usable(r, c->key, at))
            continue;
        const weft_entry *other = find_entry(e, c->key->text);
        if (other && own) {
            char words[80];
            weft_read_mistake(r, c->key->place, at, NULL, "the key %s is given twice, first in line %d",
                              weft_node_words(c->key, words), other->key->place.line);
        }
        if (other)
            continue;
        if (e->n == WEFT_READ_MAX_KEYS) {
            weft_read_mistake(r, c->key->place, at, NULL, "too many keys in one block: at most %d are read", WEFT_READ_MAX_KEYS);
            return;
        }
        if (!push_entry(r, e, (weft_entry){c->key, c->value}))
            return;
    }
}

static void merge(weft_reader *r, weft_yaml_node *from, const weft_at *at, entries *e);

static void merge_of(weft_reader *r, weft_yaml_node *map, const weft_at *at, entries *e)
{
    for (weft_yaml_cell *c = map->first; c; c = c->next)
        if (is_merge(c->key) && weft_read_visit(r, c->value, at))
            merge(r, c->value, at, e);
}

/* Recursion ends: the tree has no cycles, so a chain of merges is at most as long as there are anchors and levels. */
static void merge(weft_reader *r, weft_yaml_node *from, const weft_at *at, entries *e)
{
    char words[80];
    if (from->kind == WEFT_NODE_MAP) {
        collect(r, from, at, e, false);
        merge_of(r, from, at, e);
        return;
    }
    if (from->kind != WEFT_NODE_LIST) {
        weft_read_mistake(r, from->place, at, NULL, "expected a block or a list of blocks to merge after <<, got %s",
                          weft_node_words(from, words));
        return;
    }
    for (weft_yaml_cell *c = from->first; c && weft_read_visit(r, c->value, at); c = c->next) {
        if (c->value->kind == WEFT_NODE_MAP)
            merge(r, c->value, at, e);
        else
            weft_read_mistake(r, c->value->place, at, NULL, "expected a block to merge after <<, got %s",
                              weft_node_words(c->value, words));
    }
}

bool weft_read_entries(weft_reader *r, weft_yaml_node *node, const weft_at *at, weft_entry **out, size_t *n)
{
    entries e = {.n = 0};
    collect(r, node, at, &e, true);
    merge_of(r, node, at, &e);
    *out = e.items;
    *n = e.n;
    return !r->stopped;
}

/* ---- keys ------------------------------------------------------------------------------------------------------------- */
static const weft_option *find_option(weft_section *sections, size_t n_sections, const char *key, weft_section **in)
{
    for (size_t i = 0; i < n_sections; i++) {
        const weft_option *o = weft_option_find(sections[i].table, key, strlen(key));
        if (o) {
            *in = &sections[i];
            return o;
        }
    }
    return NULL;
}

static bool refused(const weft_section *s, const char *name, const char **reason)
{
    for (const weft_key_value *k = s->refused; k && k->key; k++) {
        if (!strcmp(k->key, name)) {
            *reason = k->value;
            return true;
        }
    }
    return false;
}

#define MAX_NAMES 512

typedef struct names {
    const char *items[MAX_NAMES];
    size_t n;
} names;

static void add_name(names *all, const char *name)
{
    if (all->n < MAX_NAMES)
        all->items[all->n++] = name;
}

static void add_sections(names *all, const weft_section *sections, size_t n)
{
    const char *reason;
    for (size_t i = 0; i < n; i++)
        for (const weft_option *o = sections[i].table; o && o->kind != WEFT_OPT_END; o++)
            if (!refused(&sections[i], o->name, &reason))
                add_name(all, o->name);
}

/* "preprocess.input_size" when a block of this level has the key. */
static const char *inside(weft_reader *r, const weft_section *sections, size_t n, const weft_special *specials, size_t n_specials,
                          const char *key)
{
    for (size_t i = 0; i < n; i++) {
        for (const weft_option *o = sections[i].table; o && o->kind != WEFT_OPT_END; o++) {
            const weft_option *inner = o->kind == WEFT_OPT_STRUCT ? weft_option_find(o->fields, key, strlen(key)) : NULL;
            if (inner)
                return weft_arena_printf(r->arena, "%s.%s", o->name, inner->name);
        }
    }
    for (size_t i = 0; i < n_specials; i++) {
        const weft_option *inner = weft_option_find(specials[i].fields, key, strlen(key));
        if (inner)
            return weft_arena_printf(r->arena, "%s[].%s", specials[i].name, inner->name);
    }
    return NULL;
}

/* "device" for "device_id": part of exactly one name. */
static const char *containing(const names *all, const char *key)
{
    const char *found = NULL;
    for (size_t i = 0; strlen(key) >= 4 && i < all->n; i++) {
        if (!strstr(all->items[i], key))
            continue;
        if (found)
            return NULL;
        found = all->items[i];
    }
    return found;
}

/* The level above whose mapping may hold the key. */
static bool outside(const weft_at *at, const char *key)
{
    for (at = at ? at->up : NULL; at; at = at->up)
        for (size_t i = 0; i < at->n_sections; i++)
            if (weft_option_find(at->sections[i].table, key, strlen(key)))
                return true;
    return false;
}

static void list_names(const names *all, char *buf, size_t n)
{
    size_t len = 0;
    buf[0] = 0;
    for (size_t i = 0; i < all->n && len + 40 < n; i++)
        len += (size_t)snprintf(buf + len, n - len, "%s%s", i ? ", " : "", all->items[i]);
}

static void unknown_key(weft_reader *r, const weft_entry *entry, const weft_at *at, const weft_section *sections,
                        size_t n_sections, const weft_special *specials, size_t n_specials)
{
    char words[80], list[600];
    const weft_yaml_node *key = entry->key;
    const char *why = r->explain && at == r->explain_at && !quiet(r) ? r->explain(r->explain_cookie, key, entry->value) : NULL;
    if (why) {
        weft_read_mistake(r, key->place, at, NULL, "%s", why);
        return;
    }
    const char *text = weft_node_words(key, words), *suggestion = NULL;
    if (!quiet(r)) {
        names all = {.n = 0};
        add_sections(&all, sections, n_sections);
        for (size_t i = 0; i < n_specials; i++)
            add_name(&all, specials[i].name);
        suggestion = inside(r, sections, n_sections, specials, n_specials, key->text);
        if (!suggestion)
            suggestion = weft_nearest_name(key->text, all.items, all.n);
        if (!suggestion)
            suggestion = containing(&all, key->text);
        if (!suggestion && outside(at, key->text)) {
            weft_read_mistake(r, key->place, at, NULL, "unknown key %s: it belongs further out, not into this block", text);
            return;
        }
        if (!suggestion) {
            list_names(&all, list, sizeof(list));
            weft_read_mistake(r, key->place, at, NULL, "unknown key %s; known here: %s", text, list);
            return;
        }
    }
    weft_read_mistake(r, key->place, at, suggestion, "unknown key %s", text);
}

static void read_key(weft_reader *r, const weft_entry *entry, const weft_at *at, weft_section *s, const weft_option *o)
{
    const char *reason;
    weft_yaml_node **seen = &s->seen[o - s->table];
    if (refused(s, o->name, &reason)) {
        weft_read_mistake(r, entry->key->place, at, NULL, "the key \"%s\" cannot be given here: %s", entry->key->text, reason);
        return;
    }
    if (*seen) {
        weft_read_mistake(r, entry->key->place, at, NULL, "\"%s\" and \"%s\" (line %d) are the same option: give one of them",
                          entry->key->text, (*seen)->text, (*seen)->place.line);
        return;
    }
    *seen = entry->key;
    const weft_at inner = {.up = at, .name = o->name};
    if (weft_node_is_null(entry->value) && o->kind != WEFT_OPT_STRUCT && (o->required || !*entry->value->text)) {
        char want[512];
        weft_read_mistake(r, entry->key->place, &inner, NULL, "has no value: expected %s%s",
                          weft_option_expected(o, o->kind, want, sizeof(want)), o->required ? "" : "; or leave the line out");
        return;
    }
    weft_read_value(r, o, entry->value, &inner, (char *)s->base + o->offset);
}

static bool take_special(weft_special *specials, size_t n, const weft_entry *entry)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(specials[i].name, entry->key->text)) {
            specials[i].key = entry->key;
            specials[i].value = entry->value;
            return true;
        }
    }
    return false;
}

static void report_missing(weft_reader *r, const weft_yaml_node *node, const weft_at *at, const weft_section *s)
{
    const char *reason;
    char want[512];
    for (const weft_option *o = s->table; o && o->kind != WEFT_OPT_END; o++) {
        if (o->required && !s->seen[o - s->table] && !refused(s, o->name, &reason))
            weft_read_mistake(r, node->place, at, NULL, "\"%s\" is missing: expected %s", o->name,
                              weft_option_expected(o, o->kind, want, sizeof(want)));
    }
}

void weft_read_sections(weft_reader *r, const weft_yaml_node *node, const weft_entry *list, size_t n, const weft_at *at,
                        weft_section *sections, size_t n_sections, weft_special *specials, size_t n_specials)
{
    for (size_t i = 0; i < n_sections; i++) {
        sections[i].seen = weft_read_alloc(r, weft_option_table_length(sections[i].table), sizeof(weft_yaml_node *));
        if (!sections[i].seen)
            return;
    }
    for (size_t i = 0; i < n && !r->stopped; i++) {
        weft_section *in;
        const weft_option *o = find_option(sections, n_sections, list[i].key->text, &in);
        if (o)
            read_key(r, &list[i], at, in, o);
        else if (!take_special(specials, n_specials, &list[i]) && !r->ignore_unknown)
            unknown_key(r, &list[i], at, sections, n_sections, specials, n_specials);
    }
    for (size_t i = 0; i < n_sections && !r->stopped; i++)
        report_missing(r, node, at, &sections[i]);
}

weft_yaml_node *weft_section_seen(const weft_section *s, size_t offset)
{
    for (const weft_option *o = s->table; o && o->kind != WEFT_OPT_END; o++)
        if (o->offset == offset)
            return s->seen ? s->seen[o - s->table] : NULL;
    return NULL;
}
