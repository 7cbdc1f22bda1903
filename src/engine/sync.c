/* weft_infer: the synchronous call, on top of the asynchronous one. Inputs are copied when the call can end before its run does
 * (a deadline); without one they are borrowed, and the call returns only when nothing reads them any more. */
#include "engine_internal.h"

typedef struct waiter {
    weft_lock lock;
    weft_cond cond;
    weft_result *result;
    bool released;
} waiter;

static void done(void *cookie, weft_result *r)
{
    waiter *w = cookie;
    weft_lock_take(&w->lock);
    w->result = r;
    weft_cond_signal(&w->cond);
    weft_lock_drop(&w->lock);
}

static void release(void *cookie)
{
    waiter *w = cookie;
    weft_lock_take(&w->lock);
    w->released = true;
    weft_cond_signal(&w->cond);
    weft_lock_drop(&w->lock);
}

/* Has the model a deadline of its own? Unknown models have: then the inputs are copied, or the call is refused anyway. */
static bool model_has_deadline(weft_engine *e, const char *name)
{
    bool has = true;
    weft_lock_take(&e->registry);
    const weft_entry *entry = name ? weft_registry_find(e, name) : NULL;
    if (entry && entry->served)
        has = entry->served->timeout_ns > 0;
    weft_lock_drop(&e->registry);
    return has;
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
    bool borrow = call->timeout_ms <= 0 && !model_has_deadline(e, call->model);
    weft_async a = {.done = done, .cookie = &w, .release = borrow ? release : NULL};
    weft_status s = weft_infer_async(e, call, &a, NULL, err);
    if (!s) {
        weft_lock_take(&w.lock);
        while (!w.result || (borrow && !w.released))
            weft_cond_wait(&w.cond, &w.lock);
        weft_lock_drop(&w.lock);
        s = w.result->error.status;
        if (s) {
            if (err)
                *err = w.result->error;
            weft_result_unref(w.result);
        } else {
            *out = w.result;
        }
    }
    weft_cond_fini(&w.cond);
    weft_lock_fini(&w.lock);
    return s;
}
