/* weft_infer: the synchronous call, on top of the asynchronous one. The inputs are copied at admission, as for every call without
 * a release callback: a run can outlive its answer (a deadline, run_timeout_ms), and the caller's stack must not. */
#include "engine_internal.h"

typedef struct waiter {
    weft_lock lock;
    weft_cond cond;
    weft_result *result;
} waiter;

static void done(void *cookie, weft_result *r)
{
    waiter *w = cookie;
    weft_lock_take(&w->lock);
    w->result = r;
    weft_cond_signal(&w->cond);
    weft_lock_drop(&w->lock);
}

static weft_status take_result(weft_result *r, weft_result **out, weft_error *err)
{
    weft_status s = r->error.status;
    if (!s) {
        *out = r;
        return WEFT_OK;
    }
    if (err)
        *err = r->error;
    weft_result_unref(r);
    return s;
}

weft_status weft_infer(weft_engine *e, const weft_call *call, weft_result **out, weft_error *err)
{
    if (!e || !call || !out)
        return weft_fail(err, WEFT_E_INVALID, "an engine, a call and a place for the result are needed");
    *out = NULL;
    if (weft_role_get() != WEFT_ROLE_NONE)
        return weft_fail(err, WEFT_E_CONFLICT,
                         "weft_infer was called from a callback or an executor; use weft_infer_async there");
    waiter w = {.result = NULL};
    weft_lock_init(&w.lock, "waiter", 700);
    weft_cond_init(&w.cond);
    weft_async a = {.done = done, .cookie = &w};
    weft_status s = weft_infer_async(e, call, &a, NULL, err);
    if (!s) {
        weft_lock_take(&w.lock);
        while (!w.result)
            weft_cond_wait(&w.cond, &w.lock);
        weft_lock_drop(&w.lock);
        s = take_result(w.result, out, err);
    }
    weft_cond_fini(&w.cond);
    weft_lock_fini(&w.lock);
    return s;
}
