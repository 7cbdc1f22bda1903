/* Whole tables: defaults and self-checks. Values are in option_text.c. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/option_text.h"

/* "[a, b]" or "a, b": calls back for each item, split at commas outside of inner brackets. */
typedef struct items {
    const char *at, *end;
} items;

static items items_of(const char *text)
{
    const char *s = text + strspn(text, " "), *e = s + strlen(s);
    while (e > s && e[-1] == ' ')
        e--;
    if (e - s >= 2 && *s == '[' && e[-1] == ']') {
        s++;
        e--;
    }
    return (items){s, e};
}

static bool next_item(items *it, const char **text, size_t *n)
{
    const char *s = it->at;
    while (s < it->end && *s == ' ')
        s++;
    if (s >= it->end)
        return false;
    const char *p = s;
    for (int depth = 0; p < it->end && (depth || *p != ','); p++)
        depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
    it->at = p < it->end ? p + 1 : p;
    while (p > s && p[-1] == ' ')
        p--;
    *text = s;
    *n = (size_t)(p - s);
    return true;
}

static weft_status default_list(const weft_option *o, weft_list *list, weft_arena *arena, weft_error *err)
{
    size_t count = 0, n, item_bytes = weft_option_storage_bytes(o, o->item);
    const char *text;
    for (items it = items_of(o->def); next_item(&it, &text, &n);)
        count++;
    if (!arena || count > weft_option_max_count(o))
        return weft_fail(err, WEFT_E_INTERNAL, "the default list of %s %s", o->name,
                         arena ? "is too long" : "needs memory, and none was given");
    char *memory = weft_arena_array(arena, count ? count : 1, item_bytes);
    if (!memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the default of %s", o->name);
    size_t i = 0;
    for (items it = items_of(o->def); next_item(&it, &text, &n); i++) {
        weft_status s = weft_option_parse(o, o->item, text, n, arena, memory + i * item_bytes, err);
        if (s)
            return s;
    }
    *list = (weft_list){.n = count, .items = memory};
    return WEFT_OK;
}

static weft_status set_default(const weft_option *o, void *p, weft_arena *arena, weft_error *err)
{
    if (o->kind == WEFT_OPT_STRUCT)
        return weft_options_defaults(o->fields, p, arena, err);
    memset(p, 0, weft_option_storage_bytes(o, o->kind));
    if (!o->def)
        return WEFT_OK;
    weft_status s;
    if (o->kind == WEFT_OPT_LIST)
        s = default_list(o, p, arena, err);
    else if (weft_option_is_scalar(o->kind)) /* static text: a string needs no copy */
        s = weft_option_parse(o, o->kind, o->def, strlen(o->def), NULL, p, err);
    else
        s = weft_fail(err, WEFT_E_INTERNAL, "no default can be written for %s", weft_option_kind_words(o->kind));
    if (s && s != WEFT_E_NO_MEMORY)
        return weft_fail_prefix(err, WEFT_E_INTERNAL, "default of the option %s", o->name);
    return s;
}

weft_status weft_options_defaults(const weft_option *table, void *base, weft_arena *arena, weft_error *err)
{
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        weft_status s = set_default(o, (char *)base + o->offset, arena, err);
        if (s)
            return s;
    }
    return WEFT_OK;
}

/* ---- self-check ------------------------------------------------------------------------------------------------------- */
static weft_status lint_fail(const weft_option *o, const char *what, weft_error *err)
{
    return weft_fail(err, WEFT_E_INTERNAL, "option %s: %s", o->name ? o->name : "without a name", what);
}

static weft_status lint_names(const weft_option *table, const weft_option *o, weft_error *err)
{
    if (!o->name || !*o->name)
        return lint_fail(o, "has no name", err);
    if (weft_option_find(table, o->name, strlen(o->name)) != o)
        return lint_fail(o, "its name is taken by an earlier option", err);
    for (const char *a = o->alias; a && *a;) {
        size_t n = strcspn(a, " ");
        if (weft_option_find(table, a, n) != o)
            return lint_fail(o, "its alias is taken by an earlier option", err);
        for (const weft_option *later = o + 1; later->kind != WEFT_OPT_END; later++)
            if (later->name && strlen(later->name) == n && !memcmp(later->name, a, n))
                return lint_fail(o, "its alias is the name of a later option", err);
        a += n + strspn(a + n, " ");
    }
    return WEFT_OK;
}

static weft_status lint_kind(const weft_option *o, weft_error *err)
{
    bool structs = o->kind == WEFT_OPT_STRUCT || o->kind == WEFT_OPT_STRUCT_LIST || o->kind == WEFT_OPT_STRUCT_MAP;
    weft_option_kind leaf = o->kind == WEFT_OPT_LIST ? o->item : o->kind;
    if (o->kind < WEFT_OPT_END || o->kind > WEFT_OPT_PASSTHROUGH)
        return lint_fail(o, "its kind is unknown", err);
    if (o->kind == WEFT_OPT_LIST && !weft_option_is_scalar(o->item))
        return lint_fail(o, "the items of a list must be of a scalar kind", err);
    if (leaf == WEFT_OPT_ENUM && (!o->values || !o->values[0].name))
        return lint_fail(o, "has no values", err);
    if (structs && (!o->fields || !o->item_size))
        return lint_fail(o, "needs fields and item_size", err);
    if (o->kind == WEFT_OPT_STRUCT_MAP && o->item_size < sizeof(const char *))
        return lint_fail(o, "the inner struct must start with its key", err);
    if (o->is_path && leaf != WEFT_OPT_STRING)
        return lint_fail(o, "only texts can be paths", err);
    if (o->min > o->max)
        return lint_fail(o, "min is larger than max", err);
    if (o->required && o->def)
        return lint_fail(o, "is required and has a default", err);
    if (!o->help || !*o->help)
        return lint_fail(o, "has no help", err);
    return structs ? weft_options_lint(o->fields, err) : WEFT_OK;
}

weft_status weft_options_lint(const weft_option *table, weft_error *err)
{
    char scratch[256];
    if (weft_option_table_length(table) > WEFT_OPTION_TABLE_MAX)
        return weft_fail(err, WEFT_E_INTERNAL, "a table has more than %d options", WEFT_OPTION_TABLE_MAX);
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        weft_status s = lint_names(table, o, err);
        if (!s)
            s = lint_kind(o, err);
        if (s)
            return s;
        if (o->kind == WEFT_OPT_STRUCT || !o->def)
            continue;
        weft_arena *arena = weft_arena_create(NULL, 0);
        if (!arena)
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
        memset(scratch, 0, sizeof(scratch));
        s = set_default(o, scratch, arena, err);
        weft_arena_destroy(&arena);
        if (s)
            return s;
    }
    return WEFT_OK;
}
