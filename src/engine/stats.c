/* Counters of one model, copied out whole under their lock. */
#include <string.h>

#include "engine_internal.h"

/* Bucket i covers [2^(i/2), 2^((i+1)/2)) microseconds; the square root of two by squares of whole numbers. */
static size_t latency_bucket(int64_t ns)
{
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
    if (us < 1)
        return 0;
    unsigned log2 = 63u - (unsigned)__builtin_clzll(us);
    if (log2 >= WEFT_STAT_LATENCY_BUCKETS / 2)
        return WEFT_STAT_LATENCY_BUCKETS - 1;
    uint64_t low = 1ull << log2;
    bool upper = us * us >= 2 * low * low;
    return 2 * log2 + (upper ? 1 : 0);
}

const double weft_stat_ratio_bounds[] = {0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 4};

static void count_stage(weft_model_stats *s, weft_stage stage, int64_t ns)
{
    if (ns > 0)
        s->stage_latency[stage][latency_bucket(ns)]++;
}

static void count_ratio(weft_model_stats *s, int64_t expected_ns, int64_t actual_ns)
{
    if (expected_ns <= 0)
        return;
    double ratio = (double)actual_ns / (double)expected_ns;
    size_t i = 0;
    while (i < WEFT_STAT_RATIO_BUCKETS - 1 && ratio > weft_stat_ratio_bounds[i])
        i++;
    s->wait_ratio[i]++;
    s->wait_ratio_sum += ratio;
}

static uint64_t *counter_of(weft_model_stats *s, weft_status status)
{
    switch (status) {
    case WEFT_OK:
        return &s->succeeded;
    case WEFT_E_CANCELLED:
        return &s->cancelled;
    case WEFT_E_DEADLINE:
        return &s->expired;
    case WEFT_E_INVALID:
    case WEFT_E_NOT_FOUND:
    case WEFT_E_TOO_LARGE:
    case WEFT_E_MEDIA_TYPE:
    case WEFT_E_UNPROCESSABLE:
        return &s->failed_client;
    default:
        return &s->failed_server;
    }
}

void weft_stats_answer(weft_model *m, const weft_request *r, weft_status status, const weft_timing *t)
{
    int64_t unix_ns = r->arrived_unix_ns + t->total_ns;
    weft_lock_take(&m->stats_lock);
    weft_model_stats *s = &m->stats;
    ++*counter_of(s, status);
    if (!status) {
        s->queue_ns += (uint64_t)t->queue_ns;
        s->preprocess_ns += (uint64_t)t->preprocess_ns;
        s->run_ns += (uint64_t)t->run_ns;
        s->postprocess_ns += (uint64_t)t->postprocess_ns;
        s->latency[latency_bucket(t->total_ns)]++;
        s->total_ns += (uint64_t)t->total_ns;
        s->stage_latency[WEFT_STAGE_QUEUE][latency_bucket(t->queue_ns)]++; /* every request has been in the queue */
        count_stage(s, WEFT_STAGE_PREPROCESS, t->preprocess_ns);
        count_stage(s, WEFT_STAGE_RUN, t->run_ns);
        count_stage(s, WEFT_STAGE_POSTPROCESS, t->postprocess_ns);
        count_ratio(s, r->expected_wait_ns, t->queue_ns);
        s->last_success_unix_ns = unix_ns;
    } else {
        s->failed_ns += (uint64_t)t->total_ns;
    }
    weft_lock_drop(&m->stats_lock);
}

void weft_stats_run(weft_model *m, int64_t n_rows, int64_t run_ns)
{
    int64_t bucket = n_rows < WEFT_STAT_BATCH_BUCKETS ? n_rows - 1 : WEFT_STAT_BATCH_BUCKETS - 1;
    weft_lock_take(&m->stats_lock);
    m->stats.runs++;
    m->stats.rows += (uint64_t)n_rows;
    m->stats.batch_rows[bucket]++;
    m->stats.batch_run_ns[bucket] += (uint64_t)run_ns;
    weft_lock_drop(&m->stats_lock);
}

void weft_stats_count(weft_model *m, uint64_t *counter)
{
    weft_lock_take(&m->stats_lock);
    ++*counter;
    weft_lock_drop(&m->stats_lock);
}

void weft_stats_refused(weft_model *m, weft_refusal why)
{
    weft_lock_take(&m->stats_lock);
    m->stats.refused++;
    m->stats.refused_by[why]++;
    weft_lock_drop(&m->stats_lock);
}

/* How long the first of a queue has waited. */
static int64_t oldest_wait(const weft_queue *q, int64_t now)
{
    int64_t wait = 0;
    for (weft_qnode *n = weft_queue_first(q); n; n = weft_queue_lower(q, n))
        if (now - n->arrival_ns > wait)
            wait = now - n->arrival_ns;
    return wait;
}

weft_status weft_engine_model_stats(weft_engine *e, const char *name, weft_model_stats *out, weft_error *err)
{
    weft_model *m;
    memset(out, 0, sizeof(*out));
    weft_status s = weft_registry_get(e, name, NULL, NULL, &m, err);
    if (s)
        return s;
    weft_lock_take(&e->sched);
    int64_t now = weft_engine_now(e);
    weft_lock_take(&m->stats_lock);
    *out = m->stats;
    weft_lock_drop(&m->stats_lock);
    out->queued = m->n_queued;
    out->queued_bytes = m->queued_bytes;
    out->ready_rows = (uint64_t)m->n_ready_rows;
    out->running = (uint64_t)m->n_running;
    out->queue_capacity = (uint64_t)m->config.queue_size;
    out->instances = m->n_live;
    out->oldest_wait_ns = oldest_wait(&m->waiting, now);
    int64_t ready = oldest_wait(&m->ready, now);
    if (ready > out->oldest_wait_ns)
        out->oldest_wait_ns = ready;
    out->expected_wait_ns = weft_estimate_wait(m, weft_level(0, m->config.priority), NULL);
    weft_lock_drop(&e->sched);
    weft_model_unref(m);
    return WEFT_OK;
}

void weft_engine_stats_get(weft_engine *e, weft_engine_stats *out)
{
    weft_lock_take(&e->sched);
    int64_t free_tokens = e->tokens_free;
    weft_lock_drop(&e->sched);
    *out = (weft_engine_stats){.cores = e->cores,
                               .cores_busy = e->cores - free_tokens,
                               .request_bytes = weft_chunk_pool_out_bytes(e->home->pool),
                               .request_kept_bytes = weft_chunk_pool_kept_bytes(e->home->pool),
                               .open_requests = (uint64_t)atomic_load(&e->n_open)};
}
