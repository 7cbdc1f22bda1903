/* Call groups: what a pipeline has out at other models.
 *
 *   slot    who moves it on
 *   FREE    submit (OUT)
 *   OUT     the end of its work, or its run taking too long (DONE)
 *   DONE    wait_any (TAKEN)
 *   TAKEN   release or close (FREE, when the work is over: a run that takes too long still reads the inputs)
 * Guarded by the scheduler's lock. The outputs live in the sub-request's own arena. */
#include <string.h>

#include "base/tensor_match.h"
#include "engine_internal.h"

struct weft_group_slot {
    enum { SLOT_FREE = 0, SLOT_OUT, SLOT_DONE, SLOT_TAKEN } state;
    weft_node done_node;
    weft_request *sub; /* NULL: failed before it was queued */
    uint64_t tag;
    bool work_over;
    bool released; /* by the pipeline, while the work was not over */
    weft_error error;
};

struct weft_group {
    weft_pipe *pipe;
    weft_node done;
    size_t n_slots, n_out; /* n_out: OUT and DONE */
    weft_group_slot slots[];
};

static void assert_thread(const weft_pipe *p)
{
    weft_assert(weft_role_get() == WEFT_ROLE_PIPE && weft_pipe_is_mine(p));
}

weft_status weft_group_open(weft_pipe *p, size_t max_calls, weft_group **out, weft_error *err)
{
    assert_thread(p);
    *out = NULL;
    if (max_calls < 1 || max_calls > WEFT_MAX_REQUEST_ROWS)
        return weft_fail(err, WEFT_E_INVALID, "a call group for %zu calls was asked for; expected 1 to %d", max_calls,
                         WEFT_MAX_REQUEST_ROWS);
    weft_group *g = weft_arena_zalloc(p->request->arena, sizeof(*g) + max_calls * sizeof(g->slots[0]));
    if (!g)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a group of %zu calls", max_calls);
    g->pipe = p;
    g->n_slots = max_calls;
    weft_node_init(&g->done);
    p->n_groups++;
    *out = g;
    return WEFT_OK;
}

/* The call's tensors as rows of the sub-model. */
static weft_status rows_of(weft_model *m, const weft_sub_call *c, weft_plan *p, weft_error *err)
{
    memset(p, 0, sizeof(*p));
    p->n_rows = c->n_rows;
    p->n_inputs = c->n_inputs;
    if (c->n_inputs > m->desc.n_inputs)
        return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has %zu inputs, not %zu", m->config.name, m->desc.n_inputs,
                         c->n_inputs);
    for (size_t i = 0; i < c->n_inputs; i++) {
        weft_tensor *t = &p->rows[i];
        *t = c->inputs[i];
        if (t->dtype == WEFT_DT_NONE || weft_tensor_absent(t)) {
            *t = (weft_tensor){0};
            continue;
        }
        if (!m->view.batched || m->view.shared_input[i])
            continue;
        if (t->rank < 1 || t->shape[0] != c->n_rows)
            return weft_fail(err, WEFT_E_INVALID, "input \"%s\" of the model \"%s\" must have %lld rows on its first axis",
                             m->desc.inputs[i].name, m->config.name, (long long)c->n_rows);
        t->rank--;
        memmove(t->shape, t->shape + 1, (size_t)t->rank * sizeof(t->shape[0]));
    }
    return weft_rows_check(m, p, err);
}

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a call to a sub-model");
}

static weft_status make_sub(weft_request *parent, weft_model *m, const weft_sub_call *c, weft_request **out, weft_error *err)
{
    weft_engine *e = m->engine;
    weft_plan p;
    *out = NULL;
    weft_status s = rows_of(m, c, &p, err);
    if (s)
        return s;
    size_t answer = m->answer_bytes * (size_t)c->n_rows;
    size_t bytes =
        sizeof(weft_request) + m->desc.n_inputs * sizeof(weft_tensor) + m->desc.n_outputs * (sizeof(weft_tensor) + 64) + 256;
    weft_arena *arena = weft_arena_create(e->home->pool, bytes + (answer < 1 << 20 ? answer : 0));
    weft_request *r = arena ? weft_arena_zalloc(arena, sizeof(*r)) : NULL;
    if (!r) {
        weft_arena_destroy(&arena);
        return no_memory(err);
    }
    atomic_fetch_add_explicit(&e->home->refs, 1, memory_order_relaxed);
    atomic_init(&r->refs, 2); /* the work and the slot */
    r->engine = e;
    r->home = e->home;
    r->arena = arena;
    r->model = m;
    r->parent = parent;
    r->level = parent->level;
    r->arrival_ns = parent->arrival_ns;
    r->deadline_ns = parent->deadline_ns;
    r->n_rows = c->n_rows;
    r->n_inputs = m->desc.n_inputs;
    r->rows = weft_arena_alloc(arena, r->n_inputs * sizeof(*r->rows));
    s = r->rows ? WEFT_OK : no_memory(err);
    if (!s) {
        memcpy(r->rows, p.rows, r->n_inputs * sizeof(*r->rows));
        if (weft_rows_missing_bytes(m, r))
            s = weft_fail(err, WEFT_E_INVALID, "a call to the model \"%s\" gives an input without data", m->config.name);
    }
    if (!s) {
        weft_rows_key(m, r);
        s = weft_parts_make(r, err);
    }
    if (s) {
        weft_request_free(r);
        return s;
    }
    *out = r;
    return WEFT_OK;
}

/* Lock held. */
static weft_group_slot *free_slot(weft_group *g)
{
    for (size_t i = 0; i < g->n_slots; i++)
        if (g->slots[i].state == SLOT_FREE)
            return &g->slots[i];
    return NULL;
}

static void slot_done(weft_group *g, weft_group_slot *s)
{
    s->state = SLOT_DONE;
    weft_node_push_back(&g->done, &s->done_node);
}

weft_status weft_group_submit(weft_group *g, const weft_sub_call *c, weft_error *err)
{
    weft_pipe *p = g->pipe;
    weft_request *parent = p->request, *sub;
    weft_engine *e = parent->engine;
    assert_thread(p);
    weft_model *m = c->submodel < parent->model->n_subs ? parent->model->subs[c->submodel] : NULL;
    if (!m)
        return weft_fail(err, WEFT_E_INVALID, "the pipeline \"%s\" has no sub-model in slot %zu", parent->model->config.name,
                         c->submodel);
    weft_lock_take(&e->sched);
    weft_group_slot *slot = free_slot(g); /* only this thread takes slots */
    weft_lock_drop(&e->sched);
    if (!slot)
        return weft_fail(err, WEFT_E_BUSY, "%zu calls of this group are out or not released, which is its limit", g->n_slots);
    weft_status s = make_sub(parent, m, c, &sub, err);
    if (s)
        return s;
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e);
    slot->tag = c->tag;
    slot->sub = sub;
    slot->work_over = slot->released = false;
    weft_error_clear(&slot->error);
    sub->group = g;
    sub->slot = slot;
    sub->admitted_ns = now;
    g->n_out++;
    weft_cohort_submit(&p->member, m, sub->key, c->repeats, now);
    bool refused = weft_health_admit(m, &slot->error) != WEFT_OK;
    if (refused) {
        slot->work_over = true;
        slot_done(g, slot);
    } else {
        slot->state = SLOT_OUT;
        sub->phase = WEFT_PHASE_READY;
        weft_sched_enter(m, sub);
        weft_sched_queue_ready(m, &sub->parts[0], now);
        weft_sched_dispatch(e, now);
    }
    weft_lock_drop(&e->sched);
    if (refused)
        weft_request_unref(sub); /* the work's */
    return WEFT_OK;
}

void weft_group_give_up(weft_request *sub)
{
    weft_group_slot *s = sub->slot;
    if (s->state != SLOT_OUT)
        return;
    weft_fail(&s->error, WEFT_E_RUN_FAILED, "a run of the model \"%s\" took longer than its run_timeout_ms and was given up",
              sub->model->config.name);
    slot_done(sub->group, s);
    weft_pipe_wake(sub->parent);
}

void weft_group_done(weft_request *sub)
{
    weft_engine *e = sub->engine;
    weft_request *parent = sub->parent;
    weft_group_slot *s = sub->slot;
    bool drop;
    weft_lock_take(&e->sched);
    s->work_over = true;
    if (s->state == SLOT_OUT) {
        s->error = sub->error;
        slot_done(sub->group, s);
    }
    weft_add_ns(&parent->run_ns, weft_get_ns(&sub->run_ns));
    weft_note_batch(parent, sub->batch_rows, sub->n_runs);
    drop = s->released;
    if (drop) {
        s->sub = NULL;
        s->state = SLOT_FREE;
    }
    weft_pipe_wake(parent);
    weft_lock_drop(&e->sched);
    if (drop)
        weft_request_unref(sub);
}

static weft_status over_status(const weft_request *r, weft_error *err)
{
    if (r->deadline_ns <= weft_engine_now(r->engine))
        return weft_fail(err, WEFT_E_DEADLINE, "the deadline passed");
    return weft_fail(err, WEFT_E_CANCELLED, "the request was cancelled");
}

weft_status weft_group_wait_any(weft_group *g, weft_sub_result *out, weft_error *err)
{
    weft_pipe *p = g->pipe;
    weft_request *r = p->request;
    weft_engine *e = r->engine;
    assert_thread(p);
    memset(out, 0, offsetof(weft_sub_result, error));
    out->outputs = NULL;
    out->n_outputs = 0;
    weft_lock_take(&e->sched);
    if (!g->n_out) {
        weft_lock_drop(&e->sched);
        return weft_fail(err, WEFT_E_NOT_FOUND, "no call of this group is out");
    }
    while (weft_node_empty(&g->done) && !weft_request_answered(r))
        weft_pipe_pause(p);
    weft_pipe_resume(p);
    if (weft_request_over(r, weft_engine_now(e))) {
        weft_lock_drop(&e->sched);
        return over_status(r, err);
    }
    weft_group_slot *s = weft_container_of(weft_node_pop_front(&g->done), weft_group_slot, done_node);
    s->state = SLOT_TAKEN;
    g->n_out--;
    weft_lock_drop(&e->sched);
    out->tag = s->tag;
    out->slot = (size_t)(s - g->slots);
    out->error = s->error;
    out->status = s->error.status;
    if (!out->status) {
        out->outputs = s->sub->outputs;
        out->n_outputs = s->sub->n_outputs;
    }
    return WEFT_OK;
}

void weft_group_release(weft_group *g, size_t slot)
{
    weft_engine *e = g->pipe->request->engine;
    weft_request *drop = NULL;
    assert_thread(g->pipe);
    weft_assert(slot < g->n_slots && g->slots[slot].state == SLOT_TAKEN);
    weft_group_slot *s = &g->slots[slot];
    weft_lock_take(&e->sched);
    if (s->work_over) {
        drop = s->sub;
        s->sub = NULL;
        s->state = SLOT_FREE;
    } else {
        s->released = true;
    }
    weft_lock_drop(&e->sched);
    if (drop)
        weft_request_unref(drop);
}

/* Lock held. Takes back what has not started; true when something still runs. */
static bool withdraw(weft_group *g, weft_node *over)
{
    bool running = false;
    for (size_t i = 0; i < g->n_slots; i++) {
        weft_group_slot *s = &g->slots[i];
        if (s->state == SLOT_FREE || s->work_over)
            continue;
        if (weft_sched_unlink(s->sub)) {
            weft_sched_leave(s->sub->model, s->sub);
            s->work_over = true;
            weft_node_push_back(over, &s->sub->post_node);
        } else {
            running = true;
        }
    }
    return running;
}

void weft_group_close(weft_group **gp)
{
    weft_group *g = gp ? *gp : NULL;
    weft_node over, *n;
    if (!g)
        return;
    weft_pipe *p = g->pipe;
    weft_engine *e = p->request->engine;
    assert_thread(p);
    weft_node_init(&over);
    weft_lock_take(&e->sched);
    while (withdraw(g, &over))
        weft_pipe_pause(p);
    weft_pipe_resume(p);
    weft_lock_drop(&e->sched);
    while ((n = weft_node_pop_front(&over)))
        weft_request_unref(weft_container_of(n, weft_request, post_node)); /* the work's */
    for (size_t i = 0; i < g->n_slots; i++)
        if (g->slots[i].state != SLOT_FREE && g->slots[i].sub)
            weft_request_unref(g->slots[i].sub);
    p->n_groups--;
    *gp = NULL;
}
