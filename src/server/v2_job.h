/* One infer request of the Open Inference Protocol V2 on its way through the engine, for every door that speaks it: a
 * weft_v2_call becomes one engine call (or one a picture), and the exchange comes home when the last result is there.
 *
 * The job lives in the exchange's arena and is the exchange's `job`. Everything runs on the loop's thread but the engine's own
 * callbacks. */
#ifndef WEFT_SERVER_V2_JOB_H
#define WEFT_SERVER_V2_JOB_H

#include "server/server_internal.h"
#include "server/v2_call.h"

typedef struct weft_v2_job weft_v2_job;

typedef struct weft_v2_sub {
    weft_v2_job *job;
    size_t index;
} weft_v2_sub;

struct weft_v2_job {
    weft_exchange *x;
    weft_v2_call call;
    weft_v2_model model;
    weft_error err; /* of reading the request, or of a refused call */
    size_t n_calls;
    _Atomic size_t n_left; /* results still to come, and one while calls are being submitted */
    uint64_t tickets[WEFT_V2_MAX_PICTURES];
    weft_result *results[WEFT_V2_MAX_PICTURES];
    weft_v2_sub subs[WEFT_V2_MAX_PICTURES];
    weft_v2_output *outs; /* after weft_v2_job_outputs */
    size_t n_outs;
};

/* Makes `job` (zeroed, in x->arena) the exchange's own and opens the model. On failure the exchange may be failed with err. */
weft_status weft_v2_job_init(weft_v2_job *job, weft_exchange *x, const char *model, const char *version, weft_error *err);
/* Gives the calls to the engine; the route's finish comes when all are done. On failure at once: err, nothing is in flight.
 * default_timeout_ms: when the request brings none. */
weft_status weft_v2_job_submit(weft_v2_job *job, int64_t default_timeout_ms, weft_error *err);
/* At home: the outputs in the order of the answer, or the first thing that went wrong. */
weft_status weft_v2_job_outputs(weft_v2_job *job, weft_error *err);

#endif
