/* What a model is to a client of the Open Inference Protocol V2, for every door that speaks it (HTTP, gRPC).
 *
 * A model of tensors shows its own inputs and outputs. An executor shows its declaration: the picture input as BYTES[n], one
 * tensor for each declared field, and "n_items" INT32[n] (items of each picture) when there are fields per item.
 *
 * Source of names and meanings: kserve/open-inference-protocol (inference_rest.md, open_inference_grpc.proto) and the extensions
 * of triton-inference-server/server (docs/protocol). */
#ifndef WEFT_SERVER_V2_MODEL_H
#define WEFT_SERVER_V2_MODEL_H

#include "base/arena.h"
#include "weft/engine.h"

#define WEFT_V2_N_ITEMS "n_items"

typedef struct weft_v2_tensor_info {
    const char *name;
    weft_dtype dtype; /* WEFT_DT_NONE: follows the run */
    int rank;         /* an unknown one is shown as [-1] */
    int64_t shape[WEFT_MAX_RANK];
    bool optional;
} weft_v2_tensor_info;

typedef struct weft_v2_model {
    const weft_model_info *info; /* held until close */
    const char *platform;        /* "onnx_onnxv1", "ascend_om", "weft_pipeline", ... static */
    int64_t max_batch_size;      /* in Triton's meaning: 0 = rows of different requests never share a run */
    bool picture;                /* takes encoded pictures */
    size_t n_inputs, n_outputs;
    const weft_v2_tensor_info *inputs, *outputs; /* in the arena */
} weft_v2_model;

/* version "" or NULL = the served one. NOT_FOUND, NO_MEMORY. On success weft_v2_model_close is due; the arrays live in the arena,
 * their strings as long as the model is held. */
weft_status weft_v2_model_open(weft_engine *e, const char *name, const char *version, weft_arena *arena, weft_v2_model *out,
                               weft_error *err);
void weft_v2_model_close(weft_v2_model *m); /* NULL allowed; twice allowed */

bool weft_v2_state_serves(weft_model_state s);
/* OK, NOT_FOUND, or UNAVAILABLE with the state and its cause. */
weft_status weft_v2_model_ready(weft_engine *e, const char *name, const char *version, weft_error *err);

/* The extensions this server announces; NULL-terminated. */
extern const char *const weft_v2_extensions[];

/* ---- statistics (extension_statistics.md) ---------------------------------------------------------------------------------- */
typedef struct weft_v2_duration {
    uint64_t count, ns;
} weft_v2_duration;

typedef struct weft_v2_batch_stats {
    uint64_t batch_size; /* WEFT_STAT_BATCH_BUCKETS stands for itself and everything above */
    weft_v2_duration compute_input, compute_infer, compute_output;
} weft_v2_batch_stats;

typedef struct weft_v2_memory {
    const char *type; /* "CPU" */
    int64_t id;
    uint64_t byte_size;
} weft_v2_memory;

typedef struct weft_v2_stats {
    const char *name, *version; /* in the arena */
    uint64_t last_inference_ms; /* Unix epoch; 0 = none yet */
    uint64_t inference_count;   /* rows */
    uint64_t execution_count;   /* runs */
    weft_v2_duration success, fail, queue, compute_input, compute_infer, compute_output, cache_hit, cache_miss;
    size_t n_batches;
    weft_v2_batch_stats batches[WEFT_STAT_BATCH_BUCKETS];
    size_t n_memory;
    weft_v2_memory memory[2];
} weft_v2_stats;

/* name "" or NULL: every model that is not hidden. */
weft_status weft_v2_model_stats(weft_engine *e, const char *name, const char *version, weft_arena *arena, weft_v2_stats **out,
                                size_t *n_out, weft_error *err);

#endif
