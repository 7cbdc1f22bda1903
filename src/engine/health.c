/* Health: facts are stored, the state is computed from them. The maintenance thread re-creates broken instances, makes spares for
 * lost ones, and brings an unhealthy model back: instances anew, one real inference, then service; with Fibonacci back-off
 * between tries. */
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

#define BREAKER_FAILURES 5 /* server failures in a row, none of them the client's */
#define BACKOFF_MAX_NS (300 * WEFT_S)

/* ---- the state ---- */
static const weft_model *sick_sub(const weft_model *m)
{
    for (size_t i = 0; i < m->n_subs; i++)
        if (m->subs[i] && m->subs[i]->health.broken)
            return m->subs[i];
    return NULL;
}

weft_model_state weft_health_state(const weft_model *m, const char **cause)
{
    const weft_health *h = &m->health;
    weft_assert_held(&m->engine->sched);
    *cause = h->cause;
    if (m->phase != WEFT_MODEL_READY)
        return m->phase;
    if (h->recovering)
        return WEFT_MODEL_RECOVERING;
    if (h->broken)
        return WEFT_MODEL_UNHEALTHY;
    const weft_model *sub = sick_sub(m);
    if (sub) {
        *cause = sub->health.cause;
        return WEFT_MODEL_UNHEALTHY;
    }
    if (h->n_lost > 0 || h->n_broken > 0 || h->n_consecutive > 1) /* one failure may be anything */
        return WEFT_MODEL_DEGRADED;
    *cause = "";
    return WEFT_MODEL_READY;
}

static void update_one(weft_model *m)
{
    const char *cause;
    weft_model_state s = weft_health_state(m, &cause);
    if (s == m->health.last_state)
        return;
    m->health.last_state = s;
    m->health.since_unix_ns = weft_unix_ns();
    m->health.changed = true;
    weft_maintainer_wake(m->engine);
}

void weft_health_update(weft_model *m)
{
    weft_engine *e = m->engine;
    update_one(m);
    if (!m->backend)
        return;
    weft_list_each(n, &e->models)
    {
        weft_model *user = weft_container_of(n, weft_model, all_node);
        for (size_t i = 0; i < user->n_subs; i++)
            if (user->subs[i] == m)
                update_one(user);
    }
}

void weft_health_phase(weft_model *m, weft_model_state phase)
{
    m->phase = phase;
    weft_health_update(m);
}

weft_status weft_health_admit(const weft_model *m, weft_error *err)
{
    const weft_model *sick = m->health.broken ? m : sick_sub(m);
    if (!sick)
        return WEFT_OK;
    int64_t left_ns = sick->health.next_try_ns - weft_engine_now(m->engine);
    weft_fail(err, WEFT_E_UNAVAILABLE, "the model \"%s\" is unhealthy (%s); it is being brought back", sick->config.name,
              sick->health.cause);
    if (err)
        err->retry_after_ms = left_ns > 0 ? left_ns / WEFT_MS + 1 : 1000;
    return WEFT_E_UNAVAILABLE;
}

/* ---- facts ---- */
static void set_cause(weft_model *m, const char *text)
{
    snprintf(m->health.cause, sizeof(m->health.cause), "%.250s", text);
}

void weft_health_success(weft_model *m)
{
    if (!m->health.n_consecutive)
        return;
    m->health.n_consecutive = 0;
    weft_health_update(m);
}

static void break_model(weft_model *m)
{
    if (m->health.broken)
        return;
    m->health.broken = true;
    m->health.n_tries = 0;
    m->health.next_try_ns = weft_engine_now(m->engine);
    weft_maintainer_wake(m->engine);
}

void weft_health_break(weft_model *m, const char *cause)
{
    set_cause(m, cause);
    break_model(m);
    weft_health_update(m);
}

void weft_health_failure(weft_model *m, weft_fault fault, const char *text)
{
    m->health.n_consecutive++;
    set_cause(m, text);
    if (fault == WEFT_FAULT_DEVICE || m->health.n_consecutive >= BREAKER_FAILURES)
        break_model(m);
    weft_health_update(m);
}

/* ---- the maintenance thread ---- */
void weft_maintainer_wake(weft_engine *e)
{
    weft_assert_held(&e->sched);
    e->maintain_now = true;
    weft_cond_signal(&e->maintain_cond);
}

static weft_instance *find_broken(weft_model *m)
{
    for (size_t k = 0; k < m->n_instances; k++)
        if (m->instances[k]->state == WEFT_INSTANCE_BROKEN)
            return m->instances[k];
    return NULL;
}

/* Lock held, dropped around the backend. */
static void drop_handle(weft_model *m, weft_instance *i)
{
    weft_engine *e = m->engine;
    void *handle = i->handle;
    i->handle = NULL;
    if (!handle)
        return;
    weft_lock_drop(&e->sched);
    m->backend->table->instance_destroy(m->backend->self, handle);
    weft_lock_take(&e->sched);
}

/* Lock held, dropped around the backend. False when the backend refuses. */
static bool recreate(weft_model *m, weft_instance *i)
{
    weft_engine *e = m->engine;
    weft_error err;
    weft_error_clear(&err);
    drop_handle(m, i);
    weft_lock_drop(&e->sched);
    weft_status s = m->backend->table->instance_create(m->backend->self, m->handle, &i->handle, &err);
    weft_lock_take(&e->sched);
    if (s) {
        set_cause(m, err.text);
        return false;
    }
    i->state = WEFT_INSTANCE_IDLE;
    i->idle_since_ns = m->idle_since_ns = weft_engine_now(e);
    weft_node_push_front(&m->idle, &i->idle_node);
    m->n_idle++;
    m->health.n_broken--;
    return true;
}

static void heal_broken_instances(weft_model *m)
{
    weft_instance *i;
    while (!m->stopping && (i = find_broken(m))) {
        if (!recreate(m, i)) {
            break_model(m);
            break;
        }
    }
    weft_health_update(m);
    weft_sched_dispatch(m->engine, weft_engine_now(m->engine));
}

/* Lock held, dropped meanwhile: an instance or a pipeline thread in the place of a lost one. */
static void make_spare(weft_model *m)
{
    weft_engine *e = m->engine;
    weft_instance *i;
    weft_error err;
    bool room = !m->backend || m->n_instances < m->instances_capacity;
    m->want_spare = false;
    weft_error_clear(&err);
    weft_lock_drop(&e->sched);
    weft_status s = WEFT_OK;
    if (!room)
        s = weft_fail(&err, WEFT_E_UNAVAILABLE, "%zu instances are lost or in use", m->n_instances);
    else
        s = m->backend ? weft_instance_create(m, &i, &err) : weft_pipe_spare(m, &err);
    if (s)
        weft_engine_log(e, WEFT_LOG_ERROR, "instance.spare", m->config.name, "no spare for a lost run: %s", err.text);
    weft_lock_take(&e->sched);
    if (s && m->backend && !m->n_live)
        weft_health_break(m, "all its instances are lost");
    weft_sched_dispatch(e, weft_engine_now(e));
}

/* What waits for a model that takes no work any more is answered now. Lock held, dropped. */
static void flush_queues(weft_model *m)
{
    weft_engine *e = m->engine;
    weft_node over, *n;
    weft_node_init(&over);
    weft_queue_each(q, &m->waiting)
    {
        weft_request *r = weft_container_of(q, weft_request, q);
        if (weft_request_claim(r)) {
            r->why = WEFT_WHY_UNHEALTHY;
            weft_completer_post(e, r);
        }
    }
    for (weft_qnode *q = weft_queue_first(&m->ready), *next; q; q = next) {
        weft_request *r = weft_container_of(q, weft_part, q)->request;
        next = weft_queue_next(&m->ready, q);
        if (!r->parent) {
            if (weft_request_claim(r)) {
                r->why = WEFT_WHY_UNHEALTHY;
                weft_completer_post(e, r);
            }
            continue;
        }
        if (!r->error.status)
            weft_fail(&r->error, WEFT_E_UNAVAILABLE, "the model \"%s\" became unhealthy (%s)", m->config.name, m->health.cause);
        if (!weft_sched_unlink(r))
            continue;
        weft_sched_leave(m, r);
        weft_node_push_back(&over, &r->post_node);
        next = weft_queue_first(&m->ready); /* several parts may have gone */
    }
    weft_lock_drop(&e->sched);
    while ((n = weft_node_pop_front(&over)))
        weft_request_work_over(weft_container_of(n, weft_request, post_node));
    weft_lock_take(&e->sched);
}

/* Lock held, dropped meanwhile: every instance that can be had is taken out of service. */
static void gather_instances(weft_model *m)
{
    weft_engine *e = m->engine;
    for (bool busy = true; busy && !m->stopping;) {
        busy = false;
        for (size_t k = 0; k < m->n_instances; k++) {
            weft_instance *i = m->instances[k];
            if (i->state == WEFT_INSTANCE_IDLE) {
                weft_node_remove(&i->idle_node);
                m->n_idle--;
                i->state = WEFT_INSTANCE_BROKEN;
                m->health.n_broken++;
            }
            busy |= i->state == WEFT_INSTANCE_BUSY;
        }
        if (busy)
            weft_cond_wait(&m->changed, &e->sched);
    }
}

static int64_t backoff_ns(int n_tries)
{
    int64_t a = 0, b = WEFT_S;
    for (int i = 0; i < n_tries && b < BACKOFF_MAX_NS; i++) {
        int64_t sum = a + b;
        a = b;
        b = sum;
    }
    return n_tries ? (a < BACKOFF_MAX_NS ? a : BACKOFF_MAX_NS) : 0;
}

/* Lock held, dropped meanwhile. */
static void recover(weft_model *m)
{
    weft_engine *e = m->engine;
    weft_instance *i = NULL;
    bool ok = true;
    m->health.recovering = true;
    m->health.n_tries++;
    weft_health_update(m);
    flush_queues(m);
    gather_instances(m);
    for (size_t k = 0; k < m->n_instances; k++) /* all gone before the first comes back: a device may need that */
        if (m->instances[k]->state == WEFT_INSTANCE_BROKEN)
            drop_handle(m, m->instances[k]);
    while (ok && !m->stopping && (i = find_broken(m)))
        ok = recreate(m, i);
    if (ok && !m->n_live && (m->tokens || !m->health.n_lost))
        make_spare(m);
    i = m->n_idle ? weft_container_of(m->idle.next, weft_instance, idle_node) : NULL;
    ok = ok && i;
    if (ok && !m->stopping) {
        weft_error err;
        weft_error_clear(&err);
        weft_lock_drop(&e->sched);
        weft_status s = weft_model_probe(m, i, &err);
        weft_lock_take(&e->sched);
        ok = !s;
        if (s)
            set_cause(m, err.text);
    }
    m->health.recovering = false;
    if (ok) {
        m->health.broken = false;
        m->health.n_consecutive = 0;
        m->health.n_tries = 0;
        weft_stats_count(m, &m->stats.recoveries);
    } else {
        m->health.next_try_ns = weft_engine_now(e) + backoff_ns(m->health.n_tries);
    }
    weft_health_update(m);
    weft_sched_dispatch(e, weft_engine_now(e));
}

/* Lock held, dropped around the log. */
static void tell(weft_model *m)
{
    weft_engine *e = m->engine;
    const char *cause;
    weft_model_state s = weft_health_state(m, &cause);
    char text[256];
    snprintf(text, sizeof(text), "%.200s", cause);
    m->health.changed = false;
    weft_lock_drop(&e->sched);
    weft_log_level level = s == WEFT_MODEL_UNHEALTHY || s == WEFT_MODEL_FAILED ? WEFT_LOG_ERROR
                           : s == WEFT_MODEL_DEGRADED                          ? WEFT_LOG_WARN
                                                                               : WEFT_LOG_INFO;
    weft_engine_log(e, level, "model.state", m->config.name, "%s%s%s", weft_model_state_name(s), text[0] ? ": " : "", text);
    weft_lock_take(&e->sched);
}

typedef enum need { NOTHING, TELL, SPARE, RECOVER, HEAL } need;

/* Lock held. *next: when to look again. */
static need need_of(weft_model *m, int64_t now, int64_t *next)
{
    weft_health *h = &m->health;
    if (h->changed)
        return TELL;
    if (m->stopping || m->phase != WEFT_MODEL_READY)
        return NOTHING;
    if (m->want_spare)
        return SPARE;
    if (!m->backend)
        return NOTHING;
    if (h->broken) {
        if (now >= h->next_try_ns)
            return RECOVER;
        if (h->next_try_ns < *next)
            *next = h->next_try_ns;
        return NOTHING;
    }
    return find_broken(m) ? HEAL : NOTHING;
}

/* Lock held, dropped meanwhile. */
static void serve(weft_model *m, need what)
{
    m->maintaining = true; /* the model does not stop meanwhile */
    if (what == TELL)
        tell(m);
    else if (what == SPARE)
        make_spare(m);
    else if (what == RECOVER)
        recover(m);
    else
        heal_broken_instances(m);
    m->maintaining = false;
    weft_cond_broadcast(&m->changed);
}

/* A model in the list is not freed while the lock is held, but its last reference may be gone already. */
static bool try_ref(weft_model *m)
{
    int n = atomic_load(&m->refs);
    while (n > 0 && !atomic_compare_exchange_weak(&m->refs, &n, n + 1))
        ;
    return n > 0;
}

/* Lock held, dropped meanwhile. False when no model needs anything now. */
static bool serve_one(weft_engine *e, int64_t *next)
{
    int64_t now = weft_engine_now(e);
    weft_list_each(n, &e->models)
    {
        weft_model *m = weft_container_of(n, weft_model, all_node);
        need what = need_of(m, now, next);
        if (what == NOTHING || !try_ref(m))
            continue;
        serve(m, what);
        weft_lock_drop(&e->sched);
        weft_model_unref(m);
        weft_lock_take(&e->sched);
        return true; /* the list may have changed */
    }
    return false;
}

static void maintainer_main(void *arg)
{
    weft_engine *e = arg;
    weft_role_set(WEFT_ROLE_MAINTAINER);
    weft_lock_take(&e->sched);
    while (!e->stop_maintainer) {
        int64_t next = WEFT_NEVER;
        e->maintain_now = false;
        if (!serve_one(e, &next) && !e->maintain_now && !e->stop_maintainer)
            weft_cond_wait_until(&e->maintain_cond, &e->sched, next);
    }
    weft_lock_drop(&e->sched);
}

weft_status weft_maintainer_start(weft_engine *e, weft_error *err)
{
    return weft_thread_start(&e->maintainer, "weft-maintain", maintainer_main, e, err);
}

void weft_maintainer_stop(weft_engine *e)
{
    weft_lock_take(&e->sched);
    e->stop_maintainer = true;
    weft_cond_signal(&e->maintain_cond);
    weft_lock_drop(&e->sched);
    weft_thread_join(&e->maintainer);
}
