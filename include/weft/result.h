/* Results: what an executor answers, as columns with kinds.
 *
 * A result is a small table. Each column is a tensor with a declared kind; a column marked `per_item` has the items on its first axis
 * (n_items rows). From the declaration everything else is derived: JSON for people, the table on a terminal, the
 * drawing, the OpenAPI schema and the tensors of the Open Inference Protocol, so no other layer knows an executor by name.
 *
 *   kind     dtype    shape when per_item (n = items)     meaning
 *   TEXT     STRING   [n]                                 UTF-8
 *   LABEL    STRING   [n]                                 class name, UTF-8
 *   SCORE    F32      [n]                                 0..1
 *   BOX      F32      [n,4]                               x1,y1,x2,y2 in pixels of the upright input picture
 *   QUAD     F32      [n,4,2]                             tl,tr,br,bl (x,y) in pixels
 *   POINTS   F32      [n,k,2]                             (x,y) in pixels
 *   NUMBER   any      [n] or [n,...]                      plain numbers (index, size, embedding)
 *   MATTE    U8       [h,w]                               0..255; never per_item
 *   PICTURE  STRING   [1]                                 an encoded PNG or JPEG; never per_item
 *   TENSOR   any      any                                 raw output of a model; never per_item
 *
 * Ownership: a result is one refcounted block and immutable; every pointer in it lives until the last weft_result_unref.
 * Threads: ref/unref from any thread. */
#ifndef WEFT_RESULT_H
#define WEFT_RESULT_H

#include "weft/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_field_kind {
    WEFT_FIELD_TEXT = 1,
    WEFT_FIELD_LABEL = 2,
    WEFT_FIELD_SCORE = 3,
    WEFT_FIELD_BOX = 4,
    WEFT_FIELD_QUAD = 5,
    WEFT_FIELD_POINTS = 6,
    WEFT_FIELD_NUMBER = 7,
    WEFT_FIELD_MATTE = 8,
    WEFT_FIELD_PICTURE = 9,
    WEFT_FIELD_TENSOR = 10,
} weft_field_kind;

/* Declaration of one column. Static data of an executor. */
typedef struct weft_field_decl {
    const char *name; /* "text", "score", "box" */
    weft_field_kind kind;
    weft_dtype dtype; /* WEFT_DT_NONE with TENSOR and "*": follows the model */
    bool per_item;
    int n_points;     /* POINTS: k; else 0 */
    const char *help; /* one line with unit */
} weft_field_decl;

typedef struct weft_column {
    weft_field_kind kind;
    bool per_item;
    weft_tensor tensor; /* tensor.name is the column's name */
} weft_column;

/* Stage times of one request in nanoseconds; a stage that did not happen is 0. For a pipeline, run_ns is the sum over its sub-runs. */
typedef struct weft_timing {
    int64_t arrived_unix_ns; /* wall clock at admission */
    int64_t total_ns;        /* admission to completion */
    int64_t queue_ns;        /* waiting in any queue */
    int64_t preprocess_ns;
    int64_t run_ns;
    int64_t postprocess_ns;
    int32_t batch_rows;      /* rows of the batch it ran in; 0 = none */
    int32_t n_runs;          /* runs that served it, 1 for a simple model */
} weft_timing;

typedef struct weft_result {
    weft_error error; /* error.status is WEFT_OK for success; with a failure the rest is empty */
    const char *id;   /* of the request, "" if none */
    const char *model;
    const char *version;
    size_t n_items;
    size_t n_columns;
    const weft_column *columns;
    weft_timing timing;
} weft_result;

WEFT_API weft_result *weft_result_ref(weft_result *r);
WEFT_API void weft_result_unref(weft_result *r); /* NULL is allowed */
/* NULL when there is no such column. */
WEFT_API const weft_column *weft_result_column(const weft_result *r, const char *name);
/* Element i of a column, for readers in C; out of range or of another kind gives NULL / 0. The text is not NUL-terminated. */
WEFT_API const char *weft_result_text(const weft_result *r, const char *name, size_t i, size_t *n_bytes);
WEFT_API float weft_result_f32(const weft_result *r, const char *name, size_t i, size_t k);

#ifdef __cplusplus
}
#endif
#endif
