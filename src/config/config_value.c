/* One value by its option's kind. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/option_text.h"
#include "base/text.h"
#include "config/config_read.h"

static bool wrong_kind(weft_reader *r, const weft_option *o, weft_option_kind kind, const weft_yaml_node *node, const weft_at *at)
{
    char want[512], words[80];
    weft_read_mistake(r, node->place, at, NULL, "expected %s, got %s", weft_option_expected(o, kind, want, sizeof(want)),
                      weft_node_words(node, words));
    return false;
}

static const char *nearest_word(const weft_option *o, weft_option_kind kind, const char *text)
{
    const char *names[64];
    size_t n = 0;
    for (const weft_enum_value *v = o->values; kind == WEFT_OPT_ENUM && v && v->name && n < 64; v++)
        names[n++] = v->name;
    return n ? weft_nearest_name(text, names, n) : NULL;
}

static bool is_short_text(const weft_yaml_node *node)
{
    return node->kind == WEFT_NODE_SCALAR && node->n_bytes <= 16 && strlen(node->text) == node->n_bytes;
}

/* "[640, 480]" as YAML gives it: a list of two scalars. */
static bool size_from_list(weft_reader *r, const weft_option *o, const weft_yaml_node *node, const weft_at *at, void *dst)
{
    char text[64];
    const weft_yaml_cell *w = node->first, *h = w ? w->next : NULL;
    if (node->n != 2 || !is_short_text(w->value) || !is_short_text(h->value)) {
        char want[512];
        weft_read_mistake(r, node->place, at, NULL, "expected %s, got a list of %zu",
                          weft_option_expected(o, WEFT_OPT_SIZE, want, sizeof(want)), node->n);
        return false;
    }
    weft_error err;
    int n = snprintf(text, sizeof(text), "[%s, %s]", w->value->text, h->value->text);
    if (!weft_option_parse(o, WEFT_OPT_SIZE, text, (size_t)n, NULL, dst, &err))
        return true;
    weft_read_mistake(r, w->value->place, at, NULL, "%s", err.text);
    return false;
}

static bool read_scalar(weft_reader *r, const weft_option *o, weft_option_kind kind, const weft_yaml_node *node,
                        const weft_at *at, void *dst)
{
    if (kind == WEFT_OPT_SIZE && node->kind == WEFT_NODE_LIST)
        return size_from_list(r, o, node, at, dst);
    if (node->kind != WEFT_NODE_SCALAR)
        return wrong_kind(r, o, kind, node, at);
    weft_error err;
    const char *text = node->text;
    size_t n = node->n_bytes;
    if (o->is_path && n == strlen(text)) {
        if (!n) {
            weft_read_mistake(r, node->place, at, NULL, "expected a path, got an empty text");
            return false;
        }
        text = weft_read_path(r, text);
        if (!text)
            return false;
        n = strlen(text);
    }
    /* No arena: the node's text lives in it already, and an alias must not cost a copy each time. */
    weft_status s = weft_option_parse(o, kind, text, n, NULL, dst, &err);
    if (s)
        weft_read_mistake(r, node->place, at, nearest_word(o, kind, node->text), "%s", err.text);
    return !s;
}

static bool count_fits(weft_reader *r, const weft_option *o, const weft_yaml_node *node, size_t n, const weft_at *at)
{
    if (n <= weft_option_max_count(o))
        return true;
    weft_read_mistake(r, node->place, at, NULL, "expected at most %zu entries, got %zu", weft_option_max_count(o), n);
    return false;
}

/* One value in place of a list is a list of one; for sizes [w, h] is one size. */
static bool is_single(const weft_option *o, const weft_yaml_node *node)
{
    if (node->kind == WEFT_NODE_SCALAR)
        return true;
    return o->item == WEFT_OPT_SIZE && node->kind == WEFT_NODE_LIST && node->n == 2 &&
           node->first->value->kind == WEFT_NODE_SCALAR && node->first->next->value->kind == WEFT_NODE_SCALAR &&
           !strpbrk(node->first->value->text, "xX");
}

static void read_list(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, weft_list *dst)
{
    bool single = is_single(o, node);
    if (!single && node->kind != WEFT_NODE_LIST) {
        wrong_kind(r, o, o->kind, node, at);
        return;
    }
    size_t n = single ? 1 : node->n, item_bytes = weft_option_storage_bytes(o, o->item);
    char *memory = count_fits(r, o, node, n, at) ? weft_read_alloc(r, n, item_bytes) : NULL;
    if (!memory)
        return;
    bool good = true;
    if (single) {
        good = read_scalar(r, o, o->item, node, at, memory);
    } else {
        size_t i = 0;
        for (weft_yaml_cell *c = node->first; c && weft_read_visit(r, c->value, at); c = c->next, i++) {
            const weft_at inner = {.up = at, .index = i};
            good &= read_scalar(r, o, o->item, c->value, &inner, memory + i * item_bytes);
        }
    }
    if (good && !r->stopped)
        *dst = (weft_list){.n = n, .items = memory};
}

static void read_struct(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, void *dst)
{
    weft_entry *entries;
    size_t n;
    if (node->kind != WEFT_NODE_MAP) {
        wrong_kind(r, o, WEFT_OPT_STRUCT, node, at);
        return;
    }
    weft_section section = {.table = o->fields, .base = dst};
    weft_at here = *at;
    here.sections = &section;
    here.n_sections = 1;
    if (weft_read_entries(r, node, &here, &entries, &n))
        weft_read_sections(r, node, entries, n, &here, &section, 1, NULL, 0);
}

static bool fresh_struct(weft_reader *r, const weft_option *o, void *dst)
{
    weft_error err;
    if (!weft_options_defaults(o->fields, dst, r->arena, &err))
        return true;
    r->stopped = r->no_memory = true;
    return false;
}

static void read_struct_list(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, weft_list *dst)
{
    if (node->kind != WEFT_NODE_LIST) {
        wrong_kind(r, o, o->kind, node, at);
        return;
    }
    char *memory = count_fits(r, o, node, node->n, at) ? weft_read_alloc(r, node->n, o->item_size) : NULL;
    size_t i = 0;
    for (weft_yaml_cell *c = node->first; memory && c && weft_read_visit(r, c->value, at); c = c->next, i++) {
        const weft_at inner = {.up = at, .index = i};
        if (fresh_struct(r, o, memory + i * o->item_size))
            read_struct(r, o, c->value, &inner, memory + i * o->item_size);
    }
    if (memory)
        *dst = (weft_list){.n = node->n, .items = memory};
}

static void read_struct_map(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, weft_list *dst)
{
    weft_entry *entries;
    size_t n;
    if (node->kind != WEFT_NODE_MAP) {
        wrong_kind(r, o, o->kind, node, at);
        return;
    }
    if (!weft_read_entries(r, node, at, &entries, &n) || !count_fits(r, o, node, n, at))
        return;
    char *memory = weft_read_alloc(r, n, o->item_size);
    for (size_t i = 0; memory && i < n && !r->stopped; i++) {
        char *item = memory + i * o->item_size;
        const char *key = entries[i].key->text;
        const weft_at inner = {.up = at, .name = key};
        if (!fresh_struct(r, o, item))
            return;
        memcpy(item, &key, sizeof(key));
        if (!weft_node_is_null(entries[i].value))
            read_struct(r, o, entries[i].value, &inner, item);
    }
    if (memory)
        *dst = (weft_list){.n = n, .items = memory};
}

static void read_passthrough(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, weft_list *dst)
{
    weft_entry *entries;
    size_t n;
    char words[80];
    if (node->kind != WEFT_NODE_MAP) {
        wrong_kind(r, o, o->kind, node, at);
        return;
    }
    if (!weft_read_entries(r, node, at, &entries, &n) || !count_fits(r, o, node, n, at))
        return;
    weft_key_value *memory = weft_read_alloc(r, n, sizeof(*memory));
    bool good = memory;
    for (size_t i = 0; memory && i < n; i++) {
        const weft_yaml_node *v = entries[i].value;
        const weft_at inner = {.up = at, .name = entries[i].key->text};
        if (v->kind != WEFT_NODE_SCALAR || strlen(v->text) != v->n_bytes) {
            weft_read_mistake(r, v->place, &inner, NULL, "expected one value that is handed on as text, got %s",
                              weft_node_words(v, words));
            good = false;
        }
        memory[i] = (weft_key_value){.key = entries[i].key->text, .value = v->text};
    }
    if (good)
        *dst = (weft_list){.n = n, .items = memory};
}

void weft_read_value(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, void *dst)
{
    if (weft_node_is_null(node))
        return; /* the default */
    switch (o->kind) {
    case WEFT_OPT_LIST:
        read_list(r, o, node, at, dst);
        break;
    case WEFT_OPT_STRUCT:
        read_struct(r, o, node, at, dst);
        break;
    case WEFT_OPT_STRUCT_LIST:
        read_struct_list(r, o, node, at, dst);
        break;
    case WEFT_OPT_STRUCT_MAP:
        read_struct_map(r, o, node, at, dst);
        break;
    case WEFT_OPT_PASSTHROUGH:
        read_passthrough(r, o, node, at, dst);
        break;
    default:
        read_scalar(r, o, o->kind, node, at, dst);
        break;
    }
}
