/* A request of the Open Inference Protocol V2 between a door and the engine: named tensors and parameters in, weft_calls out;
 * weft_results in, named tensors out. Knows no wire format, so that HTTP and gRPC share it.
 *
 *     weft_v2_call_init(c, arena); c->model = ...; weft_v2_call_add_input / _param / _ask ...
 *     weft_v2_call_plan(c, &model, default_timeout_ms, &calls, &n_calls, err);      give each to weft_infer_async
 *     weft_v2_outputs(c, &model, results, n_calls, &outs, &n_outs, err);            in the order of the answer
 *
 * n_calls is 1, but for an executor that gets BYTES[n]: one call a picture. The results are joined then: fields per item one
 * after the other with "n_items" telling how many belong to each picture; others get an axis of n in front (text is [n]).
 *
 * Memory: everything made here lives in the arena; tensors point into the door's body and into the results, which must outlive
 * the use of the outputs. Threads: one at a time. */
#ifndef WEFT_SERVER_V2_CALL_H
#define WEFT_SERVER_V2_CALL_H

#include "base/arena.h"
#include "server/v2_model.h"
#include "weft/engine.h"

#define WEFT_V2_MAX_INPUTS 64
#define WEFT_V2_MAX_OUTPUTS 64
#define WEFT_V2_MAX_PARAMS 64
#define WEFT_V2_MAX_PICTURES 64
#define WEFT_V2_MAX_ID_BYTES 128
#define WEFT_V2_MAX_TIMEOUT_MS 86400000

/* An output that the client asked for. */
typedef struct weft_v2_ask {
    const char *name;
    int64_t n_classes; /* > 0: the best n as BYTES "value:index[:label]" (extension_classification.md) */
    int binary;        /* HTTP only: 0, 1, or -1 as binary_outputs says */
} weft_v2_ask;

typedef struct weft_v2_call {
    weft_arena *arena;
    const char *model, *version, *id, *trace; /* id "" = none; trace NULL = none */
    size_t n_inputs, n_params, n_asks;
    weft_tensor inputs[WEFT_V2_MAX_INPUTS]; /* name, dtype, shape, data */
    weft_param params[WEFT_V2_MAX_PARAMS];  /* those that the protocol does not reserve */
    weft_v2_ask asks[WEFT_V2_MAX_OUTPUTS];  /* none = all outputs */
    bool binary_outputs;                    /* parameter binary_data_output; HTTP only */
    bool nan_in_json;                       /* HTTP only: write NaN and Infinity as Triton does */
    int64_t timeout_ms;                     /* 0 = not given */
    int priority;                           /* in weft's scale */
} weft_v2_call;

typedef struct weft_v2_output {
    weft_tensor tensor;
    const weft_v2_ask *ask; /* NULL when all outputs are sent */
} weft_v2_output;

void weft_v2_call_init(weft_v2_call *c, weft_arena *arena);
/* The tensor's name and data are borrowed. INVALID: twice the same name; TOO_LARGE: too many. */
weft_status weft_v2_call_add_input(weft_v2_call *c, const weft_tensor *t, weft_error *err);
/* A parameter of the request. `timeout` (microseconds; the whole request's deadline here), `priority` (0 = the model's default, 1
 * = highest) and `binary_data_output` are understood, `sequence_*` is ignored as by every stateless model, others go to the
 * executor.
 */
weft_status weft_v2_call_add_param(weft_v2_call *c, const weft_param *p, weft_error *err);
/* The new entry is c->asks[c->n_asks - 1]. */
weft_status weft_v2_call_add_ask(weft_v2_call *c, const char *name, weft_error *err);

/* default_timeout_ms is used when the request brings none. The calls live in the arena. INVALID when inputs or asked outputs do
 * not fit the model. */
weft_status weft_v2_call_plan(weft_v2_call *c, const weft_v2_model *m, int64_t default_timeout_ms, weft_call **calls,
                              size_t *n_calls, weft_error *err);
/* All results must have succeeded. */
weft_status weft_v2_outputs(weft_v2_call *c, const weft_v2_model *m, weft_result *const *results, size_t n_results,
                            weft_v2_output **out, size_t *n_out, weft_error *err);

/* The best n of each row as BYTES. `labels` (NULL, or a STRING column beside it with one text an element) adds labels.
 * rows_first: the first axis of t counts rows; else all elements belong together. */
weft_status weft_v2_classes(weft_arena *arena, const weft_tensor *t, bool rows_first, int64_t n_classes,
                            const weft_tensor *labels, weft_tensor *out, weft_error *err);

#endif
