/* The scheduler: one lock, one decision. Whoever changes something (a new request, a finished run, a due window) calls
 * weft_sched_dispatch, which grants core tokens and instances as long as there are some. A batch is formed only in grant_run,
 * from what is ready at that moment. */
#include "engine_internal.h"

#define MAX_KEYS 8 /* different buckets that one look at a model's ready rows tells apart */

typedef struct admin_waiter {
    weft_node node;
    int64_t n;
    bool granted;
} admin_waiter;

/* ---- bookkeeping ---- */
void weft_sched_enter(weft_model *m, weft_request *r)
{
    weft_engine *e = m->engine;
    weft_assert_held(&e->sched);
    r->rows_waiting = r->n_rows;
    m->level_rows[r->level] += r->rows_waiting;
    if (m->n_work++ == 0)
        weft_node_push_back(&e->active, &m->active_node);
    weft_share_enter(&e->lane, &m->account->share);
}

void weft_sched_leave(weft_model *m, weft_request *r)
{
    weft_engine *e = m->engine;
    weft_assert_held(&e->sched);
    r->phase = WEFT_PHASE_OVER;
    weft_sched_not_queued(r);
    weft_sched_rows_granted(r, r->rows_waiting);
    m->credits += r->credits;
    r->credits = 0;
    weft_share_leave(&m->account->share);
    if (--m->n_work == 0) {
        weft_node_remove(&m->active_node);
        weft_cond_broadcast(&m->changed);
    }
}

void weft_sched_not_queued(weft_request *r)
{
    if (!r->in_queue_count)
        return;
    r->in_queue_count = false;
    r->model->n_queued--;
    r->model->queued_bytes -= r->queue_bytes;
}

void weft_sched_rows_granted(weft_request *r, int64_t n)
{
    if (n > r->rows_waiting)
        n = r->rows_waiting;
    r->rows_waiting -= n;
    r->model->level_rows[r->level] -= n;
}

void weft_sched_queue_ready(weft_model *m, weft_part *p, int64_t now_ns)
{
    p->q.level = p->request->level;
    p->q.arrival_ns = p->request->arrival_ns;
    p->ready_ns = now_ns;
    weft_queue_push(&m->ready, &p->q);
    m->n_ready_rows += p->n_rows;
}

static void unqueue_ready(weft_model *m, weft_part *p)
{
    weft_queue_remove(&m->ready, &p->q);
    m->n_ready_rows -= p->n_rows;
}

bool weft_sched_unlink(weft_request *r)
{
    weft_model *m = r->model;
    weft_assert_held(&r->engine->sched);
    switch (r->phase) {
    case WEFT_PHASE_WAITING:
        weft_queue_remove(&m->waiting, &r->q);
        return true;
    case WEFT_PHASE_POST_WAIT:
        weft_queue_remove(&m->post, &r->q);
        return true;
    case WEFT_PHASE_READY:
        for (size_t i = 0; i < r->n_parts; i++)
            if (weft_node_linked(&r->parts[i].q.node))
                unqueue_ready(m, &r->parts[i]);
        return r->n_running == 0;
    default:
        return false;
    }
}

static bool takes_tokens(const weft_model *m)
{
    return m->tokens > 0;
}

/* ---- what a model could do now ---- */
static weft_request *request_of(weft_qnode *n)
{
    return weft_container_of(n, weft_request, q);
}

static weft_part *part_of(weft_qnode *n)
{
    return weft_container_of(n, weft_part, q);
}

int64_t weft_sched_run_ns(weft_model *m, const weft_part *p, int64_t n_rows)
{
    return weft_gears_cost(&m->gears, weft_gear_table_get(&m->costs, &m->gears, p->request->shape_key, p->request->row_bytes),
                           n_rows);
}

/* The facts about the bucket of p, which is first in it. */
static bool bucket_eligible(weft_model *m, weft_part *p, int64_t now, int64_t *wake_ns)
{
    const weft_gear_costs *c = weft_gear_table_get(&m->costs, &m->gears, p->request->shape_key, p->request->row_bytes);
    int64_t useful = c->useful_rows < p->cap_rows ? c->useful_rows : p->cap_rows;
    int64_t between = useful > 1 ? weft_cohort_expected(m, p->request->key, now) : 0;
    if (p->alone || useful <= p->n_rows || (!m->window_ns && !between))
        return true;
    weft_batch_facts f = {.useful_rows = useful,
                          .oldest_ready_ns = p->ready_ns,
                          .window_ns = m->window_ns,
                          .first_deadline_ns = WEFT_NEVER,
                          .n_between = between,
                          .idle_since_ns = m->idle_since_ns,
                          .cohort_wait_ns = m->cohort_wait_ns};
    for (weft_qnode *n = &p->q; n && f.n_ready < useful; n = weft_queue_next(&m->ready, n)) {
        weft_part *other = part_of(n);
        if (other->alone || weft_request_over(other->request, now) || !weft_rows_same_bucket(m, p->request, other->request))
            continue;
        f.n_ready += other->n_rows;
        if (other->ready_ns < f.oldest_ready_ns)
            f.oldest_ready_ns = other->ready_ns;
        if (other->request->deadline_ns < f.first_deadline_ns)
            f.first_deadline_ns = other->request->deadline_ns;
    }
    f.run_ns = weft_gears_cost(&m->gears, c, f.n_ready < useful ? f.n_ready : useful);
    return weft_batch_eligible(&f, now, wake_ns);
}

static weft_claim claim_of(weft_model *m, weft_claim_kind kind, const weft_qnode *n, int64_t tokens, void *item)
{
    return (weft_claim){.kind = kind,
                        .rank = (int)kind,
                        .level = n->level,
                        .arrival_ns = n->arrival_ns,
                        .share = &m->account->share,
                        .tokens = tokens,
                        .owner = m,
                        .item = item};
}

/* Offers the first eligible part of every level. */
static void offer_runs(weft_engine *e, weft_model *m, int64_t now, weft_contest *c)
{
    uint64_t seen[MAX_KEYS];
    size_t n_seen = 0;
    int64_t wake = WEFT_NEVER;
    bool any = false;
    weft_qnode *n = weft_queue_first(&m->ready);
    while (n) {
        weft_part *p = part_of(n);
        bool known = weft_request_over(p->request, now);
        for (size_t i = 0; i < n_seen && !known && !p->alone; i++)
            known = seen[i] == p->request->key;
        int64_t when;
        if (known) {
            n = weft_queue_next(&m->ready, n);
            continue;
        }
        if (bucket_eligible(m, p, now, &when)) {
            weft_claim claim = claim_of(m, WEFT_CLAIM_RUN, n, m->tokens, p);
            weft_contest_offer(&e->lane, c, &claim, now);
            any = true;
            n = weft_queue_lower(&m->ready, n);
            continue;
        }
        if (when < wake)
            wake = when;
        if (n_seen == MAX_KEYS)
            break;
        seen[n_seen++] = p->request->key;
        n = weft_queue_next(&m->ready, n);
    }
    if (!any && wake != WEFT_NEVER)
        weft_timer_set(&e->timers, &m->wake, wake);
}

/* Offers the first live request of every level of a queue. */
static void offer_requests(weft_engine *e, weft_model *m, const weft_queue *q, weft_claim_kind kind, int64_t now, weft_contest *c)
{
    for (weft_qnode *n = weft_queue_first(q); n;) {
        weft_request *r = request_of(n);
        if (weft_request_over(r, now)) {
            n = weft_queue_next(q, n);
            continue;
        }
        weft_claim claim = claim_of(m, kind, n, 1, r);
        weft_contest_offer(&e->lane, c, &claim, now);
        n = weft_queue_lower(q, n);
    }
}

/* While batches pay and rows are missing, preprocess goes before a small run of the same model. */
static bool prep_first(const weft_model *m)
{
    return m->n_idle && m->costs.last && m->ready.n && m->n_ready_rows < m->costs.last->useful_rows;
}

static int64_t credits_needed(const weft_model *m, const weft_request *r)
{
    return r->n_rows < m->credits_total ? r->n_rows : m->credits_total;
}

static void offer_preps(weft_engine *e, weft_model *m, int64_t now, weft_contest *c)
{
    for (weft_qnode *n = weft_queue_first(&m->waiting); n;) {
        weft_request *r = request_of(n);
        if (weft_request_over(r, now)) {
            n = weft_queue_next(&m->waiting, n);
            continue;
        }
        if (m->credits < credits_needed(m, r))
            return; /* the rest waits for this one: in order */
        weft_claim claim = claim_of(m, WEFT_CLAIM_PREP, n, 1, r);
        if (prep_first(m))
            claim.rank = WEFT_CLAIM_RUN - 1;
        weft_contest_offer(&e->lane, c, &claim, now);
        n = weft_queue_lower(&m->waiting, n);
    }
}

static void offer_resumes(weft_engine *e, weft_model *m, int64_t now, weft_contest *c)
{
    for (weft_qnode *n = weft_queue_first(&m->resumes); n; n = weft_queue_lower(&m->resumes, n)) {
        weft_claim claim = claim_of(m, WEFT_CLAIM_RESUME, n, 1, n);
        weft_contest_offer(&e->lane, c, &claim, now);
    }
}

/* May a grant to this model take n more cores? One that alone wants more than max_cores gets them when the account holds none. */
static bool below_cap(const weft_model *m, int64_t n)
{
    const weft_account *a = m->account;
    return !a->max_tokens || !a->tokens_used || a->tokens_used + n <= a->max_tokens;
}

static void take_tokens(weft_engine *e, weft_model *m, int64_t n)
{
    e->tokens_free -= n;
    m->account->tokens_used += n;
}

static void offer_model(weft_engine *e, weft_model *m, int64_t now, weft_contest *c)
{
    bool host = !weft_node_empty(&e->host_idle);
    if (!below_cap(m, 1))
        return;
    if (m->post.n && host)
        offer_requests(e, m, &m->post, WEFT_CLAIM_POST, now, c);
    if (m->resumes.n)
        offer_resumes(e, m, now, c);
    if (m->ready.n && m->n_idle && takes_tokens(m) && below_cap(m, m->tokens))
        offer_runs(e, m, now, c);
    if (!m->waiting.n)
        return;
    if (m->executor->run) {
        if (!weft_node_empty(&m->pipe_idle))
            offer_requests(e, m, &m->waiting, WEFT_CLAIM_START, now, c);
    } else if (host) {
        offer_preps(e, m, now, c);
    }
}

/* ---- grants ---- */
/* Does another model of the same device wait for a run? */
static bool others_wait(weft_engine *e, const weft_model *m)
{
    weft_list_each(n, &e->active)
    {
        weft_model *o = weft_container_of(n, weft_model, active_node);
        if (o == m || o->account == m->account || !o->ready.n)
            continue;
        if (takes_tokens(m) ? takes_tokens(o)
                            : !takes_tokens(o) && o->backend == m->backend && o->config.device_id == m->config.device_id)
            return true;
    }
    return false;
}

static bool joins(weft_model *m, const weft_part *head, const weft_part *p, int64_t room, int64_t now)
{
    return p != head && p->n_rows <= room && !p->alone && p->cap_rows >= head->cap_rows && !weft_request_over(p->request, now) &&
           weft_rows_same_bucket(m, head->request, p->request);
}

static void take_part(weft_model *m, weft_instance *i, weft_part *p)
{
    unqueue_ready(m, p);
    p->request->n_running++;
    weft_sched_not_queued(p->request);
    weft_sched_rows_granted(p->request, p->n_rows);
    i->parts[i->n_parts++] = p;
    i->n_rows += p->n_rows;
}

/* Fills the instance with the best batch around `head`. */
static void form_batch(weft_engine *e, weft_model *m, weft_instance *i, weft_part *head, int64_t now)
{
    const weft_gear_costs *c = weft_gear_table_get(&m->costs, &m->gears, head->request->shape_key, head->request->row_bytes);
    i->n_parts = 0;
    i->n_rows = 0;
    int64_t want = head->n_rows;
    if (!head->alone && c->useful_rows > want && head->cap_rows > want && m->ready.n > 1) {
        int64_t n_ready = head->n_rows;
        for (weft_qnode *n = weft_queue_first(&m->ready); n && n_ready < c->useful_rows; n = weft_queue_next(&m->ready, n))
            if (joins(m, head, part_of(n), WEFT_NEVER, now))
                n_ready += part_of(n)->n_rows;
        want = weft_gears_choose(&m->gears, c, n_ready, head->cap_rows, others_wait(e, m) ? e->max_run_ns : 0);
    }
    weft_qnode *n = weft_queue_first(&m->ready);
    bool starts_with_head = n == &head->q;
    take_part(m, i, head);
    for (n = starts_with_head ? weft_queue_first(&m->ready) : n; n && i->n_rows < want;) {
        weft_qnode *next = weft_queue_next(&m->ready, n);
        if (joins(m, head, part_of(n), want - i->n_rows, now))
            take_part(m, i, part_of(n));
        n = next;
    }
    i->gear_rows = m->view.batched ? weft_gears_fit(&m->gears, i->n_rows) : 1;
    i->predicted_ns = weft_gears_cost(&m->gears, c, i->n_rows);
}

static void grant_run(weft_engine *e, weft_model *m, weft_part *head, int64_t now, bool starved)
{
    weft_instance *i = weft_container_of(weft_node_pop_front(&m->idle), weft_instance, idle_node);
    m->n_idle--;
    m->n_running++;
    form_batch(e, m, i, head, now);
    i->state = WEFT_INSTANCE_BUSY;
    i->granted = true;
    i->granted_ns = now;
    i->starved = starved;
    i->overdue = i->abandoned = false;
    i->limit_ns = m->run_timeout_ns;
    weft_instance_watch(i, weft_time_add(now, m->run_timeout_ns));
    if (takes_tokens(m)) {
        take_tokens(e, m, m->tokens);
        weft_lane_charge(&e->lane, &m->account->share, i->predicted_ns, m->tokens, starved);
    }
    weft_cond_signal(&i->cond);
}

static void grant_host(weft_engine *e, weft_model *m, weft_request *r, weft_claim_kind kind, int64_t now, bool starved)
{
    weft_host_thread *t = weft_container_of(weft_node_pop_front(&e->host_idle), weft_host_thread, idle_node);
    if (kind == WEFT_CLAIM_PREP) {
        weft_queue_remove(&m->waiting, &r->q);
        r->credits = credits_needed(m, r);
        m->credits -= r->credits;
        r->phase = WEFT_PHASE_PREP;
        weft_sched_not_queued(r);
    } else {
        weft_queue_remove(&m->post, &r->q);
        r->phase = WEFT_PHASE_POST;
    }
    t->job = r;
    t->granted_ns = now;
    t->starved = starved;
    take_tokens(e, m, 1);
    weft_lane_charge(&e->lane, &m->account->share, 0, 1, starved);
    weft_cond_signal(&t->cond);
}

static void grant(weft_engine *e, const weft_claim *c, int64_t now, bool starved)
{
    weft_model *m = c->owner;
    switch (c->kind) {
    case WEFT_CLAIM_RUN:
        grant_run(e, m, c->item, now, starved);
        break;
    case WEFT_CLAIM_PREP:
    case WEFT_CLAIM_POST:
        grant_host(e, m, c->item, c->kind, now, starved);
        break;
    case WEFT_CLAIM_START:
        weft_queue_remove(&m->waiting, &((weft_request *)c->item)->q);
        weft_sched_not_queued(c->item);
        weft_sched_rows_granted(c->item, 1);
        take_tokens(e, m, 1);
        weft_lane_charge(&e->lane, &m->account->share, 0, 1, starved);
        weft_pipe_grant_start(m, c->item, now, starved);
        break;
    case WEFT_CLAIM_RESUME:
        weft_queue_remove(&m->resumes, c->item);
        take_tokens(e, m, 1);
        weft_lane_charge(&e->lane, &m->account->share, 0, 1, starved);
        weft_pipe_grant_resume(c->item, now, starved);
        break;
    }
}

/* On a card all instances run at once; the hardware shares itself. */
static void dispatch_cards(weft_engine *e, int64_t now)
{
    weft_list_each(n, &e->active)
    {
        weft_model *m = weft_container_of(n, weft_model, active_node);
        while (!takes_tokens(m) && m->ready.n && m->n_idle) {
            weft_contest c = {0};
            bool starved;
            offer_runs(e, m, now, &c);
            const weft_claim *w = weft_contest_winner(&e->lane, &c, &starved);
            if (!w)
                break;
            grant_run(e, m, w->item, now, false);
        }
    }
}

/* True when a warm-up waits for tokens: everybody else lets them gather. */
static bool serve_admin(weft_engine *e)
{
    while (!weft_node_empty(&e->admin_waiting)) {
        admin_waiter *w = weft_container_of(e->admin_waiting.next, admin_waiter, node);
        if (w->n > e->tokens_free)
            return true;
        e->tokens_free -= w->n;
        w->granted = true;
        weft_node_remove(&w->node);
        weft_cond_broadcast(&e->admin_cond);
    }
    return false;
}

void weft_sched_dispatch(weft_engine *e, int64_t now_ns)
{
    weft_assert_held(&e->sched);
    if (e->n_card_models)
        dispatch_cards(e, now_ns);
    while (e->tokens_free > 0) {
        if (serve_admin(e) || !e->tokens_free)
            return;
        weft_contest c = {0};
        bool starved;
        weft_list_each(n, &e->active) offer_model(e, weft_container_of(n, weft_model, active_node), now_ns, &c);
        const weft_claim *w = weft_contest_winner(&e->lane, &c, &starved);
        if (!w || w->tokens > e->tokens_free) /* a run of several cores waits until they are free together */
            return;
        grant(e, w, now_ns, starved);
    }
}

void weft_sched_tokens_give(weft_engine *e, int64_t n)
{
    weft_assert_held(&e->sched);
    e->tokens_free += n;
    weft_assert(e->tokens_free <= e->cores);
}

void weft_sched_tokens_back(weft_model *m, int64_t n)
{
    m->account->tokens_used -= n;
    weft_assert(m->account->tokens_used >= 0);
    weft_sched_tokens_give(m->engine, n);
}

void weft_sched_tokens_take(weft_engine *e, int64_t n)
{
    admin_waiter w = {.n = n};
    if (n <= 0)
        return;
    weft_lock_take(&e->sched);
    weft_node_push_back(&e->admin_waiting, &w.node);
    serve_admin(e);
    while (!w.granted)
        weft_cond_wait(&e->admin_cond, &e->sched);
    weft_lock_drop(&e->sched);
}
