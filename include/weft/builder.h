/* Building a weft_result: used by executors, by the engine for failures and by the wire decoder. Internal until 1.0.
 *
 * A builder takes all its memory from the arena it is given and so never frees piecemeal. One thread at a time. Every function that returns a pointer
 * or a status reports NO_MEMORY when the arena cannot grow. */
#ifndef WEFT_BUILDER_H
#define WEFT_BUILDER_H

#include "weft/result.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weft_arena;
typedef struct weft_builder weft_builder;

#define WEFT_BUILDER_MAX_COLUMNS 64

/* `fields` (n of them) is the executor's declaration; NULL accepts any column. `release(owner)` is called on the last weft_result_unref, when everything in the arena may be
 * freed or recycled. On failure *out is NULL and release is not called. */
WEFT_API weft_status weft_builder_create(struct weft_arena *arena, const weft_field_decl *fields, size_t n_fields, void (*release)(void *owner),
                                         void *owner, weft_builder **out, weft_error *err);
/* Number of items; must come before the first per_item column. */
WEFT_API void weft_builder_items(weft_builder *b, size_t n_items);
/* Adds a column of a declared name (kind and dtype come from the declaration) with the given full shape and returns its zeroed storage in *data.
 * INVALID when the name is not declared or a per_item shape does not start with n_items. Not for STRING. */
WEFT_API weft_status weft_builder_column(weft_builder *b, const char *name, const int64_t *shape, int rank, void **data, weft_error *err);
/* Adds a column of strings, shape [n]; the bytes are copied. n_bytes[i] may be NULL overall when all are NUL-terminated. */
WEFT_API weft_status weft_builder_strings(weft_builder *b, const char *name, const char *const *texts, const size_t *n_bytes, size_t n,
                                          weft_error *err);
/* Adds any tensor as a column (name, dtype, shape from t; the bytes and the name are copied). With copy = false data is adopted: it must live in the arena. */
WEFT_API weft_status weft_builder_tensor(weft_builder *b, weft_field_kind kind, bool per_item, const weft_tensor *t, bool copy,
                                         weft_error *err);
/* Arena memory with the life of the result; NULL when out of memory. Aligned to 64 bytes. */
WEFT_API void *weft_builder_alloc(weft_builder *b, size_t n_bytes);
/* Seals: the result with one reference, owned by the caller. Strings id, model, version are copied. `failure` NULL = success; else the columns are
 * dropped. Never fails: the result's own memory was taken in create (an over-long id is cut). */
WEFT_API weft_result *weft_builder_finish(weft_builder *b, const char *id, const char *model, const char *version, const weft_timing *timing,
                                          const weft_error *failure);

#ifdef __cplusplus
}
#endif
#endif
