/* Tensors: element types, shapes, views.
 *
 * A weft_tensor is a view: it never owns its bytes. Elements are in row-major order, host byte order
 * (little endian on every supported machine), without padding. Strings (WEFT_DT_STRING) are stored as the Open Inference
 * Protocol stores BYTES: for each element a 4-byte little-endian length and then that many bytes. */
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, value, bytes per element (0 = variable), Open Inference Protocol name, name in ONNX/numpy style) */
#define WEFT_DTYPE_TABLE(X)             \
    X(BOOL, 1, 1, "BOOL", "bool")       \
    X(U8, 2, 1, "UINT8", "uint8")       \
    X(U16, 3, 2, "UINT16", "uint16")    \
    X(U32, 4, 4, "UINT32", "uint32")    \
    X(U64, 5, 8, "UINT64", "uint64")    \
    X(I8, 6, 1, "INT8", "int8")         \
    X(I16, 7, 2, "INT16", "int16")      \
    X(I32, 8, 4, "INT32", "int32")      \
    X(I64, 9, 8, "INT64", "int64")      \
    X(F16, 10, 2, "FP16", "float16")    \
    X(BF16, 11, 2, "BF16", "bfloat16")  \
    X(F32, 12, 4, "FP32", "float32")    \
    X(F64, 13, 8, "FP64", "float64")    \
    X(STRING, 14, 0, "BYTES", "string")

typedef enum weft_dtype {
    WEFT_DT_NONE = 0,
#define WEFT_DTYPE_ENUM(name, value, bytes, oip, np) WEFT_DT_##name = (value),
    WEFT_DTYPE_TABLE(WEFT_DTYPE_ENUM)
#undef WEFT_DTYPE_ENUM
} weft_dtype;

#define WEFT_MAX_RANK 8

typedef struct weft_tensor {
    const char *name;             /* not owned; NUL-terminated */
    weft_dtype dtype;
    int rank;                     /* 0..WEFT_MAX_RANK; 0 is a scalar with one element */
    int64_t shape[WEFT_MAX_RANK]; /* every dim >= 0 */
    void *data;                   /* not owned; may be NULL when n_bytes is 0; inputs are never written to */
    size_t n_bytes;
} weft_tensor;

/* When the size of an output is known. */
typedef enum weft_size_kind {
    WEFT_SIZE_FIXED = 1,   /* from the description and the batch alone */
    WEFT_SIZE_BOUNDED = 2, /* at most max_bytes; max_bytes 0 = follows from the input shapes alone (same shapes, same size): learned by the first run of a bucket */
    WEFT_SIZE_RUNTIME = 3, /* only after the run; the backend allocates; such a model is never batched */
} weft_size_kind;

/* What a model says about one of its inputs or outputs. Immutable after load; strings live as long as the model. */
typedef struct weft_tensor_desc {
    const char *name;
    weft_dtype dtype;
    int rank;                           /* -1 = not known before the run (some outputs, always WEFT_SIZE_RUNTIME) */
    int64_t shape[WEFT_MAX_RANK];       /* -1 = dynamic */
    const char *dim_names[WEFT_MAX_RANK]; /* the model's own name of a dynamic dim, else NULL */
    weft_size_kind size_kind;           /* outputs only; inputs are WEFT_SIZE_FIXED */
    size_t max_bytes;                   /* per row, for BOUNDED; 0 = unknown */
    bool optional;                      /* an input the model can do without */
} weft_tensor_desc;

WEFT_API size_t weft_dtype_bytes(weft_dtype t);             /* 0 for STRING and for values outside the table */
WEFT_API const char *weft_dtype_name(weft_dtype t);         /* "FP32"; "?" outside the table */
WEFT_API const char *weft_dtype_np_name(weft_dtype t);      /* "float32" */
WEFT_API weft_dtype weft_dtype_from_name(const char *name); /* either spelling; WEFT_DT_NONE if unknown */

/* Product of the dims with overflow check; false on overflow or a negative dim. */
WEFT_API bool weft_shape_elements(const int64_t *shape, int rank, int64_t *n);
/* Bytes of a dense tensor with overflow check; false for STRING, negative dims, overflow. */
WEFT_API bool weft_tensor_dense_bytes(weft_dtype t, const int64_t *shape, int rank, size_t *n_bytes);
/* Writes "[1,3,-1,640]" (always terminated) and returns buf. */
WEFT_API char *weft_shape_print(const int64_t *shape, int rank, char *buf, size_t n_buf);
/* dtype, rank, dims and byte count agree (STRING: the length prefixes walk exactly to the end, count equal to the shape).
 * INVALID with a sentence naming the tensor otherwise. */
WEFT_API weft_status weft_tensor_check(const weft_tensor *t, weft_error *err);

#ifdef __cplusplus
}
#endif
#endif
