#include "server/v2_job.h"

static void free_job(void *p)
{
    weft_v2_job *job = p;
    for (size_t i = 0; i < job->n_calls; i++)
        weft_result_unref(job->results[i]);
    weft_v2_model_close(&job->model);
}

static void cancel_job(weft_exchange *x)
{
    weft_v2_job *job = x->job;
    for (size_t i = 0; i < job->n_calls; i++)
        weft_cancel(x->loop->server->engine, job->tickets[i]);
}

weft_status weft_v2_job_init(weft_v2_job *job, weft_exchange *x, const char *model, const char *version, weft_error *err)
{
    job->x = x;
    x->job = job;
    x->job_free = free_job;
    x->cancel = cancel_job;
    weft_status st = weft_v2_model_open(x->loop->server->engine, model, version, x->arena, &job->model, err);
    if (st)
        return st;
    weft_v2_call_init(&job->call, x->arena);
    job->call.model = model;
    job->call.version = version;
    return WEFT_OK;
}

/* ---- to the engine and back ------------------------------------------------------------------------------------------------ */

static void one_less(weft_v2_job *job, size_t n)
{
    weft_exchange *x = job->x;
    if (atomic_fetch_sub(&job->n_left, n) == n)
        weft_exchange_post_home(x); /* with the reference taken in submit */
}

static void on_done(void *cookie, weft_result *r)
{
    weft_v2_sub *sub = cookie;
    sub->job->results[sub->index] = r;
    one_less(sub->job, 1);
}

static void on_release(void *cookie)
{
    weft_v2_sub *sub = cookie;
    weft_exchange_unref(sub->job->x);
}

/* How many were accepted; job->err says why not all. */
static size_t start_calls(weft_v2_job *job, const weft_call *calls, size_t n)
{
    weft_exchange *x = job->x;
    for (size_t i = 0; i < n; i++) {
        job->subs[i] = (weft_v2_sub){job, i};
        const weft_async a = {.done = on_done, .cookie = &job->subs[i], .release = on_release};
        weft_exchange_ref(x); /* for release */
        job->n_calls = i;
        if (weft_infer_async(x->loop->server->engine, &calls[i], &a, &job->tickets[i], &job->err) != WEFT_OK) {
            weft_exchange_unref(x);
            return i;
        }
        job->n_calls = i + 1;
    }
    return n;
}

weft_status weft_v2_job_submit(weft_v2_job *job, int64_t default_timeout_ms, weft_error *err)
{
    weft_exchange *x = job->x;
    weft_call *calls;
    size_t n;
    weft_status st = weft_v2_call_plan(&job->call, &job->model, default_timeout_ms, &calls, &n, err);
    if (st)
        return st;
    weft_error_clear(&job->err);
    atomic_init(&job->n_left, n + 1);
    weft_exchange_ref(x); /* for the way home */
    x->in_engine = true;
    size_t started = start_calls(job, calls, n);
    if (started == n) {
        one_less(job, 1);
        return WEFT_OK;
    }
    for (size_t k = 0; k < started; k++)
        weft_cancel(x->loop->server->engine, job->tickets[k]);
    if (started > 0) { /* answered when all are back */
        one_less(job, n - started + 1);
        return WEFT_OK;
    }
    x->in_engine = false;
    weft_exchange_unref(x);
    *err = job->err;
    return err->status;
}

/* ---- at home --------------------------------------------------------------------------------------------------------------- */

/* The first thing that went wrong, if anything did. A refusal of ours cancels the others: it is the cause. */
static const weft_error *first_failure(weft_v2_job *job, size_t *index)
{
    *index = job->n_calls;
    if (job->err.status != WEFT_OK)
        return &job->err;
    for (*index = 0; *index < job->n_calls; ++*index)
        if (job->results[*index]->error.status != WEFT_OK)
            return &job->results[*index]->error;
    return NULL;
}

weft_status weft_v2_job_outputs(weft_v2_job *job, weft_error *err)
{
    size_t index;
    const weft_error *failure = first_failure(job, &index);
    if (!failure)
        return weft_v2_outputs(&job->call, &job->model, job->results, job->n_calls, &job->outs, &job->n_outs, err);
    *err = *failure;
    if (job->n_calls > 1 || index > 0)
        weft_fail_prefix(err, err->status, "picture %zu", index);
    return err->status;
}
