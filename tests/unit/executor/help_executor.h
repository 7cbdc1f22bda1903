/* Runs one simple executor without an engine: options from text, a made-up model, made-up outputs. */
#ifndef WEFT_TESTS_HELP_EXECUTOR_H
#define WEFT_TESTS_HELP_EXECUTOR_H

#include "harness/cmocka_all.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "weft/executor.h"

typedef struct executor_bench {
    const weft_executor *x;
    weft_arena *arena;
    void *options; /* the executor's struct with its defaults */
    weft_model_view model;
    weft_open open;
    void *state;
    void *scratch;
    const char *file_path, *file_text; /* the one file there is; NULL = none */
    weft_buffer picture;               /* encoded */
    weft_input input;
    weft_call call;
    weft_plan plan;
    void *row; /* what preprocess wrote */
    weft_error err;
} executor_bench;

/* "name FP32 1,3,-1,640" -> description; the bench keeps no copy of the array. */
weft_tensor_desc desc_of(const char *name, weft_dtype dtype, int rank, ...);

/* max_batch 1 and not batched unless the test says otherwise in b->model. */
void bench_init(executor_bench *b, const weft_executor *x, const weft_tensor_desc *in, const weft_tensor_desc *out, size_t n_out);
void bench_fini(executor_bench *b);
/* Sets "postprocess.top_k" from text, as a file would; a LIST takes items separated by commas. */
void bench_set(executor_bench *b, const char *path, const char *value);
weft_status bench_open(executor_bench *b);
/* The call carries a PNG of this size: red grows to the right, green downwards. */
void bench_picture(executor_bench *b, int32_t width, int32_t height);
/* plan and preprocess; then postprocess of these outputs. The result is NULL on failure; else unref it. */
weft_status bench_prepare(executor_bench *b);
weft_status bench_finish(executor_bench *b, const weft_tensor *outputs, size_t n_outputs, weft_result **r);
weft_tensor tensor_of(const weft_tensor_desc *d, void *data); /* of a description without dynamic dims */

void assert_text(const weft_result *r, const char *column, size_t i, const char *wanted);
void assert_says(const executor_bench *b, const char *part); /* the error's sentence holds this */

#endif
