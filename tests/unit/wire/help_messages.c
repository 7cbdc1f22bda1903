#include "help_messages.h"

#include "harness/check.h"

#include <stdio.h>

static uint64_t upto(uint64_t *seed, uint64_t n)
{
    return test_random(seed) % n;
}

static const char *random_string(weft_arena *a, uint64_t *seed)
{
    static const char *const pieces[] = {"a", "name", "_7", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", " ", "\"", "\x01"};
    char text[64] = "";

    for (uint64_t n = upto(seed, 8); n; n--)
        strcat(text, pieces[upto(seed, 8)]);
    return weft_arena_strdup(a, text);
}

static const char *maybe_string(weft_arena *a, uint64_t *seed)
{
    return upto(seed, 3) ? random_string(a, seed) : NULL;
}

static void random_strings(weft_arena *a, uint64_t *seed, weft_tensor *t, int64_t n)
{
    uint8_t *p = weft_arena_alloc(a, (size_t)n * 40 + 1);

    t->data = p;
    for (int64_t i = 0; i < n; i++) {
        uint32_t length = (uint32_t)upto(seed, 36);

        memcpy(p, &length, 4); /* tests run on little-endian machines */
        memset(p + 4, (int)upto(seed, 256), length);
        p += 4 + length;
    }
    t->n_bytes = (size_t)(p - (uint8_t *)t->data);
}

static void fill(weft_arena *a, uint64_t *seed, weft_tensor *t)
{
    int64_t n;
    uint8_t *p;

    weft_shape_elements(t->shape, t->rank, &n);
    if (t->dtype == WEFT_DT_STRING) {
        random_strings(a, seed, t, n);
        return;
    }
    weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &t->n_bytes);
    t->data = p = weft_arena_alloc(a, t->n_bytes);
    for (size_t i = 0; i < t->n_bytes; i++)
        p[i] = (uint8_t)test_random(seed);
}

static weft_tensor random_tensor(weft_arena *a, uint64_t *seed)
{
    weft_tensor t = {.name = maybe_string(a, seed), .dtype = (weft_dtype)(1 + upto(seed, 14)), .rank = (int)upto(seed, 5)};

    for (int i = 0; i < t.rank; i++)
        t.shape[i] = (int64_t)upto(seed, 6);
    fill(a, seed, &t);
    return t;
}

weft_call *random_call(weft_arena *a, uint64_t *seed)
{
    weft_call *c = weft_arena_zalloc(a, sizeof *c);
    weft_input *inputs;
    weft_param *params;
    const char **outputs;

    c->model = random_string(a, seed);
    c->version = maybe_string(a, seed);
    c->id = maybe_string(a, seed);
    c->trace = maybe_string(a, seed);
    c->timeout_ms = (int64_t)test_random(seed);
    c->priority = (int)upto(seed, 21) - 10;
    c->n_inputs = upto(seed, 5);
    c->n_params = upto(seed, 5);
    c->inputs = inputs = weft_arena_array(a, c->n_inputs, sizeof *inputs);
    c->params = params = weft_arena_array(a, c->n_params, sizeof *params);
    for (size_t i = 0; i < c->n_inputs; i++) {
        inputs[i].name = maybe_string(a, seed);
        inputs[i].is_bytes = upto(seed, 2);
        if (inputs[i].is_bytes) {
            inputs[i].n_bytes = upto(seed, 500);
            inputs[i].bytes = memset(weft_arena_alloc(a, 500), (int)upto(seed, 256), 500);
        } else {
            inputs[i].tensor = random_tensor(a, seed);
        }
    }
    for (size_t i = 0; i < c->n_params; i++) {
        params[i].name = random_string(a, seed);
        params[i].kind = (weft_param_kind)(1 + upto(seed, 4));
        if (params[i].kind == WEFT_PARAM_BOOL)
            params[i].i = (int64_t)upto(seed, 2);
        else if (params[i].kind == WEFT_PARAM_INT)
            params[i].i = (int64_t)test_random(seed);
        else if (params[i].kind == WEFT_PARAM_FLOAT)
            params[i].f = (double)(int64_t)test_random(seed) / 3;
        else
            params[i].s = random_string(a, seed);
    }
    if (upto(seed, 2)) {
        c->n_outputs = upto(seed, 4);
        c->outputs = outputs = weft_arena_array(a, c->n_outputs, sizeof *outputs);
        for (size_t i = 0; i < c->n_outputs; i++)
            outputs[i] = random_string(a, seed);
    }
    return c;
}

static void free_arena(void *owner)
{
    weft_arena *a = owner;

    weft_arena_destroy(&a);
}

/* A column of each kind as the table in result.h demands it. */
static void random_column(weft_arena *a, weft_builder *b, uint64_t *seed, int64_t n_items, int number)
{
    weft_field_kind kind = (weft_field_kind)(1 + upto(seed, 10));
    bool per_item = kind <= WEFT_FIELD_NUMBER && upto(seed, 2);
    char name[16];
    weft_tensor t = {.name = name, .dtype = WEFT_DT_F32, .rank = 1, .shape = {per_item ? n_items : (int64_t)upto(seed, 4)}};

    snprintf(name, sizeof name, "column%d", number);
    if (kind == WEFT_FIELD_TEXT || kind == WEFT_FIELD_LABEL) {
        t.dtype = WEFT_DT_STRING;
    } else if (kind == WEFT_FIELD_BOX || kind == WEFT_FIELD_QUAD || kind == WEFT_FIELD_POINTS) {
        t.rank = per_item;
        t.shape[t.rank++] = kind == WEFT_FIELD_POINTS ? 6 : 4;
        if (kind != WEFT_FIELD_BOX)
            t.shape[t.rank++] = 2;
    } else if (kind == WEFT_FIELD_MATTE) {
        t.dtype = WEFT_DT_U8;
        t.shape[t.rank++] = (int64_t)upto(seed, 9);
    } else if (kind == WEFT_FIELD_PICTURE) {
        t.dtype = WEFT_DT_STRING;
        t.shape[0] = 1;
    } else if (kind == WEFT_FIELD_TENSOR || kind == WEFT_FIELD_NUMBER) {
        t.dtype = (weft_dtype)(1 + upto(seed, 14));
        t.shape[t.rank++] = (int64_t)upto(seed, 4);
    }
    fill(a, seed, &t);
    assert_int_equal(weft_builder_tensor(b, kind, per_item, &t, true, NULL), WEFT_OK);
}

weft_result *random_result(uint64_t *seed)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_timing timing = {(int64_t)test_random(seed), (int64_t)test_random(seed), 3, 4, 5, 6,
                          (int32_t)upto(seed, 100),   (int32_t)upto(seed, 9)};
    int64_t n_items = (int64_t)upto(seed, 6);
    weft_error err = {0};
    weft_builder *b;

    assert_int_equal(weft_builder_create(a, NULL, 0, free_arena, a, &b, NULL), WEFT_OK);
    weft_builder_items(b, (size_t)n_items);
    if (upto(seed, 5) == 0) {
        weft_fail(&err, (weft_status)(-1 - (int)upto(seed, 20)), "it failed: %s", random_string(a, seed));
        err.retry_after_ms = (int64_t)upto(seed, 1000);
    } else {
        for (int n = (int)upto(seed, 12); n; n--)
            random_column(a, b, seed, n_items, n);
    }
    return weft_builder_finish(b, random_string(a, seed), random_string(a, seed), random_string(a, seed), &timing,
                               err.status ? &err : NULL);
}

static void assert_same_string(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_tensor(const weft_tensor *a, const weft_tensor *b)
{
    assert_same_string(a->name, b->name);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rank, b->rank);
    for (int i = 0; i < a->rank; i++)
        assert_int_equal(a->shape[i], b->shape[i]);
    assert_int_equal(a->n_bytes, b->n_bytes);
    if (a->n_bytes)
        assert_memory_equal(a->data, b->data, a->n_bytes);
    if (weft_dtype_bytes(b->dtype))
        assert_int_equal((uintptr_t)b->data % weft_dtype_bytes(b->dtype), 0);
}

void assert_same_call(const weft_call *a, const weft_call *b)
{
    assert_same_string(a->model, b->model);
    assert_same_string(a->version, b->version);
    assert_same_string(a->id, b->id);
    assert_same_string(a->trace, b->trace);
    assert_int_equal(a->timeout_ms, b->timeout_ms);
    assert_int_equal(a->priority, b->priority);
    assert_int_equal(a->n_inputs, b->n_inputs);
    for (size_t i = 0; i < a->n_inputs; i++) {
        const weft_input *x = &a->inputs[i], *y = &b->inputs[i];

        assert_same_string(x->name, y->name);
        assert_int_equal(x->is_bytes, y->is_bytes);
        assert_int_equal(x->n_bytes, y->n_bytes);
        if (x->is_bytes && x->n_bytes)
            assert_memory_equal(x->bytes, y->bytes, x->n_bytes);
        if (!x->is_bytes)
            assert_same_tensor(&x->tensor, &y->tensor);
    }
    assert_int_equal(a->n_params, b->n_params);
    for (size_t i = 0; i < a->n_params; i++) {
        assert_same_string(a->params[i].name, b->params[i].name);
        assert_int_equal(a->params[i].kind, b->params[i].kind);
        assert_int_equal(a->params[i].i, b->params[i].i);
        assert_true(a->params[i].f == b->params[i].f);
        assert_same_string(a->params[i].s, b->params[i].s);
    }
    assert_int_equal(a->outputs == NULL, b->outputs == NULL);
    assert_int_equal(a->n_outputs, b->n_outputs);
    for (size_t i = 0; i < a->n_outputs; i++)
        assert_same_string(a->outputs[i], b->outputs[i]);
}

void assert_same_result(const weft_result *a, const weft_result *b)
{
    assert_int_equal(a->error.status, b->error.status);
    assert_string_equal(a->error.text, b->error.text);
    assert_int_equal(a->error.retry_after_ms, b->error.retry_after_ms);
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->version, b->version);
    assert_memory_equal(&a->timing, &b->timing, sizeof a->timing);
    assert_int_equal(a->n_items, b->n_items);
    assert_int_equal(a->n_columns, b->n_columns);
    for (size_t i = 0; i < a->n_columns; i++) {
        assert_int_equal(a->columns[i].kind, b->columns[i].kind);
        assert_int_equal(a->columns[i].per_item, b->columns[i].per_item);
        assert_same_tensor(&a->columns[i].tensor, &b->columns[i].tensor);
    }
}
