/* Models: how one is configured, what it says about itself, its state and its figures. */
#ifndef WEFT_MODEL_H
#define WEFT_MODEL_H

#include "weft/option.h"
#include "weft/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sub-model of a pipeline: a slot that the executor declares, filled by another model of the registry or by one of its own. */
typedef struct weft_submodel_config {
    const char *slot;                       /* "detect", "recognise" */
    const char *model;                      /* name of a model in the same engine; an inline one is called "<parent>.<slot>" */
} weft_submodel_config;

typedef struct weft_model_config {
    const char *name;                       /* [A-Za-z0-9._-]{1,64} */
    const char *type;                       /* executor name or alias; "tensor" by default */
    const char *backend;                    /* NULL = by the file's extension */
    const char *version;                    /* "1" by default */
    weft_list paths;                        /* const char *: one or more files with the same inputs and outputs; none for a pure pipeline */
    int64_t device_id;                      /* card number as its backend counts; ignored by the CPU */
    int64_t max_batch;                      /* rows in one run, 1..4096 */
    double batch_window_ms;                 /* how long a row may wait for companions; 0 = not at all */
    int64_t queue_size;                     /* requests that may wait as received */
    uint64_t queue_bytes;                   /* their bytes */
    int64_t ready_rows;                     /* row credits; 0 = 2 x max_batch x instances, at least 4 */
    int64_t instances;                      /* parallel runs; 0 = 1 on a card, number of core tokens on the CPU */
    int64_t threads;                        /* cores one run takes on the CPU (tokens) */
    int64_t priority;                       /* added to each request's, WEFT_PRIORITY_MIN..MAX */
    double weight;                          /* share of the lane's time at equal priority */
    int64_t max_cores;                      /* core tokens that the model and its own sub-models may hold at once; 0 = all */
    double timeout_ms;                      /* deadline of a request that brings none; 0 = none */
    double run_timeout_ms;                  /* a run longer than this is lost (watchdog) */
    double cohort_wait_ms;                  /* see DESIGN: cohorts */
    int64_t concurrency;                    /* pipelines: how many run at once; 0 = number of core tokens */
    uint64_t memory_limit;                  /* host bytes for weights + work; 0 = none */
    bool required;                          /* readiness of the process needs it */
    bool warmup;                            /* run each gear before ready */
    bool hidden;                            /* not listed: an inline sub-model */
    const void *executor_options;           /* the struct of the executor's own table, defaults applied; NULL = all defaults */
    const void *backend_options;            /* likewise of the backend */
    weft_list submodels;                    /* weft_submodel_config */
} weft_model_config;

/* The declarations behind weft_model_config (for configuration and manual); END-terminated. executor/backend options and submodels are not in it. */
extern const weft_option weft_model_option_table[];
/* Applies the defaults of the table. */
WEFT_API void weft_model_config_init(weft_model_config *c);

typedef enum weft_model_state {
    WEFT_MODEL_LOADING = 1,
    WEFT_MODEL_WARMING,
    WEFT_MODEL_READY,
    WEFT_MODEL_DEGRADED,
    WEFT_MODEL_UNHEALTHY,
    WEFT_MODEL_RECOVERING,
    WEFT_MODEL_FAILED,
    WEFT_MODEL_UNLOADING,
} weft_model_state;
WEFT_API const char *weft_model_state_name(weft_model_state s);

/* A snapshot; immutable, refcounted like a result. */
typedef struct weft_model_info {
    const char *name, *version, *type, *backend;
    weft_model_state state;
    const char *state_cause;                /* "" when ready */
    int64_t state_since_unix_ns;
    bool hidden, required, batched;         /* batched: rows of different requests may share a run */
    int64_t max_batch;
    size_t n_inputs, n_outputs;             /* of the compiled file; 0 for a pure pipeline */
    const weft_tensor_desc *inputs, *outputs;
    size_t n_fields;
    const weft_field_decl *fields;          /* what a result holds; 0 = follows the outputs */
    const char *picture_input;              /* name of the encoded-picture input, or NULL */
    const char *const *params;              /* names of the parameters that a call may bring, NULL-terminated; NULL = none */
    uint64_t weights_bytes, work_bytes, peak_bytes; /* host memory by the backend's account; 0 = not known */
} weft_model_info;
WEFT_API void weft_model_info_unref(const weft_model_info *info);

#define WEFT_STAT_BATCH_BUCKETS 16   /* rows 1,2,3..15,16+ */
#define WEFT_STAT_LATENCY_BUCKETS 64 /* half-powers of two from 1 us: bucket i covers [2^(i/2), 2^((i+1)/2)) us */
#define WEFT_STAT_RATIO_BUCKETS 9    /* actual wait / expected wait: below 1/8, 1/4, 1/2, 3/4, 1, 3/2, 2, 4, and the rest */
extern const double weft_stat_ratio_bounds[WEFT_STAT_RATIO_BUCKETS - 1];

/* The parts of a request's time that have their own histogram. */
typedef enum weft_stage { WEFT_STAGE_QUEUE = 0, WEFT_STAGE_PREPROCESS, WEFT_STAGE_RUN, WEFT_STAGE_POSTPROCESS, WEFT_N_STAGES } weft_stage;

/* Why a call was not admitted. */
typedef enum weft_refusal {
    WEFT_REFUSED_QUEUE_FULL = 0, /* queue_size */
    WEFT_REFUSED_QUEUE_BYTES,    /* queue_bytes */
    WEFT_REFUSED_TOO_LATE,       /* the expected wait is over the deadline */
    WEFT_REFUSED_NOT_READY,      /* the model's state */
    WEFT_N_REFUSALS
} weft_refusal;

/* Counters since load; a consistent copy made under one lock. */
typedef struct weft_model_stats {
    uint64_t accepted, succeeded, failed_client, failed_server, expired, cancelled, refused;
    uint64_t runs, rows, splits, lost_runs;
    uint64_t queued, queued_bytes, ready_rows, running;  /* now */
    int64_t oldest_wait_ns, expected_wait_ns, last_success_unix_ns;
    uint64_t queue_ns, preprocess_ns, run_ns, postprocess_ns; /* sums over succeeded requests */
    uint64_t failed_ns;                                       /* total times of all requests that were accepted and did not succeed */
    uint64_t batch_rows[WEFT_STAT_BATCH_BUCKETS];             /* runs by their number of rows */
    uint64_t batch_run_ns[WEFT_STAT_BATCH_BUCKETS];           /* their times */
    uint64_t latency[WEFT_STAT_LATENCY_BUCKETS];              /* succeeded requests by total time */
    uint64_t total_ns;                                        /* their total times */
    uint64_t stage_latency[WEFT_N_STAGES][WEFT_STAT_LATENCY_BUCKETS]; /* and by the time of each stage that happened */
    uint64_t refused_by[WEFT_N_REFUSALS];                     /* `refused` by reason */
    uint64_t wait_ratio[WEFT_STAT_RATIO_BUCKETS];             /* actual / expected wait, of succeeded requests that found others waiting */
    double wait_ratio_sum;
    uint64_t recoveries;                                      /* times the model came back by itself */
    uint64_t queue_capacity, instances;                       /* now: queue_size, threads that take runs */
} weft_model_stats;

#ifdef __cplusplus
}
#endif
#endif
