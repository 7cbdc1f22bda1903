/* Host threads: preprocess and postprocess, each holding one core token, in scheduling order. There are as many as tokens, so a
 * free token always finds a thread. */
#include <stdio.h>
#include <stdlib.h>

#include "engine_internal.h"

static weft_status preprocess(weft_request *r, weft_error *err)
{
    weft_model *m = r->model;
    weft_tensor dst[WEFT_MAX_MODEL_INPUTS];
    bool missing[WEFT_MAX_MODEL_INPUTS];
    for (size_t k = 0; k < r->n_inputs; k++)
        missing[k] = !r->rows[k].data && r->rows[k].dtype != WEFT_DT_NONE;
    weft_status s = weft_rows_take(r, err);
    for (int64_t row = 0; !s && row < r->n_rows; row++) {
        for (size_t k = 0; k < r->n_inputs; k++) {
            bool shared = !m->view.batched || m->view.shared_input[k];
            size_t one = shared ? r->rows[k].n_bytes : r->rows[k].n_bytes / (size_t)r->n_rows;
            dst[k] = r->rows[k];
            dst[k].n_bytes = one;
            dst[k].data = missing[k] ? (char *)r->rows[k].data + (shared ? 0 : (size_t)row * one) : NULL;
        }
        s = m->executor->preprocess(m->state, &r->call, r->scratch, row, dst, r->n_inputs, err);
    }
    if (!s)
        weft_rows_key(m, r);
    return s;
}

static void do_prep(weft_request *r)
{
    weft_error err;
    weft_error_clear(&err);
    if (weft_request_answered(r))
        return;
    int64_t start = weft_engine_now(r->engine);
    weft_status s = preprocess(r, &err);
    weft_add_ns(&r->prep_ns, weft_engine_now(r->engine) - start);
    if (!s)
        return;
    if (!err.status)
        weft_fail(&err, s, "%s", weft_status_text(s));
    err.status = s;
    weft_request_fail(r, &err);
}

/* Lock held. True when nothing works on the request any more. */
static bool after_job(weft_model *m, weft_request *r, int64_t now)
{
    if (r->phase == WEFT_PHASE_PREP && !weft_request_answered(r)) {
        r->phase = WEFT_PHASE_READY;
        weft_sched_queue_ready(m, &r->parts[0], now);
        return false;
    }
    weft_sched_leave(m, r);
    return true;
}

static void do_job(weft_host_thread *t)
{
    weft_engine *e = t->engine;
    weft_request *r = t->job;
    weft_model *m = r->model;
    if (r->phase == WEFT_PHASE_PREP)
        do_prep(r);
    else
        weft_finish_outputs(r, r->outputs, false);
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e);
    t->job = NULL;
    weft_sched_tokens_back(m, 1);
    weft_lane_correct(&e->lane, &m->account->share, 0, now - t->granted_ns, 1, t->starved);
    bool over = after_job(m, r, now);
    weft_node_push_front(&e->host_idle, &t->idle_node);
    weft_sched_dispatch(e, now);
    weft_lock_drop(&e->sched);
    if (over)
        weft_request_work_over(r);
}

static void host_main(void *arg)
{
    weft_host_thread *t = arg;
    weft_engine *e = t->engine;
    weft_role_set(WEFT_ROLE_HOST);
    weft_lock_take(&e->sched);
    while (!e->stop_hosts || t->job) {
        if (t->job) {
            weft_lock_drop(&e->sched);
            do_job(t);
            weft_lock_take(&e->sched);
        } else {
            weft_cond_wait(&t->cond, &e->sched);
        }
    }
    weft_lock_drop(&e->sched);
}

weft_status weft_hosts_start(weft_engine *e, weft_error *err)
{
    e->hosts = calloc((size_t)e->cores, sizeof(*e->hosts));
    if (!e->hosts)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for %lld host threads", (long long)e->cores);
    for (int64_t i = 0; i < e->cores; i++) {
        weft_host_thread *t = &e->hosts[i];
        char name[16];
        t->engine = e;
        weft_cond_init(&t->cond);
        e->n_hosts++;
        snprintf(name, sizeof(name), "weft-host-%lld", (long long)i % 1000);
        weft_status s = weft_thread_start(&t->thread, name, host_main, t, err);
        if (s)
            return s;
        weft_lock_take(&e->sched);
        weft_node_push_back(&e->host_idle, &t->idle_node);
        weft_lock_drop(&e->sched);
    }
    return WEFT_OK;
}

void weft_hosts_stop(weft_engine *e)
{
    weft_lock_take(&e->sched);
    e->stop_hosts = true;
    for (size_t i = 0; i < e->n_hosts; i++)
        weft_cond_signal(&e->hosts[i].cond);
    weft_lock_drop(&e->sched);
    for (size_t i = 0; i < e->n_hosts; i++) {
        weft_thread_join(&e->hosts[i].thread);
        weft_cond_fini(&e->hosts[i].cond);
    }
    free(e->hosts);
    e->hosts = NULL;
    e->n_hosts = 0;
}
