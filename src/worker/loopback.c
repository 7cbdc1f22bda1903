/* One call through the loopback.
 *
 *   sent       weft_loopback_infer_async: the job exists, the engine borrows its frame
 *   answered   on_done: the result went through bytes and was handed to the caller; the caller's release was called
 *   released   on_release: the engine does not read the frame any more
 *
 * A job is freed after both, in whatever order they come. The memory of an answer is apart (struct answer), because a caller may
 * keep a result for as long as it likes. It is taken before the call is sent, with a builder in it, so that a failure can always
 * be answered. */
#include "worker/loopback.h"

#include "base/arena.h"
#include "base/lock.h"
#include "weft/builder.h"
#include "wire/message.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct weft_loopback {
    weft_engine *engine;
    weft_wire_limits limits;
    weft_lock lock;
    weft_cond idle;
    size_t n_jobs; /* neither answered nor released, or one of both missing */
};

typedef struct answer {
    weft_arena *arena; /* owns this struct too */
    void *frame;
    weft_builder *failure;
} answer;

typedef struct job {
    weft_loopback *loopback;
    weft_async caller;
    void *frame;
    weft_arena *arena; /* the decoded call */
    const weft_call *call;
    answer *answer;
    _Atomic int n_left; /* of answered and released */
} job;

/* A buffer's bytes as a receiver would have them: in new memory, aligned as a receiver aligns. The buffer is emptied. */
static void *transfer(weft_buffer *from, size_t *n_bytes)
{
    size_t n = (from->n_bytes + WEFT_WIRE_ALIGNMENT - 1) / WEFT_WIRE_ALIGNMENT * WEFT_WIRE_ALIGNMENT;
    void *frame = aligned_alloc(WEFT_WIRE_ALIGNMENT, n);

    *n_bytes = from->n_bytes;
    if (frame)
        memcpy(frame, from->data, from->n_bytes);
    weft_buffer_fini(from);
    return frame;
}

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while passing a call or result on");
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static void release_answer(void *owner)
{
    answer *a = owner;
    weft_arena *arena = a->arena;

    free(a->frame);
    weft_arena_destroy(&arena);
}

static weft_status create_answer(answer **out, weft_error *err)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    answer *a = arena ? weft_arena_zalloc(arena, sizeof *a) : NULL;

    *out = NULL;
    if (!a) {
        weft_arena_destroy(&arena);
        return no_memory(err);
    }
    a->arena = arena;
    if (weft_builder_create(arena, NULL, 0, release_answer, a, &a->failure, err)) {
        weft_arena_destroy(&arena);
        return WEFT_E_NO_MEMORY;
    }
    *out = a;
    return WEFT_OK;
}

/* The result through bytes. Takes the reference of r; whatever fails becomes the answer. */
static weft_result *pass_result(const weft_loopback *l, answer *a, weft_result *r)
{
    weft_result *out = NULL;
    weft_buffer bytes;
    weft_error err = {0};
    weft_status s;
    uint64_t ticket;
    size_t n;

    weft_buffer_init(&bytes, 0);
    s = weft_wire_encode_result(r, 0, &l->limits, &bytes, &err);
    if (!s) {
        a->frame = transfer(&bytes, &n);
        s = a->frame ? weft_wire_decode_result(a->frame, n, &l->limits, a->arena, release_answer, a, &out, &ticket, &err)
                     : no_memory(&err);
    }
    weft_buffer_fini(&bytes);
    if (s)
        out = weft_builder_finish(a->failure, r->id, r->model, r->version, &r->timing, &err);
    weft_result_unref(r);
    return out;
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------------- */

static void free_job(job *j)
{
    if (!j)
        return;
    if (j->answer)
        release_answer(j->answer);
    weft_arena_destroy(&j->arena);
    free(j->frame);
    free(j);
}

static void end_of_part(job *j)
{
    weft_loopback *l = j->loopback;

    if (atomic_fetch_sub_explicit(&j->n_left, 1, memory_order_acq_rel) != 1)
        return;
    free_job(j);
    weft_lock_take(&l->lock);
    if (--l->n_jobs == 0)
        weft_cond_broadcast(&l->idle);
    weft_lock_drop(&l->lock);
}

static void on_done(void *cookie, weft_result *r)
{
    job *j = cookie;
    answer *a = j->answer;

    j->answer = NULL; /* the result owns it from here */
    j->caller.done(j->caller.cookie, pass_result(j->loopback, a, r));
    if (j->caller.release)
        j->caller.release(j->caller.cookie);
    end_of_part(j);
}

static void on_release(void *cookie)
{
    end_of_part(cookie);
}

/* Progress is advice: an event that cannot be passed on is left out. */
static void on_progress(void *cookie, int step, int n_steps)
{
    job *j = cookie;
    weft_buffer bytes;
    int32_t got_step, got_steps;
    uint64_t ticket;

    if (!j->caller.progress)
        return;
    weft_buffer_init(&bytes, 0);
    if (!weft_wire_encode_progress(step, n_steps, 0, &bytes, NULL) &&
        !weft_wire_decode_progress(bytes.data, bytes.n_bytes, &got_step, &got_steps, &ticket, NULL))
        j->caller.progress(j->caller.cookie, got_step, got_steps);
    weft_buffer_fini(&bytes);
}

static weft_status pass_call(const weft_loopback *l, job *j, const weft_call *call, weft_error *err)
{
    weft_buffer bytes;
    weft_status s;
    uint64_t ticket;
    size_t n;

    weft_buffer_init(&bytes, 0);
    s = weft_wire_encode_call(call, 0, &l->limits, &bytes, err);
    if (!s) {
        j->frame = transfer(&bytes, &n);
        j->arena = weft_arena_create(NULL, 0);
        s = j->frame && j->arena ? weft_wire_decode_call(j->frame, n, &l->limits, j->arena, &j->call, &ticket, err)
                                 : no_memory(err);
    }
    weft_buffer_fini(&bytes);
    return s;
}

static void count_job(weft_loopback *l, bool more)
{
    weft_lock_take(&l->lock);
    l->n_jobs = more ? l->n_jobs + 1 : l->n_jobs - 1;
    if (!l->n_jobs)
        weft_cond_broadcast(&l->idle);
    weft_lock_drop(&l->lock);
}

weft_status weft_loopback_infer_async(weft_loopback *l, const weft_call *call, const weft_async *a, uint64_t *ticket,
                                      weft_error *err)
{
    weft_async own = {.done = on_done, .progress = a->progress ? on_progress : NULL, .release = on_release};
    job *j = calloc(1, sizeof *j);
    weft_status s;

    if (!j)
        return no_memory(err);
    j->loopback = l;
    j->caller = *a;
    atomic_init(&j->n_left, 2);
    own.cookie = j;
    s = create_answer(&j->answer, err);
    if (!s)
        s = pass_call(l, j, call, err);
    if (s) {
        free_job(j);
        return s;
    }
    count_job(l, true);
    s = weft_infer_async(l->engine, j->call, &own, ticket, err);
    if (s) {
        free_job(j);
        count_job(l, false);
    }
    return s;
}

weft_status weft_loopback_cancel(weft_loopback *l, uint64_t ticket)
{
    weft_buffer bytes;
    weft_status s;
    uint64_t got = 0;

    weft_buffer_init(&bytes, 0);
    s = weft_wire_encode_cancel(ticket, &bytes, NULL);
    if (!s)
        s = weft_wire_decode_cancel(bytes.data, bytes.n_bytes, &got, NULL);
    weft_buffer_fini(&bytes);
    return s ? s : weft_cancel(l->engine, got);
}

/* ---- synchronous ---------------------------------------------------------------------------------------------------------- */

typedef struct waiter {
    weft_lock lock;
    weft_cond cond;
    weft_result *result;
} waiter;

static void wake(void *cookie, weft_result *r)
{
    waiter *w = cookie;

    weft_lock_take(&w->lock);
    w->result = r;
    weft_cond_signal(&w->cond);
    weft_lock_drop(&w->lock);
}

/* The engine answers at the deadline at the latest, and the inputs were copied into the frame: so waiting for the answer alone is
 * enough. */
weft_status weft_loopback_infer(weft_loopback *l, const weft_call *call, weft_result **out, weft_error *err)
{
    waiter w = {.result = NULL};
    weft_async a = {.done = wake, .cookie = &w};
    weft_status s;

    *out = NULL;
    weft_lock_init(&w.lock, "loopback_waiter", 710);
    weft_cond_init(&w.cond);
    s = weft_loopback_infer_async(l, call, &a, NULL, err);
    if (!s) {
        weft_lock_take(&w.lock);
        while (!w.result)
            weft_cond_wait(&w.cond, &w.lock);
        weft_lock_drop(&w.lock);
        s = w.result->error.status;
        if (s) {
            if (err)
                *err = w.result->error;
            weft_result_unref(w.result);
        } else {
            *out = w.result;
        }
    }
    weft_cond_fini(&w.cond);
    weft_lock_fini(&w.lock);
    return s;
}

/* ---- life ----------------------------------------------------------------------------------------------------------------- */

weft_status weft_loopback_create(weft_engine *e, weft_loopback **out, weft_error *err)
{
    weft_loopback *l = calloc(1, sizeof *l);

    *out = NULL;
    if (!l)
        return no_memory(err);
    l->engine = e;
    weft_wire_limits_init(&l->limits);
    weft_lock_init(&l->lock, "loopback", 720);
    weft_cond_init(&l->idle);
    *out = l;
    return WEFT_OK;
}

void weft_loopback_destroy(weft_loopback **l)
{
    if (!l || !*l)
        return;
    weft_lock_take(&(*l)->lock);
    while ((*l)->n_jobs)
        weft_cond_wait(&(*l)->idle, &(*l)->lock);
    weft_lock_drop(&(*l)->lock);
    weft_cond_fini(&(*l)->idle);
    weft_lock_fini(&(*l)->lock);
    free(*l);
    *l = NULL;
}
