/* An engine on the fake backend, and executors for tests. */
#ifndef WEFT_TESTS_HELP_ENGINE_H
#define WEFT_TESTS_HELP_ENGINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/fake/fake_control.h"
#include "weft/engine.h"
#include "weft/executor.h"

extern const weft_executor weft_executor_tensor;
/* Takes raw bytes; each byte is one row [4] of floats (the byte four times) unless the parameter "rows" says less. A byte 255
 * makes preprocess fail with UNPROCESSABLE, 254 takes 20 ms. The result has a column "sum" (NUMBER F32 [n], n = rows): the first
 * element of every output row. "post_fail" as a parameter makes postprocess fail. */
extern const weft_executor help_bytes_executor;
/* A pipeline over the slots "a" (required) and "b": see help_pipe.c for its parameters. */
extern const weft_executor help_pipe_executor;

#ifdef __SANITIZE_THREAD__
#define HELP_SLOW 20
#elif defined(__SANITIZE_ADDRESS__)
#define HELP_SLOW 10
#else
#define HELP_SLOW 1
#endif

extern _Atomic int help_n_preprocessed; /* rows that the bytes executor made */

/* cores 0: 2. */
weft_engine *help_engine(int64_t cores);
void help_engine_options(weft_engine_options *o, int64_t cores);

/* A model "name" on the fake backend (CPU), tensor executor: x FP32[-1,4] -> y FP32[-1,4], y[r][j] = sum(x[r]) + j. Change the
 * fields, then load. The storage of the option structs is in the returned object. */
typedef struct help_model {
    weft_model_config config;
    weft_fake_options fake;
    weft_fake_fault faults[8];
    int64_t batch_sizes[8];
    weft_submodel_config submodels[4];
} help_model;
void help_model_init(help_model *h, const char *name);
weft_fake_fault *help_fault(help_model *h, weft_fake_kind kind); /* one more entry */
void help_load(weft_engine *e, const help_model *h);             /* must succeed */

/* A call with one FP32 tensor "x" of n rows of 4; value v in every element of row 0, v + 1 in row 1, ... Storage in the object.
 */
typedef struct help_call {
    weft_call call;
    weft_input input;
    float x[64 * 4];
} help_call;
void help_call_init(help_call *c, const char *model, int64_t n_rows, float v);
/* Element [row][j] of column "y". */
float help_y(const weft_result *r, int64_t row, int j);
/* sum of a row of value v, plus j */
static inline float help_want(float v, int j)
{
    return 4 * v + (float)j;
}

/* Collects asynchronous answers. */
typedef struct help_inbox help_inbox;
help_inbox *help_inbox_create(void);
void help_inbox_destroy(help_inbox *b);
void help_done(void *cookie, weft_result *r); /* a weft_done_fn; cookie = help_ticket */
typedef struct help_ticket {
    help_inbox *inbox;
    int n_done; /* must end as 1 */
    weft_result *result;
    uint64_t number;
    int64_t done_ns;
} help_ticket;
/* Starts a call; must be accepted. */
void help_start(weft_engine *e, help_inbox *b, help_ticket *t, const help_call *c);
weft_status help_try(weft_engine *e, help_inbox *b, help_ticket *t, const help_call *c, weft_error *err);
/* Waits until n answers have come in all; false after 20 s. */
bool help_inbox_wait(help_inbox *b, int n);
int help_inbox_count(help_inbox *b);
/* The status of an answered ticket; drops the result. */
weft_status help_take(help_ticket *t);
void help_sleep_ms(double ms);
int64_t help_now_ns(void);
void help_must(weft_status s, const weft_error *err);

#endif
