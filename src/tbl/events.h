/* Log events: the one list of what weft writes into its logs. Programs filter by the name, so a name is frozen once released.
 *
 * The text of a line is "key=value ..." with the keys given here; further keys may be added at the end. */
#ifndef WEFT_TBL_EVENTS_H
#define WEFT_TBL_EVENTS_H

#include <stddef.h>

#include "weft/engine.h"

/* X(IDENTIFIER, "name", level, "keys of the line", "what happened and what to do") */
#define WEFT_EVENT_TABLE(X)                                                                                                      \
    X(ENGINE_STARTED, "engine_started", INFO, "version cores memory_limit", "the engine is up, without models yet")              \
    X(ENGINE_DRAINING, "engine_draining", INFO, "open timeout_ms", "no new requests are taken; what was accepted is finished")   \
    X(ENGINE_STOPPED, "engine_stopped", INFO, "cancelled", "everything has been answered and released")                          \
    X(ENGINE_FATAL, "engine_fatal", ERROR, "why", "the process asks its supervisor for a restart: too many runs never came back, or a device could not be reset") \
    X(BACKEND_OPENED, "backend_opened", INFO, "backend library", "an SDK was loaded and initialised")                            \
    X(BACKEND_FAILED, "backend_failed", ERROR, "backend error", "an SDK could not be loaded or is too old; the line says which version came and which is needed") \
    X(BACKEND_MESSAGE, "backend_message", WARN, "backend text", "a warning or error that the SDK itself wrote")                  \
    X(MODEL_LOADING, "model_loading", INFO, "version type backend files", "a model's files are being read")                      \
    X(MODEL_WARMING, "model_warming", INFO, "gears instances", "each gear is run to prepare memory and to measure its time")     \
    X(MODEL_GEAR, "model_gear", DEBUG, "rows run_ms bytes", "one gear was measured at warm-up")                                  \
    X(MODEL_READY, "model_ready", INFO, "version load_ms weights_bytes work_bytes batched", "the model serves")                  \
    X(MODEL_NOTE, "model_note", WARN, "note", "the model works, but not as its configuration may suggest (an option without effect, boxes without text)") \
    X(MODEL_LOAD_FAILED, "model_load_failed", ERROR, "version error", "the model could not be loaded; nothing else is touched")  \
    X(MODEL_SWAPPED, "model_swapped", INFO, "from to", "a new version took over without a failed request")                       \
    X(MODEL_RELOAD_FAILED, "model_reload_failed", ERROR, "version error", "the new version was refused; the old one serves on")  \
    X(MODEL_UNLOADING, "model_unloading", INFO, "open", "the model finishes what it accepted")                                   \
    X(MODEL_UNLOADED, "model_unloaded", INFO, "version", "the model's memory is released")                                       \
    X(MODEL_DEGRADED, "model_degraded", WARN, "cause", "the model serves with fewer instances than configured")                  \
    X(MODEL_UNHEALTHY, "model_unhealthy", ERROR, "cause consecutive", "the breaker opened: the model takes no work until it has recovered") \
    X(MODEL_RECOVERING, "model_recovering", WARN, "try", "instances are re-created and probed with a real inference")            \
    X(MODEL_RECOVERED, "model_recovered", INFO, "tries down_ms", "the probe succeeded; the model serves again")                  \
    X(MODEL_RECOVERY_FAILED, "model_recovery_failed", ERROR, "try error next_ms", "the try failed; another follows after the pause") \
    X(MODEL_FAILED, "model_failed", ERROR, "tries cause", "recovery was given up; reload the model or restart the process")      \
    X(BATCH_NOT_EQUAL, "batch_not_equal", WARN, "output", "two rows in one run did not equal two runs, so the model is not batched") \
    X(BATCH_SPLIT, "batch_split", WARN, "rows error", "a failed batch is run again row by row to find the one at fault")         \
    X(RUN_FAILED, "run_failed", WARN, "rows fault error", "a run failed; the requests of the batch are re-run or told")          \
    X(RUN_OVERDUE, "run_overdue", ERROR, "run_ms limit_ms", "a run is over its limit and was asked to end")                      \
    X(RUN_LOST, "run_lost", ERROR, "run_ms lost", "a run does not come back: its thread and memory are kept aside until it does") \
    X(RUN_RETURNED, "run_returned", WARN, "run_ms", "a lost run came back; its result is discarded, its memory released")        \
    X(RUN_SLOW, "run_slow", WARN, "run_ms warm_ms rows", "a run took far longer than its gear at warm-up")                       \
    X(MEMORY_FULL, "memory_full", WARN, "bytes limit", "a request was refused because request memory is used up")                \
    X(STARVATION_BOUND, "starvation_bound", DEBUG, "waited_ms", "a batch ran out of order because it had waited max_starve_ms")  \
    X(DEVICE_FAULT, "device_fault", ERROR, "device generation error", "a device failed and is quarantined")                      \
    X(DEVICE_RESET, "device_reset", WARN, "device generation", "a device was reset; its models are loaded again")                \
    X(REQUEST_DONE, "request", INFO, "id status total_ms queue_ms preprocess_ms run_ms postprocess_ms batch_rows items", "one finished request (in the model's log)") \
    X(REQUEST_SLOW, "slow_request", WARN, "as request", "a request took longer than the configured limit (in the process log)")  \
    X(LOG_DROPPED, "log_dropped", WARN, "lines", "the disk was too slow and so many lines were left out")                        \
    X(SERVER_LISTENING, "server_listening", INFO, "address", "the door is open")                                                 \
    X(SERVER_STOPPING, "server_stopping", INFO, "signal", "a signal asked for the end; what was accepted is finished")           \
    X(CONFIG_LOADED, "config_loaded", INFO, "file models", "the configuration was read")                                         \
    X(WORKER_STARTED, "worker_started", INFO, "pid", "a worker process runs")                                                    \
    X(WORKER_LOST, "worker_lost", ERROR, "pid reason open", "a worker process died; its requests are told and it is started again")

typedef enum weft_event {
#define WEFT_EVENT_ENUM(id, name, level, keys, text) WEFT_EVENT_##id,
    WEFT_EVENT_TABLE(WEFT_EVENT_ENUM)
#undef WEFT_EVENT_ENUM
        WEFT_N_EVENTS
} weft_event;

typedef struct weft_event_decl {
    const char *name;
    weft_log_level level;
    const char *keys;
    const char *text;
} weft_event_decl;

/* All of them, in the order of weft_event. Static. */
const weft_event_decl *weft_events(size_t *n);
const weft_event_decl *weft_event_find(const char *name); /* NULL when there is none */
const char *weft_event_name(weft_event e);
weft_log_level weft_event_level(weft_event e);

#endif
