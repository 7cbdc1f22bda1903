/* Option declarations: the single source for parsing, validation, defaults and the reference manual.
 *
 * A part declares its options as one static table that fills one plain C struct by offset. Only src/config reads YAML; the part only ever sees the
 * filled struct. Storage of every kind in the struct:
 *
 *   BOOL bool   INT int64_t   FLOAT double   STRING const char * (NULL = not given)   ENUM int   DURATION_MS double (milliseconds; text may say 5s,
 *   250ms, 2m)   BYTES uint64_t (text may say 64MB, 1GiB)   SIZE weft_size ([width, height], pixels)   LIST weft_list of a scalar kind
 *   STRUCT embedded struct   STRUCT_LIST weft_list of structs   STRUCT_MAP weft_list of structs whose first member is `const char *` key
 *   PASSTHROUGH weft_list of weft_key_value (strings handed to an SDK unread)
 *
 * Ownership: tables are static. Filled structs, strings and list items live in the arena of the configuration that filled them. */
#ifndef WEFT_OPTION_H
#define WEFT_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_option_kind {
    WEFT_OPT_END = 0, /* last entry of a table */
    WEFT_OPT_BOOL,
    WEFT_OPT_INT,
    WEFT_OPT_FLOAT,
    WEFT_OPT_STRING,
    WEFT_OPT_ENUM,
    WEFT_OPT_DURATION_MS,
    WEFT_OPT_BYTES,
    WEFT_OPT_SIZE,
    WEFT_OPT_LIST,
    WEFT_OPT_STRUCT,
    WEFT_OPT_STRUCT_LIST,
    WEFT_OPT_STRUCT_MAP,
    WEFT_OPT_PASSTHROUGH,
} weft_option_kind;

typedef struct weft_size {
    int32_t width, height; /* pixels; 0,0 = not given */
} weft_size;

typedef struct weft_list {
    size_t n;
    void *items; /* n elements of the storage type above */
} weft_list;

typedef struct weft_key_value {
    const char *key;
    const char *value;
} weft_key_value;

typedef struct weft_enum_value {
    const char *name; /* NULL ends the list */
    int value;
    const char *help;
} weft_enum_value;

typedef struct weft_option {
    const char *name;               /* key in the file */
    const char *alias;              /* older or friendlier keys, separated by a blank, or NULL */
    weft_option_kind kind;
    size_t offset;                  /* offsetof the storage in the struct the table fills */
    const char *def;                /* default as it would be written in the file; NULL = zero, absent */
    double min, max;                /* numbers, durations, bytes, sides of SIZE, items of LIST; both 0 = any value that the storage holds */
    size_t max_count;               /* entries of LIST/STRUCT_LIST/STRUCT_MAP/PASSTHROUGH, bytes of STRING; 0 = 1024 entries, 4096 bytes */
    weft_option_kind item;          /* LIST: kind of the items (a scalar kind) */
    const struct weft_option *fields; /* STRUCT*: table of the inner struct */
    size_t item_size;               /* STRUCT*: sizeof the inner struct */
    const weft_enum_value *values;  /* ENUM */
    bool required;
    const char *unit;               /* "px", "ms", "rows"; NULL = none */
    const char *help;               /* one line for tables and --help */
    const char *details;            /* a paragraph for the manual, or NULL */
    bool is_path;                   /* STRING, LIST of STRING: names a file or folder; a relative one is taken from the folder of the configuration file */
} weft_option;

#ifdef __cplusplus
}
#endif
#endif
