#include "server/v2_change.h"

#include "server/v2_repository.h"

#define MAX_CHANGES 8

static void free_change(void *p)
{
    weft_v2_change *c = p;
    weft_thread_join(&c->thread); /* it has posted the exchange and is about to end */
}

static void run_change(void *arg)
{
    weft_v2_change *c = arg;
    weft_exchange *x = c->x;
    weft_server *s = x->loop->server;
    const struct weft_config *config = atomic_load(&s->config);
    weft_status st = c->unload ? weft_v2_repository_unload(s->engine, config, c->model, c->unload_dependents, &c->err)
                               : weft_v2_repository_load(s->engine, config, c->model, c->config, c->n_config, &c->err);
    if (!st)
        weft_error_clear(&c->err);
    weft_exchange_post_home(x);
    atomic_fetch_sub(&s->n_changes, 1); /* last: the engine and the loop may go then */
}

weft_status weft_v2_change_start(weft_v2_change *c, weft_exchange *x, weft_error *err)
{
    weft_server *s = x->loop->server;
    c->x = x;
    if (atomic_fetch_add(&s->n_changes, 1) >= MAX_CHANGES) {
        atomic_fetch_sub(&s->n_changes, 1);
        weft_fail(err, WEFT_E_BUSY, "%d models are being loaded or unloaded; try again when one is done", MAX_CHANGES);
        err->retry_after_ms = 1000;
        return err->status;
    }
    x->job = c;
    x->job_free = free_change;
    weft_exchange_ref(x); /* for the way home */
    weft_status st = weft_thread_start(&c->thread, "weft-change", run_change, c, err);
    if (st == WEFT_OK)
        return st;
    x->job_free = NULL;
    atomic_fetch_sub(&s->n_changes, 1);
    weft_exchange_unref(x);
    return st;
}
