/* Reading YAML nodes into structs by their option tables.
 *
 * Mistakes go to the reader's diagnostics and reading goes on, so that all of a file are found at once; a field with a mistake
 * keeps its default. Out of memory and the bound on visited values are remembered in the reader and make everything after them
 * return early. */
#ifndef WEFT_CONFIG_CONFIG_READ_H
#define WEFT_CONFIG_CONFIG_READ_H

#include "config/config_yaml.h"
#include "weft/option.h"

struct weft_arena;

#define WEFT_READ_MAX_KEYS 1024 /* of one mapping */
#define WEFT_READ_MAX_SECTIONS 4

typedef struct weft_reader {
    struct weft_arena *arena;
    weft_diagnostics *diags;
    const char *directory; /* for relative paths; "" = none */
    size_t n_visited;
    bool stopped; /* one of the two below */
    bool no_memory;
    bool too_many;
    bool ignore_unknown; /* keys that nobody knows are passed over */
    /* What to say instead of "unknown key" about a key of the mapping at explain_at; NULL = nothing special. The text lives in
     * the arena. */
    const char *(*explain)(void *cookie, const weft_yaml_node *key, const weft_yaml_node *value);
    void *explain_cookie;
    const struct weft_at *explain_at;
} weft_reader;

/* One struct that keys of a mapping fill. */
typedef struct weft_section {
    const weft_option *table;
    void *base;
    weft_yaml_node **seen; /* filled: for each option of the table the key that set it, or NULL. Lives in the reader's arena */
    const weft_key_value *refused; /* keys of the table that may not be given here, with the reason; key NULL ends; NULL = none */
} weft_section;

/* A key that the caller reads itself. */
typedef struct weft_special {
    const char *name;
    const weft_option *fields;   /* what its blocks may hold, for suggestions; NULL = not said */
    weft_yaml_node *key, *value; /* filled: where it was given, or NULL */
} weft_special;

/* Where the reader is, for messages: a chain on the C stack. */
typedef struct weft_at {
    const struct weft_at *up;
    const char *name; /* NULL: an entry of a list */
    size_t index;
    const weft_section *sections; /* what the mapping of this level may hold, for "it belongs one level up" */
    size_t n_sections;
} weft_at;

typedef struct weft_entry {
    weft_yaml_node *key, *value;
} weft_entry;

void weft_read_mistake(weft_reader *r, weft_place place, const weft_at *at, const char *suggestion, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void weft_read_warning(weft_reader *r, weft_place place, const weft_at *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* "models[1].preprocess" and returns buf; NULL gives "". */
char *weft_at_print(const weft_at *at, char *buf, size_t n_buf);

/* Counts one visit; false when reading must stop. */
bool weft_read_visit(weft_reader *r, const weft_yaml_node *node, const weft_at *at);
bool weft_node_is_null(const weft_yaml_node *node);                    /* nothing, ~ or null without quotes */
const char *weft_node_words(const weft_yaml_node *node, char buf[80]); /* "a list", "\"many\"" */
/* Reader memory; NULL and no_memory set when out of memory. Zeroed. */
void *weft_read_alloc(weft_reader *r, size_t n, size_t item_bytes);
/* Text of a scalar as a path relative to the reader's directory; NULL when out of memory. */
const char *weft_read_path(weft_reader *r, const char *text);

/* The keys of a mapping, merge keys (<<) resolved, each key once; false when there is nothing to read (already reported). */
bool weft_read_entries(weft_reader *r, weft_yaml_node *node, const weft_at *at, weft_entry **entries, size_t *n);
/* Spreads the entries over the sections and specials, reports unknown, refused, doubled and missing keys. at must have sections
 * set for hints. */
void weft_read_sections(weft_reader *r, const weft_yaml_node *node, const weft_entry *entries, size_t n, const weft_at *at,
                        weft_section *sections, size_t n_sections, weft_special *specials, size_t n_specials);
void weft_read_value(weft_reader *r, const weft_option *o, weft_yaml_node *node, const weft_at *at, void *dst);
/* The key that set the field at this offset, or NULL. */
weft_yaml_node *weft_section_seen(const weft_section *s, size_t offset);

#endif
