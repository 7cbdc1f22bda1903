/* Backends: how a compiled model file runs. Internal until 1.0.
 *
 * A backend is one static table. The engine calls `open` once per process and engine (process-wide truths of an SDK are refcounted inside the backend), `model_load` once per model version, `instance_create` once
 * per instance, and `run` on that instance's thread, one at a time. Everything else is said at each slot. */
#ifndef WEFT_BACKEND_H
#define WEFT_BACKEND_H

#include "weft/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_BACKEND_ABI 1u

/* What went wrong in a run, for the engine's decision about split, retry, breaker and recovery. */
typedef enum weft_fault {
    WEFT_FAULT_NONE = 0,
    WEFT_FAULT_REQUEST,   /* these inputs are wrong: the client's, never counts toward a breaker */
    WEFT_FAULT_UNKNOWN,   /* may be the inputs, may be the model: split once */
    WEFT_FAULT_MEMORY,    /* out of memory: once with the next smaller gear */
    WEFT_FAULT_TIMEOUT,   /* terminated or timed out: the instance is usable again */
    WEFT_FAULT_STREAM,    /* the instance must be re-created */
    WEFT_FAULT_DEVICE,    /* the device must be reset */
} weft_fault;

typedef struct weft_run {
    const weft_tensor *inputs;   /* in model order, full shapes with the batch axis; data NULL = an optional input left out */
    size_t n_inputs;
    weft_tensor *outputs;        /* in model order. In: data + n_bytes = a buffer and its capacity, or data NULL. Out: dtype, rank, shape, data, n_bytes */
    size_t n_outputs;
    const bool *wanted;          /* per output; an unwanted one is not computed where the backend can avoid it */
    /* Memory for an output that has no buffer or does not fit: called on the run's thread; NULL data = NO_MEMORY. The memory is the engine's. */
    void *(*alloc)(void *cookie, size_t output, size_t n_bytes);
    void *cookie;
    int64_t n_rows;              /* rows in this run; 1 when the model is not batched */
    weft_fault fault;            /* out */
} weft_run;

/* What the engine hands a backend when it opens. */
typedef struct weft_backend_env {
    weft_log_fn log;
    void *log_cookie;
    const char *library;         /* path of the SDK, or NULL */
    int64_t cores;
} weft_backend_env;

typedef struct weft_model_source {
    const char *name;            /* for messages and memory accounts; lives as long as the model */
    const char *const *paths;
    size_t n_paths;
    int64_t device_id;
    int64_t threads;             /* intra-op threads of a run, 1 by default */
    int64_t max_batch;
    uint64_t memory_limit;       /* 0 = none */
    const void *options;         /* struct of the backend's own table, or NULL = defaults */
} weft_model_source;

/* Filled by model_load; strings and arrays belong to the backend's model. */
typedef struct weft_model_desc {
    const weft_tensor_desc *inputs, *outputs;
    size_t n_inputs, n_outputs;
    const int64_t *batch_sizes;  /* compiled batch sizes ascending; NULL/0 = any size (dynamic batch axis) or not batchable, as the descriptions say */
    size_t n_batch_sizes;
    uint64_t weights_bytes;
    const char *producer;        /* "pytorch 2.1", or "" */
    int64_t opset;               /* 0 = not known */
} weft_model_desc;

typedef struct weft_backend_memory {
    uint64_t weights_bytes, work_bytes, peak_work_bytes;
} weft_backend_memory;

typedef struct weft_backend {
    uint32_t abi;                          /* WEFT_BACKEND_ABI; another value is refused with both numbers */
    const char *name;                      /* "onnxruntime" */
    const char *summary;
    const char *const *extensions;         /* ".onnx", NULL-terminated */
    const weft_option *options;            /* per model, under the backend's name in the model's block; NULL = none */
    size_t options_size;
    bool on_cpu;                           /* its runs take core tokens instead of a card's lane */
    bool needs_block;                      /* inputs must be in memory from host_alloc (pinned) */

    weft_status (*open)(const weft_backend_env *env, void **self, weft_error *err);
    void (*close)(void *self);
    /* "ONNX Runtime 1.30.0 (libonnxruntime.so.1)" */
    weft_status (*describe)(void *self, char *buf, size_t n_buf);
    /* Validates the file completely: everything that can be refused is refused here. Blocks. Any thread. */
    weft_status (*model_load)(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err);
    void (*model_unload)(void *self, void *model);
    weft_status (*instance_create)(void *self, void *model, void **instance, weft_error *err);
    void (*instance_destroy)(void *self, void *instance);
    /* Blocks until done. Names, dtypes, ranks, dims and sizes are checked before the SDK sees them (fault REQUEST). */
    weft_status (*run)(void *self, void *instance, weft_run *run, weft_error *err);
    /* Asks a run in progress to end soon with fault TIMEOUT. From any thread, also when nothing runs (then nothing happens). Optional. */
    void (*terminate)(void *self, void *instance);
    /* Optional; NULL = 64-byte aligned host memory. */
    void *(*host_alloc)(void *self, size_t n_bytes);
    void (*host_free)(void *self, void *p);
    /* Optional account of host memory. */
    void (*memory)(void *self, void *model, weft_backend_memory *out);
} weft_backend;

#ifdef __cplusplus
}
#endif
#endif
