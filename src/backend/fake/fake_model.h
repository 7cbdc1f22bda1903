/* Inside the fake backend. */
#ifndef WEFT_FAKE_MODEL_H
#define WEFT_FAKE_MODEL_H

#include "backend/fake/fake_control.h"
#include "base/arena.h"
#include "base/lock.h"

typedef struct weft_fake_self {
    weft_backend_env env;
    bool card;
} weft_fake_self;

struct weft_fake_account; /* fake_control.c: the counters of a name */

typedef struct weft_fake_model {
    weft_arena *arena; /* holds all of this */
    weft_fake_self *self;
    struct weft_fake_account *account;
    const char *name;
    int64_t device_id;
    weft_fake_options o;
    weft_tensor_desc *inputs, *outputs;
    size_t n_inputs, n_outputs;
    size_t batched_input; /* the first input with a batch axis; n_inputs = none */
    int64_t *fired;       /* per fault of the options: how often it happened */
    int64_t n_runs;       /* the rest is guarded by the lock of fake_control.c */
    int64_t n_instances_ever;
} weft_fake_model;

typedef struct weft_fake_instance {
    weft_fake_model *model;
    bool running, terminated, broken; /* guarded likewise */
} weft_fake_instance;

/* What one run was told to do. */
typedef struct weft_fake_order {
    weft_fake_kind kind;
    int64_t delay_ns;
    const weft_fake_fault *fault; /* NULL for an injected one */
    int64_t run;                  /* its number */
} weft_fake_order;

/* fake_control.c */
struct weft_fake_account *weft_fake_account_get(const char *name); /* NULL = out of memory */
weft_status weft_fake_begin_load(weft_fake_model *m, weft_error *err);
void weft_fake_end_load(weft_fake_model *m);
weft_status weft_fake_begin_instance(weft_fake_model *m, weft_error *err);
void weft_fake_end_instance(weft_fake_instance *i);
/* Counts the run, waits while held and for the delay, hangs; the order says what is left to do. False = it was terminated. */
bool weft_fake_begin_run(weft_fake_instance *i, const weft_run *run, weft_fake_order *order);
void weft_fake_end_run(weft_fake_instance *i, const weft_fake_order *order, weft_fault fault);
void weft_fake_terminate(weft_fake_instance *i);

/* fake_values.c */
int64_t weft_fake_rows(const weft_fake_model *m, const weft_run *run);
/* S(r) of every row into sums[n_rows]; returns their sum. */
double weft_fake_sums(const weft_fake_model *m, const weft_run *run, double *sums, int64_t n_rows);
/* Is the first element of some row of the first input one of these numbers? */
bool weft_fake_row_has_value(const weft_fake_model *m, const weft_run *run, const weft_list *values);
/* Computes one output into run->outputs[output], taking memory from run->alloc where needed. NO_MEMORY. */
weft_status weft_fake_output(const weft_fake_model *m, weft_run *run, size_t output, const double *sums, double total,
                             int64_t n_rows, const weft_fake_order *order, weft_error *err);

#endif
