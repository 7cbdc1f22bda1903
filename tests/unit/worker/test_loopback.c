/* The loopback over a stand-in for the engine: this file defines weft_infer_async and weft_cancel itself, so what is tested is
 * the way through bytes. */
#include "stub_engine.h"

#include "worker/loopback.h"

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
