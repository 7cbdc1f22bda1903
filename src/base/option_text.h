/* Options from text: one value of each scalar kind, the defaults of a table, and the checks that a value from a file and a value
 * set by a C program both pass.
 *
 * How a value is written
 *   BOOL      true false yes no on off (any case)
 *   INT       decimal or 0x hexadecimal; no leading zeros (their meaning differs between programs)
 *   FLOAT     decimal with or without exponent; never infinite or NaN
 *   DURATION  a number in milliseconds, or with a unit: us ms s m (min) h d
 *   BYTES     a number, or with a unit: B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB and K M G T (powers of 1024)
 *   SIZE      640x480 (width first), [640, 480], or 640 for a square
 *   LIST      [a, b, c]; a list of one may be written without brackets
 *
 * Threads: no state; any thread. The decimal point is always ".", whatever the locale of the process. */
#ifndef WEFT_BASE_OPTION_TEXT_H
#define WEFT_BASE_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/option.h"
#include "weft/status.h"

struct weft_arena;

#define WEFT_OPTION_DEFAULT_STRING_BYTES 4096
#define WEFT_OPTION_DEFAULT_ENTRIES 1024
#define WEFT_OPTION_TABLE_MAX 128 /* entries of one table */

bool weft_option_is_scalar(weft_option_kind kind);
/* Bytes that a value of this kind takes in its struct; for STRUCT the item_size. 0 for END. */
size_t weft_option_storage_bytes(const weft_option *o, weft_option_kind kind);
/* "a whole number", "a list", ...: the kind in words, with article. Static text. */
const char *weft_option_kind_words(weft_option_kind kind);
/* max_count with its default applied. */
size_t weft_option_max_count(const weft_option *o);
/* Most bytes of one string: of the option itself, or of an item of a list, whose max_count counts items. */
size_t weft_option_string_bytes(const weft_option *o);
bool weft_option_has_bounds(const weft_option *o);         /* min and max are not both 0 */
size_t weft_option_table_length(const weft_option *table); /* NULL gives 0 */
/* The entry with this name or alias, or NULL. */
const weft_option *weft_option_find(const weft_option *table, const char *name, size_t n_name);
/* Writes what `o` accepts as a value of `kind` ("a whole number from 1 to 4096 (rows)") and returns buf. */
char *weft_option_expected(const weft_option *o, weft_option_kind kind, char *buf, size_t n_buf);

/* Parses one value of a scalar kind (o->kind, or o->item for an item of a LIST) into *dst. Strings are copied into the arena;
 * with arena NULL they are kept by reference and text must be NUL-terminated at text[n_bytes] and outlive the struct. CONFIG with
 * "expected ..., got ..." (no name in it), NO_MEMORY. *dst is untouched on failure. */
weft_status weft_option_parse(const weft_option *o, weft_option_kind kind, const char *text, size_t n_bytes,
                              struct weft_arena *arena, void *dst, weft_error *err);
/* The bounds of `o` on one stored value of a scalar kind. CONFIG with "expected ..., got ...". */
weft_status weft_option_check_value(const weft_option *o, weft_option_kind kind, const void *value, weft_error *err);
/* Fills every declared field with its default (zero when there is none), embedded structs included; other members of the struct
 * are left alone. arena may be NULL when no LIST in the table has a default (INTERNAL otherwise). NO_MEMORY; INTERNAL when a
 * default does not parse, which is a fault of the table. */
weft_status weft_options_defaults(const weft_option *table, void *base, struct weft_arena *arena, weft_error *err);
/* Every declared field of a struct that a program filled (a zero without a default is absent): bounds, counts, enum values,
 * required strings. The first mistake as "NAME: expected ..., got ...". */
weft_status weft_options_check(const weft_option *table, const void *base, weft_error *err);
/* The table itself: names present and unique, defaults that parse and pass, help present, known kinds. INTERNAL with the first
 * mistake. For tests. */
weft_status weft_options_lint(const weft_option *table, weft_error *err);

/* Writes one stored scalar as it would be written in a file (no YAML quoting of strings) and returns its length like snprintf.
 * STRING NULL gives "". */
size_t weft_option_print(const weft_option *o, weft_option_kind kind, const void *value, char *buf, size_t n_buf);

#endif
