/* The loopback over a stand-in for the engine: this file defines weft_infer_async and weft_cancel itself, so what is tested is
 * the way through bytes. */
#include "harness/check.h"

#include "base/arena.h"
#include "base/lock.h"
#include "base/thread.h"
#include "weft/builder.h"
#include "worker/loopback.h"

/* ---- the stand-in --------------------------------------------------------------------------------------------------------- */

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
    x->async.done(x->async.cookie, r);
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

/* ---- the caller ----------------------------------------------------------------------------------------------------------- */

typedef struct caller {
    weft_lock lock;
    weft_cond cond;
    int n_done, n_released, n_progress;
    bool released_before_done;
    weft_result *result;
} caller;

static void caller_init(caller *c)
{
    memset(c, 0, sizeof *c);
    weft_lock_init(&c->lock, "caller", 1);
    weft_cond_init(&c->cond);
}

static void on_done(void *cookie, weft_result *r)
{
    caller *c = cookie;

    weft_lock_take(&c->lock);
    c->n_done++;
    c->released_before_done = c->n_released > 0;
    c->result = r;
    weft_cond_broadcast(&c->cond);
    weft_lock_drop(&c->lock);
}

static void on_release(void *cookie)
{
    caller *c = cookie;

    weft_lock_take(&c->lock);
    c->n_released++;
    weft_lock_drop(&c->lock);
}

static void on_progress(void *cookie, int step, int n_steps)
{
    caller *c = cookie;

    assert_int_equal(n_steps, 3);
    assert_int_equal(step, c->n_progress++);
}

static weft_error err;
static char picture[] = "\1\2\3\4";

static weft_call make_call(weft_input *in)
{
    *in = weft_input_bytes("image", picture, 4);
    return (weft_call){.model = "echo", .id = "r-7", .inputs = in, .n_inputs = 1};
}

static double sum_of(const weft_result *r)
{
    const weft_column *c = weft_result_column(r, "sum");

    assert_non_null(c);
    return *(const double *)c->tensor.data;
}

static void synchronous(void **state)
{
    for (int how = ANSWER; how <= RELEASE_FIRST; how++) {
        weft_engine e = {.how = (behaviour)how};
        weft_loopback *l;
        weft_result *r;
        weft_input in;
        weft_call call = make_call(&in);

        assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
        assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_OK);
        assert_true(sum_of(r) == 10);
        assert_string_equal(r->id, "r-7");
        assert_string_equal(r->model, "echo");
        assert_int_equal(r->timing.total_ns, 77);
        assert_ptr_not_equal(e.seen_input, picture); /* fresh memory */
        join(&e);
        weft_loopback_destroy(&l);
        assert_null(l);
        assert_true(sum_of(r) == 10); /* a result may outlive the loopback */
        weft_result_unref(r);
    }
}

static void failures(void **state)
{
    weft_engine e = {.how = FAIL};
    weft_loopback *l;
    weft_result *r;
    weft_input in;
    weft_call call = make_call(&in);

    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_E_DEVICE);
    assert_null(r);
    assert_string_equal(err.text, "the card is gone");
    e.how = REFUSE;
    assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_E_BUSY);
    assert_int_equal(err.retry_after_ms, 5);
    e.how = BROKEN_RESULT;
    assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "needs 8 bytes"));
    e.how = ANSWER;
    in.bytes = NULL; /* cannot be encoded: refused before the engine sees it */
    e.seen_input = &e;
    assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_E_INVALID);
    assert_ptr_equal(e.seen_input, &e);
    join(&e);
    weft_loopback_destroy(&l);
    weft_loopback_destroy(&l);
    weft_loopback_destroy(NULL);
}

static void asynchronous(void **state)
{
    weft_engine e = {.how = ANSWER};
    weft_loopback *l;
    weft_input in;
    weft_call call = make_call(&in);
    caller c;
    weft_async a = {.done = on_done, .progress = on_progress, .release = on_release, .cookie = &c};
    uint64_t ticket = 0;

    caller_init(&c);
    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    assert_int_equal(weft_loopback_infer_async(l, &call, &a, &ticket, &err), WEFT_OK);
    assert_int_equal(ticket, 1000);
    weft_loopback_destroy(&l); /* waits for the answer */
    join(&e);
    assert_int_equal(c.n_done, 1);
    assert_int_equal(c.n_released, 1);
    assert_false(c.released_before_done);
    assert_int_equal(c.n_progress, 4);
    assert_true(sum_of(c.result) == 10);
    weft_result_unref(c.result);
}

static void refused_calls_call_nobody(void **state)
{
    weft_engine e = {.how = REFUSE};
    weft_loopback *l;
    weft_input in;
    weft_call call = make_call(&in);
    caller c;
    weft_async a = {.done = on_done, .release = on_release, .cookie = &c};

    caller_init(&c);
    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    assert_int_equal(weft_loopback_infer_async(l, &call, &a, NULL, &err), WEFT_E_BUSY);
    weft_loopback_destroy(&l);
    assert_int_equal(c.n_done + c.n_released, 0);
}

/* An overrun run reads its input long after the answer: the frame lives until the engine lets go. */
static void late_release(void **state)
{
    weft_engine e = {.how = RELEASE_LATE};
    weft_loopback *l;
    weft_input in;
    weft_call call = make_call(&in);
    weft_result *r;

    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    assert_int_equal(weft_loopback_infer(l, &call, &r, &err), WEFT_OK);
    weft_result_unref(r);
    join(&e);
    assert_memory_equal(e.seen_input, picture, 4);
    e.late.release(e.late.cookie);
    weft_loopback_destroy(&l);
}

static void cancel(void **state)
{
    weft_engine e = {.how = ANSWER};
    weft_loopback *l;

    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    assert_int_equal(weft_loopback_cancel(l, 0xfedcba9876543210), WEFT_OK);
    assert_true(e.cancelled == 0xfedcba9876543210);
    assert_int_equal(weft_loopback_cancel(l, 1), WEFT_E_NOT_FOUND);
    weft_loopback_destroy(&l);
}

static void many_at_once(void **state)
{
    weft_engine e = {.how = ANSWER};
    weft_loopback *l;
    weft_input in;
    weft_call call = make_call(&in);
    caller c[40];

    assert_int_equal(weft_loopback_create(&e, &l, &err), WEFT_OK);
    for (int i = 0; i < 40; i++) {
        weft_async a = {.done = on_done, .cookie = &c[i]};

        caller_init(&c[i]);
        assert_int_equal(weft_loopback_infer_async(l, &call, &a, NULL, &err), WEFT_OK);
    }
    join(&e);
    weft_loopback_destroy(&l);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(c[i].n_done, 1);
        assert_true(sum_of(c[i].result) == 10);
        weft_result_unref(c[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous),  cmocka_unit_test(failures),
        cmocka_unit_test(asynchronous), cmocka_unit_test(refused_calls_call_nobody),
        cmocka_unit_test(late_release), cmocka_unit_test(cancel),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
