/* Metrics: the one list of what /metrics shows. Names are frozen once released.
 *
 * Conventions of the text format (Prometheus exposition format 0.0.4, OpenMetrics 1.0): counters end in _total, units are seconds
 * and bytes. */
#ifndef WEFT_TBL_METRICS_H
#define WEFT_TBL_METRICS_H

#include <stddef.h>

typedef enum weft_metric_kind {
    WEFT_METRIC_COUNTER = 1,
    WEFT_METRIC_GAUGE,
    WEFT_METRIC_HISTOGRAM,
} weft_metric_kind;

/* X(IDENTIFIER, "name", kind, "unit", "labels, comma-separated", "one line", "how to read it, or NULL")
 * The process_ names are those of the Prometheus client libraries, so that common dashboards fit. */
#define WEFT_METRIC_TABLE(X)                                                                                                     \
    X(BUILD, "weft_build_info", GAUGE, "", "version,revision", "1 for the running build", NULL)                                  \
    X(READY, "weft_ready", GAUGE, "", "", "1 when the process is ready: every required model serves and it is not draining",     \
      NULL)                                                                                                                      \
    X(PROCESS_START, "process_start_time_seconds", GAUGE, "seconds", "", "Unix time at which the process started", NULL)         \
    X(PROCESS_CPU, "process_cpu_seconds_total", COUNTER, "seconds", "", "Processor time of the process, user and system", NULL)  \
    X(PROCESS_RESIDENT, "process_resident_memory_bytes", GAUGE, "bytes", "", "Resident memory of the process",                   \
      "Growth while weft_request_memory_bytes and the memory of the models stay is a leak.")                                     \
    X(PROCESS_VIRTUAL, "process_virtual_memory_bytes", GAUGE, "bytes", "", "Address space of the process", NULL)                 \
    X(PROCESS_FDS, "process_open_fds", GAUGE, "", "", "Open file descriptors", NULL)                                             \
    X(PROCESS_MAX_FDS, "process_max_fds", GAUGE, "", "", "Most file descriptors that it may open", NULL)                         \
    X(PROCESS_THREADS, "process_threads", GAUGE, "", "", "Threads of the process", NULL)                                         \
    X(CORES, "weft_cores", GAUGE, "", "", "Core tokens: runs, preprocesses and postprocesses at once", NULL)                     \
    X(CORES_BUSY, "weft_cores_busy", GAUGE, "", "", "Core tokens taken now",                                                     \
      "Equal to weft_cores for long: the processor is the limit.")                                                               \
    X(OPEN_REQUESTS, "weft_open_requests", GAUGE, "", "", "Requests accepted and not yet answered, all models", NULL)            \
    X(REQUEST_MEMORY, "weft_request_memory_bytes", GAUGE, "bytes", "", "Host memory held by requests and results", NULL)         \
    X(REQUEST_MEMORY_KEPT, "weft_request_memory_kept_bytes", GAUGE, "bytes", "", "Request memory kept for the next requests",    \
      NULL)                                                                                                                      \
    X(MODEL_STATE, "weft_model_state", GAUGE, "", "model,version,state", "1 for the state the model is in, 0 for the others",    \
      NULL)                                                                                                                      \
    X(MODEL_STATE_SINCE, "weft_model_state_timestamp_seconds", GAUGE, "seconds", "model,version",                                \
      "Unix time at which the model came into its state", NULL)                                                                  \
    X(ACCEPTED, "weft_requests_accepted_total", COUNTER, "", "model,version", "Requests admitted", NULL)                         \
    X(REQUESTS, "weft_requests_total", COUNTER, "", "model,version,outcome", "Answered requests by outcome",                     \
      "outcome: succeeded, failed_client (the request was wrong), failed_server, expired (deadline), cancelled, refused (never " \
      "admitted).")                                                                                                              \
    X(REFUSED, "weft_requests_refused_total", COUNTER, "", "model,version,reason", "Requests that were never admitted",          \
      "reason: queue_full (queue_size), queue_bytes, too_late (the expected wait is over the deadline), not_ready (the model's " \
      "state).")                                                                                                                 \
    X(REQUEST_TIME, "weft_request_duration_seconds", HISTOGRAM, "seconds", "model,version",                                      \
      "Admission to answer, succeeded requests", NULL)                                                                           \
    X(STAGE_TIME, "weft_stage_duration_seconds", HISTOGRAM, "seconds", "model,version,stage",                                    \
      "Time of each stage, succeeded requests",                                                                                  \
      "stage: queue, preprocess, run (counted once for each request of a batch), postprocess. A stage that did not happen is "   \
      "not counted.")                                                                                                            \
    X(FAILED_TIME, "weft_failed_seconds_total", COUNTER, "seconds", "model,version",                                             \
      "Time from admission to answer of accepted requests that did not succeed", NULL)                                           \
    X(RUNS, "weft_runs_total", COUNTER, "", "model,version", "Model runs", NULL)                                                 \
    X(ROWS, "weft_rows_total", COUNTER, "", "model,version", "Rows in those runs",                                               \
      "Its rate divided by that of weft_runs_total is the mean batch size.")                                                     \
    X(RUN_TIME, "weft_runs_seconds_total", COUNTER, "seconds", "model,version", "Time of those runs, each counted once",         \
      "Its rate is the number of instances that are busy on average.")                                                           \
    X(BATCH_ROWS, "weft_batch_rows", HISTOGRAM, "rows", "model,version", "Rows of a run", NULL)                                  \
    X(SPLITS, "weft_batch_splits_total", COUNTER, "", "model,version", "Failed batches that were run again row by row", NULL)    \
    X(LOST_RUNS, "weft_lost_runs_total", COUNTER, "", "model,version", "Runs that did not come back in time",                    \
      "Any growth deserves a look: each one holds a thread and its memory until it returns.")                                    \
    X(RECOVERIES, "weft_recoveries_total", COUNTER, "", "model,version", "Times a broken model was opened again and came back",  \
      NULL)                                                                                                                      \
    X(QUEUED, "weft_queued_requests", GAUGE, "", "model,version", "Requests that wait as received", NULL)                        \
    X(QUEUE_CAPACITY, "weft_queue_capacity_requests", GAUGE, "", "model,version", "Requests that may wait (queue_size)",         \
      "weft_queued_requests divided by it says how full the queue is.")                                                          \
    X(QUEUED_BYTES, "weft_queued_bytes", GAUGE, "bytes", "model,version", "Bytes of the requests that wait", NULL)               \
    X(READY_ROWS, "weft_ready_rows", GAUGE, "rows", "model,version", "Preprocessed rows that wait for a run", NULL)              \
    X(RUNNING, "weft_running", GAUGE, "", "model,version", "Runs in progress", NULL)                                             \
    X(INSTANCES, "weft_instances", GAUGE, "", "model,version", "Threads that take runs; lost ones are not counted", NULL)        \
    X(OLDEST_WAIT, "weft_oldest_wait_seconds", GAUGE, "seconds", "model,version",                                                \
      "How long the oldest waiting request has waited", NULL)                                                                    \
    X(EXPECTED_WAIT, "weft_expected_wait_seconds", GAUGE, "seconds", "model,version",                                            \
      "Predicted wait of a request that came now", "Requests whose deadline it exceeds are refused at once.")                    \
    X(WAIT_RATIO, "weft_wait_ratio", HISTOGRAM, "", "model,version",                                                             \
      "Actual wait divided by the wait predicted at admission, succeeded requests that found others waiting",                    \
      "Around 1 the prediction is right; above it requests are admitted that come too late.")                                    \
    X(LAST_SUCCESS, "weft_last_success_timestamp_seconds", GAUGE, "seconds", "model,version",                                    \
      "Unix time of the last success; 0 = none yet", NULL)                                                                       \
    X(MODEL_MEMORY, "weft_model_memory_bytes", GAUGE, "bytes", "model,version,kind",                                             \
      "Host memory of a model by the backend's account; 0 = not known", "kind: weights, work (now), work_peak.")                 \
    X(CONNECTIONS, "weft_connections", GAUGE, "", "", "Open connections", NULL)                                                  \
    X(CONNECTIONS_ACCEPTED, "weft_connections_accepted_total", COUNTER, "", "", "Accepted connections", NULL)                    \
    X(HTTP_OPEN, "weft_http_requests_in_progress", GAUGE, "", "", "Requests whose head has come and whose memory is still held", \
      NULL)                                                                                                                      \
    X(HTTP_REQUESTS, "weft_http_requests_total", COUNTER, "", "method,route,code", "Answered requests of the HTTP door",         \
      "route: the pattern of the path, or \"none\" when there is nothing; code 499: the client left before its answer.")         \
    X(HTTP_TIME, "weft_http_request_duration_seconds", HISTOGRAM, "seconds", "method,route",                                     \
      "From the complete head to the answer", NULL)                                                                              \
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
    const char *unit;   /* "" = a plain number */
    const char *labels; /* "" = none */
    const char *help;
    const char *details; /* may be NULL */
} weft_metric_decl;

/* All of them, in the order of weft_metric. Static. */
const weft_metric_decl *weft_metrics(size_t *n);
const weft_metric_decl *weft_metric_find(const char *name); /* NULL when there is none */

#endif
