/* Logs of a serving process: one process log, one log a model, an access log (name and start time in the file name), rotated by
 * size and age.
 *
 * Asynchronous: a caller formats its line into a ring and goes on; one thread writes. When the ring is full the line is dropped
 * and counted, and the count is written as soon as there is room, so that a slow disk never slows an answer and nothing is lost
 * silently. Threads: every function but create and destroy from any thread. */
#ifndef WEFT_LOG_LOG_SINK_H
#define WEFT_LOG_LOG_SINK_H

#include "base/access.h"
#include "config/log_options.h"
#include "weft/engine.h"

typedef struct weft_log_sink weft_log_sink;

/* options: copied; its directory is created when missing. Without a directory the process log goes to stderr and there are no
 * model logs. IO when the folder cannot be made or written. */
weft_status weft_log_sink_create(const weft_log_options *options, weft_log_sink **out, weft_error *err);
/* Writes what is left, closes the files. NULL and *s NULL allowed. */
void weft_log_sink_destroy(weft_log_sink **s);

/* A weft_log_fn: cookie is the sink. Lines below options->level are skipped. */
void weft_log_sink_write(void *cookie, weft_log_level level, const char *event, const char *model, const char *line);
/* A weft_observe_fn: the request's line in its model's log, and in the process log when it was slow. */
void weft_log_sink_observe(void *cookie, const weft_result *r, const char *trace);
/* A weft_access_fn: cookie is the sink. The request's line in access-STARTTIME.log, or on stderr without a directory; whoever
 * wants none (options->access) does not call it. */
void weft_log_sink_access(void *cookie, const weft_access *a);
/* Waits until everything handed in so far is with the system. */
void weft_log_sink_flush(weft_log_sink *s);
/* Lines dropped so far. */
uint64_t weft_log_sink_dropped(weft_log_sink *s);

#endif
