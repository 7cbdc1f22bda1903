/* Text tables for a terminal: columns as wide as their content, wide characters counted as two. */
#ifndef WEFT_CLI_TABLE_H
#define WEFT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define WEFT_TABLE_MAX_COLUMNS 32

typedef struct weft_table {
    size_t n_columns, n_cells, capacity;
    char **cells; /* owned; row by row, the first row is the head */
    bool right[WEFT_TABLE_MAX_COLUMNS];
    bool failed; /* out of memory */
} weft_table;

void weft_table_init(weft_table *t, size_t n_columns);
void weft_table_fini(weft_table *t);
void weft_table_right(weft_table *t, size_t column); /* numbers */
/* The next cell, left to right, row by row. */
void weft_table_cell(weft_table *t, const char *text);
void weft_table_cellf(weft_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends the table; indent blanks before each line. */
void weft_table_print(const weft_table *t, size_t indent, weft_buffer *out);
/* Columns that UTF-8 text takes on a terminal. */
size_t weft_text_width(const char *s);

#endif
