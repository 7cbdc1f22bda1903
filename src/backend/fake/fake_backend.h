/* The fake backend: models without weights, whose answers a test can compute, and which fail on command.
 *
 * Two tables with the same options: `weft_backend_fake` says that it runs on the CPU (its runs take core tokens),
 * `weft_backend_fake_card` that it is a card.
 *
 * A model is described by its options, or by a small text file *.fake (fake_text.h), or both: options that are given win. Without
 * either it has one input "x" FP32[-1,4] and one output "y" FP32[-1,4].
 *
 * What comes out. A model has R rows in a run: dim 0 of its first batched input (one whose described dim 0 is -1), 1 without such
 * an input. With S(r) = sum over the inputs i = 0, 1, ... of (i + 1) * (sum of the elements of row r of input i; of all its
 * elements if it has no batch axis) element j of row r of an output is, by its option `values`: sum    S(r) + j copy   the bytes
 * of input k for output k (the last input when there are fewer inputs) rows   R: shows the size of the batch mix    (sum of S(r)
 * over all rows) + j: depends on the neighbours, so such a model must not be batched run    number of the run since load, from 1
 * computed in double, where a BOOL counts 0 or 1 and a string the sum of its bytes. Integers are truncated toward zero and wrap,
 * BOOL is true for an odd number, a string is the number in decimal. An output whose described dim 0 is -1 has R rows; another
 * has one row, in which `sum` equals `mix`. Other dims of -1 are those at the same axis of the first input that has this axis (1
 * if none). The last dim of -1 of a `runtime` or `bounded` output (the batch axis only if there is no other) is |sum of S(r)| mod
 * 8 instead, cut so that a bounded output keeps within max_bytes per row. */
#ifndef WEFT_FAKE_BACKEND_H
#define WEFT_FAKE_BACKEND_H

#include "weft/backend.h"

typedef enum weft_fake_values {
    WEFT_FAKE_SUM = 0,
    WEFT_FAKE_COPY,
    WEFT_FAKE_ROWS,
    WEFT_FAKE_MIX,
    WEFT_FAKE_RUN,
} weft_fake_values;

typedef enum weft_fake_kind {
    WEFT_FAKE_NO_FAULT = 0,
    WEFT_FAKE_REQUEST, /* the six classes of weft_fault */
    WEFT_FAKE_UNKNOWN,
    WEFT_FAKE_MEMORY,
    WEFT_FAKE_TIMEOUT,
    WEFT_FAKE_STREAM,
    WEFT_FAKE_DEVICE,
    WEFT_FAKE_HANG,      /* until it is terminated or released */
    WEFT_FAKE_HANG_HARD, /* until it is released: terminate does nothing, and the outputs are written afterwards */
    WEFT_FAKE_ABORT,
    WEFT_FAKE_SEGV,
    WEFT_FAKE_WRONG_SIZE,   /* every output has one more on its first axis */
    WEFT_FAKE_WRONG_VALUES, /* every element is one more (BOOL: inverted) */
    WEFT_FAKE_DELAY,        /* only delay_ms */
    WEFT_FAKE_LOAD,         /* `at` and `every` count loads of this name; the load fails */
    WEFT_FAKE_INSTANCE,     /* `at` and `every` count instances of this load; creation fails */
} weft_fake_kind;

/* When all given conditions hold the fault happens; the first of the list that fits. */
typedef struct weft_fake_fault {
    int kind;             /* weft_fake_kind */
    int64_t at;           /* the n-th run since load, from 1; 0 = any */
    int64_t every;        /* every k-th; 0 = any */
    int64_t times;        /* at most so often; 0 = always */
    int64_t rows_over;    /* only with more rows than this; 0 = any */
    weft_list when_value; /* double: only when the first element of a row of the first input is one of these */
    bool
        sticky; /* STREAM: the instance stays broken; DEVICE: all fake models of the device do, until its last instance is gone */
    double delay_ms;     /* before the fault, beside the model's own delay */
    const char *message; /* NULL = a text that names the kind and the run */
} weft_fake_fault;

typedef struct weft_fake_tensor {
    const char *name;
    int dtype;          /* weft_dtype */
    weft_list shape;    /* int64_t; -1 = dynamic, first = batch axis */
    bool optional;      /* inputs */
    int size;           /* outputs: weft_size_kind; 0 = fixed */
    uint64_t max_bytes; /* outputs: per row, for bounded */
    int values;         /* outputs: weft_fake_values */
} weft_fake_tensor;

typedef struct weft_fake_options {
    weft_list inputs, outputs; /* weft_fake_tensor */
    weft_list batch_sizes;     /* int64_t, ascending: compiled batch sizes; none = any */
    double delay_ms;           /* of a run */
    double row_delay_ms;       /* for each row on top */
    double load_delay_ms;
    bool spin;                          /* burn CPU time instead of sleeping */
    weft_list faults;                   /* weft_fake_fault */
    uint64_t weights_bytes, work_bytes; /* what the memory account says */
} weft_fake_options;

extern const weft_option weft_fake_option_table[];
extern const weft_backend weft_backend_fake;
extern const weft_backend weft_backend_fake_card;

#endif
