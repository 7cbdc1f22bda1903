/* weft inside of a C program: open a configuration, send one picture to one model, print what comes back.
 *
 *     embed weft.yaml MODEL PICTURE
 *
 * The answer is a table of columns with kinds, so this prints the result of any model: texts, labels, boxes, points, numbers,
 * tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/engine.h"

/* ---- printing: one line for each item --------------------------------------------------------------------------------- */
static void print_number(const weft_tensor *t, size_t i)
{
    const char *p = (const char *)t->data + i * weft_dtype_bytes(t->dtype);
    int32_t i32;
    int64_t i64;
    float f32;
    switch (t->dtype) {
    case WEFT_DT_F32:
        memcpy(&f32, p, sizeof(f32));
        printf(" %g", (double)f32);
        break;
    case WEFT_DT_I32:
        memcpy(&i32, p, sizeof(i32));
        printf(" %d", (int)i32);
        break;
    case WEFT_DT_I64:
        memcpy(&i64, p, sizeof(i64));
        printf(" %lld", (long long)i64);
        break;
    default:
        printf(" ?");
        break;
    }
}

static void print_item(const weft_result *r, const weft_column *c, size_t i)
{
    const weft_tensor *t = &c->tensor;
    size_t n_bytes, n_values = 1;
    printf("  %s", t->name);
    if (t->dtype == WEFT_DT_STRING) {
        const char *text = weft_result_text(r, t->name, i, &n_bytes);
        printf(" %.*s", text ? (int)n_bytes : 0, text ? text : "");
        return;
    }
    for (int d = 1; d < t->rank; d++)
        n_values *= (size_t)t->shape[d];
    for (size_t k = 0; k < n_values && k < 16; k++)
        print_number(t, i * n_values + k);
    if (n_values > 16)
        printf(" ... (%zu values)", n_values);
}

static void print_whole(const weft_column *c)
{
    char shape[256];
    const weft_tensor *t = &c->tensor;
    printf("%s: %s %s, %zu bytes\n", t->name, weft_dtype_name(t->dtype),
           weft_shape_print(t->shape, t->rank, shape, sizeof(shape)), t->n_bytes);
}

static void print_result(const weft_result *r)
{
    for (size_t i = 0; i < r->n_items; i++) {
        printf("%zu:", i);
        for (size_t k = 0; k < r->n_columns; k++)
            if (r->columns[k].per_item)
                print_item(r, &r->columns[k], i);
        printf("\n");
    }
    for (size_t k = 0; k < r->n_columns; k++)
        if (!r->columns[k].per_item)
            print_whole(&r->columns[k]);
    printf("%zu item(s) in %.1f ms (queue %.1f, preprocess %.1f, run %.1f, postprocess %.1f)\n", r->n_items,
           (double)r->timing.total_ns / 1e6, (double)r->timing.queue_ns / 1e6, (double)r->timing.preprocess_ns / 1e6,
           (double)r->timing.run_ns / 1e6, (double)r->timing.postprocess_ns / 1e6);
}

/* ---- the picture ------------------------------------------------------------------------------------------------------ */
static void *read_file(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    long size = -1;
    char *data = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (size = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET))
        data = malloc((size_t)size + 1);
    if (data && fread(data, 1, (size_t)size, f) != (size_t)size) {
        free(data);
        data = NULL;
    }
    if (f)
        fclose(f);
    *n_bytes = data ? (size_t)size : 0;
    return data;
}

/* ---- the twenty lines ------------------------------------------------------------------------------------------------- */
int main(int argc, char **argv)
{
    weft_engine *engine = NULL;
    weft_result *result = NULL;
    weft_error err = {0};
    size_t n_bytes;
    if (argc != 4) {
        fprintf(stderr, "usage: embed CONFIG MODEL PICTURE\n");
        return 2;
    }
    void *picture = read_file(argv[3], &n_bytes);
    if (!picture) {
        fprintf(stderr, "%s cannot be read\n", argv[3]);
        return 1;
    }
    weft_input input = weft_input_bytes("image", picture, n_bytes);
    weft_call call = {.model = argv[2], .inputs = &input, .n_inputs = 1, .timeout_ms = 30000};
    if (weft_engine_open(argv[1], &engine, &err) || weft_infer(engine, &call, &result, &err))
        fprintf(stderr, "%s: %s\n", weft_status_name(err.status), err.text);
    else
        print_result(result);
    int failed = err.status != WEFT_OK;
    weft_result_unref(result);
    weft_engine_destroy(&engine);
    free(picture);
    return failed;
}
