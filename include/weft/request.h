/* What a caller asks for.
 *
 * A call is serialisable: named inputs (encoded bytes or tensors), typed parameters, remaining time, priority, id. No pointer and no callback
 * is part of its meaning, so the same call can be answered in this process or by a worker. */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include "weft/result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_param_kind {
    WEFT_PARAM_BOOL = 1,
    WEFT_PARAM_INT = 2,
    WEFT_PARAM_FLOAT = 3,
    WEFT_PARAM_STRING = 4,
} weft_param_kind;

typedef struct weft_param {
    const char *name;
    weft_param_kind kind;
    int64_t i;      /* BOOL (0/1) and INT */
    double f;       /* FLOAT */
    const char *s;  /* STRING, NUL-terminated UTF-8 */
} weft_param;

/* One input of a call: either raw bytes (an encoded picture as it came) or a tensor. */
typedef struct weft_input {
    const char *name;     /* NULL = the model's only (or first) input */
    const void *bytes;    /* with is_bytes: the encoded content */
    size_t n_bytes;
    bool is_bytes;
    weft_tensor tensor;   /* without is_bytes */
} weft_input;

#define WEFT_PRIORITY_DEFAULT 0
#define WEFT_PRIORITY_MIN (-10)
#define WEFT_PRIORITY_MAX 10

typedef struct weft_call {
    const char *model;
    const char *version;        /* NULL or "" = the one served */
    const char *id;             /* NULL or "" = none; echoed and logged, never a key; at most 128 bytes */
    const char *trace;          /* W3C traceparent or NULL */
    const weft_input *inputs;
    size_t n_inputs;
    const weft_param *params;
    size_t n_params;
    const char *const *outputs; /* asked-for outputs of a tensor model; NULL = all */
    size_t n_outputs;
    int64_t timeout_ms;         /* from now; 0 = the model's default; always bounded by it if the model has a ceiling */
    int priority;               /* WEFT_PRIORITY_MIN..MAX, larger is sooner */
} weft_call;

/* Convenience: a call with one encoded picture under the declared name. The bytes are borrowed. */
WEFT_API weft_input weft_input_bytes(const char *name, const void *bytes, size_t n_bytes);
WEFT_API weft_input weft_input_tensor(const weft_tensor *t);

#ifdef __cplusplus
}
#endif
#endif
