/* Instances: one context, one thread, one run at a time.
 *
 *   state    who moves it on
 *   IDLE     scheduler: a grant (BUSY); the loader or the recovery: a probe (BUSY)
 *   BUSY     its own thread when the batch is finished (IDLE, or BROKEN after a stream error); the watch (LOST)
 *   BROKEN   the maintenance thread re-creates the handle (IDLE)
 *   LOST     its own thread, when the backend comes back at last (GONE); the model may have made a spare meanwhile
 *   GONE     joined and freed by weft_model_stop; a lost one frees itself
 * All under the scheduler's lock. The handle belongs to the thread while BUSY, to the maintenance thread while BROKEN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static void *block_alloc(const weft_model *m, size_t n_bytes)
{
    const weft_backend *b = m->backend->table;
    if (b->host_alloc)
        return b->host_alloc(m->backend->self, n_bytes);
    return aligned_alloc(64, (n_bytes + 63) & ~(size_t)63);
}

static void block_free(const weft_model *m, weft_block *b)
{
    if (b->data && m->backend->table->host_free)
        m->backend->table->host_free(m->backend->self, b->data);
    else
        free(b->data);
    *b = (weft_block){0};
}

bool weft_block_reserve(weft_instance *i, weft_block *b, size_t n_bytes)
{
    if (b->capacity >= n_bytes && b->data)
        return true;
    block_free(i->model, b);
    n_bytes = n_bytes ? n_bytes : 64;
    b->data = block_alloc(i->model, n_bytes);
    b->capacity = b->data ? n_bytes : 0;
    return b->data != NULL;
}

/* Lock held; the caller's reference to the model is the thread's. */
static void become_gone(weft_instance *i)
{
    weft_model *m = i->model;
    if (i->state != WEFT_INSTANCE_LOST)
        m->n_live--;
    if (weft_node_linked(&i->idle_node)) {
        weft_node_remove(&i->idle_node);
        m->n_idle--;
    }
    i->state = WEFT_INSTANCE_GONE;
    weft_cond_broadcast(&m->changed);
}

void weft_probe_unref(weft_probe *p)
{
    weft_arena *arena = p->arena;
    if (atomic_fetch_sub(&p->refs, 1) == 1)
        weft_arena_destroy(&arena);
}

/* Lock held. */
static void become_idle(weft_instance *i, int64_t now)
{
    weft_model *m = i->model;
    i->state = WEFT_INSTANCE_IDLE;
    i->idle_since_ns = m->idle_since_ns = now;
    weft_node_push_front(&m->idle, &i->idle_node);
    m->n_idle++;
}

static void run_probe(weft_instance *i)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    weft_probe *p = i->probe;
    weft_lock_drop(&e->sched);
    int64_t start = weft_now_ns();
    p->status = m->backend->table->run(m->backend->self, i->handle, &p->run, &p->error);
    p->run_ns = weft_now_ns() - start;
    weft_lock_take(&e->sched);
    while (i->terminating)
        weft_cond_wait(&m->changed, &e->sched);
    i->probe = NULL;
    p->done = true;
    if (i->state == WEFT_INSTANCE_BUSY)
        become_idle(i, weft_engine_now(e));
    weft_cond_broadcast(&m->changed);
    weft_lock_drop(&e->sched);
    weft_probe_unref(p);
    weft_lock_take(&e->sched);
}

static void instance_main(void *arg)
{
    weft_instance *i = arg;
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    weft_role_set(WEFT_ROLE_INSTANCE);
    weft_lock_take(&e->sched);
    while (i->state != WEFT_INSTANCE_LOST) {
        if (i->granted) {
            i->granted = false;
            weft_lock_drop(&e->sched);
            while (weft_instance_run(i)) /* the next batch was granted as the last one ended */
                ;
            weft_lock_take(&e->sched);
        } else if (i->probe) {
            run_probe(i);
        } else if (i->stop) {
            break;
        } else {
            weft_cond_wait(&i->cond, &e->sched);
        }
    }
    bool lost = i->state == WEFT_INSTANCE_LOST;
    become_gone(i);
    weft_lock_drop(&e->sched);
    if (lost)
        weft_instance_came_back(i);
}

weft_status weft_instance_create(weft_model *m, weft_instance **out, weft_error *err)
{
    weft_engine *e = m->engine;
    char name[16];
    *out = NULL;
    weft_instance *i = aligned_alloc(64, (sizeof(*i) + 63) & ~(size_t)63);
    if (!i)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for an instance of the model \"%s\"", m->config.name);
    memset(i, 0, sizeof(*i));
    weft_cond_init(&i->cond);
    i->model = m;
    i->watch.kind = WEFT_TIMER_WATCH;
    i->watch_at_ns = WEFT_NEVER;
    i->parts = calloc((size_t)m->max_rows, sizeof(*i->parts));
    weft_status s = WEFT_OK;
    if (!i->parts)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for an instance of the model \"%s\"", m->config.name);
    if (!s)
        s = m->backend->table->instance_create(m->backend->self, m->handle, &i->handle, err);
    if (!s)
        s = weft_timers_reserve(&e->timers, 1, err);
    if (s) {
        if (i->handle)
            m->backend->table->instance_destroy(m->backend->self, i->handle);
        free(i->parts);
        weft_cond_fini(&i->cond);
        free(i);
        return s;
    }
    weft_lock_take(&e->sched);
    i->index = (int)m->n_instances;
    i->state = WEFT_INSTANCE_IDLE;
    i->idle_since_ns = m->idle_since_ns = weft_engine_now(e);
    weft_node_push_back(&m->idle, &i->idle_node);
    m->n_idle++;
    m->n_live++;
    m->instances[m->n_instances++] = i;
    weft_lock_drop(&e->sched);
    snprintf(name, sizeof(name), "w-%.8s-%d", m->config.name, i->index % 1000);
    s = weft_thread_start(&i->thread, name, instance_main, i, err);
    if (s) {
        weft_lock_take(&e->sched);
        become_gone(i);
        weft_lock_drop(&e->sched);
        return s; /* freed with the model */
    }
    *out = i;
    return WEFT_OK;
}

void weft_instance_watch(weft_instance *i, int64_t at_ns)
{
    if (at_ns >= i->watch_at_ns)
        return;
    i->watch_at_ns = at_ns;
    weft_timer_set(&i->model->engine->timers, &i->watch, at_ns);
}

/* A lost run's thread and the instance that served it have a reference to the model of their own. */
void weft_instance_came_back(weft_instance *i)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    weft_lock_take(&e->sched);
    for (size_t k = 0; k < m->n_instances; k++)
        if (m->instances[k] == i)
            m->instances[k] = m->instances[--m->n_instances];
    weft_lock_drop(&e->sched);
    weft_instance_free(i);
    weft_lock_take(&e->sched);
    e->n_lost--;
    m->health.n_lost--;
    weft_health_update(m);
    weft_cond_broadcast(&m->changed);
    weft_lock_drop(&e->sched);
    weft_model_unref(m);
}

void weft_instance_free(weft_instance *i)
{
    weft_model *m = i->model;
    if (i->thread.started && i->state != WEFT_INSTANCE_GONE)
        return;
    weft_timer_clear(&m->engine->timers, &i->watch);
    weft_timers_unreserve(&m->engine->timers, 1);
    if (i->handle)
        m->backend->table->instance_destroy(m->backend->self, i->handle);
    for (size_t k = 0; k < WEFT_MAX_MODEL_INPUTS; k++)
        block_free(m, &i->in_block[k]);
    for (size_t k = 0; k < WEFT_MAX_MODEL_OUTPUTS; k++)
        block_free(m, &i->out_block[k]);
    weft_cond_fini(&i->cond);
    free(i->parts);
    free(i);
}

/* Lock held: takes the instance out of service for a probe. */
static bool begin_probe(weft_instance *i, weft_probe *p, int64_t limit_ns)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    while (i->state == WEFT_INSTANCE_BUSY)
        weft_cond_wait(&m->changed, &e->sched);
    if (i->state != WEFT_INSTANCE_IDLE)
        return false;
    weft_node_remove(&i->idle_node);
    m->n_idle--;
    i->state = WEFT_INSTANCE_BUSY;
    i->n_parts = 0;
    i->granted_ns = weft_engine_now(e);
    i->limit_ns = limit_ns;
    i->overdue = i->abandoned = false;
    weft_instance_watch(i, weft_time_add(i->granted_ns, limit_ns));
    atomic_fetch_add(&p->refs, 1);
    i->probe = p;
    weft_cond_signal(&i->cond);
    return true;
}

weft_status weft_instance_probe(weft_instance *i, weft_probe *p, int64_t limit_ns, weft_error *err)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    weft_sched_tokens_take(e, m->tokens);
    weft_lock_take(&e->sched);
    bool begun = begin_probe(i, p, limit_ns);
    while (begun && !p->done && i->state != WEFT_INSTANCE_LOST)
        weft_cond_wait(&m->changed, &e->sched);
    bool done = p->done;
    weft_sched_tokens_give(e, m->tokens);
    weft_sched_dispatch(e, weft_engine_now(e));
    weft_lock_drop(&e->sched);
    if (!begun)
        return weft_fail(err, WEFT_E_UNAVAILABLE, "an instance of the model \"%s\" is not usable", m->config.name);
    if (!done)
        return weft_fail(err, WEFT_E_DEADLINE, "a run of the model \"%s\" did not end within %lld ms", m->config.name,
                         (long long)(limit_ns / WEFT_MS));
    if (p->status) {
        if (!p->error.status)
            weft_fail(&p->error, p->status, "%s", weft_status_text(p->status));
        if (err)
            *err = p->error;
    }
    return p->status;
}
