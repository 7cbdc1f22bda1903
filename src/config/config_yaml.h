/* The YAML text as a tree of nodes with places. Values are not understood here: a scalar is its text.
 *
 * Aliases point at the node of their anchor, so the tree is a directed graph without cycles; who walks it bounds the number of
 * visits. */
#ifndef WEFT_CONFIG_CONFIG_YAML_H
#define WEFT_CONFIG_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "config/diagnostics.h"

struct weft_arena;

#define WEFT_YAML_EMPTY "the file is empty: expected at least \"models:\" with a list of models"

typedef enum weft_node_kind { WEFT_NODE_SCALAR = 1, WEFT_NODE_LIST, WEFT_NODE_MAP } weft_node_kind;

typedef struct weft_yaml_node weft_yaml_node;

typedef struct weft_yaml_cell {
    weft_yaml_node *key; /* NULL in a list */
    weft_yaml_node *value;
    struct weft_yaml_cell *next;
} weft_yaml_cell;

struct weft_yaml_node {
    weft_node_kind kind;
    weft_place place;
    const char *text; /* scalar, NUL-terminated; may hold NUL characters before n_bytes */
    size_t n_bytes;
    bool plain; /* written without quotes and without a string tag */
    bool open;  /* being built: an alias to it would be a cycle */
    weft_yaml_cell *first, *last;
    size_t n;
};

/* On success *root is the document's node. Every mistake of syntax goes to diags; then CONFIG with the same sentence and *root
 * NULL. NO_MEMORY. Everything lives in the arena. */
weft_status weft_yaml_parse(struct weft_arena *arena, const char *text, size_t n_bytes, weft_diagnostics *diags,
                            weft_yaml_node **root, weft_error *err);

#endif
