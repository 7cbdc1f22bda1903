/* The engine: many models, one process.
 *
 * Twenty lines are enough (examples/embed.c):
 *
 *     weft_engine *e; weft_error err; weft_result *r;
 *     if (weft_engine_open("weft.yaml", &e, &err)) ...
 *     weft_input in = weft_input_bytes("image", jpeg, n_jpeg);
 *     weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1, .timeout_ms = 5000};
 *     if (weft_infer(e, &call, &r, &err)) ...
 *     weft_result_unref(r); weft_engine_destroy(&e);
 *
 * Threads: every function may be called from any thread, but not from inside a weft callback unless it says so. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include "weft/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_engine weft_engine;
struct weft_backend;
struct weft_executor;
struct weft_clock;

typedef enum weft_log_level { WEFT_LOG_ERROR = 1, WEFT_LOG_WARN, WEFT_LOG_INFO, WEFT_LOG_DEBUG } weft_log_level;
/* One finished line without newline. `model` is "" for the process; called from any thread, must not call back into weft. */
typedef void (*weft_log_fn)(void *cookie, weft_log_level level, const char *event, const char *model, const char *line);

/* One line per finished request, for per-model logs and access statistics. Called on an engine thread; must be quick; the result may be ref'ed. */
typedef void (*weft_observe_fn)(void *cookie, const weft_result *r, const char *trace);

typedef struct weft_engine_options {
    int64_t cores;            /* core tokens: CPU runs, preprocesses and postprocesses at once; 0 = cores of the process's affinity */
    double max_starve_ms;     /* nothing waits longer while anything of lower claim runs */
    double max_run_ms;        /* no gear longer than this while another model of the device waits */
    int64_t max_lost_runs;    /* more lost runs than this make `fatal` be called */
    uint64_t memory_limit;    /* host bytes for request memory (inputs, rows, results); 0 = none */
    const char *onnxruntime_library; /* path of libonnxruntime.so; NULL = $WEFT_ONNXRUNTIME, then the loader's search, then beside the program */
    weft_log_fn log;
    void *log_cookie;
    weft_observe_fn observe;
    void *observe_cookie;
    void (*fatal)(void *cookie, const char *why); /* the process should end for its supervisor; NULL = logged only */
    void *fatal_cookie;
    /* For tests and embedders with own parts; NULL = everything built in. NULL-terminated arrays of static tables. */
    const struct weft_executor *const *executors;
    const struct weft_backend *const *backends;
    struct weft_clock *clock; /* NULL = the system's */
} weft_engine_options;

extern const weft_option weft_engine_option_table[]; /* the fields that a file may set */
WEFT_API void weft_engine_options_init(weft_engine_options *o);

/* An engine without models. On failure *out is NULL. */
WEFT_API weft_status weft_engine_create(const weft_engine_options *o, weft_engine **out, weft_error *err);
/* Reads a YAML file, creates the engine and loads every model of it. One bad model makes it fail (with all messages joined); blocks until ready. */
WEFT_API weft_status weft_engine_open(const char *path, weft_engine **out, weft_error *err);
/* Refuses new calls, completes what is left with CANCELLED, joins all threads, unloads. NULL and *e NULL are allowed. */
WEFT_API void weft_engine_destroy(weft_engine **e);
/* Stops admission (UNAVAILABLE) and waits until everything accepted has completed, at most timeout_ms; DEADLINE if not. */
WEFT_API weft_status weft_engine_drain(weft_engine *e, int64_t timeout_ms, weft_error *err);

/* Loads, warms, then serves. Blocks; the configuration is copied. CONFLICT if the name is taken. */
WEFT_API weft_status weft_engine_load(weft_engine *e, const weft_model_config *c, weft_error *err);
/* Finishes what the model accepted, then releases it. NOT_FOUND; CONFLICT while a pipeline uses it. */
WEFT_API weft_status weft_engine_unload(weft_engine *e, const char *name, weft_error *err);

typedef enum weft_reload_mode {
    WEFT_RELOAD_SWAP = 1, /* load and warm the new version beside the old one, switch, drain the old: no failed request, needs memory for both */
    WEFT_RELOAD_REPLACE,  /* drain and unload first, then load: needs memory for one; requests wait; the old one is loaded again if the new one fails */
} weft_reload_mode;
/* A failure changes nothing. Pipelines that use the model are re-opened in staging and switch with it or not at all. */
WEFT_API weft_status weft_engine_reload(weft_engine *e, const weft_model_config *c, weft_reload_mode mode, weft_error *err);

/* Synchronous. Waits at most the call's deadline (plus scheduling noise) even when the run hangs. The inputs are borrowed only until it returns: whatever an overrun run may still
 * read was copied. On failure *out is NULL. Not from a callback. */
WEFT_API weft_status weft_infer(weft_engine *e, const weft_call *call, weft_result **out, weft_error *err);

/* Called exactly once for every accepted call, on an engine thread, never on the caller's and never before weft_infer_async has returned its ticket to memory.
 * `r` carries one reference that the callback owns; r->error tells success. Must not block; may call weft_infer_async, weft_cancel. */
typedef void (*weft_done_fn)(void *cookie, weft_result *r);
/* Progress of a pipeline: 0 <= step <= n_steps. On a pipeline thread; may be NULL. */
typedef void (*weft_progress_fn)(void *cookie, int step, int n_steps);

typedef struct weft_async {
    weft_done_fn done;
    weft_progress_fn progress;
    void *cookie;
    /* NULL: the inputs are copied at admission. Else they are borrowed until release(cookie), which comes exactly once, at or after done (later for an overrun run). */
    void (*release)(void *cookie);
} weft_async;

/* Admits or refuses at once. On failure nothing is called back and nothing is borrowed. *ticket (may be NULL) names the request for weft_cancel. */
WEFT_API weft_status weft_infer_async(weft_engine *e, const weft_call *call, const weft_async *a, uint64_t *ticket, weft_error *err);
/* Ends the request with CANCELLED unless it has completed. NOT_FOUND if it is over or unknown. Idempotent; may be called from callbacks. */
WEFT_API weft_status weft_cancel(weft_engine *e, uint64_t ticket);

/* version NULL = the served one. The snapshot is released with weft_model_info_unref. */
WEFT_API weft_status weft_engine_model_info(weft_engine *e, const char *name, const weft_model_info **out, weft_error *err);
WEFT_API weft_status weft_engine_model_stats(weft_engine *e, const char *name, weft_model_stats *out, weft_error *err);
/* Calls fn for every model in the order of their loading, also hidden ones, on the caller's thread with a snapshot valid during the call. */
WEFT_API void weft_engine_each_model(weft_engine *e, void (*fn)(void *cookie, const weft_model_info *info), void *cookie);

/* What the engine as a whole uses now. */
typedef struct weft_engine_stats {
    int64_t cores, cores_busy;               /* core tokens */
    uint64_t request_bytes, request_kept_bytes; /* host memory of requests and results; idle memory kept for the next ones */
    uint64_t open_requests;                  /* accepted and not yet answered */
} weft_engine_stats;
WEFT_API void weft_engine_stats_get(weft_engine *e, weft_engine_stats *out);

/* "0.1.0" and the git revision of the build, or "". Static text. */
WEFT_API const char *weft_version(void);
WEFT_API const char *weft_revision(void);

#ifdef __cplusplus
}
#endif
#endif
