#include "base/arena.h"
#include "base/lock.h"
#include "base/result_block.h"
#include "base/text.h"

#include <stdatomic.h>
#include <string.h>

struct weft_builder {
    weft_arena *arena;
    const weft_field_decl *fields; /* NULL: any column */
    size_t n_fields;
    weft_result_block *block;
    weft_column *columns;
    const size_t **ends;
    size_t n_columns, capacity;
    size_t n_items;
    bool has_per_item;
};

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while building the result");
}

weft_status weft_builder_create(weft_arena *arena, const weft_field_decl *fields, size_t n_fields, void (*release)(void *owner),
                                void *owner, weft_builder **out, weft_error *err)
{
    weft_builder *b = weft_arena_zalloc(arena, sizeof *b);
    weft_result_block *block = weft_arena_zalloc(arena, sizeof *block);

    *out = NULL;
    if (!b || !block)
        return no_memory(err);
    atomic_init(&block->refs, 1);
    block->release = release;
    block->owner = owner;
    b->arena = arena;
    b->fields = fields;
    b->n_fields = n_fields;
    b->block = block;
    *out = b;
    return WEFT_OK;
}

void weft_builder_items(weft_builder *b, size_t n_items)
{
    weft_assert(!b->has_per_item || b->n_items == n_items);
    b->n_items = n_items;
}

/* The declaration of a column, or "*" which stands for any TENSOR. NULL when there is none. */
static const weft_field_decl *find_decl(const weft_builder *b, const char *name)
{
    const weft_field_decl *any = NULL;

    for (size_t i = 0; i < b->n_fields; i++) {
        if (!strcmp(b->fields[i].name, name))
            return &b->fields[i];
        if (!strcmp(b->fields[i].name, "*"))
            any = &b->fields[i];
    }
    return any;
}

static weft_status undeclared(const char *name, weft_error *err)
{
    return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" is not among the declared fields", name);
}

/* The tail of the shape that a kind demands (the table in result.h); a dim of 0 in `want` is free. */
static bool shape_fits_kind(weft_field_kind kind, bool per_item, const int64_t *shape, int rank, int n_points)
{
    int lead = per_item ? 1 : 0;

    switch (kind) {
    case WEFT_FIELD_TEXT:
    case WEFT_FIELD_LABEL:
    case WEFT_FIELD_SCORE:
        return !per_item || rank == 1;
    case WEFT_FIELD_BOX:
        return rank == lead + 1 && shape[lead] == 4;
    case WEFT_FIELD_QUAD:
        return rank == lead + 2 && shape[lead] == 4 && shape[lead + 1] == 2;
    case WEFT_FIELD_POINTS:
        return rank == lead + 2 && (!n_points || shape[lead] == n_points) && shape[lead + 1] == 2;
    case WEFT_FIELD_NUMBER:
        return !per_item || rank >= 1;
    case WEFT_FIELD_MATTE:
        return !per_item && rank == 2;
    case WEFT_FIELD_PICTURE:
        return !per_item && rank == 1 && shape[0] == 1;
    case WEFT_FIELD_TENSOR:
        return !per_item;
    }
    return false;
}

/* NONE when the kind does not demand one. */
static weft_dtype dtype_of_kind(weft_field_kind kind)
{
    switch (kind) {
    case WEFT_FIELD_TEXT:
    case WEFT_FIELD_LABEL:
    case WEFT_FIELD_PICTURE:
        return WEFT_DT_STRING;
    case WEFT_FIELD_SCORE:
    case WEFT_FIELD_BOX:
    case WEFT_FIELD_QUAD:
    case WEFT_FIELD_POINTS:
        return WEFT_DT_F32;
    case WEFT_FIELD_MATTE:
        return WEFT_DT_U8;
    case WEFT_FIELD_NUMBER:
    case WEFT_FIELD_TENSOR:
        break;
    }
    return WEFT_DT_NONE;
}

static weft_status check_column(const weft_builder *b, weft_field_kind kind, bool per_item, int n_points, const weft_tensor *t,
                                weft_error *err)
{
    char shape[160];
    weft_dtype want = dtype_of_kind(kind);

    if (kind < WEFT_FIELD_TEXT || kind > WEFT_FIELD_TENSOR)
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" has the unknown kind %d", t->name, (int)kind);
    if (want != WEFT_DT_NONE && t->dtype != want)
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" must have the element type %s, not %s", t->name,
                         weft_dtype_name(want), weft_dtype_name(t->dtype));
    weft_shape_print(t->shape, t->rank, shape, sizeof shape);
    if (!shape_fits_kind(kind, per_item, t->shape, t->rank, n_points))
        return weft_fail(err, WEFT_E_INVALID, "the shape %s of the result column \"%.64s\" does not fit its kind", shape,
                         t->name);
    if (per_item && (t->rank < 1 || (uint64_t)t->shape[0] != b->n_items))
        return weft_fail(err, WEFT_E_INVALID,
                         "the result column \"%.64s\" has the shape %s, but its first dimension must be the number of items, %zu",
                         t->name, shape, b->n_items);
    for (size_t i = 0; i < b->n_columns; i++)
        if (!strcmp(b->columns[i].tensor.name, t->name))
            return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" was added twice", t->name);
    if (b->n_columns == WEFT_BUILDER_MAX_COLUMNS)
        return weft_fail(err, WEFT_E_INVALID, "a result has at most %d columns", WEFT_BUILDER_MAX_COLUMNS);
    return WEFT_OK;
}

static bool make_room(weft_builder *b)
{
    size_t capacity = b->capacity ? b->capacity * 2 : 8;
    weft_column *columns;
    const size_t **ends;

    if (b->n_columns < b->capacity)
        return true;
    columns = weft_arena_array(b->arena, capacity, sizeof *columns);
    ends = weft_arena_array(b->arena, capacity, sizeof *ends);
    if (!columns || !ends)
        return false;
    if (b->n_columns) {
        memcpy(columns, b->columns, b->n_columns * sizeof *columns);
        memcpy(ends, b->ends, b->n_columns * sizeof *ends);
    }
    b->columns = columns;
    b->ends = ends;
    b->capacity = capacity;
    return true;
}

/* t->name is copied; the data is taken as it is. */
static weft_status add(weft_builder *b, weft_field_kind kind, bool per_item, const weft_tensor *t, const size_t *ends,
                       weft_error *err)
{
    char *name = weft_arena_strdup(b->arena, t->name);
    weft_column *c;

    if (!name || !make_room(b))
        return no_memory(err);
    c = &b->columns[b->n_columns];
    c->kind = kind;
    c->per_item = per_item;
    c->tensor = *t;
    c->tensor.name = name;
    b->ends[b->n_columns++] = ends;
    b->has_per_item = b->has_per_item || per_item;
    return WEFT_OK;
}

weft_status weft_builder_column(weft_builder *b, const char *name, const int64_t *shape, int rank, void **data, weft_error *err)
{
    const weft_field_decl *d = find_decl(b, name);
    weft_tensor t = {.name = name, .rank = rank};
    weft_status s;

    *data = NULL;
    if (!d)
        return undeclared(name, err);
    if (d->dtype == WEFT_DT_NONE || d->dtype == WEFT_DT_STRING)
        return weft_fail(err, WEFT_E_INVALID, "the declaration of the result column \"%.64s\" gives no fixed element size", name);
    if (rank < 0 || rank > WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" has %d dimensions; 0 to %d are possible", name, rank,
                         WEFT_MAX_RANK);
    if (rank)
        memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    t.dtype = d->dtype;
    if (!weft_tensor_dense_bytes(t.dtype, t.shape, rank, &t.n_bytes))
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" has an impossible shape", name);
    if ((s = check_column(b, d->kind, d->per_item, d->n_points, &t, err)))
        return s;
    t.data = weft_arena_zalloc(b->arena, t.n_bytes);
    if (!t.data)
        return no_memory(err);
    if ((s = add(b, d->kind, d->per_item, &t, NULL, err)))
        return s;
    *data = t.data;
    return WEFT_OK;
}

/* Where each string of a checked STRING tensor ends. NULL = out of memory. */
static const size_t *index_strings(weft_builder *b, const weft_tensor *t)
{
    int64_t n = 0;
    const uint8_t *p = t->data;
    size_t *ends, at = 0;

    weft_shape_elements(t->shape, t->rank, &n);
    ends = weft_arena_array(b->arena, (size_t)n, sizeof *ends);
    for (int64_t i = 0; ends && i < n; i++) {
        at += 4 + ((size_t)p[at] | (size_t)p[at + 1] << 8 | (size_t)p[at + 2] << 16 | (size_t)p[at + 3] << 24);
        ends[i] = at;
    }
    return ends;
}

static bool strings_bytes(const char *const *texts, const size_t *n_bytes, size_t n, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        size_t one = n_bytes ? n_bytes[i] : strlen(texts[i]);

        if (one > UINT32_MAX || __builtin_add_overflow(*total, one + 4, total))
            return false;
    }
    return true;
}

weft_status weft_builder_strings(weft_builder *b, const char *name, const char *const *texts, const size_t *n_bytes, size_t n,
                                 weft_error *err)
{
    const weft_field_decl *d = find_decl(b, name);
    weft_tensor t = {.name = name, .dtype = WEFT_DT_STRING, .rank = 1, .shape = {(int64_t)n}};
    const size_t *ends;
    weft_status s;
    uint8_t *p;

    if (!d)
        return undeclared(name, err);
    if (d->dtype != WEFT_DT_STRING && d->dtype != WEFT_DT_NONE)
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" is declared as %s, not as strings", name,
                         weft_dtype_name(d->dtype));
    if ((s = check_column(b, d->kind, d->per_item, d->n_points, &t, err)))
        return s;
    if (!strings_bytes(texts, n_bytes, n, &t.n_bytes))
        return weft_fail(err, WEFT_E_TOO_LARGE, "a string of the result column \"%.64s\" is longer than 4 GiB", name);
    t.data = p = weft_arena_alloc(b->arena, t.n_bytes);
    if (!p)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        size_t one = n_bytes ? n_bytes[i] : strlen(texts[i]);

        for (int k = 0; k < 4; k++)
            *p++ = (uint8_t)(one >> (8 * k));
        if (one)
            memcpy(p, texts[i], one);
        p += one;
    }
    ends = index_strings(b, &t);
    return ends ? add(b, d->kind, d->per_item, &t, ends, err) : no_memory(err);
}

weft_status weft_builder_tensor(weft_builder *b, weft_field_kind kind, bool per_item, const weft_tensor *t, bool copy,
                                weft_error *err)
{
    weft_tensor own = *t;
    const weft_field_decl *d = NULL;
    const size_t *ends = NULL;
    weft_status s;

    if (!own.name)
        own.name = "";
    if (b->fields && !(d = find_decl(b, own.name)))
        return undeclared(own.name, err);
    if (d && (d->kind != kind || d->per_item != per_item || (d->dtype != WEFT_DT_NONE && d->dtype != own.dtype)))
        return weft_fail(err, WEFT_E_INVALID, "the result column \"%.64s\" is not of the declared kind and element type",
                         own.name);
    if ((s = weft_tensor_check(&own, err)) || (s = check_column(b, kind, per_item, d ? d->n_points : 0, &own, err)))
        return s;
    if (copy) {
        own.data = weft_arena_alloc(b->arena, own.n_bytes);
        if (!own.data)
            return no_memory(err);
        if (own.n_bytes)
            memcpy(own.data, t->data, own.n_bytes);
    }
    if (own.dtype == WEFT_DT_STRING && !(ends = index_strings(b, &own)))
        return no_memory(err);
    return add(b, kind, per_item, &own, ends, err);
}

void *weft_builder_alloc(weft_builder *b, size_t n_bytes)
{
    return weft_arena_alloc(b->arena, n_bytes < 64 ? 64 : n_bytes);
}

static void put_string(char *to, size_t n_to, const char *from)
{
    size_t n = from ? strlen(from) : 0, cut = weft_utf8_cut(from ? from : "", n, n_to - 1);

    if (cut)
        memcpy(to, from, cut);
    to[cut] = 0;
}

weft_result *weft_builder_finish(weft_builder *b, const char *id, const char *model, const char *version,
                                 const weft_timing *timing, const weft_error *failure)
{
    weft_result_block *block = b->block;
    weft_result *r = &block->result;

    put_string(block->id, sizeof block->id, id);
    put_string(block->model, sizeof block->model, model);
    put_string(block->version, sizeof block->version, version);
    r->id = block->id;
    r->model = block->model;
    r->version = block->version;
    if (timing)
        r->timing = *timing;
    if (failure) {
        r->error = *failure;
        if (r->error.status == WEFT_OK) /* a failure must not look like success */
            weft_fail(&r->error, WEFT_E_INTERNAL, "a failure without a status: %.900s", failure->text);
        return r;
    }
    r->n_items = b->n_items;
    r->n_columns = b->n_columns;
    r->columns = b->columns;
    block->ends = b->ends;
    return r;
}
