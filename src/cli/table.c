#include "cli/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MAX_CELL_WIDTH 100

void weft_table_init(weft_table *t, size_t n_columns)
{
    memset(t, 0, sizeof(*t));
    t->n_columns = n_columns < WEFT_TABLE_MAX_COLUMNS ? n_columns : WEFT_TABLE_MAX_COLUMNS;
}

void weft_table_fini(weft_table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->n_cells = 0;
}

void weft_table_right(weft_table *t, size_t column)
{
    if (column < t->n_columns)
        t->right[column] = true;
}

void weft_table_cell(weft_table *t, const char *text)
{
    if (t->n_cells == t->capacity) {
        size_t n = t->capacity ? t->capacity * 2 : 64;
        char **more = realloc(t->cells, n * sizeof(*more));
        if (!more) {
            t->failed = true;
            return;
        }
        t->cells = more;
        t->capacity = n;
    }
    char *copy = strdup(text);
    if (!copy) {
        t->failed = true;
        return;
    }
    t->cells[t->n_cells++] = copy;
}

void weft_table_cellf(weft_table *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    weft_table_cell(t, text);
}

/* East Asian Wide and Fullwidth (Unicode Standard Annex 11), by blocks; combining marks take no column. */
static size_t char_width(uint32_t c)
{
    if (c < 0x20 || (c >= 0x300 && c <= 0x36f) || c == 0x200b || (c >= 0xfe00 && c <= 0xfe0f))
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0x303e) || (c >= 0x3041 && c <= 0xa4cf) ||
        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
        (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
        (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

size_t weft_text_width(const char *s)
{
    size_t n = strlen(s), width = 0;
    while (n)
        width += char_width(weft_utf8_next(&s, &n));
    return width;
}

/* Control characters of foreign text never reach the terminal. */
static size_t put_text(weft_buffer *out, const char *s)
{
    size_t n = strlen(s), width = 0;
    while (n) {
        const char *at = s;
        uint32_t c = weft_utf8_next(&s, &n);
        size_t w = char_width(c);
        if (width + w > MAX_CELL_WIDTH - 1 && n) {
            weft_buffer_puts(out, "\xe2\x80\xa6");
            return width + 1;
        }
        if (c < 0x20 || c == 0x7f)
            weft_buffer_putc(out, ' '), width++;
        else if (c == 0xfffd)
            weft_buffer_puts(out, "\xef\xbf\xbd"), width++;
        else
            weft_buffer_append(out, at, (size_t)(s - at)), width += w;
    }
    return width;
}

static void put_blanks(weft_buffer *out, size_t n)
{
    while (n--)
        weft_buffer_putc(out, ' ');
}

void weft_table_print(const weft_table *t, size_t indent, weft_buffer *out)
{
    size_t width[WEFT_TABLE_MAX_COLUMNS] = {0};
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t w = weft_text_width(t->cells[i]), c = i % t->n_columns;
        w = w > MAX_CELL_WIDTH ? MAX_CELL_WIDTH : w;
        width[c] = w > width[c] ? w : width[c];
    }
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t c = i % t->n_columns, w = weft_text_width(t->cells[i]);
        w = w > MAX_CELL_WIDTH ? MAX_CELL_WIDTH : w;
        if (c == 0)
            put_blanks(out, indent);
        if (t->right[c])
            put_blanks(out, width[c] - w);
        size_t put = put_text(out, t->cells[i]);
        if (c + 1 == t->n_columns || i + 1 == t->n_cells) {
            weft_buffer_putc(out, '\n');
        } else {
            put_blanks(out, t->right[c] ? 2 : width[c] - (put < width[c] ? put : width[c]) + 2);
        }
    }
}
