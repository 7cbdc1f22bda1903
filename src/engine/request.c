/* Requests: one arena each, answered exactly once, released when nothing can touch it any more.
 *
 *   phase      who moves it on                      legal meanwhile
 *   WAITING    scheduler (grant), completer         may be unlinked by who answers it
 *   PREP       the host thread that has it          an answer only marks it; the thread drops it
 *   READY      instance threads, by part            queued parts may be unlinked; running ones end by themselves
 *   POST_WAIT  scheduler (grant), completer         may be unlinked
 *   POST       the host thread that has it          as PREP
 *   PIPE       the pipeline thread that has it      as PREP; the thread is woken
 *   OVER       nobody                               only the answer and the result may be left
 *
 * Completed is not released. A request has three references: `work` (queues, threads and the backend; dropped by
 * weft_request_work_over), `answer` (whoever claims it; dropped by weft_request_answer) and `result` (dropped by the last
 * weft_result_unref). The arena goes with the last. The caller's inputs and the model are given back when both work and answer
 * are done, whichever is later. */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"
#include "weft/builder.h"

bool weft_request_claim(weft_request *r)
{
    int open = 0;
    return atomic_compare_exchange_strong_explicit(&r->answer, &open, 1, memory_order_acq_rel, memory_order_relaxed);
}

bool weft_request_over(const weft_request *r, int64_t now_ns)
{
    if (atomic_load_explicit(&r->answer, memory_order_acquire) || r->deadline_ns <= now_ns)
        return true;
    return r->parent && atomic_load_explicit(&r->parent->answer, memory_order_acquire);
}

void weft_request_free(weft_request *r)
{
    weft_arena *arena = r->arena;
    weft_home *home = r->home;
    weft_arena_destroy(&arena);
    weft_home_unref(home);
}

void weft_request_unref(weft_request *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1)
        weft_request_free(r);
}

void weft_request_result_released(void *owner)
{
    weft_request_unref(owner);
}

/* One of work and answer is done. */
static void side_done(weft_request *r)
{
    if (atomic_fetch_sub_explicit(&r->n_sides, 1, memory_order_acq_rel) != 1)
        return;
    weft_model *m = r->model;
    r->model = NULL;
    if (m)
        weft_model_unref(m);
    if (r->async.release)
        r->async.release(r->async.cookie);
}

void weft_request_work_over(weft_request *r)
{
    weft_chunk_give(r->home->pool, r->row_chunk);
    r->row_chunk = NULL;
    if (r->parent)
        weft_group_done(r);
    else
        side_done(r);
    weft_request_unref(r);
}

static void fill_timing(const weft_request *r, int64_t now, weft_timing *t)
{
    *t = (weft_timing){.arrived_unix_ns = r->arrived_unix_ns,
                       .total_ns = now - r->admitted_ns,
                       .preprocess_ns = weft_get_ns(&r->prep_ns),
                       .run_ns = weft_get_ns(&r->run_ns),
                       .postprocess_ns = weft_get_ns(&r->post_ns),
                       .batch_rows = atomic_load_explicit(&r->batch_rows, memory_order_relaxed),
                       .n_runs = atomic_load_explicit(&r->n_runs, memory_order_relaxed)};
    t->queue_ns = t->total_ns - t->preprocess_ns - t->run_ns - t->postprocess_ns;
    if (t->queue_ns < 0) /* sub-runs in parallel add up to more than the wall clock shows */
        t->queue_ns = 0;
}

/* The last answer of an engine or a model that somebody waits to see idle. */
static void one_open_less(weft_engine *e, weft_model *m)
{
    bool tell = false;
    if (m && atomic_fetch_sub(&m->n_open, 1) == 1 && atomic_load(&m->retiring))
        tell = true;
    if (atomic_fetch_sub(&e->n_open, 1) == 1 && (atomic_load(&e->draining) || atomic_load(&e->closing)))
        tell = true;
    if (!tell)
        return;
    weft_lock_take(&e->sched);
    weft_cond_broadcast(&e->all_answered);
    weft_lock_drop(&e->sched);
}

void weft_request_answer(weft_request *r, weft_builder *b, const weft_error *failure)
{
    weft_engine *e = r->engine;
    weft_model *m = r->model;
    weft_timing timing;
    if (r->deadline_ns != WEFT_NEVER)
        weft_timer_clear(&e->timers, &r->deadline);
    weft_ticket_give(e, r->ticket);
    fill_timing(r, weft_engine_now(e), &timing);
    if (m)
        weft_stats_answer(m, r, failure ? failure->status : WEFT_OK, &timing);
    weft_result *result =
        weft_builder_finish(b ? b : r->failure, r->call.id, r->call.model, m ? m->config.version : "", &timing, failure);
    if (e->options.observe)
        e->options.observe(e->options.observe_cookie, result, r->call.trace);
    r->async.done(r->async.cookie, result);
    if (m)
        weft_model_ref(m); /* side_done may drop the request's */
    side_done(r);
    one_open_less(e, m);
    if (m)
        weft_model_unref(m);
    weft_request_unref(r);
}

void weft_request_fail(weft_request *r, const weft_error *failure)
{
    if (weft_request_claim(r))
        weft_request_answer(r, NULL, failure);
}

/* ---- the deep copy of a call ---- */
static size_t text_bytes(const char *s)
{
    return s ? strlen(s) + 17 : 0;
}

size_t weft_request_bytes(const weft_call *call, bool copy_data)
{
    size_t n = text_bytes(call->model) + text_bytes(call->version) + text_bytes(call->id) + text_bytes(call->trace);
    n += call->n_inputs * (sizeof(weft_input) + 16) + call->n_params * sizeof(weft_param) + call->n_outputs * sizeof(char *) + 64;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const weft_input *in = &call->inputs[i];
        n += text_bytes(in->name) + (in->is_bytes ? 0 : text_bytes(in->tensor.name));
        if (copy_data)
            n += (in->is_bytes ? in->n_bytes : in->tensor.n_bytes) + 128;
    }
    for (size_t i = 0; i < call->n_params; i++)
        n += text_bytes(call->params[i].name) + text_bytes(call->params[i].s);
    for (size_t i = 0; i < call->n_outputs; i++)
        n += text_bytes(call->outputs[i]);
    return n;
}

static bool copy_text(weft_arena *a, const char **s)
{
    if (*s)
        *s = weft_arena_strdup(a, *s);
    return *s != NULL;
}

static bool copy_data(weft_arena *a, const void **data, size_t n_bytes)
{
    if (!n_bytes)
        return true;
    void *copy = weft_arena_alloc(a, n_bytes < 64 ? 64 : n_bytes); /* aligned to 64 */
    if (copy)
        memcpy(copy, *data, n_bytes);
    *data = copy;
    return copy != NULL;
}

static bool copy_inputs(weft_arena *a, weft_call *c, bool data)
{
    weft_input *inputs = weft_arena_array(a, c->n_inputs, sizeof(*inputs));
    if (!inputs)
        return false;
    for (size_t i = 0; i < c->n_inputs; i++) {
        weft_input *in = &inputs[i];
        *in = c->inputs[i];
        bool same_name = !in->is_bytes && in->tensor.name == in->name;
        if (in->name && !copy_text(a, &in->name))
            return false;
        if (!in->is_bytes && in->tensor.name) {
            if (same_name)
                in->tensor.name = in->name;
            else if (!copy_text(a, &in->tensor.name))
                return false;
        }
        if (data && in->is_bytes && !copy_data(a, &in->bytes, in->n_bytes))
            return false;
        if (data && !in->is_bytes && !copy_data(a, (const void **)&in->tensor.data, in->tensor.n_bytes))
            return false;
    }
    c->inputs = inputs;
    return true;
}

static bool copy_params(weft_arena *a, weft_call *c)
{
    weft_param *params = weft_arena_array(a, c->n_params, sizeof(*params));
    if (!params)
        return false;
    for (size_t i = 0; i < c->n_params; i++) {
        params[i] = c->params[i];
        if (params[i].name && !copy_text(a, &params[i].name))
            return false;
        if (params[i].kind == WEFT_PARAM_STRING && params[i].s && !copy_text(a, &params[i].s))
            return false;
    }
    c->params = params;
    return true;
}

static bool copy_call(weft_arena *a, const weft_call *call, bool data, weft_call *c)
{
    *c = *call;
    if (!copy_text(a, &c->model) || (c->version && !copy_text(a, &c->version)) || (c->id && !copy_text(a, &c->id)) ||
        (c->trace && !copy_text(a, &c->trace)))
        return false;
    if (c->n_inputs && !copy_inputs(a, c, data))
        return false;
    if (c->n_params && !copy_params(a, c))
        return false;
    if (!c->n_outputs) {
        c->outputs = NULL;
        return true;
    }
    const char **outputs = weft_arena_array(a, c->n_outputs, sizeof(*outputs));
    if (!outputs)
        return false;
    for (size_t i = 0; i < c->n_outputs; i++)
        if (!(outputs[i] = weft_arena_strdup(a, call->outputs[i])))
            return false;
    c->outputs = outputs;
    return true;
}

weft_status weft_request_create(weft_engine *e, const weft_call *call, const weft_async *a, size_t more_bytes, weft_request **out,
                                weft_error *err)
{
    *out = NULL;
    bool data = !a->release;
    weft_arena *arena = weft_arena_create(e->home->pool, sizeof(weft_request) + weft_request_bytes(call, data) + more_bytes);
    weft_request *r = arena ? weft_arena_zalloc(arena, sizeof(*r)) : NULL;
    if (!r)
        goto no_memory;
    atomic_init(&r->refs, 3);
    atomic_init(&r->n_sides, 2);
    r->engine = e;
    r->home = e->home;
    r->arena = arena;
    r->async = *a;
    r->deadline_ns = WEFT_NEVER;
    r->deadline.kind = WEFT_TIMER_DEADLINE;
    if (!copy_call(arena, call, data, &r->call) ||
        weft_builder_create(arena, NULL, 0, weft_request_result_released, r, &r->failure, NULL))
        goto no_memory;
    atomic_fetch_add_explicit(&e->home->refs, 1, memory_order_relaxed);
    *out = r;
    return WEFT_OK;
no_memory:
    weft_arena_destroy(&arena);
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a request of %zu bytes; try again later",
                     weft_request_bytes(call, data));
}
