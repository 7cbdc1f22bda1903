/* A stand-in for the engine, for tests of what lies around it: it defines weft_infer_async and weft_cancel. Include it in one
 * file of a program that links nothing else of the engine. */
#ifndef WEFT_TESTS_STUB_ENGINE_H
#define WEFT_TESTS_STUB_ENGINE_H

#include "harness/check.h"

#include "base/arena.h"
#include "base/lock.h"
#include "base/thread.h"
#include "weft/builder.h"
#include "weft/engine.h"

typedef enum behaviour {
    ANSWER = 1,    /* done, then release, on another thread */
    RELEASE_FIRST, /* the input is given back before the answer */
    RELEASE_LATE,  /* an overrun run: kept until let_go */
    FAIL,          /* accepted, answered with DEVICE */
    REFUSE,        /* BUSY at once */
    BROKEN_RESULT, /* a result that cannot be encoded */
} behaviour;

struct weft_engine {
    behaviour how;
    weft_thread threads[64];
    int n_threads;
    uint64_t cancelled;
    const void *seen_input; /* where the engine saw the caller's bytes */
    weft_async late;
    long fail_at; /* tests with wrapped allocation: the n-th allocation while the answer is passed on */
    bool hit;
};

typedef struct run {
    behaviour how; /* as it was when the call came */
    weft_engine *engine;
    const weft_call *call;
    weft_async async;
} run;

static void free_arena(void *owner)
{
    weft_arena *a = owner;

    weft_arena_destroy(&a);
}

/* Answers with what came: id, model, the sum of the bytes of all inputs, and the parameters as text. */
static weft_result *echo(const weft_call *call, const weft_error *failure, bool broken)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_timing timing = {.total_ns = 77, .n_runs = 1};
    weft_builder *b;
    weft_result *r;
    double sum = 0;
    weft_tensor t = {.name = "sum", .dtype = WEFT_DT_F64, .data = &sum, .n_bytes = 8};

    assert_int_equal(weft_builder_create(a, NULL, 0, free_arena, a, &b, NULL), WEFT_OK);
    for (size_t i = 0; i < call->n_inputs; i++) {
        const weft_input *in = &call->inputs[i];
        const uint8_t *p = in->is_bytes ? in->bytes : in->tensor.data;

        for (size_t k = 0; k < (in->is_bytes ? in->n_bytes : in->tensor.n_bytes); k++)
            sum += p[k];
    }
    assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_NUMBER, false, &t, true, NULL), WEFT_OK);
    r = weft_builder_finish(b, call->id, call->model, "1", &timing, failure);
    if (broken)
        ((weft_column *)(uintptr_t)r->columns)[0].tensor.n_bytes = 3;
    return r;
}

static void work(void *cookie)
{
    run *x = cookie;
    weft_error err = {0};

    if (x->how == FAIL)
        weft_fail(&err, WEFT_E_DEVICE, "the card is gone");
    if (x->async.progress)
        for (int step = 0; step <= 3; step++)
            x->async.progress(x->async.cookie, step, 3);
    weft_result *r = echo(x->call, err.status ? &err : NULL, x->how == BROKEN_RESULT);
    if (x->how == RELEASE_FIRST)
        x->async.release(x->async.cookie);
#ifdef WEFT_TESTS_ALLOC_FAULT_H
    alloc_fault_at_thread(x->engine->fail_at, false);
#endif
    x->async.done(x->async.cookie, r);
#ifdef WEFT_TESTS_ALLOC_FAULT_H
    x->engine->hit = alloc_fault_hit();
    alloc_fault_off();
#endif
    if (x->how == RELEASE_LATE)
        x->engine->late = x->async;
    else if (x->how != RELEASE_FIRST)
        x->async.release(x->async.cookie);
    free(x);
}

weft_status weft_infer_async(weft_engine *e, const weft_call *call, const weft_async *a, uint64_t *ticket, weft_error *err)
{
    run *x;

    if (e->how == REFUSE) {
        weft_fail(err, WEFT_E_BUSY, "the queue is full");
        if (err)
            err->retry_after_ms = 5;
        return WEFT_E_BUSY;
    }
    assert_non_null(a->release); /* so that the engine does not copy once more */
    x = malloc(sizeof *x);
    *x = (run){e->how, e, call, *a};
    e->seen_input = call->n_inputs ? call->inputs[0].bytes : NULL;
    if (ticket)
        *ticket = 1000 + (uint64_t)e->n_threads;
    assert_true(e->n_threads < 64);
    return weft_thread_start(&e->threads[e->n_threads++], "engine", work, x, err);
}

weft_status weft_cancel(weft_engine *e, uint64_t ticket)
{
    e->cancelled = ticket;
    return ticket == 1 ? WEFT_E_NOT_FOUND : WEFT_OK;
}

static void join(weft_engine *e)
{
    for (int i = 0; i < e->n_threads; i++)
        weft_thread_join(&e->threads[i]);
    e->n_threads = 0;
}

#endif
