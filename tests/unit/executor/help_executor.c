#include "help_executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_text.h"
#include "image/encode.h"

weft_tensor_desc desc_of(const char *name, weft_dtype dtype, int rank, ...)
{
    weft_tensor_desc d = {.name = name, .dtype = dtype, .rank = rank, .size_kind = WEFT_SIZE_FIXED};
    va_list ap;
    va_start(ap, rank);
    for (int i = 0; i < rank; i++)
        d.shape[i] = va_arg(ap, int);
    va_end(ap);
    return d;
}

static void *open_alloc(const weft_open *o, size_t n_bytes)
{
    executor_bench *b = o->internal;
    return weft_arena_zalloc(b->arena, n_bytes);
}

static weft_status open_read(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                             weft_error *err)
{
    executor_bench *b = o->internal;
    if (!b->file_text || strcmp(path, b->file_path) != 0)
        return weft_fail(err, WEFT_E_NOT_FOUND, "no file %s", path);
    *n_bytes = strlen(b->file_text);
    *text = b->file_text;
    return *n_bytes <= max_bytes ? WEFT_OK : weft_fail(err, WEFT_E_TOO_LARGE, "%s is too large", path);
}

void bench_init(executor_bench *b, const weft_executor *x, const weft_tensor_desc *in, const weft_tensor_desc *out, size_t n_out)
{
    memset(b, 0, sizeof *b);
    b->x = x;
    b->arena = weft_arena_create(NULL, 0);
    assert_non_null(b->arena);
    b->options = weft_arena_zalloc(b->arena, x->options_size);
    b->scratch = weft_arena_zalloc(b->arena, x->scratch_bytes);
    assert_int_equal(weft_options_defaults(x->options, b->options, b->arena, NULL), WEFT_OK);
    b->model = (weft_model_view){.name = "test", .inputs = in, .n_inputs = 1, .outputs = out, .n_outputs = n_out, .max_batch = 1};
    b->open = (weft_open){
        .name = "test", .options = b->options, .model = &b->model, .read_file = open_read, .alloc = open_alloc, .internal = b};
    weft_buffer_init(&b->picture, 0);
}

void bench_fini(executor_bench *b)
{
    if (b->x->close)
        b->x->close(b->state);
    free(b->row);
    weft_buffer_fini(&b->picture);
    weft_arena_destroy(&b->arena);
}

static void set_list(executor_bench *b, const weft_option *o, const char *value, weft_list *list)
{
    size_t item_bytes = weft_option_storage_bytes(o, o->item);
    list->items = weft_arena_array(b->arena, 16, item_bytes);
    list->n = 0;
    for (char *copy = weft_arena_strdup(b->arena, value), *next; copy; copy = next) {
        next = strchr(copy, ',');
        if (next)
            *next++ = 0;
        assert_true(list->n < 16);
        void *item = (char *)list->items + list->n++ * item_bytes;
        assert_int_equal(weft_option_parse(o, o->item, copy, strlen(copy), b->arena, item, &b->err), WEFT_OK);
    }
}

void bench_set(executor_bench *b, const char *path, const char *value)
{
    const weft_option *table = b->x->options;
    char *base = b->options;
    for (;;) {
        size_t n = strcspn(path, ".");
        const weft_option *o = weft_option_find(table, path, n);
        assert_non_null(o);
        base += o->offset;
        if (path[n] == '.') {
            table = o->fields;
            path += n + 1;
        } else if (o->kind == WEFT_OPT_LIST) {
            set_list(b, o, value, (weft_list *)base);
            return;
        } else {
            assert_int_equal(weft_option_parse(o, o->kind, value, strlen(value), b->arena, base, &b->err), WEFT_OK);
            return;
        }
    }
}

weft_status bench_open(executor_bench *b)
{
    weft_status s = b->x->open(&b->open, &b->state, &b->err);
    assert_true((s == WEFT_OK) == (b->state != NULL));
    if (s != WEFT_OK)
        assert_int_equal(b->err.status, s);
    return s;
}

void bench_picture(executor_bench *b, int32_t width, int32_t height)
{
    weft_picture p = {0};
    assert_int_equal(weft_picture_create(&p, width, height, 3, NULL), WEFT_OK);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint8_t *px = p.data + (size_t)y * p.stride_bytes + 3 * (size_t)x;
            px[0] = (uint8_t)(x * 255 / width);
            px[1] = (uint8_t)(y * 255 / height);
            px[2] = 64;
        }
    weft_buffer_clear(&b->picture);
    assert_int_equal(weft_picture_encode_png(&p, 1, &b->picture, NULL), WEFT_OK);
    weft_picture_destroy(&p);
    b->input = weft_input_bytes("image", b->picture.data, b->picture.n_bytes);
    b->call = (weft_call){.model = "test", .inputs = &b->input, .n_inputs = 1};
}

weft_status bench_prepare(executor_bench *b)
{
    memset(b->scratch, 0, b->x->scratch_bytes);
    b->plan = (weft_plan){0};
    weft_status s = b->x->plan(b->state, &b->call, b->scratch, &b->plan, &b->err);
    if (s != WEFT_OK)
        return s;
    assert_int_equal(b->plan.n_rows, 1);
    assert_int_equal(b->plan.n_inputs, 1);
    weft_tensor dst = b->plan.rows[0];
    assert_true(weft_tensor_dense_bytes(dst.dtype, dst.shape, dst.rank, &dst.n_bytes));
    free(b->row);
    dst.data = b->row = malloc(dst.n_bytes);
    return b->x->preprocess(b->state, &b->call, b->scratch, 0, &dst, 1, &b->err);
}

static void destroy_arena(void *owner)
{
    weft_arena *a = owner;
    weft_arena_destroy(&a);
}

weft_status bench_finish(executor_bench *b, const weft_tensor *outputs, size_t n_outputs, weft_result **r)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_builder *builder;
    *r = NULL;
    assert_int_equal(weft_builder_create(arena, b->x->fields, b->x->n_fields, destroy_arena, arena, &builder, NULL), WEFT_OK);
    weft_status s = b->x->postprocess(b->state, &b->call, b->scratch, outputs, n_outputs, builder, &b->err);
    weft_timing timing = {0};
    if (s == WEFT_OK)
        *r = weft_builder_finish(builder, "", "test", "1", &timing, NULL);
    else
        weft_arena_destroy(&arena);
    return s;
}

weft_tensor tensor_of(const weft_tensor_desc *d, void *data)
{
    weft_tensor t = {.name = d->name, .dtype = d->dtype, .rank = d->rank, .data = data};
    memcpy(t.shape, d->shape, sizeof t.shape);
    assert_true(weft_tensor_dense_bytes(t.dtype, t.shape, t.rank, &t.n_bytes));
    return t;
}

void assert_text(const weft_result *r, const char *column, size_t i, const char *wanted)
{
    size_t n = 0;
    const char *text = weft_result_text(r, column, i, &n);
    assert_non_null(text);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(text, wanted, n);
}

void assert_says(const executor_bench *b, const char *part)
{
    if (!strstr(b->err.text, part))
        fail_msg("the sentence \"%s\" does not say \"%s\"", b->err.text, part);
}
