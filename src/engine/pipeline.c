/* Pipeline threads: each pipeline has as many as may run at once (`concurrency`). One of them runs one request from start to end,
 * holding a core token except while it waits for its calls. The gate is the scheduler: a request starts when a thread is idle and
 * its claim wins a token, so priority decides who is next. */
#include <stdio.h>
#include <stdlib.h>

#include "engine_internal.h"
#include "weft/builder.h"

#define SPARE_THREADS 8 /* that may take the place of lost ones */

void weft_pipe_grant_start(weft_model *m, weft_request *r, int64_t now_ns, bool starved)
{
    weft_pipe_thread *t = weft_container_of(weft_node_pop_front(&m->pipe_idle), weft_pipe_thread, idle_node);
    weft_pipe *p = &t->pipe;
    *p = (weft_pipe){
        .thread = t, .request = r, .has_token = true, .started_ns = now_ns, .token_since_ns = now_ns, .starved = starved};
    weft_member_init(&p->member);
    p->q.level = r->level;
    p->q.arrival_ns = r->arrival_ns;
    r->pipe = p;
    r->phase = WEFT_PHASE_PIPE;
    m->n_running++;
    weft_cond_signal(&t->cond);
}

void weft_pipe_grant_resume(weft_qnode *n, int64_t now_ns, bool starved)
{
    weft_pipe *p = weft_container_of(n, weft_pipe, q);
    p->has_token = p->resumed = true;
    p->token_since_ns = now_ns;
    p->starved = starved;
    weft_cond_signal(&p->thread->cond);
}

void weft_pipe_wake(weft_request *r)
{
    weft_cond_signal(&r->pipe->thread->cond);
}

static void give_token(weft_pipe *p, int64_t now)
{
    weft_model *m = p->thread->model;
    weft_engine *e = m->engine;
    int64_t held = now - p->token_since_ns;
    p->has_token = false;
    p->busy_ns += held;
    weft_sched_tokens_back(m, 1);
    weft_lane_correct(&e->lane, &m->account->share, 0, held, 1, p->starved);
}

void weft_pipe_pause(weft_pipe *p)
{
    weft_engine *e = p->thread->model->engine;
    if (p->has_token) {
        int64_t now = weft_engine_now(e);
        give_token(p, now);
        weft_sched_dispatch(e, now);
    }
    weft_cond_wait(&p->thread->cond, &e->sched);
}

void weft_pipe_resume(weft_pipe *p)
{
    weft_model *m = p->thread->model;
    weft_engine *e = m->engine;
    if (p->has_token)
        return;
    p->resumed = false;
    weft_queue_push(&m->resumes, &p->q);
    weft_sched_dispatch(e, weft_engine_now(e));
    while (!p->resumed)
        weft_cond_wait(&p->thread->cond, &e->sched);
}

static _Thread_local const weft_pipe *mine;

bool weft_pipe_is_mine(const weft_pipe *p)
{
    return mine == p;
}

/* The executor's code, holding a token. */
static void run(weft_pipe *p)
{
    mine = p;
    weft_request *r = p->request;
    weft_model *m = p->thread->model;
    const weft_executor *x = m->executor;
    weft_builder *b = NULL;
    weft_error err;
    weft_error_clear(&err);
    weft_status s = weft_request_answered(r) ? WEFT_E_CANCELLED : WEFT_OK;
    if (!s)
        s = weft_builder_create(r->arena, x->fields, x->n_fields, weft_request_result_released, r, &b, &err);
    if (!s)
        s = x->run(m->state, p, &r->call, b, &err);
    weft_assert(p->n_groups == 0); /* a pipeline's run returned with an open call group */
    if (s) {
        if (!err.status)
            weft_fail(&err, s, "%s", weft_status_text(s));
        err.status = s;
    }
    weft_add_ns(&r->post_ns, p->busy_ns + (weft_engine_now(m->engine) - p->token_since_ns));
    if (weft_request_claim(r))
        weft_request_answer(r, s ? NULL : b, s ? &err : NULL);
}

static void run_job(weft_pipe_thread *t)
{
    weft_pipe *p = &t->pipe;
    weft_request *r = p->request;
    weft_model *m = t->model;
    weft_engine *e = m->engine;
    run(p);
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e);
    r->pipe = NULL;
    p->request = NULL;
    weft_cohort_leave(&p->member);
    give_token(p, now);
    weft_sched_leave(m, r);
    if (!t->lost) {
        weft_estimate_learn(m, 1, now - p->started_ns);
        m->n_running--;
        weft_node_push_front(&m->pipe_idle, &t->idle_node);
    }
    weft_sched_dispatch(e, now);
    weft_lock_drop(&e->sched);
    weft_request_work_over(r);
}

static void pipe_main(void *arg)
{
    weft_pipe_thread *t = arg;
    weft_model *m = t->model;
    weft_engine *e = m->engine;
    weft_role_set(WEFT_ROLE_PIPE);
    weft_lock_take(&e->sched);
    while (!t->lost && (!t->stop || t->pipe.request)) {
        if (!t->pipe.request) {
            weft_cond_wait(&t->cond, &e->sched);
            continue;
        }
        weft_lock_drop(&e->sched);
        run_job(t);
        weft_lock_take(&e->sched);
    }
    bool lost = t->lost;
    if (!lost)
        m->n_live--;
    if (weft_node_linked(&t->idle_node))
        weft_node_remove(&t->idle_node);
    weft_cond_broadcast(&m->changed);
    weft_lock_drop(&e->sched);
    if (lost)
        weft_model_unref(m);
}

/* Lock held. The thread waits for a run that may never end: it counts no longer, and keeps the model as long as it does. */
void weft_pipe_lose(weft_pipe *p)
{
    weft_pipe_thread *t = p->thread;
    weft_model *m = t->model;
    if (t->lost)
        return;
    t->lost = true;
    pthread_detach(t->thread.id);
    weft_model_ref(m);
    m->n_live--;
    m->n_running--;
    if (!m->stopping) {
        m->want_spare = true;
        weft_maintainer_wake(m->engine);
    }
    weft_cond_broadcast(&m->changed);
}

weft_status weft_pipe_spare(weft_model *m, weft_error *err)
{
    weft_engine *e = m->engine;
    weft_pipe_thread *t = NULL;
    char name[16];
    weft_lock_take(&e->sched);
    if (m->n_pipe_threads < m->pipe_capacity) {
        t = &m->pipe_threads[m->n_pipe_threads++];
        t->model = m;
        weft_cond_init(&t->cond);
        m->n_live++;
    }
    size_t i = m->n_pipe_threads;
    weft_lock_drop(&e->sched);
    if (!t)
        return weft_fail(err, WEFT_E_UNAVAILABLE, "the pipeline \"%s\" has lost all the threads it may have", m->config.name);
    snprintf(name, sizeof(name), "p-%.8s-%zu", m->config.name, i % 1000);
    weft_status s = weft_thread_start(&t->thread, name, pipe_main, t, err);
    weft_lock_take(&e->sched);
    if (s) {
        m->n_live--;
    } else {
        t->stop = m->stopping;
        weft_node_push_back(&m->pipe_idle, &t->idle_node);
        weft_sched_dispatch(e, weft_engine_now(e));
    }
    weft_lock_drop(&e->sched);
    return s;
}

weft_status weft_pipes_start(weft_model *m, weft_error *err)
{
    size_t n = (size_t)(m->config.concurrency ? m->config.concurrency : m->engine->cores);
    m->pipe_capacity = n + SPARE_THREADS;
    m->pipe_threads = weft_arena_array(m->arena, m->pipe_capacity, sizeof(*m->pipe_threads));
    if (!m->pipe_threads)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the threads of the pipeline \"%s\"", m->config.name);
    m->width = (int64_t)n;
    weft_status s = WEFT_OK;
    for (size_t i = 0; i < n && !s; i++)
        s = weft_pipe_spare(m, err);
    return s;
}

/* Lock held. */
void weft_pipes_stop(weft_model *m)
{
    for (size_t i = 0; i < m->n_pipe_threads; i++) {
        m->pipe_threads[i].stop = true;
        weft_cond_signal(&m->pipe_threads[i].cond);
    }
}

/* ---- what a pipeline may ask ---- */
bool weft_pipe_over(const weft_pipe *p)
{
    return weft_request_over(p->request, weft_engine_now(p->request->engine));
}

const weft_model_view *weft_pipe_submodel(const weft_pipe *p, size_t i)
{
    const weft_model *m = p->request->model;
    return i < m->n_subs && m->subs[i] ? &m->subs[i]->view : NULL;
}

void *weft_pipe_alloc(weft_pipe *p, size_t n_bytes)
{
    return weft_arena_zalloc(p->request->arena, n_bytes < 64 ? 64 : n_bytes);
}

void weft_pipe_progress(weft_pipe *p, int step, int n_steps)
{
    weft_request *r = p->request;
    if (r->async.progress && !weft_request_answered(r))
        r->async.progress(r->async.cookie, step, n_steps);
}

int64_t weft_pipe_remaining_ns(const weft_pipe *p)
{
    const weft_request *r = p->request;
    if (r->deadline_ns == WEFT_NEVER)
        return INT64_MAX;
    int64_t left = r->deadline_ns - weft_engine_now(r->engine);
    return left > 0 ? left : 0;
}
