/* A deep copy of a model's configuration, option structs included, so that the caller's may go. */
#include <string.h>

#include "base/option_text.h"
#include "engine_internal.h"

static bool copy_fields(weft_arena *a, const weft_option *table, char *base);

static bool copy_string(weft_arena *a, const char **s)
{
    if (!*s)
        return true;
    *s = weft_arena_strdup(a, *s);
    return *s != NULL;
}

static bool copy_items(weft_arena *a, weft_list *list, size_t item_bytes)
{
    if (!list->n)
        return true;
    void *items = weft_arena_array(a, list->n, item_bytes);
    if (items)
        memcpy(items, list->items, list->n * item_bytes);
    list->items = items;
    return items != NULL;
}

static bool copy_list(weft_arena *a, const weft_option *o, weft_list *list)
{
    size_t item_bytes = o->kind == WEFT_OPT_LIST          ? weft_option_storage_bytes(o, o->item)
                        : o->kind == WEFT_OPT_PASSTHROUGH ? sizeof(weft_key_value)
                                                          : o->item_size;
    if (!copy_items(a, list, item_bytes))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        char *item = (char *)list->items + i * item_bytes;
        bool ok = true;
        if (o->kind == WEFT_OPT_LIST && o->item == WEFT_OPT_STRING)
            ok = copy_string(a, (const char **)item);
        else if (o->kind == WEFT_OPT_PASSTHROUGH)
            ok = copy_string(a, &((weft_key_value *)item)->key) && copy_string(a, &((weft_key_value *)item)->value);
        else if (o->kind == WEFT_OPT_STRUCT_MAP)
            ok = copy_string(a, (const char **)item) && copy_fields(a, o->fields, item);
        else if (o->kind == WEFT_OPT_STRUCT_LIST)
            ok = copy_fields(a, o->fields, item);
        if (!ok)
            return false;
    }
    return true;
}

static bool copy_fields(weft_arena *a, const weft_option *table, char *base)
{
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        char *at = base + o->offset;
        bool ok = true;
        switch (o->kind) {
        case WEFT_OPT_STRING:
            ok = copy_string(a, (const char **)at);
            break;
        case WEFT_OPT_STRUCT:
            ok = copy_fields(a, o->fields, at);
            break;
        case WEFT_OPT_LIST:
        case WEFT_OPT_STRUCT_LIST:
        case WEFT_OPT_STRUCT_MAP:
        case WEFT_OPT_PASSTHROUGH:
            ok = copy_list(a, o, (weft_list *)at);
            break;
        default:
            break;
        }
        if (!ok)
            return false;
    }
    return true;
}

/* The struct of a part's own table: the given one, or all defaults. NULL table: nothing. */
static weft_status copy_options(weft_arena *a, const weft_option *table, size_t size, const void **options, weft_error *err)
{
    if (!table || !size) {
        *options = NULL;
        return WEFT_OK;
    }
    void *copy = weft_arena_zalloc(a, size);
    if (!copy)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the options of a model");
    if (!*options) {
        *options = copy;
        return weft_options_defaults(table, copy, a, err);
    }
    memcpy(copy, *options, size);
    *options = copy;
    if (!copy_fields(a, table, copy))
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the options of a model");
    return WEFT_OK;
}

weft_status weft_config_copy(weft_arena *a, const weft_model_config *c, const weft_option *executor_table, size_t executor_size,
                             const weft_option *backend_table, size_t backend_size, weft_model_config *out, weft_error *err)
{
    *out = *c;
    bool ok =
        copy_fields(a, weft_model_option_table, (char *)out) && copy_items(a, &out->submodels, sizeof(weft_submodel_config));
    for (size_t i = 0; ok && i < out->submodels.n; i++) {
        weft_submodel_config *s = (weft_submodel_config *)out->submodels.items + i;
        ok = copy_string(a, &s->slot) && copy_string(a, &s->model);
    }
    if (!ok)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the configuration of a model");
    weft_status s = copy_options(a, executor_table, executor_size, &out->executor_options, err);
    return s ? s : copy_options(a, backend_table, backend_size, &out->backend_options, err);
}
