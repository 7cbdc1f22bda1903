/* Log events: the one list of what weft writes into its logs. Programs filter by the name, so a name is frozen once released. The level is
 * the usual one; a line may carry a graver one. */
#ifndef WEFT_TBL_EVENTS_H
#define WEFT_TBL_EVENTS_H

#include <stddef.h>

#include "weft/engine.h"

/* X(IDENTIFIER, name, usual level, what the line holds, what happened and what to do). script/check-events compares it with the code. */
#define WEFT_EVENT_TABLE(X)                                                                                                      \
    X(ENGINE_FATAL, "engine.fatal", ERROR, "why", "the process should be restarted by its supervisor: it cannot get out of this by itself") \
    X(MODEL_STATE, "model.state", INFO, "state: cause", "the state of a model changed; a warning when degraded, an error when unhealthy or failed") \
    X(MODEL_UNBATCHED, "model.unbatched", WARN, "why", "max_batch has no effect: requests of this model run alone")             \
    X(MODEL_RELOAD, "model.reload", ERROR, "error", "the new version was refused and the old one could not be loaded again")      \
    X(RUN_FAILED, "run.failed", WARN, "error", "a run failed; the requests of its batch are run again or told")                   \
    X(RUN_LOST, "run.lost", ERROR, "how long, how many", "a run does not come back: its thread and memory are kept aside until it does") \
    X(INSTANCE_SPARE, "instance.spare", ERROR, "error", "there is no room for a spare instance in place of a lost run")            \
    X(ONNXRUNTIME, "onnxruntime", INFO, "text", "a message of the runtime itself, or of the backend about it")                     \
    X(OCR, "ocr", INFO, "text", "how the pipeline understood its models; a warning when it reads less than one may expect")        \
    X(REQUEST, "request", INFO, "id status total_ms queue_ms preprocess_ms run_ms postprocess_ms batch items bytes", "one finished request; a warning when it failed or was slow") \
    X(ACCESS, "access", INFO, "method path status ms received sent peer id trace", "one answered HTTP request (log.access); status 499: the client left before its answer") \
    X(LOG_DROPPED, "log_dropped", WARN, "lines", "the disk was too slow, and so many lines were left out")

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
