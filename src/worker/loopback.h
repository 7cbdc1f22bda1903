/* A worker without a process: every call is encoded, decoded into memory of its own, given to the engine, and its result encoded,
 * decoded and only then delivered. What passes through here can cross a process boundary; the conformance tests run once directly
 * and once through it.
 *
 * The functions behave like their namesakes in weft/engine.h; tickets are the engine's. Calls and results are held to
 * weft_wire_limits. Threads: as the engine's. */
#ifndef WEFT_WORKER_LOOPBACK_H
#define WEFT_WORKER_LOOPBACK_H

#include "weft/engine.h"

typedef struct weft_loopback weft_loopback;

/* The engine must outlive the loopback. */
weft_status weft_loopback_create(weft_engine *e, weft_loopback **out, weft_error *err);
/* Waits until every call has been answered and released. NULL and *l NULL allowed. */
void weft_loopback_destroy(weft_loopback **l);
weft_status weft_loopback_infer(weft_loopback *l, const weft_call *call, weft_result **out, weft_error *err);
weft_status weft_loopback_infer_async(weft_loopback *l, const weft_call *call, const weft_async *a, uint64_t *ticket,
                                      weft_error *err);
weft_status weft_loopback_cancel(weft_loopback *l, uint64_t ticket);

#endif
