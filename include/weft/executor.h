/* Executors: what turns a caller's input into tensors and tensors into a result. Internal until 1.0.
 *
 * An executor is one static table: names, options, result declaration, and either
 *   plan + preprocess + postprocess            (simple: one compiled model), or
 *   run                                        (pipeline: calls other models through a call group).
 * It never sees YAML, JSON, HTTP, a queue or another executor. docs/howto/add-an-executor.md walks through one. */
#ifndef WEFT_EXECUTOR_H
#define WEFT_EXECUTOR_H

#include "weft/builder.h"
#include "weft/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_MAX_MODEL_INPUTS 32
#define WEFT_MAX_MODEL_OUTPUTS 64

/* What an executor may know of a compiled model. Immutable while the model is open. */
typedef struct weft_model_view {
    const char *name;
    const weft_tensor_desc *inputs, *outputs;
    size_t n_inputs, n_outputs;
    int64_t max_batch;
    bool batched; /* rows of different requests share runs: dim 0 of the batched inputs and of all outputs is the batch axis */
    bool shared_input[WEFT_MAX_MODEL_INPUTS]; /* has no batch axis */
} weft_model_view;

/* What a request will run: filled by `plan`, cheap (headers only, nothing decoded). */
typedef struct weft_plan {
    int64_t n_rows; /* 1..max rows; rows of one request are kept together when they fit one run */
    size_t n_inputs;
    /* Per model input, in model order: dtype and shape of ONE ROW with the batch axis left out when the model is batched (full shape for a shared input or an unbatched model).
     * data NULL: `preprocess` will write each row. data set: it already points at all n_rows rows, one after the other (a wire tensor); no preprocess for it. */
    weft_tensor rows[WEFT_MAX_MODEL_INPUTS];
    size_t host_work_bytes; /* estimate of scratch that preprocess needs (decoded picture), for admission by memory; 0 = little */
} weft_plan;

/* A slot named "model" is special: when a pipeline's own block names files, they become the hidden model "<name>.model" and fill that slot. A pipeline that does not declare it
 * refuses files of its own. */
typedef struct weft_submodel_decl {
    const char *slot;
    bool required;
    const char *help;
} weft_submodel_decl;

/* What `open` is given. Everything lives as long as the executor's state. */
typedef struct weft_open {
    const char *name;                         /* of the model */
    const void *options;                      /* filled struct of the executor's own table; never NULL when it has one */
    const weft_model_view *model;             /* simple executors; NULL for a pipeline without files of its own */
    const weft_model_view *const *submodels;  /* in the order of `submodels` of the table; NULL entry = slot not filled */
    weft_log_fn log;
    void *log_cookie;
    /* Read a small text file that an option names (labels, dictionary), bounded; the bytes live as long as the state. */
    weft_status (*read_file)(const struct weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes, weft_error *err);
    /* Zeroed memory with the life of the state; NULL = out of memory. */
    void *(*alloc)(const struct weft_open *o, size_t n_bytes);
    void *internal;
} weft_open;

/* ---- pipelines: the call group --------------------------------------------------------------------------------------- */
typedef struct weft_pipe weft_pipe;   /* one request inside a pipeline's `run` */
typedef struct weft_group weft_group; /* its calls to other models */

typedef struct weft_sub_call {
    size_t submodel;           /* index in the executor's `submodels` */
    const weft_tensor *inputs; /* in model order, full shapes with the batch axis (n_rows first); borrowed until the call is done */
    size_t n_inputs;
    int64_t n_rows;            /* 1 when the sub-model is not batched */
    bool repeats;              /* the same model and bucket will be called again soon: joins its cohort */
    uint64_t tag;              /* the caller's */
} weft_sub_call;

typedef struct weft_sub_result {
    uint64_t tag;
    weft_status status;
    weft_error error;
    const weft_tensor *outputs; /* in model order; live until the group is closed or the slot released */
    size_t n_outputs;
    size_t slot;
} weft_sub_result;

/* At most max_calls may be in flight or unreleased at once. */
WEFT_API weft_status weft_group_open(weft_pipe *p, size_t max_calls, weft_group **out, weft_error *err);
/* Returns at once; the call waits for row credits of the sub-model, not for admission. BUSY when max_calls are out. */
WEFT_API weft_status weft_group_submit(weft_group *g, const weft_sub_call *c, weft_error *err);
/* Waits for the next finished call (any order). The core token is given back while waiting. CANCELLED / DEADLINE when the request is over: return then. NOT_FOUND if nothing is out. */
WEFT_API weft_status weft_group_wait_any(weft_group *g, weft_sub_result *out, weft_error *err);
/* The outputs of one result may be recycled. */
WEFT_API void weft_group_release(weft_group *g, size_t slot);
/* Cancels and joins what is left; NULL is allowed. A `run` that returns with an open group aborts (our own fault). */
WEFT_API void weft_group_close(weft_group **g);

WEFT_API bool weft_pipe_over(const weft_pipe *p);                       /* cancelled or past its deadline */
WEFT_API const weft_model_view *weft_pipe_submodel(const weft_pipe *p, size_t i); /* the version pinned for this request; NULL = slot not filled */
WEFT_API void *weft_pipe_alloc(weft_pipe *p, size_t n_bytes);           /* zeroed, 64-byte aligned, life of the request; NULL = out of memory */
WEFT_API void weft_pipe_progress(weft_pipe *p, int step, int n_steps);
WEFT_API int64_t weft_pipe_remaining_ns(const weft_pipe *p);            /* INT64_MAX = no deadline */

/* ---- the table ------------------------------------------------------------------------------------------------------------ */
typedef struct weft_executor {
    const char *name;                  /* "classify" */
    const char *const *aliases;        /* "ImageClsExecutor", NULL-terminated, or NULL */
    const char *summary;               /* one line */
    const char *details;               /* a paragraph for the manual, or NULL */
    const weft_option *options;        /* END-terminated, or NULL */
    size_t options_size;
    const weft_field_decl *fields;     /* result declaration; NULL = follows the model's outputs (TENSOR) */
    size_t n_fields;
    const char *picture_input;         /* name of the encoded-picture input ("image"), or NULL */
    const char *const *params;         /* names of the parameters that a call may bring, NULL-terminated; NULL = none. Doors refuse others */
    const weft_submodel_decl *submodels; /* slot NULL ends; NULL = none */
    size_t scratch_bytes;              /* zeroed memory per request, shared by plan, preprocess and postprocess */

    /* Checks the options against the model (shapes, dtypes, labels) and builds the immutable state. CONFIG with one sentence when they do not fit. */
    weft_status (*open)(const weft_open *o, void **state, weft_error *err);
    void (*close)(void *state); /* NULL allowed when there is nothing to free */

    /* Simple executors. `plan` runs at admission on the caller's thread; preprocess and postprocess on any host thread holding a core token, one at a time for one request, many
     * requests at once: `state` is shared and read-only. */
    weft_status (*plan)(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err);
    /* Writes row `row` of every input whose plan data is NULL: dst[i] has the row's shape and its memory. NULL = everything is planned in place. */
    weft_status (*preprocess)(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst, size_t n_dst, weft_error *err);
    /* outputs: in model order, with this request's rows on the batch axis when batched. Unasked ones have data NULL. NULL = every asked-for output becomes a TENSOR column. */
    weft_status (*postprocess)(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs, size_t n_outputs, weft_builder *b,
                               weft_error *err);
    /* Buckets to warm: fills plan i (shapes only, data NULL, n_rows 1) or returns false when there is no i-th. NULL = the model's own shapes if they are fixed. */
    bool (*warm)(void *state, size_t i, weft_plan *plan);

    /* Pipelines: on a pipeline thread, holding a core token except while it waits in a group. */
    weft_status (*run)(void *state, weft_pipe *p, const weft_call *call, weft_builder *b, weft_error *err);
} weft_executor;

/* Helper for plan and warm: sets input i to dtype and row shape `dims` (without batch axis) the way the model wants it (adds a leading 1 for an unbatched model of rank n+1). INVALID when rank or
 * fixed dims do not fit the description. */
WEFT_API weft_status weft_plan_row(weft_plan *plan, const weft_model_view *m, size_t i, const int64_t *dims, int n_dims, weft_error *err);
/* The call's only input, or the one by name; INVALID with the names that came. */
WEFT_API weft_status weft_call_input(const weft_call *call, const char *name, const weft_input **out, weft_error *err);
/* The encoded picture of a call: raw bytes, or a STRING tensor with one element. */
WEFT_API weft_status weft_call_picture(const weft_call *call, const char *name, const void **bytes, size_t *n_bytes, weft_error *err);
/* A parameter or NULL; the typed forms return `def` when absent and report INVALID on another kind. */
WEFT_API const weft_param *weft_call_param(const weft_call *call, const char *name);

#ifdef __cplusplus
}
#endif
#endif
