/* The watch over runs, on the completer thread.
 *
 *   a run longer than its limit    its requests are answered (RUN_FAILED), the backend is told to terminate it
 *   still there after a grace      it is lost: its core tokens go back, its thread is on its own with its buffers, rows and model
 * reference; on the CPU a spare instance is asked for; more than max_lost_runs of them: the process should be restarted A run
 * whose requests have all been answered otherwise (deadline, cancel) is told to terminate early, too, but that is nobody's
 * failure. */
#include "engine_internal.h"

#define GRACE_MAX_NS (2 * WEFT_S)
#define GRACE_MIN_NS (250 * WEFT_MS)
#define BATCH 16 /* terminations in one go */

static int64_t grace_of(const weft_instance *i)
{
    int64_t g = i->limit_ns;
    return g < GRACE_MIN_NS ? GRACE_MIN_NS : g > GRACE_MAX_NS ? GRACE_MAX_NS : g;
}

typedef struct found {
    weft_instance *terminate[BATCH];
    size_t n_terminate;
    bool fatal;
} found;

/* Lock held. */
static bool may_terminate(const weft_instance *i, const found *f)
{
    return i->model->backend->table->terminate && !i->terminating && f->n_terminate < BATCH;
}

static void answer_parts(weft_instance *i)
{
    for (size_t k = 0; k < i->n_parts; k++) {
        weft_request *r = i->parts[k]->request;
        if (r->parent) {
            weft_group_give_up(r);
        } else if (weft_request_claim(r)) {
            r->why = WEFT_WHY_RUN_TIMEOUT;
            weft_completer_post(i->model->engine, r);
        }
    }
}

static void overdue(weft_instance *i, int64_t now, found *f)
{
    i->overdue = true;
    i->overdue_since_ns = now;
    answer_parts(i);
    if (i->n_parts)
        weft_health_failure(i->model, WEFT_FAULT_TIMEOUT, "a run took longer than run_timeout_ms");
    if (may_terminate(i, f)) {
        i->terminating = true;
        f->terminate[f->n_terminate++] = i;
    }
}

/* A pipeline that waits for a lost run cannot leave its call group: its request is answered for it. */
static void lose_pipe(weft_engine *e, weft_request *parent)
{
    weft_pipe_lose(parent->pipe);
    if (!weft_request_claim(parent))
        return;
    parent->why = WEFT_WHY_RUN_TIMEOUT;
    weft_completer_post(e, parent);
}

static void lose(weft_instance *i, found *f)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    i->state = WEFT_INSTANCE_LOST;
    i->lost = true;
    weft_model_ref(m);
    m->n_live--;
    m->health.n_lost++;
    weft_lock_take(&m->stats_lock);
    m->stats.lost_runs++;
    weft_lock_drop(&m->stats_lock);
    e->n_lost++;
    if (i->n_parts) {
        m->n_running--;
        if (m->tokens)
            weft_sched_tokens_back(m, m->tokens);
    }
    pthread_detach(i->thread.id);
    for (size_t k = 0; k < i->n_parts; k++)
        if (i->parts[k]->request->parent)
            lose_pipe(e, i->parts[k]->request->parent);
    if (m->backend->table->on_cpu && !m->stopping) { /* a card loads nothing beside a lost run */
        m->want_spare = true;
        weft_maintainer_wake(e);
    } else if (!m->n_live && !m->stopping) {
        weft_health_break(m, "all its instances are lost");
    }
    if (e->n_lost > e->options.max_lost_runs && !e->fatal_sent)
        f->fatal = e->fatal_sent = true;
    weft_health_update(m);
    weft_cond_broadcast(&m->changed);
}

static void look(weft_instance *i, int64_t now, found *f)
{
    if (i->state != WEFT_INSTANCE_BUSY) {
        i->watch_at_ns = WEFT_NEVER;
        return;
    }
    int64_t next = weft_time_add(i->granted_ns, i->limit_ns);
    if (!i->overdue && now >= next)
        overdue(i, now, f);
    if (i->overdue) {
        next = i->overdue_since_ns + grace_of(i);
        if (now >= next) {
            lose(i, f);
            return;
        }
    }
    i->watch_at_ns = WEFT_NEVER;
    weft_instance_watch(i, next);
}

static void terminate_found(weft_engine *e, found *f)
{
    for (size_t k = 0; k < f->n_terminate; k++) {
        weft_instance *i = f->terminate[k];
        weft_model *m = i->model;
        m->backend->table->terminate(m->backend->self, i->handle);
        weft_lock_take(&e->sched);
        i->terminating = false; /* the instance's thread may go on, and end */
        weft_cond_broadcast(&m->changed);
        weft_lock_drop(&e->sched);
    }
}

void weft_watch_overdue(weft_engine *e)
{
    found f = {0};
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e), lost_before = e->n_lost;
    weft_list_each(n, &e->models)
    {
        weft_model *m = weft_container_of(n, weft_model, all_node);
        for (size_t k = 0; k < m->n_instances; k++)
            look(m->instances[k], now, &f);
    }
    int64_t n_lost = e->n_lost;
    weft_sched_dispatch(e, now);
    weft_lock_drop(&e->sched);
    terminate_found(e, &f);
    if (n_lost > lost_before)
        weft_engine_log(e, WEFT_LOG_ERROR, "run.lost", "",
                        "%lld runs do not end although they were told to; their threads and buffers are lost", (long long)n_lost);
    if (f.fatal) {
        weft_engine_log(e, WEFT_LOG_ERROR, "engine.fatal", "", "more than %lld lost runs: the process should be restarted",
                        (long long)e->options.max_lost_runs);
        if (e->options.fatal)
            e->options.fatal(e->options.fatal_cookie, "more runs were lost than max_lost_runs allows");
    }
}

void weft_terminate_over(weft_engine *e, weft_model *m)
{
    found f = {0};
    weft_lock_take(&e->sched);
    for (size_t k = 0; k < m->n_instances; k++) {
        weft_instance *i = m->instances[k];
        bool all = i->state == WEFT_INSTANCE_BUSY && i->n_parts > 0 && !i->abandoned && !i->overdue && may_terminate(i, &f);
        for (size_t p = 0; all && p < i->n_parts; p++)
            all = weft_request_answered(i->parts[p]->request);
        if (all) {
            i->abandoned = i->terminating = true;
            f.terminate[f.n_terminate++] = i;
        }
    }
    weft_lock_drop(&e->sched);
    terminate_found(e, &f);
}
