/* The completer thread: answers requests that end for another reason than their own work (deadline, cancel, shutdown, a run that
 * takes too long), and watches over runs. Callbacks of users run here, so a deadline is kept even when every instance hangs. */
#include "engine_internal.h"

void weft_completer_post(weft_engine *e, weft_request *r)
{
    weft_lock_take(&e->post_lock);
    weft_node_push_back(&e->posted, &r->post_node);
    weft_cond_signal(&e->post_cond);
    weft_lock_drop(&e->post_lock);
}

void weft_completer_watch(weft_engine *e)
{
    weft_lock_take(&e->post_lock);
    e->watch_due = true;
    weft_cond_signal(&e->post_cond);
    weft_lock_drop(&e->post_lock);
}

static void explain(const weft_request *r, weft_error *err)
{
    const char *name = r->call.model;
    switch (r->why) {
    case WEFT_WHY_DEADLINE:
        weft_fail(err, WEFT_E_DEADLINE,
                  "the deadline passed before the model \"%s\" had answered; allow more time or send fewer requests at once",
                  name);
        break;
    case WEFT_WHY_RUN_TIMEOUT:
        weft_fail(err, WEFT_E_RUN_FAILED, "a run of the model \"%s\" took longer than its run_timeout_ms and was given up", name);
        break;
    case WEFT_WHY_UNHEALTHY:
        weft_fail(err, WEFT_E_UNAVAILABLE, "the model \"%s\" became unhealthy before the request ran; try again later", name);
        err->retry_after_ms = 1000;
        break;
    case WEFT_WHY_CLOSING:
        weft_fail(err, WEFT_E_CANCELLED, "the engine is shutting down");
        break;
    default:
        weft_fail(err, WEFT_E_CANCELLED, "the request was cancelled");
    }
}

/* Takes the request out of every queue; true when nothing works on it any more. *running: a run may have rows of it. */
static bool withdraw(weft_request *r, bool *running)
{
    weft_engine *e = r->engine;
    weft_model *m = r->model;
    *running = false;
    if (!m)
        return weft_registry_unpark(r);
    weft_lock_take(&e->sched);
    bool over = weft_sched_unlink(r);
    if (over)
        weft_sched_leave(m, r);
    if (r->pipe)
        weft_pipe_wake(r);
    *running = r->n_running > 0 || r->pipe;
    weft_sched_dispatch(e, weft_engine_now(e));
    weft_lock_drop(&e->sched);
    return over;
}

static void complete(weft_request *r)
{
    weft_engine *e = r->engine;
    weft_model *m = r->model;
    weft_error err;
    bool running;
    weft_error_clear(&err);
    bool over = withdraw(r, &running);
    explain(r, &err);
    if (m)
        weft_model_ref(m);
    weft_request_answer(r, NULL, &err);
    if (over)
        weft_request_work_over(r);
    if (running) {
        weft_terminate_over(e, m);
        for (size_t i = 0; i < m->n_subs; i++)
            if (m->subs[i])
                weft_terminate_over(e, m->subs[i]);
    }
    if (m)
        weft_model_unref(m);
}

static void completer_main(void *arg)
{
    weft_engine *e = arg;
    weft_role_set(WEFT_ROLE_COMPLETER);
    weft_lock_take(&e->post_lock);
    for (;;) {
        weft_node *n = weft_node_pop_front(&e->posted);
        bool watch = !n && e->watch_due;
        if (!n && !watch) {
            if (e->stop_completer)
                break;
            weft_cond_wait(&e->post_cond, &e->post_lock);
            continue;
        }
        if (watch)
            e->watch_due = false;
        weft_lock_drop(&e->post_lock);
        if (n)
            complete(weft_container_of(n, weft_request, post_node));
        else
            weft_watch_overdue(e);
        weft_lock_take(&e->post_lock);
    }
    weft_lock_drop(&e->post_lock);
}

weft_status weft_completer_start(weft_engine *e, weft_error *err)
{
    return weft_thread_start(&e->completer, "weft-complete", completer_main, e, err);
}

void weft_completer_stop(weft_engine *e)
{
    weft_lock_take(&e->post_lock);
    e->stop_completer = true;
    weft_cond_signal(&e->post_cond);
    weft_lock_drop(&e->post_lock);
    weft_thread_join(&e->completer);
}

weft_status weft_cancel(weft_engine *e, uint64_t ticket)
{
    weft_request *r = e ? weft_ticket_find(e, ticket) : NULL;
    if (!r)
        return WEFT_E_NOT_FOUND;
    bool ours = weft_request_claim(r);
    if (ours) {
        r->why = WEFT_WHY_CANCELLED;
        weft_completer_post(e, r);
    }
    weft_request_unref(r);
    return ours ? WEFT_OK : WEFT_E_NOT_FOUND;
}
