/* The configuration of a process: one YAML file, read once, read-only afterwards.
 *
 * A file may set (docs/reference.md, generated from the declarations, is the manual):
 *
 *     device_id: 0     card of every model that names none
 *     engine: {...}    weft_engine_option_table
 *     server: {...}    weft_server_option_table
 *     log: {...}       weft_log_option_table
 *     models:          a list; each: weft_model_option_table, the executor's own options, a block named after its backend,
 *       - name: ...    and one key for each sub-model slot of its executor: a model's name, a model file, or a mapping
 *                      (a tensor model of its own)
 *
 * Everything lives in one arena that goes with weft_config_destroy. Threads: reading needs one thread; the result is immutable.
 */
#ifndef WEFT_CONFIG_CONFIG_H
#define WEFT_CONFIG_CONFIG_H

#include "config/diagnostics.h"
#include "config/log_options.h"
#include "config/server_options.h"
#include "weft/backend.h"
#include "weft/executor.h"

/* Bounds of a file; a file beyond them is refused with a sentence. */
#define WEFT_CONFIG_MAX_BYTES (1u << 20)
#define WEFT_CONFIG_MAX_DEPTH 32
#define WEFT_CONFIG_MAX_NODES 100000u /* visited, so that aliases count each time they are used */
#define WEFT_CONFIG_MAX_MODELS 1024u  /* inline sub-models included */

typedef struct weft_config_slot {
    size_t index; /* in the executor's `submodels` */
    size_t model; /* in weft_config.models; always smaller than the index of the model that uses it */
    weft_place place;
} weft_config_slot;

typedef struct weft_config_model {
    weft_model_config config;      /* ready for weft_engine_load */
    const weft_executor *executor; /* never NULL */
    const weft_backend *backend;   /* NULL: no file, or the backend is not in this build (config.backend names it) */
    const weft_config_slot *slots; /* in the order of config.submodels */
    size_t n_slots;
    bool is_inline;                /* written inside of the model that uses it: in a slot, or as its path (slot "model") */
    weft_place place, type_place;  /* of its name; of its type, or its name */
    const weft_place *path_places; /* one for each path */
} weft_config_model;

typedef struct weft_config {
    const char *file; /* as given; "" for a text without a file */
    const char
        *directory; /* of the file, "" = the working folder; relative paths are taken from it (already done in every option) */
    int64_t device_id;
    weft_engine_options engine; /* executors and backends are those given to the reader; log, observe, fatal, clock are NULL */
    weft_server_options server;
    weft_log_options log;
    size_t n_models;
    const weft_config_model *models; /* in load order: a model comes after everything it uses, else as in the file */
} weft_config;

/* The root of the file without `models`; for the manual and the printer. Fills weft_config. */
extern const weft_option weft_config_root_table[];

/* Reads a file. executors and backends: NULL-terminated arrays of static tables. All mistakes go to diags (may be NULL), sorted
 * by place. On failure *out is NULL: CONFIG (the first mistakes joined in *err), NOT_FOUND, IO, TOO_LARGE, NO_MEMORY. Warnings do
 * not make it fail. */
weft_status weft_config_load_file(const char *path, const weft_executor *const *executors, const weft_backend *const *backends,
                                  weft_config **out, weft_diagnostics *diags, weft_error *err);
/* Likewise from memory; `file` names it in messages, and relative paths are taken from its folder ("" = the working folder). */
weft_status weft_config_load_text(const char *text, size_t n_bytes, const char *file, const weft_executor *const *executors,
                                  const weft_backend *const *backends, weft_config **out, weft_diagnostics *diags,
                                  weft_error *err);
/* All defaults and no models, as from the text "models: []". */
weft_status weft_config_default(const weft_executor *const *executors, const weft_backend *const *backends, weft_config **out,
                                weft_error *err);
void weft_config_destroy(weft_config **c); /* NULL and *c NULL allowed */
/* NULL when there is no such model. Inline sub-models are called "<parent>.<slot>". */
const weft_config_model *weft_config_find(const weft_config *c, const char *name);

/* Writes the whole configuration with every default as YAML that reads back to the same. `failed` of the buffer says when it
 * could not. */
struct weft_buffer;
void weft_config_print(const weft_config *c, struct weft_buffer *out);

/* Names and aliases; NULL when unknown. */
const weft_executor *weft_executor_by_name(const weft_executor *const *list, const char *name);
const weft_backend *weft_backend_by_name(const weft_backend *const *list, const char *name);

#endif
