/* Models: one loaded version each.
 *
 *   phase      who moves it on
 *   LOADING    weft_model_load: files, executor, instances, threads
 *   WARMING    weft_model_load: batching check and costs
 *   READY      retire
 *   UNLOADING  retire: admission answers "another version", what was accepted is finished, threads end
 * References: the registry, each request until its work and answer are done, each pipeline for its sub-models, each lost run. The
 * last one closes the executor and the backend's model; it is never dropped by one of the model's own joinable threads. */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

#define STOP_GRACE_NS (2 * WEFT_S)

/* ---- accounts ---- */
static void account_put(weft_engine *e, weft_account *a)
{
    bool last;
    weft_lock_take(&e->sched);
    last = --a->refs == 0;
    if (last)
        weft_node_remove(&a->node);
    weft_lock_drop(&e->sched);
    if (last)
        free(a);
}

void weft_model_unref(weft_model *m)
{
    weft_engine *e = m->engine;
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_lock_take(&e->sched);
    if (weft_node_linked(&m->all_node)) {
        weft_node_remove(&m->all_node);
        e->n_card_models -= m->backend && m->tokens == 0;
    }
    weft_lock_drop(&e->sched);
    weft_timer_clear(&e->timers, &m->wake);
    weft_timers_unreserve(&e->timers, m->wake_reserved ? 1 : 0);
    weft_model_close_state(m);
    if (m->handle)
        m->backend->table->model_unload(m->backend->self, m->handle);
    for (size_t i = 0; i < m->n_subs; i++)
        if (m->subs[i])
            weft_model_unref(m->subs[i]);
    if (m->account)
        account_put(e, m->account);
    for (size_t i = 0; i < m->n_pipe_threads; i++)
        weft_cond_fini(&m->pipe_threads[i].cond);
    free(m->instances);
    weft_cond_fini(&m->changed);
    weft_lock_fini(&m->stats_lock);
    weft_arena *arena = m->arena;
    weft_arena_destroy(&arena);
    weft_engine_unref(e);
}

/* Lock held: an instance whose thread has ended and that nobody else frees. */
static weft_instance *take_gone(weft_model *m)
{
    for (size_t k = 0; k < m->n_instances; k++) {
        weft_instance *i = m->instances[k];
        if (i->state != WEFT_INSTANCE_GONE || i->lost)
            continue;
        m->instances[k] = m->instances[--m->n_instances];
        return i;
    }
    return NULL;
}

/* Lock held. What still runs belongs to nobody any more, and has a moment to end before it counts as lost. */
static void stop_instance(weft_instance *i)
{
    int64_t limit = weft_engine_now(i->model->engine) - i->granted_ns + STOP_GRACE_NS;
    i->stop = true;
    weft_cond_signal(&i->cond);
    if (i->state != WEFT_INSTANCE_BUSY || i->limit_ns <= limit)
        return;
    i->limit_ns = limit;
    weft_instance_watch(i, weft_time_add(i->granted_ns, limit));
}

void weft_model_stop(weft_model *m)
{
    weft_engine *e = m->engine;
    weft_instance *gone;
    weft_lock_take(&e->sched);
    m->stopping = true;
    while (m->maintaining)
        weft_cond_wait(&m->changed, &e->sched);
    for (size_t k = 0; k < m->n_instances; k++)
        stop_instance(m->instances[k]);
    weft_pipes_stop(m);
    while (m->n_live > 0)
        weft_cond_wait(&m->changed, &e->sched);
    while ((gone = take_gone(m))) {
        weft_lock_drop(&e->sched);
        weft_thread_join(&gone->thread);
        weft_instance_free(gone);
        weft_lock_take(&e->sched);
    }
    weft_lock_drop(&e->sched);
    for (size_t k = 0; k < m->n_pipe_threads; k++)
        if (!m->pipe_threads[k].lost)
            weft_thread_join(&m->pipe_threads[k].thread);
}

void weft_model_retire(weft_model *m)
{
    weft_engine *e = m->engine;
    weft_lock_take(&e->sched);
    weft_health_phase(m, WEFT_MODEL_UNLOADING);
    atomic_store(&m->retiring, true);
    while (atomic_load(&m->n_open) > 0)
        weft_cond_wait(&e->all_answered, &e->sched);
    weft_lock_drop(&e->sched);
    if (m->backend)
        weft_terminate_over(e, m);
    weft_model_stop(m);
    weft_model_unref(m);
}
