/* Admission: the caller's thread, from weft_infer_async to the queue. It answers at once; nothing later says BUSY. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine_internal.h"

#define COLUMN_BYTES 512 /* of a result beside its data: name, column, index */
#define MAX_ANSWER_GUESS_BYTES 65536

static weft_status check_tensor_input(const weft_input *in, weft_error *err)
{
    weft_status s = weft_tensor_check(&in->tensor, err);
    if (s && in->name && !in->tensor.name)
        return weft_fail_prefix(err, s, "input \"%.64s\"", in->name);
    return s;
}

static weft_status check_inputs(const weft_call *call, size_t *n_bytes, weft_error *err)
{
    if (call->n_inputs > WEFT_MAX_CALL_INPUTS)
        return weft_fail(err, WEFT_E_TOO_LARGE, "%zu inputs came; at most %d are possible", call->n_inputs, WEFT_MAX_CALL_INPUTS);
    if (call->n_inputs && !call->inputs)
        return weft_fail(err, WEFT_E_INVALID, "the call says %zu inputs but gives none", call->n_inputs);
    *n_bytes = 0;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const weft_input *in = &call->inputs[i];
        weft_status s = WEFT_OK;
        if (in->is_bytes && in->n_bytes && !in->bytes)
            s = weft_fail(err, WEFT_E_INVALID, "input %zu says %zu bytes but gives none", i, in->n_bytes);
        else if (!in->is_bytes)
            s = check_tensor_input(in, err);
        if (s)
            return s;
        *n_bytes += in->is_bytes ? in->n_bytes : in->tensor.n_bytes;
    }
    return WEFT_OK;
}

static weft_status check_params(const weft_call *call, weft_error *err)
{
    if (call->n_params > WEFT_MAX_CALL_PARAMS || (call->n_params && !call->params))
        return weft_fail(err, WEFT_E_INVALID, "%zu parameters came; at most %d are possible", call->n_params,
                         WEFT_MAX_CALL_PARAMS);
    for (size_t i = 0; i < call->n_params; i++) {
        const weft_param *p = &call->params[i];
        if (!p->name)
            return weft_fail(err, WEFT_E_INVALID, "parameter %zu has no name", i);
        if (p->kind < WEFT_PARAM_BOOL || p->kind > WEFT_PARAM_STRING || (p->kind == WEFT_PARAM_STRING && !p->s))
            return weft_fail(err, WEFT_E_INVALID, "parameter \"%.64s\" has no value of a known kind", p->name);
    }
    return WEFT_OK;
}

static weft_status check_call(const weft_call *call, const weft_async *a, size_t *n_bytes, weft_error *err)
{
    if (!call || !a || !a->done)
        return weft_fail(err, WEFT_E_INVALID, "a call and a done callback are needed");
    if (!call->model || !*call->model)
        return weft_fail(err, WEFT_E_INVALID, "the call names no model");
    if (call->id && strlen(call->id) > WEFT_MAX_ID_BYTES)
        return weft_fail(err, WEFT_E_INVALID, "the request id has %zu bytes; at most %d are possible", strlen(call->id),
                         WEFT_MAX_ID_BYTES);
    if (call->trace && strlen(call->trace) > WEFT_MAX_TRACE_BYTES)
        return weft_fail(err, WEFT_E_INVALID, "the trace context has %zu bytes; at most %d are possible", strlen(call->trace),
                         WEFT_MAX_TRACE_BYTES);
    if (call->timeout_ms < 0)
        return weft_fail(err, WEFT_E_INVALID, "timeout_ms is %lld; expected 0 (the model's default) or more",
                         (long long)call->timeout_ms);
    if (call->priority < WEFT_PRIORITY_MIN || call->priority > WEFT_PRIORITY_MAX)
        return weft_fail(err, WEFT_E_INVALID, "the priority is %d; expected %d to %d", call->priority, WEFT_PRIORITY_MIN,
                         WEFT_PRIORITY_MAX);
    if (call->n_outputs && (!call->outputs || call->n_outputs > WEFT_MAX_MODEL_OUTPUTS))
        return weft_fail(err, WEFT_E_INVALID, "%zu outputs are asked for; at most %d are possible", call->n_outputs,
                         WEFT_MAX_MODEL_OUTPUTS);
    weft_status s = check_params(call, err);
    return s ? s : check_inputs(call, n_bytes, err);
}

static int64_t effective_timeout_ns(const weft_model *m, int64_t timeout_ms)
{
    int64_t asked = timeout_ms > 0 ? weft_ms_to_ns((double)timeout_ms) : 0;
    if (!asked || (m->timeout_ns && m->timeout_ns < asked))
        asked = m->timeout_ns;
    return asked ? asked : WEFT_NEVER;
}

static weft_status busy(weft_model *m, weft_error *err, int64_t wait_ns, weft_refusal reason, const char *why)
{
    weft_stats_refused(m, reason);
    weft_fail(err, WEFT_E_BUSY, "%s; try again in %lld ms", why, (long long)(wait_ns / WEFT_MS + 1));
    if (err)
        err->retry_after_ms = wait_ns / WEFT_MS + 1;
    return WEFT_E_BUSY;
}

/* Takes a place in the queue, before anything is copied. RETRY (1): this version is on its way out. */
#define RETRY 1
static int reserve(weft_model *m, const weft_call *call, size_t n_bytes, int64_t timeout_ns, int64_t *expected_ns,
                   weft_error *err)
{
    weft_engine *e = m->engine;
    const weft_model_config *c = &m->config;
    int64_t wait_ns = 0, p90_ns = 0;
    enum { ADMITTED, FULL, FULL_BYTES, TOO_LATE, REFUSED } why = ADMITTED;

    weft_lock_take(&e->sched);
    if (m->phase == WEFT_MODEL_UNLOADING) {
        weft_lock_drop(&e->sched);
        return RETRY;
    }
    if (weft_health_admit(m, err)) {
        why = REFUSED;
    } else if (m->n_queued >= (size_t)c->queue_size) {
        why = FULL;
    } else if (m->queued_bytes && m->queued_bytes + n_bytes > c->queue_bytes) {
        why = FULL_BYTES;
    } else if (m->n_queued > 0) {
        /* An empty queue is never refused by estimate. */
        wait_ns = weft_estimate_wait(m, weft_level(call->priority, c->priority), &p90_ns);
        if (timeout_ns != WEFT_NEVER && wait_ns > timeout_ns)
            why = TOO_LATE;
    }
    if (why == ADMITTED) {
        m->n_queued++;
        m->queued_bytes += n_bytes;
        atomic_fetch_add(&m->n_open, 1);
        atomic_fetch_add(&e->n_open, 1);
    } else if (why != TOO_LATE) {
        weft_estimate_wait(m, weft_level(call->priority, c->priority), &p90_ns);
    }
    weft_lock_drop(&e->sched);
    *expected_ns = wait_ns;

    char text[256];
    switch (why) {
    case FULL:
        snprintf(text, sizeof(text), "the queue of the model \"%s\" is full (%lld requests)", c->name, (long long)c->queue_size);
        return busy(m, err, p90_ns, WEFT_REFUSED_QUEUE_FULL, text);
    case FULL_BYTES:
        snprintf(text, sizeof(text), "the queue of the model \"%s\" holds %llu bytes, which is its limit", c->name,
                 (unsigned long long)c->queue_bytes);
        return busy(m, err, p90_ns, WEFT_REFUSED_QUEUE_BYTES, text);
    case TOO_LATE:
        snprintf(text, sizeof(text),
                 "the expected wait for the model \"%s\" is %lld ms, longer than the %lld ms this request has", c->name,
                 (long long)(wait_ns / WEFT_MS), (long long)(timeout_ns / WEFT_MS));
        return busy(m, err, p90_ns, WEFT_REFUSED_TOO_LATE, text);
    case REFUSED:
        weft_stats_refused(m, WEFT_REFUSED_NOT_READY);
        return WEFT_E_UNAVAILABLE;
    default:
        return WEFT_OK;
    }
}

static void unreserve(weft_model *m, size_t n_bytes)
{
    weft_engine *e = m->engine;
    weft_lock_take(&e->sched);
    m->n_queued--;
    m->queued_bytes -= n_bytes;
    atomic_fetch_sub(&m->n_open, 1);
    atomic_fetch_sub(&e->n_open, 1);
    weft_cond_broadcast(&e->all_answered);
    weft_lock_drop(&e->sched);
}

/* The asked-for outputs as flags; NULL in r means all. */
static weft_status choose_outputs(weft_request *r, weft_error *err)
{
    const weft_model *m = r->model;
    if (!r->call.n_outputs || m->executor->postprocess)
        return WEFT_OK;
    bool *wanted = weft_arena_array(r->arena, m->desc.n_outputs, sizeof(*wanted));
    if (!wanted)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a request");
    for (size_t i = 0; i < r->call.n_outputs; i++) {
        size_t k = 0;
        while (k < m->desc.n_outputs && (!r->call.outputs[i] || strcmp(m->desc.outputs[k].name, r->call.outputs[i])))
            k++;
        if (k == m->desc.n_outputs)
            return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has no output \"%.64s\"; its first output is \"%.64s\"",
                             m->config.name, r->call.outputs[i] ? r->call.outputs[i] : "",
                             m->desc.n_outputs ? m->desc.outputs[0].name : "");
        wanted[k] = true;
    }
    r->wanted = wanted;
    return WEFT_OK;
}

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a request; try again later");
}

/* What the request will run: the executor's plan, checked, in the request's own memory. */
static weft_status plan(weft_request *r, bool *needs_prep, weft_error *err)
{
    weft_model *m = r->model;
    weft_plan p;
    memset(&p, 0, offsetof(weft_plan, rows) + m->desc.n_inputs * sizeof(weft_tensor));
    p.host_work_bytes = 0;
    p.n_rows = 1;
    if (m->executor->scratch_bytes && !(r->scratch = weft_arena_zalloc(r->arena, m->executor->scratch_bytes)))
        return no_memory(err);
    weft_status s = m->executor->plan(m->state, &r->call, r->scratch, &p, err);
    if (!s)
        s = weft_rows_check(m, &p, err);
    if (s)
        return s;
    uint64_t limit = r->engine->options.memory_limit;
    if (limit && p.host_work_bytes > limit)
        return weft_fail(err, WEFT_E_TOO_LARGE, "preparing this request needs %zu bytes; the limit for requests is %llu",
                         p.host_work_bytes, (unsigned long long)limit);
    r->n_rows = p.n_rows;
    r->n_inputs = m->desc.n_inputs;
    r->rows = weft_arena_alloc(r->arena, r->n_inputs * sizeof(weft_tensor));
    if (!r->rows)
        return no_memory(err);
    memcpy(r->rows, p.rows, r->n_inputs * sizeof(weft_tensor));
    *needs_prep = weft_rows_missing_bytes(m, r) > 0;
    if (!*needs_prep)
        weft_rows_key(m, r);
    s = weft_parts_make(r, err);
    return s ? s : choose_outputs(r, err);
}

/* The request has its place (reserve) and its model; queues it. */
static void enqueue(weft_request *r, bool needs_prep, size_t n_bytes, int64_t timeout_ns)
{
    weft_model *m = r->model;
    weft_engine *e = m->engine;
    weft_lock_take(&e->sched);
    int64_t now = r->admitted_ns;
    r->level = weft_level(r->call.priority, m->config.priority);
    r->arrival_ns = now;
    r->deadline_ns = weft_time_add(now, timeout_ns);
    r->in_queue_count = true;
    r->queue_bytes = n_bytes;
    weft_sched_enter(m, r);
    if (m->executor->run || needs_prep) { /* a pipeline has no rows of its own */
        r->phase = WEFT_PHASE_WAITING;
        r->q.level = r->level;
        r->q.arrival_ns = now;
        weft_queue_push(&m->waiting, &r->q);
    } else {
        r->phase = WEFT_PHASE_READY;
        weft_sched_queue_ready(m, &r->parts[0], now);
    }
    if (r->deadline_ns != WEFT_NEVER)
        weft_timer_set(&e->timers, &r->deadline, r->deadline_ns);
    weft_sched_dispatch(e, now);
    weft_lock_drop(&e->sched);
}

static size_t more_bytes(const weft_model *m)
{
    size_t n =
        m->executor->scratch_bytes + m->desc.n_inputs * sizeof(weft_tensor) + 2560; /* the builder and what rounding costs */
    if (m->executor->run || m->executor->postprocess)
        return n;
    return n + m->desc.n_outputs * COLUMN_BYTES + (m->answer_bytes < MAX_ANSWER_GUESS_BYTES ? m->answer_bytes : 0);
}

static weft_status refused_closing(weft_error *err)
{
    return weft_fail(err, WEFT_E_UNAVAILABLE, "the engine is shutting down");
}

/* A call whose model is being replaced waits in the entry's list. *parked tells; else go on as usual. */
static weft_status park(weft_engine *e, const weft_call *call, const weft_async *a, uint64_t *ticket, bool *parked,
                        weft_error *err)
{
    weft_request *r;
    *parked = false;
    weft_status s = weft_request_create(e, call, a, 4096, &r, err);
    if (s)
        return s;
    if ((s = weft_ticket_take(e, r, err))) {
        weft_request_free(r);
        return s;
    }
    if (ticket)
        *ticket = r->ticket;
    r->arrived_unix_ns = weft_unix_ns();
    r->admitted_ns = weft_engine_now(e);
    r->phase = WEFT_PHASE_OVER; /* not in any queue of a model */
    atomic_fetch_add(&e->n_open, 1);
    if (!atomic_load(&e->closing) && weft_registry_park(e, r)) {
        *parked = true;
        return WEFT_OK;
    }
    atomic_fetch_sub(&e->n_open, 1);
    weft_ticket_give(e, r->ticket);
    weft_request_free(r);
    return WEFT_OK;
}

/* Memory, plan and ticket of an admitted call. On failure nothing is left. */
static weft_status make(weft_model *m, const weft_call *call, const weft_async *a, weft_request **out, bool *needs_prep,
                        weft_error *err)
{
    weft_request *r;
    weft_status s = weft_request_create(m->engine, call, a, more_bytes(m), &r, err);
    if (s)
        return s;
    r->model = m;
    *needs_prep = false;
    r->n_rows = 1;
    if (!m->executor->run)
        s = plan(r, needs_prep, err);
    if (!s)
        s = weft_ticket_take(m->engine, r, err);
    if (s) {
        weft_request_free(r);
        return s;
    }
    *out = r;
    return WEFT_OK;
}

weft_status weft_infer_async(weft_engine *e, const weft_call *call, const weft_async *a, uint64_t *ticket, weft_error *err)
{
    size_t n_bytes = 0;
    weft_model *m;
    weft_request *r = NULL;
    bool needs_prep, parked, replacing;
    weft_error local; /* the caller may not want one, but a status may have to be looked at */
    if (!err)
        err = &local;
    weft_error_clear(err);
    if (!e)
        return weft_fail(err, WEFT_E_INVALID, "no engine was given");
    weft_status s = check_call(call, a, &n_bytes, err);
    if (s)
        return s;
    for (;;) {
        if (atomic_load(&e->closing) || atomic_load(&e->draining))
            return refused_closing(err);
        int64_t now = weft_engine_now(e);
        s = weft_registry_get(e, call->model, call->version, &replacing, &m, err);
        if (replacing) {
            s = park(e, call, a, ticket, &parked, err);
            if (s || parked)
                return s;
            continue;
        }
        if (s)
            return s;
        int64_t timeout_ns = effective_timeout_ns(m, call->timeout_ms), expected_ns = 0;
        int got = reserve(m, call, n_bytes, timeout_ns, &expected_ns, err);
        if (got == RETRY) {
            weft_model_unref(m);
            continue;
        }
        s = got;
        if (s) {
            weft_model_unref(m);
            return s;
        }
        s = atomic_load(&e->closing) ? refused_closing(err) : make(m, call, a, &r, &needs_prep, err);
        if (s) {
            unreserve(m, n_bytes);
            weft_model_unref(m);
            return s;
        }
        r->arrived_unix_ns = weft_unix_ns();
        r->admitted_ns = now;
        r->expected_wait_ns = expected_ns;
        if (ticket)
            *ticket = r->ticket;
        weft_stats_count(m, &m->stats.accepted);
        enqueue(r, needs_prep, n_bytes, timeout_ns);
        return WEFT_OK;
    }
}

void weft_admit_parked(weft_request *r, weft_model *m)
{
    weft_engine *e = r->engine;
    weft_error err;
    bool needs_prep = false;
    weft_error_clear(&err);
    /* Claimed for as long as it has neither a queue nor a model that an answer could look at. */
    if (!weft_request_claim(r)) {
        if (m)
            weft_model_unref(m);
        weft_request_work_over(r);
        return;
    }
    if (r->deadline_ns != WEFT_NEVER)
        weft_timer_clear(&e->timers, &r->deadline);
    weft_status s = WEFT_OK;
    if (!m) {
        s = weft_fail(&err, WEFT_E_UNAVAILABLE,
                      "the model \"%s\" was replaced, and neither the new nor the old version could be loaded", r->call.model);
    } else {
        r->model = m;
        r->n_rows = 1;
        weft_lock_take(&e->sched);
        m->n_queued++; /* not refused for a full queue: it was accepted before */
        atomic_fetch_add(&m->n_open, 1);
        weft_lock_drop(&e->sched);
        weft_stats_count(m, &m->stats.accepted);
        if (!m->executor->run)
            s = plan(r, &needs_prep, &err);
    }
    if (s) {
        if (m) {
            weft_lock_take(&e->sched);
            m->n_queued--;
            weft_lock_drop(&e->sched);
        }
        weft_request_answer(r, NULL, &err);
        weft_request_work_over(r);
        return;
    }
    atomic_store_explicit(&r->answer, 0, memory_order_release);
    enqueue(r, needs_prep, 0, effective_timeout_ns(m, r->call.timeout_ms));
}
