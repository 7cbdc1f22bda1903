/* The list of models: blocks, sub-models, load order. Inside of src/config only. */
#ifndef WEFT_CONFIG_CONFIG_MODELS_H
#define WEFT_CONFIG_CONFIG_MODELS_H

#include "config/config.h"
#include "config/config_read.h"

typedef struct weft_draft weft_draft;

/* A slot of a pipeline while its target is looked for. */
typedef struct weft_draft_slot {
    size_t index;         /* in the executor's sub-models */
    weft_yaml_node *node; /* a name or a file; NULL when target was written inline */
    weft_at *at;
    weft_place place;
    weft_draft *target;
} weft_draft_slot;

/* A model while the file is read. */
struct weft_draft {
    weft_config_model m;
    weft_at *at;
    const weft_draft *parent; /* of an inline sub-model */
    weft_draft_slot *slots;
    size_t n_slots;
    bool placed;
    size_t position; /* in weft_config.models */
    weft_draft *next;
};

typedef struct weft_drafts {
    weft_reader *r;
    weft_config *config;
    const weft_section *root; /* keys beside `models`, for suggestions */
    const weft_executor *const *executors;
    const weft_backend *const *backends;
    weft_draft *first, *last;
    size_t n;
} weft_drafts;

/* A known backend that this build has not. */
typedef struct weft_known_backend {
    const char *name, *extension;
} weft_known_backend;
extern const weft_known_backend weft_known_backends[]; /* name NULL ends */

/* Makes an empty draft with all defaults at the end of the list; NULL when reading must stop. */
weft_draft *weft_draft_new(weft_drafts *d, weft_at *at, const weft_draft *parent, weft_place place);
/* Reads one block into it. */
void weft_draft_read(weft_drafts *d, weft_draft *m, weft_yaml_node *node);
/* A sub-model that is only a file. */
weft_draft *weft_draft_from_path(weft_drafts *d, const weft_draft *parent, const weft_draft_slot *slot, const char *path);
/* "<parent>.<slot>" */
const char *weft_draft_inline_name(weft_drafts *d, const weft_draft *parent, size_t slot);
/* The backend whose extension the path has: in this build (*out), or only known by name (*name). false when there is none. */
bool weft_backend_of_path(const weft_backend *const *backends, const char *path, const weft_backend **out, const char **name);

/* Reads the value of `models`. */
void weft_read_models(weft_drafts *d, weft_yaml_node *node);
/* Finds the targets of slots, checks names and order, and moves everything into config->models. */
void weft_join_models(weft_drafts *d);

#endif
