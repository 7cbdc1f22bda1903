#include "config/reference.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/option_text.h"
#include "config/config.h"

/* ---- one table of options --------------------------------------------------------------------------------------------- */
/* Text inside of a table cell: the bar would end it. */
static void put_cell(weft_buffer *out, const char *s)
{
    for (; s && *s; s++) {
        if (*s == '|')
            weft_buffer_puts(out, "\\|");
        else
            weft_buffer_putc(out, *s == '\n' ? ' ' : *s);
    }
}

/* Without the example that a message gives: the head of the page has them all. */
static void put_expected(weft_buffer *out, const weft_option *o, weft_option_kind kind)
{
    char text[512], *example;
    weft_option_expected(o, kind, text, sizeof(text));
    example = strstr(text, ", like ");
    if (example)
        *example = 0;
    put_cell(out, text);
}

static void put_accepts(weft_buffer *out, const weft_option *o)
{
    if (o->kind == WEFT_OPT_LIST) {
        weft_buffer_puts(out, "list, each ");
        if (o->is_path)
            weft_buffer_puts(out, "a path");
        else
            put_expected(out, o, o->item);
        if (o->max_count)
            weft_buffer_printf(out, "; at most %zu", o->max_count);
        return;
    }
    if (o->is_path) {
        weft_buffer_puts(out, "path");
        return;
    }
    if (o->kind == WEFT_OPT_ENUM) {
        for (const weft_enum_value *v = o->values; v && v->name; v++)
            weft_buffer_printf(out, "%s`%s`", v == o->values ? "" : ", ", v->name);
        return;
    }
    put_expected(out, o, o->kind);
}

static bool is_block(const weft_option *o)
{
    return o->kind == WEFT_OPT_STRUCT || o->kind == WEFT_OPT_STRUCT_LIST || o->kind == WEFT_OPT_STRUCT_MAP;
}

static void put_row(weft_buffer *out, const weft_option *o, const char *prefix)
{
    weft_buffer_printf(out, "| `%s%s`", prefix, o->name);
    for (const char *a = o->alias; a && *a;) {
        size_t n = strcspn(a, " ");
        weft_buffer_printf(out, ", `%s%.*s`", prefix, (int)n, a);
        a += n + strspn(a + n, " ");
    }
    weft_buffer_puts(out, " | ");
    put_accepts(out, o);
    weft_buffer_puts(out, " | ");
    if (o->required)
        weft_buffer_puts(out, "required");
    else if (o->def && *o->def)
        weft_buffer_printf(out, "`%s`", o->def);
    weft_buffer_puts(out, " | ");
    put_cell(out, o->help);
    weft_buffer_puts(out, " |\n");
}

/* What stands before the keys of a block. false: deeper than any table is. */
static bool inner_prefix(char *buf, size_t n, const char *prefix, const weft_option *o)
{
    const char *mark = o->kind == WEFT_OPT_STRUCT ? "." : o->kind == WEFT_OPT_STRUCT_LIST ? "[]." : ".KEY.";
    return (size_t)snprintf(buf, n, "%s%s%s", prefix, o->name, mark) < n;
}

static void put_rows(weft_buffer *out, const weft_option *table, const char *prefix)
{
    char inner[256];
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        put_row(out, o, prefix);
        if (!is_block(o))
            continue;
        if (!inner_prefix(inner, sizeof(inner), prefix, o))
            continue;
        put_rows(out, o->fields, inner);
    }
}

static bool has_enum_help(const weft_option *o)
{
    for (const weft_enum_value *v = o->values; o->kind == WEFT_OPT_ENUM && v && v->name; v++)
        if (v->help && *v->help)
            return true;
    return false;
}

/* What does not fit a line: paragraphs and the words of enums. */
static void put_details(weft_buffer *out, const weft_option *table, const char *prefix)
{
    char inner[256];
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        if (o->details || has_enum_help(o)) {
            weft_buffer_printf(out, "\n**`%s%s`**%s%s\n", prefix, o->name, o->details ? " " : "", o->details ? o->details : "");
            for (const weft_enum_value *v = o->values; has_enum_help(o) && v->name; v++)
                weft_buffer_printf(out, "%s- `%s`: %s\n", v == o->values ? "\n" : "", v->name, v->help ? v->help : "");
        }
        if (!is_block(o))
            continue;
        if (!inner_prefix(inner, sizeof(inner), prefix, o))
            continue;
        put_details(out, o->fields, inner);
    }
}

static void put_table(weft_buffer *out, const weft_option *table, const char *prefix)
{
    if (!weft_option_table_length(table)) {
        weft_buffer_puts(out, "\nNo options of its own.\n");
        return;
    }
    weft_buffer_puts(out, "\n| key | value | default | meaning |\n|---|---|---|---|\n");
    put_rows(out, table, prefix);
    put_details(out, table, prefix);
}

/* ---- executors, backends ---------------------------------------------------------------------------------------------- */
static const char *field_kind(weft_field_kind k)
{
    static const char *const names[] = {"",       "text",   "label", "score",   "box",   "quad",
                                        "points", "number", "matte", "picture", "tensor"};
    return (size_t)k < sizeof(names) / sizeof(*names) ? names[k] : "?";
}

static void put_fields(weft_buffer *out, const weft_executor *x)
{
    if (!x->fields || !x->n_fields) {
        weft_buffer_puts(out, "\nResult: the outputs of the model, one tensor each.\n");
        return;
    }
    weft_buffer_puts(out, "\nResult:\n\n| field | kind | type | for each item | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < x->n_fields; i++) {
        const weft_field_decl *f = &x->fields[i];
        weft_buffer_printf(out, "| `%s` | %s", f->name, field_kind(f->kind));
        if (f->n_points)
            weft_buffer_printf(out, " (%d)", f->n_points);
        weft_buffer_printf(out, " | %s | %s | ", f->dtype ? weft_dtype_name(f->dtype) : "of the model",
                           f->per_item ? "yes" : "no");
        put_cell(out, f->help);
        weft_buffer_puts(out, " |\n");
    }
}

static void put_executor(weft_buffer *out, const weft_executor *x)
{
    weft_buffer_printf(out, "\n### type: %s\n\n%s\n", x->name, x->summary ? x->summary : "");
    if (x->aliases && x->aliases[0]) {
        weft_buffer_puts(out, "\nAlso called ");
        for (size_t i = 0; x->aliases[i]; i++)
            weft_buffer_printf(out, "%s`%s`", i ? ", " : "", x->aliases[i]);
        weft_buffer_puts(out, ".\n");
    }
    if (x->details)
        weft_buffer_printf(out, "\n%s\n", x->details);
    if (x->picture_input)
        weft_buffer_printf(out, "\nInput: one encoded picture, `%s`.\n", x->picture_input);
    for (size_t i = 0; x->params && x->params[i]; i++)
        weft_buffer_printf(out, "%s`%s`%s", i ? ", " : "\nParameters of a call: ", x->params[i], x->params[i + 1] ? "" : ".\n");
    if (x->submodels && x->submodels[0].slot) {
        weft_buffer_puts(out, "\n| sub-model | | meaning |\n|---|---|---|\n");
        for (const weft_submodel_decl *s = x->submodels; s->slot; s++) {
            weft_buffer_printf(out, "| `%s` | %s | ", s->slot, s->required ? "required" : "optional");
            put_cell(out, s->help);
            weft_buffer_puts(out, " |\n");
        }
    }
    put_table(out, x->options, "");
    put_fields(out, x);
}

static void put_backend(weft_buffer *out, const weft_backend *b)
{
    weft_buffer_printf(out, "\n### backend: %s\n\n%s\n", b->name, b->summary ? b->summary : "");
    if (b->extensions && b->extensions[0]) {
        weft_buffer_puts(out, "\nFiles:");
        for (size_t i = 0; b->extensions[i]; i++)
            weft_buffer_printf(out, "%s `%s`", i ? "," : "", b->extensions[i]);
        weft_buffer_puts(out, "\n");
    }
    put_table(out, b->options, "");
}

/* ---- the page --------------------------------------------------------------------------------------------------------- */
static const char head[] =
    "# Reference of the configuration\n"
    "\n"
    "Generated from the declarations in the source by `weft config reference`; do not edit.\n"
    "\n"
    "A configuration is one YAML file. `weft config check FILE` reads it, opens every model and names all mistakes at once.\n"
    "\n"
    "How values are written:\n"
    "\n"
    "| kind | examples |\n"
    "|---|---|\n"
    "| true or false | `true`, `yes`, `on`, `false`, `no`, `off` |\n"
    "| whole number | `8`, `-3`, `0x10`; no leading zeros |\n"
    "| number | `0.5`, `1e-3` |\n"
    "| duration | `250ms`, `5s`, `2m`, `1h`, `1d`; a plain number is milliseconds |\n"
    "| bytes | `64MB` (powers of 1000), `1GiB` (powers of 1024); a plain number is bytes |\n"
    "| size | `[640, 480]` or `640x480`, width first; `640` is a square |\n"
    "| list | `[a, b]`, or lines that start with `-`; a list of one may be written without brackets |\n"
    "| path | a relative path is taken from the folder of the configuration file |\n"
    "\n"
    "`null` or `~` stands for the default. Anchors, aliases and merge keys (`<<`) work. Bounds of a file: 1 MiB, 32 levels, "
    "100000 values, "
    "1024 models.\n"
    "\n"
    "## Root\n"
    "\n"
    "| key | value | default | meaning |\n"
    "|---|---|---|---|\n";

static const char model_text[] =
    "\n## Models\n"
    "\n"
    "`models` is a list. The block of a model holds\n"
    "\n"
    "- the common keys below,\n"
    "- the keys of its type (executor), at the same level,\n"
    "- a block named after its backend with the backend's keys,\n"
    "- one key for each sub-model of its type: the name of another model of the file, a model file, or a block. A file or a "
    "block is a model of\n"
    "  its own, of type `tensor`, called `MODEL.SLOT`, hidden, with the priority, device and readiness of the model around it.\n"
    "\n"
    "The order of models in the file does not matter.\n";

void weft_config_reference(const weft_executor *const *executors, const weft_backend *const *backends, weft_buffer *out)
{
    weft_buffer_puts(out, head);
    for (const weft_option *o = weft_config_root_table; o->kind != WEFT_OPT_END; o++)
        put_row(out, o, "");
    weft_buffer_puts(out, "| `models` | a list of models | required | what is served |\n");
    for (const weft_option *o = weft_config_root_table; o->kind != WEFT_OPT_END; o++) {
        if (o->kind != WEFT_OPT_STRUCT)
            continue;
        weft_buffer_printf(out, "\n## Block `%s`\n\n", o->name);
        weft_buffer_puts(out, o->help);
        weft_buffer_putc(out, '\n');
        put_table(out, o->fields, "");
    }
    weft_buffer_puts(out, model_text);
    put_table(out, weft_model_option_table, "");
    weft_buffer_puts(out, "\n## Types\n");
    for (const weft_executor *const *x = executors; x && *x; x++)
        put_executor(out, *x);
    weft_buffer_puts(out, "\n## Backends\n");
    for (const weft_backend *const *b = backends; b && *b; b++)
        put_backend(out, *b);
}
