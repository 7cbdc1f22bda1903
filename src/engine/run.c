/* One run on an instance's thread: gather rows, run, hand out what came, or decide what a failure means. */
#include <string.h>

#include "engine_internal.h"

typedef struct run_outcome {
    weft_status status;
    weft_fault fault;
    weft_error error;
    int64_t run_ns;
} run_outcome;

static bool per_row(const weft_model *m, size_t k)
{
    return m->view.batched && !m->view.shared_input[k];
}

/* ---- inputs ---- */
/* Rows of all parts, one after the other, in the instance's block; the rest of a compiled gear is zero. */
static bool gather(weft_instance *i, size_t k, size_t row_bytes)
{
    weft_block *b = &i->in_block[k];
    size_t all = (size_t)i->gear_rows * row_bytes;
    if (!weft_block_reserve(i, b, all))
        return false;
    char *at = b->data;
    for (size_t p = 0; p < i->n_parts; p++) {
        const weft_part *part = i->parts[p];
        size_t n = (size_t)part->n_rows * row_bytes;
        if (n)
            memcpy(at, (const char *)part->request->rows[k].data + (size_t)part->first_row * row_bytes, n);
        at += n;
    }
    memset(at, 0, all - (size_t)(at - (char *)b->data));
    i->inputs[k].data = b->data;
    return true;
}

static bool copy_to_block(weft_instance *i, size_t k)
{
    weft_tensor *t = &i->inputs[k];
    if (!weft_block_reserve(i, &i->in_block[k], t->n_bytes))
        return false;
    if (t->n_bytes)
        memcpy(i->in_block[k].data, t->data, t->n_bytes);
    t->data = i->in_block[k].data;
    return true;
}

static bool set_inputs(weft_instance *i)
{
    const weft_model *m = i->model;
    const weft_part *first = i->parts[0];
    const weft_request *r = first->request;
    bool needs_block = m->backend->table->needs_block;
    for (size_t k = 0; k < r->n_inputs; k++) {
        const weft_tensor *row = &r->rows[k];
        weft_tensor *t = &i->inputs[k];
        *t = *row;
        if (row->dtype == WEFT_DT_NONE) {
            *t = (weft_tensor){.name = row->name, .dtype = m->desc.inputs[k].dtype};
            continue;
        }
        if (!per_row(m, k)) {
            if (needs_block && !copy_to_block(i, k))
                return false;
            continue;
        }
        size_t row_bytes = row->n_bytes / (size_t)r->n_rows;
        t->rank = row->rank + 1;
        t->shape[0] = i->gear_rows;
        memcpy(t->shape + 1, row->shape, (size_t)row->rank * sizeof(row->shape[0]));
        t->n_bytes = (size_t)i->gear_rows * row_bytes;
        if (i->n_parts == 1 && first->n_rows == i->gear_rows && !needs_block)
            t->data = (char *)row->data + (size_t)first->first_row * row_bytes; /* straight from the request's memory */
        else if (!gather(i, k, row_bytes))
            return false;
    }
    return true;
}

/* ---- outputs ---- */
/* Bytes of output k for the run; 0 = not known before. */
static size_t output_bytes(const weft_model *m, size_t k, int64_t rows)
{
    const weft_tensor_desc *d = &m->desc.outputs[k];
    int64_t shape[WEFT_MAX_RANK];
    size_t n = 0;
    if (d->size_kind == WEFT_SIZE_BOUNDED)
        return d->max_bytes * (size_t)rows;
    if (d->size_kind != WEFT_SIZE_FIXED || d->rank < 0)
        return 0;
    memcpy(shape, d->shape, sizeof(shape));
    if (m->view.batched && d->rank > 0)
        shape[0] = rows;
    return weft_tensor_dense_bytes(d->dtype, shape, d->rank, &n) ? n : 0;
}

static bool raw(const weft_request *r)
{
    return r->parent || !r->model->executor->postprocess;
}

static void *alloc_output(void *cookie, size_t output, size_t n_bytes)
{
    weft_instance *i = cookie;
    if (i->direct)
        return weft_arena_alloc(i->direct, n_bytes < 64 ? 64 : n_bytes);
    weft_block *b = &i->out_block[output];
    return weft_block_reserve(i, b, n_bytes) ? b->data : NULL;
}

static bool set_outputs(weft_instance *i)
{
    const weft_model *m = i->model;
    const weft_request *r = i->parts[0]->request;
    i->direct = i->n_parts == 1 && r->n_parts == 1 && i->gear_rows == i->n_rows && raw(r) && !m->backend->table->needs_block
                    ? r->arena
                    : NULL;
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        weft_tensor *t = &i->outputs[k];
        *t = (weft_tensor){.name = m->desc.outputs[k].name};
        i->wanted[k] = false;
        for (size_t p = 0; p < i->n_parts && !i->wanted[k]; p++)
            i->wanted[k] = !i->parts[p]->request->wanted || i->parts[p]->request->wanted[k];
        if (!i->wanted[k])
            continue;
        size_t n = output_bytes(m, k, i->gear_rows);
        if (i->direct) {
            if (n && !(t->data = alloc_output(i, k, n)))
                return false;
            t->n_bytes = n;
            continue;
        }
        if (n && !weft_block_reserve(i, &i->out_block[k], n))
            return false;
        t->data = i->out_block[k].data;
        t->n_bytes = i->out_block[k].capacity;
    }
    return true;
}

/* What the backend answered must be what the rest relies on. */
static weft_status check_outputs(weft_instance *i, weft_error *err)
{
    const weft_model *m = i->model;
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        const weft_tensor *t = &i->outputs[k];
        if (!i->wanted[k])
            continue;
        weft_status s = weft_tensor_check(t, err);
        if (s)
            return weft_fail_prefix(err, WEFT_E_RUN_FAILED, "the backend answered a wrong output");
        if (m->view.batched && (t->rank < 1 || t->shape[0] != i->gear_rows)) {
            char shape[160];
            return weft_fail(err, WEFT_E_RUN_FAILED, "output \"%s\" came with the shape %s for a run of %lld rows", t->name,
                             weft_shape_print(t->shape, t->rank, shape, sizeof(shape)), (long long)i->gear_rows);
        }
    }
    return WEFT_OK;
}

static void run_backend(weft_instance *i, run_outcome *o)
{
    weft_model *m = i->model;
    *o = (run_outcome){.fault = WEFT_FAULT_MEMORY};
    weft_error_clear(&o->error);
    if (!set_inputs(i) || !set_outputs(i)) {
        o->status = weft_fail(&o->error, WEFT_E_NO_MEMORY, "out of memory for a run of %lld rows", (long long)i->gear_rows);
        return;
    }
    i->run = (weft_run){.inputs = i->inputs,
                        .n_inputs = m->desc.n_inputs,
                        .outputs = i->outputs,
                        .n_outputs = m->desc.n_outputs,
                        .wanted = i->wanted,
                        .alloc = alloc_output,
                        .cookie = i,
                        .n_rows = i->gear_rows};
    int64_t start = weft_engine_now(m->engine);
    o->status = m->backend->table->run(m->backend->self, i->handle, &i->run, &o->error);
    o->run_ns = weft_engine_now(m->engine) - start;
    o->fault = i->run.fault;
    if (!o->status && (o->status = check_outputs(i, &o->error)))
        o->fault = WEFT_FAULT_UNKNOWN;
    if (o->status && o->fault == WEFT_FAULT_NONE)
        o->fault = o->status == WEFT_E_NO_MEMORY ? WEFT_FAULT_MEMORY : WEFT_FAULT_UNKNOWN;
    if (o->status && !o->error.status)
        weft_fail(&o->error, o->status, "%s", weft_status_text(o->status));
}

/* Bytes of one row, without the batch axis. */
static size_t row_bytes_of(const weft_tensor *row)
{
    size_t n = 0;
    return weft_tensor_dense_bytes(row->dtype, row->shape, row->rank, &n) ? n : 0;
}

bool weft_instance_reserve(weft_instance *i, int64_t n_rows)
{
    const weft_model *m = i->model;
    for (size_t k = 0; k < m->desc.n_inputs; k++) {
        size_t n = row_bytes_of(&m->probe_rows[k]) * (size_t)n_rows;
        if (per_row(m, k) && !weft_block_reserve(i, &i->in_block[k], n))
            return false;
    }
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        size_t n = output_bytes(m, k, n_rows);
        if (n && !weft_block_reserve(i, &i->out_block[k], n))
            return false;
    }
    return true;
}

/* ---- success ---- */
/* The part's rows of every wanted output, where they lie. */
static void slice(const weft_instance *i, const weft_part *p, int64_t row, weft_tensor *out)
{
    const weft_model *m = i->model;
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        const weft_tensor *t = &i->outputs[k];
        out[k] = *t;
        if (!i->wanted[k] || (p->request->wanted && !p->request->wanted[k])) {
            out[k].data = NULL;
            out[k].n_bytes = 0;
            out[k].dtype = WEFT_DT_NONE;
            continue;
        }
        if (!m->view.batched)
            continue;
        size_t row_bytes = t->n_bytes / (size_t)i->gear_rows;
        out[k].shape[0] = p->n_rows;
        out[k].data = (char *)t->data + (size_t)row * row_bytes;
        out[k].n_bytes = (size_t)p->n_rows * row_bytes;
    }
}

static void *arena_copy(weft_arena *a, const void *data, size_t n_bytes)
{
    void *copy = weft_arena_alloc(a, n_bytes < 64 ? 64 : n_bytes);
    if (copy && n_bytes)
        memcpy(copy, data, n_bytes);
    return copy;
}

/* Moves outputs into the request's arena, for a later stage or the parent. */
static bool keep_outputs(weft_request *r, const weft_tensor *outputs, size_t n, bool copy)
{
    r->outputs = weft_arena_alloc(r->arena, n * sizeof(*outputs));
    if (!r->outputs)
        return false;
    memcpy(r->outputs, outputs, n * sizeof(*outputs));
    r->n_outputs = n;
    for (size_t k = 0; copy && k < n; k++)
        if (outputs[k].dtype != WEFT_DT_NONE && !(r->outputs[k].data = arena_copy(r->arena, outputs[k].data, outputs[k].n_bytes)))
            return false;
    return true;
}

/* Room for the rows of all parts; made by the first part, which runs before the others. */
static bool join_begin(weft_request *r, const weft_tensor *outputs, const weft_part *p, size_t n)
{
    r->outputs = weft_arena_array(r->arena, n, sizeof(*outputs));
    if (!r->outputs)
        return false;
    r->n_outputs = n;
    for (size_t k = 0; k < n; k++) {
        weft_tensor *t = &r->outputs[k];
        *t = outputs[k];
        if (t->dtype == WEFT_DT_NONE)
            continue;
        t->shape[0] = r->n_rows;
        t->n_bytes = outputs[k].n_bytes / (size_t)p->n_rows * (size_t)r->n_rows;
        if (!(t->data = weft_arena_alloc(r->arena, t->n_bytes < 64 ? 64 : t->n_bytes)))
            return false;
    }
    return true;
}

static weft_status join(weft_request *r, const weft_tensor *outputs, const weft_part *p, size_t n, weft_error *err)
{
    if (!r->outputs && !join_begin(r, outputs, p, n))
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the outputs of %lld rows", (long long)r->n_rows);
    for (size_t k = 0; k < n; k++) {
        weft_tensor *t = &r->outputs[k];
        const weft_tensor *o = &outputs[k];
        size_t row_bytes = t->n_bytes / (size_t)r->n_rows;
        if (t->dtype == WEFT_DT_NONE)
            continue;
        if (o->dtype != t->dtype || o->rank != t->rank || o->n_bytes != row_bytes * (size_t)p->n_rows)
            return weft_fail(err, WEFT_E_RUN_FAILED, "output \"%s\" changed its shape between two runs of one request", t->name);
        if (o->n_bytes)
            memcpy((char *)t->data + (size_t)p->first_row * row_bytes, o->data, o->n_bytes);
    }
    return WEFT_OK;
}

static void part_succeeded(weft_instance *i, weft_part *p, int64_t row, const run_outcome *o)
{
    weft_request *r = p->request;
    weft_model *m = i->model;
    weft_tensor outputs[WEFT_MAX_MODEL_OUTPUTS];
    size_t n = m->desc.n_outputs;
    weft_error err;
    p->run_ns = o->run_ns;
    p->batch_rows = (int32_t)i->n_rows;
    if (weft_request_answered(r))
        return;
    slice(i, p, row, outputs);
    weft_error_clear(&err);
    if (r->n_parts > 1) {
        if (join(r, outputs, p, n, &err))
            weft_finish_failed(r, &err);
        return;
    }
    weft_add_ns(&r->run_ns, o->run_ns);
    weft_note_batch(r, p->batch_rows, 1);
    if (r->parent || (!raw(r) && m->tokens != 1)) {
        if (!keep_outputs(r, outputs, n, !i->direct)) {
            weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory for the outputs of a run");
            weft_finish_failed(r, &err);
        } else {
            p->post_later = !r->parent;
        }
        return;
    }
    weft_finish_outputs(r, outputs, !i->direct);
}

/* ---- failure ---- */
/* What clients read: the sentence of the backend, under the status that fits the fault. */
static void client_error(const weft_instance *i, const run_outcome *o, weft_error *err)
{
    static const weft_status status[] = {
        [WEFT_FAULT_NONE] = WEFT_E_RUN_FAILED,    [WEFT_FAULT_REQUEST] = WEFT_E_INVALID,
        [WEFT_FAULT_UNKNOWN] = WEFT_E_RUN_FAILED, [WEFT_FAULT_MEMORY] = WEFT_E_NO_MEMORY,
        [WEFT_FAULT_TIMEOUT] = WEFT_E_RUN_FAILED, [WEFT_FAULT_STREAM] = WEFT_E_RUN_FAILED,
        [WEFT_FAULT_DEVICE] = WEFT_E_DEVICE,
    };
    *err = o->error;
    err->status = o->fault <= WEFT_FAULT_DEVICE ? status[o->fault] : WEFT_E_RUN_FAILED;
    weft_fail_prefix(err, err->status, "model \"%s\"", i->model->config.name);
}

/* May this part run again, and how? Only once of each kind, and only while there is time. */
static bool retry(weft_instance *i, weft_part *p, weft_fault fault, int64_t now)
{
    if (weft_request_over(p->request, now) || i->overdue)
        return false;
    if ((fault == WEFT_FAULT_REQUEST || fault == WEFT_FAULT_UNKNOWN) && i->n_parts > 1) {
        p->alone = true;
        return true;
    }
    if (fault == WEFT_FAULT_MEMORY && !p->retried) {
        int64_t smaller = weft_gears_smaller(&i->model->gears, i->gear_rows);
        if (smaller < p->n_rows)
            return false;
        p->retried = true;
        p->cap_rows = smaller;
        return true;
    }
    return false;
}

static bool server_fault(const weft_instance *i, weft_fault fault)
{
    return fault != WEFT_FAULT_REQUEST && !(fault == WEFT_FAULT_TIMEOUT && i->abandoned);
}

/* The server's failure is known before anybody is answered, so that who asks again at once meets the model's new state. */
static void note_failure(weft_model *m, const run_outcome *o, const weft_error *err)
{
    weft_engine *e = m->engine;
    weft_engine_log(e, WEFT_LOG_WARN, "run.failed", m->config.name, "%s", err->text);
    weft_lock_take(&e->sched);
    weft_health_failure(m, o->fault, err->text);
    weft_lock_drop(&e->sched);
}

static void fail_too_late(weft_request *r)
{
    weft_error err;
    weft_error_clear(&err);
    weft_fail(&err, WEFT_E_DEADLINE, "the deadline passed while a run of the model \"%s\" failed", r->model->config.name);
    weft_finish_failed(r, &err);
}

static void run_failed(weft_instance *i, const run_outcome *o)
{
    weft_model *m = i->model;
    int64_t now = weft_engine_now(m->engine);
    bool again = false;
    weft_error err;
    client_error(i, o, &err);
    for (size_t k = 0; k < i->n_parts; k++) {
        weft_part *p = i->parts[k];
        p->run_ns = o->run_ns;
        p->run_again = retry(i, p, o->fault, now);
        again |= p->run_again;
    }
    if (again)
        weft_stats_count(m, &m->stats.splits);
    else if (server_fault(i, o->fault))
        note_failure(m, o, &err);
    bool may_be_another = i->n_parts > 1 && (o->fault == WEFT_FAULT_REQUEST || o->fault == WEFT_FAULT_UNKNOWN);
    for (size_t k = 0; k < i->n_parts; k++) {
        weft_request *r = i->parts[k]->request;
        if (i->parts[k]->run_again)
            continue;
        if (may_be_another && r->deadline_ns <= now)
            fail_too_late(r); /* the fault may be another request's; there was no time to find out */
        else
            weft_finish_failed(r, &err);
    }
}

/* ---- the end of a run ---- */
/* All parts of a request that took several runs are there: the result is made by a host thread. */
static void last_part(weft_request *r)
{
    for (size_t k = 0; r->n_parts > 1 && k < r->n_parts; k++) {
        weft_add_ns(&r->run_ns, r->parts[k].run_ns);
        weft_note_batch(r, r->parts[k].batch_rows, 1);
    }
}

static void release_other_parts(weft_request *r, int64_t now)
{
    r->parts_released = true;
    for (size_t k = 1; k < r->n_parts; k++)
        weft_sched_queue_ready(r->model, &r->parts[k], now);
}

/* Lock held. True when nothing works on the request any more. */
static bool part_ended(weft_model *m, weft_part *p, int64_t now)
{
    weft_request *r = p->request;
    bool answered = weft_request_answered(r) || r->error.status;
    if (r->parent && !p->run_again)
        weft_cohort_between(&r->parent->pipe->member, m, r->key, now); /* before the next grant, which may wait for it */
    r->n_running--;
    if (p->run_again && !answered) {
        p->run_again = false;
        weft_sched_queue_ready(m, p, now);
        return false;
    }
    p->run_again = false;
    r->n_left--;
    if (answered) {
        if (!weft_sched_unlink(r))
            return false;
    } else if (!r->parts_released) {
        release_other_parts(r, now);
        return false;
    } else if (r->n_left) {
        return false;
    } else {
        last_part(r);
        if (!r->parent && (r->n_parts > 1 || p->post_later)) {
            r->phase = WEFT_PHASE_POST_WAIT;
            r->q.level = r->level;
            r->q.arrival_ns = r->arrival_ns;
            weft_queue_push(&m->post, &r->q);
            return false;
        }
    }
    weft_sched_leave(m, r);
    return true;
}

/* True when the next batch was granted. */
static bool end_run(weft_instance *i, const run_outcome *o)
{
    weft_model *m = i->model;
    weft_engine *e = m->engine;
    weft_node over;
    weft_node_init(&over);
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e);
    while (i->terminating)
        weft_cond_wait(&m->changed, &e->sched);
    if (!o->status) {
        weft_health_success(m);
        weft_gears_learn(
            &m->gears,
            weft_gear_table_get(&m->costs, &m->gears, i->parts[0]->request->shape_key, i->parts[0]->request->row_bytes),
            i->n_rows, o->run_ns);
        weft_estimate_learn(m, i->n_rows, now - i->granted_ns);
    }
    for (size_t k = 0; k < i->n_parts; k++)
        if (part_ended(m, i->parts[k], now))
            weft_node_push_back(&over, &i->parts[k]->q.node);
    if (i->state == WEFT_INSTANCE_BUSY) { /* not when it was lost: then all this was settled */
        m->n_running--;
        if (m->tokens) {
            weft_sched_tokens_back(m, m->tokens);
            weft_lane_correct(&e->lane, &m->account->share, i->predicted_ns, now - i->granted_ns, m->tokens, i->starved);
        }
        if (o->fault == WEFT_FAULT_STREAM || o->fault == WEFT_FAULT_DEVICE) {
            i->state = WEFT_INSTANCE_BROKEN;
            m->health.n_broken++;
            weft_health_update(m);
            weft_maintainer_wake(e);
        } else {
            i->state = WEFT_INSTANCE_IDLE;
            weft_node_push_front(&m->idle, &i->idle_node);
            m->n_idle++;
        }
        i->idle_since_ns = m->idle_since_ns = now;
    }
    weft_cond_broadcast(&m->changed);
    weft_sched_dispatch(e, now);
    bool again = i->granted;
    i->granted = false;
    weft_lock_drop(&e->sched);
    weft_node *n;
    while ((n = weft_node_pop_front(&over)))
        weft_request_work_over(weft_container_of(n, weft_part, q.node)->request);
    return again;
}

bool weft_instance_run(weft_instance *i)
{
    run_outcome o;
    run_backend(i, &o);
    weft_stats_run(i->model, i->n_rows, o.run_ns);
    if (o.status) {
        run_failed(i, &o);
    } else {
        int64_t row = 0;
        for (size_t k = 0; k < i->n_parts; k++) {
            part_succeeded(i, i->parts[k], row, &o);
            row += i->parts[k]->n_rows;
        }
    }
    return end_run(i, &o);
}
