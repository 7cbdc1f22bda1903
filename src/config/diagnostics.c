#include "config/diagnostics.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"

#define LINE_CHARS 120 /* of a quoted line; a longer one is cut around the place */

struct weft_diagnostics {
    weft_arena *arena;
    const char *file, *source;
    size_t n_source;
    size_t n, n_errors, n_warnings, n_lost;
    bool out_of_memory;
    weft_diagnostic items[WEFT_DIAGNOSTICS_MAX];
};

weft_diagnostics *weft_diagnostics_create(void)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_diagnostics *d = arena ? weft_arena_zalloc(arena, sizeof(*d)) : NULL;
    if (!d) {
        weft_arena_destroy(&arena);
        return NULL;
    }
    d->arena = arena;
    d->file = "";
    return d;
}

void weft_diagnostics_destroy(weft_diagnostics **d)
{
    if (!d || !*d)
        return;
    weft_arena *arena = (*d)->arena;
    *d = NULL;
    weft_arena_destroy(&arena);
}

void weft_diagnostics_source(weft_diagnostics *d, const char *file, const char *text, size_t n_bytes)
{
    if (!d)
        return;
    const char *name = weft_arena_strdup(d->arena, file ? file : "");
    char *copy = weft_arena_alloc(d->arena, n_bytes); /* may hold NUL characters */
    if (name)
        d->file = name;
    if (copy) {
        if (text && n_bytes)
            memcpy(copy, text, n_bytes);
        d->source = copy;
        d->n_source = text ? n_bytes : 0;
    }
    d->out_of_memory |= !name || !copy;
}

void weft_diagnostics_add(weft_diagnostics *d, weft_severity severity, weft_place place, const char *key, const char *suggestion,
                          const char *fmt, ...)
{
    if (!d)
        return;
    d->n_errors += severity == WEFT_SEVERITY_ERROR;
    d->n_warnings += severity == WEFT_SEVERITY_WARNING;
    if (d->n == WEFT_DIAGNOSTICS_MAX) {
        d->n_lost++;
        return;
    }
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    weft_diagnostic item = {.severity = severity,
                            .place = place,
                            .key = weft_arena_strdup(d->arena, key ? key : ""),
                            .text = weft_arena_strndup(d->arena, text, weft_utf8_cut(text, strlen(text), sizeof(text) - 8)),
                            .suggestion = weft_arena_strdup(d->arena, suggestion)};
    if (!item.key || !item.text || (suggestion && !item.suggestion)) {
        d->out_of_memory = true;
        return;
    }
    d->items[d->n++] = item;
}

void weft_diagnostics_sort(weft_diagnostics *d)
{
    if (!d)
        return;
    for (size_t i = 1; i < d->n; i++) { /* at most 100, nearly in order */
        weft_diagnostic x = d->items[i];
        size_t k = i;
        for (; k > 0; k--) {
            const weft_place *p = &d->items[k - 1].place;
            if (p->line < x.place.line || (p->line == x.place.line && p->column <= x.place.column))
                break;
            d->items[k] = d->items[k - 1];
        }
        d->items[k] = x;
    }
}

size_t weft_diagnostics_count(const weft_diagnostics *d)
{
    return d ? d->n : 0;
}

const weft_diagnostic *weft_diagnostics_at(const weft_diagnostics *d, size_t i)
{
    return d && i < d->n ? &d->items[i] : NULL;
}

size_t weft_diagnostics_errors(const weft_diagnostics *d)
{
    return d ? d->n_errors : 0;
}

size_t weft_diagnostics_warnings(const weft_diagnostics *d)
{
    return d ? d->n_warnings : 0;
}

const char *weft_diagnostics_file(const weft_diagnostics *d)
{
    return d ? d->file : "";
}

/* ---- text ------------------------------------------------------------------------------------------------------------- */
static const char *severity_name(weft_severity s)
{
    return s == WEFT_SEVERITY_ERROR ? "error" : s == WEFT_SEVERITY_WARNING ? "warning" : "note";
}

/* The line with this number, without its end. */
static bool find_line(const weft_diagnostics *d, int number, const char **line, size_t *n)
{
    const char *s = d->source, *end = s ? s + d->n_source : NULL;
    for (int i = 1; s && i < number; i++) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        s = nl && nl + 1 < end ? nl + 1 : NULL;
    }
    if (!s)
        return false;
    const char *nl = memchr(s, '\n', (size_t)(end - s));
    *line = s;
    *n = (size_t)((nl ? nl : end) - s);
    if (*n && s[*n - 1] == '\r')
        --*n;
    return true;
}

/* Cells that a terminal takes for a character: East Asian wide and full-width forms take two (Unicode UAX #11). */
static int cells(uint32_t c)
{
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
                (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
    return wide ? 2 : 1;
}

static void repeat(weft_buffer *out, char c, int n)
{
    for (int i = 0; i < n; i++)
        weft_buffer_putc(out, c);
}

static void print_source(const weft_diagnostics *d, const weft_place *place, weft_buffer *out, bool colour)
{
    const char *line;
    size_t left;
    if (place->line < 1 || !find_line(d, place->line, &line, &left))
        return;
    weft_buffer under;
    weft_buffer_init(&under, 0);
    int first = place->column > LINE_CHARS - 20 ? place->column - LINE_CHARS / 2 : 1, n = place->n_chars > 0 ? place->n_chars : 1;
    weft_buffer_printf(out, "%5d | %s", place->line, first > 1 ? "..." : "");
    weft_buffer_printf(&under, "      | %s", first > 1 ? "   " : "");
    int column = 1, marked = 0;
    for (; left && column < first + LINE_CHARS; column++) {
        const char *start = line;
        uint32_t c = weft_utf8_next(&line, &left);
        if (column < first)
            continue;
        bool control = c < 0x20 && c != '\t';
        if (control || c == 0xfffd || c == 0x7f)
            weft_buffer_putc(out, '?');
        else
            weft_buffer_append(out, start, (size_t)(line - start));
        bool mark = column >= place->column && column < place->column + n;
        if (column <= place->column || mark)
            repeat(&under, mark ? (marked++ ? '~' : '^') : c == '\t' ? '\t' : ' ', 1);
        if (cells(c) == 2 && column < place->column + n)
            repeat(&under, mark ? '~' : ' ', 1);
    }
    if (!marked)
        weft_buffer_putc(&under, '^'); /* behind the last character */
    weft_buffer_puts(out, left ? "...\n" : "\n");
    if (colour)
        weft_buffer_puts(out, "\033[32m");
    weft_buffer_append(out, under.data, under.n_bytes);
    weft_buffer_puts(out, colour ? "\033[0m\n" : "\n");
    out->failed |= under.failed;
    weft_buffer_fini(&under);
}

static void print_sentence(const weft_diagnostic *item, weft_buffer *out)
{
    if (*item->key)
        weft_buffer_printf(out, "%s: ", item->key);
    weft_buffer_puts(out, item->text);
    if (item->suggestion)
        weft_buffer_printf(out, "; did you mean \"%s\"?", item->suggestion);
}

static void print_position(const weft_diagnostics *d, const weft_place *place, weft_buffer *out)
{
    if (*d->file)
        weft_buffer_printf(out, "%s:", d->file);
    if (place->line)
        weft_buffer_printf(out, "%d:%d:", place->line, place->column);
    if (*d->file || place->line)
        weft_buffer_putc(out, ' ');
}

void weft_diagnostics_print(const weft_diagnostics *d, weft_buffer *out, bool colour)
{
    for (size_t i = 0; i < weft_diagnostics_count(d); i++) {
        const weft_diagnostic *item = &d->items[i];
        const char *tint = item->severity == WEFT_SEVERITY_ERROR     ? "\033[1;31m"
                           : item->severity == WEFT_SEVERITY_WARNING ? "\033[1;33m"
                                                                     : "\033[1;36m";
        print_position(d, &item->place, out);
        weft_buffer_printf(out, "%s%s:%s ", colour ? tint : "", severity_name(item->severity), colour ? "\033[0m" : "");
        print_sentence(item, out);
        weft_buffer_putc(out, '\n');
        print_source(d, &item->place, out, colour);
    }
    if (d && d->n_lost)
        weft_buffer_printf(out, "and %zu more\n", d->n_lost);
    if (d && (d->n_errors || d->n_warnings))
        weft_buffer_printf(out, "%zu error%s, %zu warning%s\n", d->n_errors, d->n_errors == 1 ? "" : "s", d->n_warnings,
                           d->n_warnings == 1 ? "" : "s");
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */
static void json_string(weft_buffer *out, const char *s)
{
    size_t left = strlen(s);
    weft_buffer_putc(out, '"');
    while (left) {
        const char *start = s;
        uint32_t c = weft_utf8_next(&s, &left);
        if (c == '"' || c == '\\')
            weft_buffer_printf(out, "\\%c", (char)c);
        else if (c < 0x20 || c == 0xfffd)
            weft_buffer_printf(out, "\\u%04x", (unsigned)c);
        else
            weft_buffer_append(out, start, (size_t)(s - start));
    }
    weft_buffer_putc(out, '"');
}

void weft_diagnostics_json(const weft_diagnostics *d, weft_buffer *out)
{
    weft_buffer_puts(out, "{\"file\":");
    json_string(out, weft_diagnostics_file(d));
    weft_buffer_printf(out, ",\"errors\":%zu,\"warnings\":%zu,\"diagnostics\":[", weft_diagnostics_errors(d),
                       weft_diagnostics_warnings(d));
    for (size_t i = 0; i < weft_diagnostics_count(d); i++) {
        const weft_diagnostic *item = &d->items[i];
        weft_buffer_printf(out, "%s{\"severity\":\"%s\",\"line\":%d,\"column\":%d,\"length\":%d,\"key\":", i ? "," : "",
                           severity_name(item->severity), item->place.line, item->place.column, item->place.n_chars);
        json_string(out, item->key);
        weft_buffer_puts(out, ",\"message\":");
        json_string(out, item->text);
        weft_buffer_puts(out, ",\"suggestion\":");
        if (item->suggestion)
            json_string(out, item->suggestion);
        else
            weft_buffer_puts(out, "null");
        weft_buffer_putc(out, '}');
    }
    weft_buffer_puts(out, "]}\n");
}

weft_status weft_diagnostics_status(const weft_diagnostics *d, weft_error *err)
{
    if (!d || (!d->n_errors && !d->out_of_memory))
        return WEFT_OK;
    if (d->out_of_memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading the configuration");
    if (!err)
        return WEFT_E_CONFIG;
    weft_buffer all;
    weft_buffer_init(&all, 0);
    size_t said = 0;
    for (size_t i = 0; i < d->n; i++) {
        const weft_diagnostic *item = &d->items[i];
        if (item->severity != WEFT_SEVERITY_ERROR)
            continue;
        if (said && all.n_bytes > WEFT_ERROR_TEXT_BYTES * 2 / 3)
            break;
        weft_buffer_puts(&all, said++ ? "\n" : "");
        print_position(d, &item->place, &all);
        print_sentence(item, &all);
    }
    if (said < d->n_errors)
        weft_buffer_printf(&all, "\nand %zu more", d->n_errors - said);
    weft_status s = all.failed ? weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading the configuration")
                               : weft_fail(err, WEFT_E_CONFIG, "%s", (const char *)all.data);
    weft_buffer_fini(&all);
    return s;
}
