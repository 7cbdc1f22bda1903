/* The whole configuration as YAML, from the structs and their tables. */
#include <string.h>

#include "base/buffer.h"
#include "base/option_text.h"
#include "base/text.h"
#include "config/config.h"

#define INDENT 2

static void put_indent(weft_buffer *out, int indent)
{
    weft_buffer_printf(out, "%*s", indent, "");
}

/* Always quoted: no text can be taken for anything else. */
static void put_text(weft_buffer *out, const char *s)
{
    size_t left = strlen(s);
    weft_buffer_putc(out, '"');
    while (left) {
        const char *start = s;
        uint32_t c = weft_utf8_next(&s, &left);
        if (c == '"' || c == '\\')
            weft_buffer_printf(out, "\\%c", (char)c);
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            weft_buffer_printf(out, "\\x%02x", (unsigned)c);
        else if (c == 0xfeff || c == 0x2028 || c == 0x2029 || c == 0xfffe || c == 0xffff) /* YAML allows them only escaped */
            weft_buffer_printf(out, "\\u%04x", (unsigned)c);
        else
            weft_buffer_append(out, start, (size_t)(s - start));
    }
    weft_buffer_putc(out, '"');
}

static void put_scalar(weft_buffer *out, const weft_option *o, weft_option_kind kind, const void *value)
{
    char text[256];
    if (kind == WEFT_OPT_STRING) {
        const char *s;
        memcpy(&s, value, sizeof(s));
        put_text(out, s ? s : "");
        return;
    }
    weft_option_print(o, kind, value, text, sizeof(text));
    weft_buffer_puts(out, text);
}

/* Zero without a default: not given. */
static bool is_absent(const weft_option *o, const char *p)
{
    size_t n = weft_option_storage_bytes(o, o->kind);
    if (o->kind == WEFT_OPT_STRUCT || o->kind == WEFT_OPT_BOOL)
        return false;
    if (o->kind == WEFT_OPT_STRING) {
        const char *s;
        memcpy(&s, p, sizeof(s));
        return !s;
    }
    if (o->kind >= WEFT_OPT_LIST)
        return !((const weft_list *)(const void *)p)->n && !o->def;
    if (o->def)
        return false;
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void put_fields(weft_buffer *out, const weft_option *table, const void *base, int indent, bool first_in_place);

static void put_list(weft_buffer *out, const weft_option *o, const weft_list *list)
{
    size_t bytes = weft_option_storage_bytes(o, o->item);
    weft_buffer_puts(out, " [");
    for (size_t i = 0; i < list->n; i++) {
        weft_buffer_puts(out, i ? ", " : "");
        put_scalar(out, o, o->item, (const char *)list->items + i * bytes);
    }
    weft_buffer_puts(out, "]\n");
}

static void put_blocks(weft_buffer *out, const weft_option *o, const weft_list *list, int indent)
{
    weft_buffer_puts(out, list->n ? "\n" : o->kind == WEFT_OPT_STRUCT_LIST ? " []\n" : " {}\n");
    for (size_t i = 0; i < list->n; i++) {
        const char *item = (const char *)list->items + i * o->item_size;
        put_indent(out, indent);
        if (o->kind == WEFT_OPT_STRUCT_LIST) {
            weft_buffer_puts(out, "- ");
            put_fields(out, o->fields, item, indent + INDENT, true);
        } else {
            const char *key;
            memcpy(&key, item, sizeof(key));
            put_text(out, key);
            weft_buffer_puts(out, ":\n");
            put_fields(out, o->fields, item, indent + INDENT, false);
        }
    }
}

static void put_pairs(weft_buffer *out, const weft_list *list, int indent)
{
    const weft_key_value *pairs = list->items;
    weft_buffer_puts(out, list->n ? "\n" : " {}\n");
    for (size_t i = 0; i < list->n; i++) {
        put_indent(out, indent);
        put_text(out, pairs[i].key);
        weft_buffer_puts(out, ": ");
        put_text(out, pairs[i].value);
        weft_buffer_putc(out, '\n');
    }
}

static void put_value(weft_buffer *out, const weft_option *o, const void *p, int indent)
{
    switch (o->kind) {
    case WEFT_OPT_LIST:
        put_list(out, o, p);
        break;
    case WEFT_OPT_STRUCT:
        weft_buffer_putc(out, '\n');
        put_fields(out, o->fields, p, indent + INDENT, false);
        break;
    case WEFT_OPT_STRUCT_LIST:
    case WEFT_OPT_STRUCT_MAP:
        put_blocks(out, o, p, indent + INDENT);
        break;
    case WEFT_OPT_PASSTHROUGH:
        put_pairs(out, p, indent + INDENT);
        break;
    default:
        weft_buffer_putc(out, ' ');
        put_scalar(out, o, o->kind, p);
        weft_buffer_putc(out, '\n');
        break;
    }
}

static void put_fields(weft_buffer *out, const weft_option *table, const void *base, int indent, bool first_in_place)
{
    size_t written = 0;
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        const char *p = (const char *)base + o->offset;
        if (is_absent(o, p))
            continue;
        if (written++ || !first_in_place)
            put_indent(out, indent);
        weft_buffer_puts(out, o->name);
        weft_buffer_putc(out, ':');
        put_value(out, o, p, indent);
    }
    if (!written && first_in_place)
        weft_buffer_puts(out, "{}\n");
}

/* ---- models ----------------------------------------------------------------------------------------------------------- */
static void put_common(weft_buffer *out, const weft_config_model *m, int indent)
{
    static const char *const fixed[] = {"name", "type", "hidden", "required"}; /* may not be written for a sub-model in place */
    for (const weft_option *o = weft_model_option_table; o->kind != WEFT_OPT_END; o++) {
        const char *p = (const char *)&m->config + o->offset;
        bool skip = is_absent(o, p);
        for (size_t i = 0; m->is_inline && i < sizeof(fixed) / sizeof(*fixed); i++)
            skip |= !strcmp(o->name, fixed[i]);
        if (skip)
            continue;
        put_indent(out, indent);
        weft_buffer_printf(out, "%s:", o->name);
        put_value(out, o, p, indent);
    }
}

static void put_model(weft_buffer *out, const weft_config *c, const weft_config_model *m, int indent)
{
    put_common(out, m, indent);
    if (m->config.executor_options)
        put_fields(out, m->executor->options, m->config.executor_options, indent, false);
    if (m->backend && m->config.backend_options) {
        put_indent(out, indent);
        weft_buffer_printf(out, "%s:\n", m->backend->name);
        put_fields(out, m->backend->options, m->config.backend_options, indent + INDENT, false);
    }
    const weft_submodel_config *names = m->config.submodels.items;
    for (size_t i = 0; i < m->n_slots; i++) {
        const weft_config_model *sub = &c->models[m->slots[i].model];
        bool own = sub->is_inline && !strncmp(sub->config.name, m->config.name, strlen(m->config.name)) &&
                   sub->config.name[strlen(m->config.name)] == '.' &&
                   !strcmp(sub->config.name + strlen(m->config.name) + 1, names[i].slot);
        put_indent(out, indent);
        weft_buffer_printf(out, "%s:", names[i].slot);
        if (own) {
            weft_buffer_putc(out, '\n');
            put_model(out, c, sub, indent + INDENT); /* one level: a sub-model in place has no slots */
        } else {
            weft_buffer_putc(out, ' ');
            put_text(out, names[i].model);
            weft_buffer_putc(out, '\n');
        }
    }
}

void weft_config_print(const weft_config *c, weft_buffer *out)
{
    put_fields(out, weft_config_root_table, c, 0, false);
    bool any = false;
    for (size_t i = 0; i < c->n_models; i++)
        any |= !c->models[i].is_inline;
    weft_buffer_puts(out, any ? "models:\n" : "models: []\n");
    for (size_t i = 0; i < c->n_models; i++) {
        if (c->models[i].is_inline)
            continue;
        put_indent(out, INDENT);
        weft_buffer_puts(out, "-\n");
        put_model(out, c, &c->models[i], INDENT * 2);
    }
}
