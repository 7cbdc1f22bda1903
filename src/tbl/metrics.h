/* Metrics: the one list of what /metrics shows. Names are frozen once released.
 *
 * Conventions of the text format (Prometheus exposition format 0.0.4, OpenMetrics 1.0): counters end in _total, units are seconds and bytes. */
#ifndef WEFT_TBL_METRICS_H
#define WEFT_TBL_METRICS_H

#include <stddef.h>

typedef enum weft_metric_kind {
    WEFT_METRIC_COUNTER = 1,
    WEFT_METRIC_GAUGE,
    WEFT_METRIC_HISTOGRAM,
} weft_metric_kind;

/* X(IDENTIFIER, "name", kind, "unit", "labels, comma-separated", "one line", "how to read it, or NULL") */
#define WEFT_METRIC_TABLE(X)                                                                                                     \
    X(BUILD, "weft_build_info", GAUGE, "", "version,revision", "1 for the running build", NULL)                                  \
    X(UPTIME, "weft_uptime_seconds", GAUGE, "seconds", "", "Time since the engine was created", NULL)                            \
    X(CORES, "weft_cores", GAUGE, "", "", "Core tokens: runs, preprocesses and postprocesses at once", NULL)                     \
    X(CORES_BUSY, "weft_cores_busy", GAUGE, "", "", "Core tokens taken now", "Equal to weft_cores for long: the processor is the limit.") \
    X(REQUEST_MEMORY, "weft_request_memory_bytes", GAUGE, "bytes", "", "Host memory held by requests and results", NULL)         \
    X(REQUEST_MEMORY_KEPT, "weft_request_memory_kept_bytes", GAUGE, "bytes", "", "Request memory kept for the next requests", NULL) \
    X(MODEL_STATE, "weft_model_state", GAUGE, "", "model,version,state", "1 for the state the model is in, 0 for the others", NULL) \
    X(ACCEPTED, "weft_requests_accepted_total", COUNTER, "", "model", "Requests admitted", NULL)                                 \
    X(REQUESTS, "weft_requests_total", COUNTER, "", "model,outcome", "Answered requests by outcome",                             \
      "outcome: succeeded, failed_client (the request was wrong), failed_server, expired (deadline), cancelled, refused (never admitted).") \
    X(REQUEST_TIME, "weft_request_duration_seconds", HISTOGRAM, "seconds", "model", "Admission to answer, succeeded requests", NULL) \
    X(QUEUE_TIME, "weft_queue_seconds_total", COUNTER, "seconds", "model", "Time that succeeded requests waited", "Divide its rate by the rate of succeeded requests for the mean.") \
    X(PREPROCESS_TIME, "weft_preprocess_seconds_total", COUNTER, "seconds", "model", "Time spent in preprocessing", NULL)        \
    X(RUN_TIME, "weft_run_seconds_total", COUNTER, "seconds", "model", "Time of the runs that served requests", "Counted once for each request of a batch.") \
    X(POSTPROCESS_TIME, "weft_postprocess_seconds_total", COUNTER, "seconds", "model", "Time spent in postprocessing", NULL)     \
    X(RUNS, "weft_runs_total", COUNTER, "", "model", "Model runs", NULL)                                                         \
    X(ROWS, "weft_rows_total", COUNTER, "", "model", "Rows in those runs", "Its rate divided by that of weft_runs_total is the mean batch size.") \
    X(BATCH_ROWS, "weft_batch_rows", HISTOGRAM, "rows", "model", "Rows of a run", NULL)                                          \
    X(SPLITS, "weft_batch_splits_total", COUNTER, "", "model", "Failed batches that were run again row by row", NULL)            \
    X(LOST_RUNS, "weft_lost_runs_total", COUNTER, "", "model", "Runs that did not come back in time", "Any growth deserves a look: each one holds a thread and its memory until it returns.") \
    X(QUEUED, "weft_queued_requests", GAUGE, "", "model", "Requests that wait as received", NULL)                                \
    X(QUEUED_BYTES, "weft_queued_bytes", GAUGE, "bytes", "model", "Their bytes", NULL)                                           \
    X(READY_ROWS, "weft_ready_rows", GAUGE, "rows", "model", "Preprocessed rows that wait for a run", NULL)                      \
    X(RUNNING, "weft_running", GAUGE, "", "model", "Runs in progress", NULL)                                                     \
    X(OLDEST_WAIT, "weft_oldest_wait_seconds", GAUGE, "seconds", "model", "How long the oldest waiting request has waited", NULL) \
    X(EXPECTED_WAIT, "weft_expected_wait_seconds", GAUGE, "seconds", "model", "Predicted wait of a request that came now", "Requests whose deadline it exceeds are refused at once.") \
    X(LAST_SUCCESS, "weft_last_success_timestamp_seconds", GAUGE, "seconds", "model", "Unix time of the last success", NULL)     \
    X(WEIGHTS, "weft_model_weights_bytes", GAUGE, "bytes", "model", "Weights in host memory, by the backend's account", NULL)    \
    X(WORK, "weft_model_work_bytes", GAUGE, "bytes", "model", "Work memory now, by the backend's account", NULL)                 \
    X(WORK_PEAK, "weft_model_work_peak_bytes", GAUGE, "bytes", "model", "Largest work memory so far", NULL)                      \
    X(CONNECTIONS, "weft_connections", GAUGE, "", "", "Open connections", NULL)                                                  \
    X(CONNECTIONS_ACCEPTED, "weft_connections_accepted_total", COUNTER, "", "", "Accepted connections", NULL)                    \
    X(HTTP_REQUESTS, "weft_http_requests_total", COUNTER, "", "route,code", "Answered HTTP requests", NULL)                      \
    X(HTTP_RECEIVED, "weft_http_received_bytes_total", COUNTER, "bytes", "", "Bytes received", NULL)                             \
    X(HTTP_SENT, "weft_http_sent_bytes_total", COUNTER, "bytes", "", "Bytes sent", NULL)                                         \
    X(LOG_DROPPED, "weft_log_dropped_lines_total", COUNTER, "", "", "Log lines left out because the disk was too slow", NULL)

typedef enum weft_metric {
#define WEFT_METRIC_ENUM(id, name, kind, unit, labels, help, details) WEFT_METRIC_##id##_ID,
    WEFT_METRIC_TABLE(WEFT_METRIC_ENUM)
#undef WEFT_METRIC_ENUM
        WEFT_N_METRICS
} weft_metric;

typedef struct weft_metric_decl {
    const char *name;
    weft_metric_kind kind;
    const char *unit;    /* "" = a plain number */
    const char *labels;  /* "" = none */
    const char *help;
    const char *details; /* may be NULL */
} weft_metric_decl;

/* All of them, in the order of weft_metric. Static. */
const weft_metric_decl *weft_metrics(size_t *n);
const weft_metric_decl *weft_metric_find(const char *name); /* NULL when there is none */

#endif
