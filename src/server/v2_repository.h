/* The model repository extension (extension_model_repository.md), without a wire format: what the configuration names, what is
 * loaded, and loading and unloading by name.
 *
 * Only models of the configuration can be loaded; a client never names a file. A load may change a few numbers by a `config` text
 * in Triton's shape: max_batch_size, instance_group[0].count, dynamic_batching.max_queue_delay_microseconds and
 * dynamic_batching.default_queue_policy.{max_queue_size, default_timeout_microseconds}. Anything else in it that would change the
 * model is refused; name, backend and platform may stand there with their true values, so that what GET .../config answers can be
 * sent back. */
#ifndef WEFT_SERVER_V2_REPOSITORY_H
#define WEFT_SERVER_V2_REPOSITORY_H

#include "base/arena.h"
#include "weft/engine.h"

struct weft_config;

typedef struct weft_v2_index_entry {
    const char *name, *version, *state, *reason; /* READY, LOADING, UNLOADING, UNAVAILABLE; in the arena or static */
} weft_v2_index_entry;

/* config may be NULL: then only what is loaded. */
weft_status weft_v2_repository_index(weft_engine *e, const struct weft_config *config, bool only_ready, weft_arena *arena,
                                     weft_v2_index_entry **out, size_t *n_out, weft_error *err);
/* Both block until the model is ready or gone (seconds): never on a loop. override NULL = as configured. A loaded model is loaded
 * anew beside the old one, which is kept when that fails. Sub-models that are missing are loaded first. */
weft_status weft_v2_repository_load(weft_engine *e, const struct weft_config *config, const char *name, const char *override,
                                    size_t n_override, weft_error *err);
/* unload_dependents: also the models that this one uses, if nobody else does. */
weft_status weft_v2_repository_unload(weft_engine *e, const struct weft_config *config, const char *name, bool unload_dependents,
                                      weft_error *err);
/* Applies a `config` text to c. INVALID, or FORBIDDEN for what a client may not change. */
weft_status weft_v2_config_override(weft_model_config *c, const char *text, size_t n_bytes, weft_error *err);

#endif
