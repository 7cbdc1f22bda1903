/* How requests end: deadlines, cancel, full queues, hanging and lost runs, broken models, drain and destroy. */
#include "help_engine.h"

#include <stdatomic.h>
#include <string.h>

#define MS 1000000LL

typedef struct rig {
    weft_engine *e;
    help_inbox *in;
    help_model h;
    help_ticket t[64];
    help_call c;
    int n;
} rig;

static void begin(rig *r, int64_t cores)
{
    memset(r, 0, sizeof(*r));
    weft_fake_reset();
    r->e = help_engine(cores);
    r->in = help_inbox_create();
    help_model_init(&r->h, "m");
    r->h.config.instances = 1;
}

static help_ticket *start(rig *r, float v, int64_t timeout_ms)
{
    help_ticket *t = &r->t[r->n++];
    help_call_init(&r->c, "m", 1, v);
    r->c.call.timeout_ms = timeout_ms;
    help_start(r->e, r->in, t, &r->c);
    return t;
}

static void end(rig *r)
{
    weft_engine_destroy(&r->e);
    help_inbox_destroy(r->in);
}

static uint64_t runs_of(const char *model)
{
    weft_fake_counts c;
    weft_fake_count(model, &c);
    return c.runs_started;
}

static weft_model_stats stats(rig *r)
{
    weft_model_stats s;
    assert_int_equal(weft_engine_model_stats(r->e, "m", &s, NULL), WEFT_OK);
    return s;
}

static void wait_for_state(rig *r, weft_model_state want)
{
    for (int i = 0; i < 5000; i++) {
        const weft_model_info *info;
        assert_int_equal(weft_engine_model_info(r->e, "m", &info, NULL), WEFT_OK);
        weft_model_state s = info->state;
        weft_model_info_unref(info);
        if (s == want)
            return;
        help_sleep_ms(1);
    }
    fail_msg("the state %s did not come", weft_model_state_name(want));
}

/* ---- deadlines ---- */
static void test_a_deadline_fires_while_the_run_hangs(void **state)
{
    static const weft_fake_kind kinds[] = {WEFT_FAKE_HANG, WEFT_FAKE_HANG_HARD};
    for (int k = 0; k < 2; k++) {
        rig r;
        weft_result *result;
        weft_error err;
        begin(&r, 0);
        help_load(r.e, &r.h);
        int64_t late = 0;
        int in_time = 0;
        for (int i = 0; i < 10; i++) {
            weft_fake_inject("m", kinds[k], 1);
            help_call_init(&r.c, "m", 1, 1);
            r.c.call.timeout_ms = 20;
            int64_t t0 = help_now_ns();
            assert_int_equal(weft_infer(r.e, &r.c.call, &result, &err), WEFT_E_DEADLINE);
            int64_t took = help_now_ns() - t0;
            assert_true(took >= 20 * MS);
            in_time += took - 20 * MS < 10 * MS * HELP_SLOW;
            if (took - 20 * MS > late)
                late = took - 20 * MS;
            weft_fake_release("m"); /* and the model serves again */
            help_must(weft_infer(r.e, &(weft_call){.model = "m", .inputs = &r.c.input, .n_inputs = 1}, &result, &err), &err);
            assert_true(help_y(result, 0, 0) == help_want(1, 0));
            weft_result_unref(result);
        }
        print_message("latest deadline: %.2f ms late\n", (double)late / MS);
        assert_true(in_time >= 8); /* the machine may be busy with something else for a moment */
        assert_true(late < 200 * MS * HELP_SLOW);
        assert_int_equal(stats(&r).expired, 10);
        end(&r);
    }
}

static void test_what_has_expired_is_never_run(void **state)
{
    rig r;
    begin(&r, 1);
    r.h.config.type = "bytes";
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    uint8_t byte = 1;
    weft_input in = weft_input_bytes("bytes", &byte, 1);
    weft_call call = {.model = "m", .inputs = &in, .n_inputs = 1};
    weft_error err;
    for (int i = 0; i < 10; i++) {
        weft_async a = {.done = help_done, .cookie = &r.t[i]};
        r.t[i] = (help_ticket){.inbox = r.in};
        call.timeout_ms = i ? 30 : 0;
        help_must(weft_infer_async(r.e, &call, &a, NULL, &err), &err);
    }
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    uint64_t before = runs_of("m");
    assert_true(help_inbox_wait(r.in, 9));
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 10));
    assert_int_equal(help_take(&r.t[0]), WEFT_OK);
    for (int i = 1; i < 10; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_E_DEADLINE);
    help_sleep_ms(5);
    assert_int_equal(runs_of("m"), before);
    assert_int_equal(stats(&r).queued, 0);
    end(&r);
}

static void test_deadlines_and_cancels_during_preprocess(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    r.h.config.type = "bytes";
    help_load(r.e, &r.h);
    uint64_t before = runs_of("m");
    const uint8_t slow[8] = {254, 254, 254, 254, 254, 254, 254, 254}; /* not batched: the first is the row; 20 ms */
    weft_input in = weft_input_bytes("bytes", slow, 8);
    weft_call call = {.model = "m", .inputs = &in, .n_inputs = 1};
    for (int i = 0; i < 2; i++) {
        weft_async a = {.done = help_done, .cookie = &r.t[i]};
        r.t[i] = (help_ticket){.inbox = r.in};
        call.timeout_ms = i ? 0 : 5;
        int64_t t0 = help_now_ns();
        help_must(weft_infer_async(r.e, &call, &a, &r.t[i].number, &err), &err);
        if (i) {
            help_sleep_ms(5);
            assert_int_equal(weft_cancel(r.e, r.t[i].number), WEFT_OK);
        }
        assert_true(help_inbox_wait(r.in, i + 1));
        assert_true(help_now_ns() - t0 < (5 + 10 * HELP_SLOW) * MS);
        assert_int_equal(help_take(&r.t[i]), i ? WEFT_E_CANCELLED : WEFT_E_DEADLINE);
        help_sleep_ms(30);
    }
    assert_int_equal(runs_of("m"), before); /* what it made was dropped */
    weft_result *result;
    const uint8_t quick = 1;
    in = weft_input_bytes("bytes", &quick, 1);
    help_must(weft_infer(r.e, &call, &result, &err), &err);
    weft_result_unref(result);
    end(&r);
}

static void test_row_credits_bound_what_is_prepared(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 4);
    r.h.config.type = "bytes";
    r.h.config.ready_rows = 3;
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    help_n_preprocessed = 0;
    const uint8_t byte = 1;
    weft_input in = weft_input_bytes("bytes", &byte, 1);
    weft_call call = {.model = "m", .inputs = &in, .n_inputs = 1};
    for (int i = 0; i < 20; i++) {
        weft_async a = {.done = help_done, .cookie = &r.t[i]};
        r.t[i] = (help_ticket){.inbox = r.in};
        help_must(weft_infer_async(r.e, &call, &a, &r.t[i].number, &err), &err);
    }
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    help_sleep_ms(30);
    assert_int_equal(help_n_preprocessed, 3); /* one runs, two are ready, the rest waits as it came */
    assert_int_equal(stats(&r).ready_rows, 2);
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 20));
    for (int i = 0; i < 20; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_OK);
    assert_int_equal(help_n_preprocessed, 20);
    end(&r);
}

static void test_the_models_own_timeout(void **state)
{
    rig r;
    begin(&r, 0);
    r.h.config.timeout_ms = 30;
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    help_ticket *a = start(&r, 1, 0), *b = start(&r, 2, 100000); /* bounded by the model's */
    assert_true(help_inbox_wait(r.in, 2));
    assert_int_equal(help_take(a), WEFT_E_DEADLINE);
    assert_int_equal(help_take(b), WEFT_E_DEADLINE);
    weft_fake_hold("m", false);
    end(&r);
}

/* ---- cancel ---- */
static void test_cancel_in_every_phase(void **state)
{
    rig r;
    begin(&r, 1);
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    help_ticket *running = start(&r, 1, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    help_ticket *queued = start(&r, 2, 0);
    assert_int_equal(weft_cancel(r.e, queued->number), WEFT_OK);
    assert_true(help_inbox_wait(r.in, 1));
    assert_int_equal(help_take(queued), WEFT_E_CANCELLED);
    assert_int_equal(stats(&r).queued, 0);
    assert_int_equal(weft_cancel(r.e, running->number), WEFT_OK); /* terminates the run: nobody waits for it */
    assert_true(help_inbox_wait(r.in, 2));
    assert_int_equal(help_take(running), WEFT_E_CANCELLED);
    weft_fake_hold("m", false);
    help_ticket *next = start(&r, 3, 0);
    assert_true(help_inbox_wait(r.in, 3));
    assert_int_equal(weft_cancel(r.e, next->number), WEFT_E_NOT_FOUND);
    assert_int_equal(help_take(next), WEFT_OK);
    assert_int_equal(weft_cancel(r.e, 0), WEFT_E_NOT_FOUND);
    assert_int_equal(weft_cancel(r.e, UINT64_MAX), WEFT_E_NOT_FOUND);
    assert_int_equal(stats(&r).cancelled, 2);
    end(&r);
}

/* ---- admission ----------------------------------------------------------------------------------------------------------------
 */
static void test_a_full_queue_says_busy(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    r.h.config.queue_size = 3;
    r.h.fake.delay_ms = 20;
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    start(&r, 0, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    for (int i = 0; i < 3; i++)
        start(&r, 1, 0);
    help_call_init(&r.c, "m", 1, 1);
    help_ticket t;
    assert_int_equal(help_try(r.e, r.in, &t, &r.c, &err), WEFT_E_BUSY);
    assert_in_range(err.retry_after_ms, 40, 2000); /* three runs of 20 ms and what the running one has left */
    assert_non_null(strstr(err.text, "full"));
    assert_int_equal(stats(&r).refused, 1);
    assert_int_equal(stats(&r).queued, 3);
    assert_int_equal(stats(&r).queued_bytes, 48);
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 4));
    for (int i = 0; i < 4; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_OK);
    end(&r);
}

static void test_a_queue_is_bounded_by_bytes(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    r.h.config.queue_bytes = 1024;
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    start(&r, 0, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    help_call_init(&r.c, "m", 60, 1); /* 960 bytes */
    help_start(r.e, r.in, &r.t[r.n++], &r.c);
    start(&r, 0, 0);
    help_call_init(&r.c, "m", 60, 1);
    help_ticket t;
    assert_int_equal(help_try(r.e, r.in, &t, &r.c, &err), WEFT_E_BUSY);
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 3));
    for (int i = 0; i < 3; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_OK);
    end(&r);
}

static void test_refused_by_estimate_but_never_from_an_empty_queue(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    r.h.fake.delay_ms = 30;
    help_load(r.e, &r.h);
    help_call_init(&r.c, "m", 1, 1);
    r.c.call.timeout_ms = 1; /* hopeless, but nothing is before it */
    help_start(r.e, r.in, &r.t[r.n++], &r.c);
    assert_true(help_inbox_wait(r.in, 1));
    assert_int_equal(help_take(&r.t[0]), WEFT_E_DEADLINE);
    weft_fake_hold("m", true);
    for (int i = 0; i < 11; i++)
        start(&r, 0, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    weft_model_stats s = stats(&r);
    assert_in_range(s.expected_wait_ns, 250 * MS, 500 * MS); /* ten runs of 30 ms */
    help_call_init(&r.c, "m", 1, 1);
    r.c.call.timeout_ms = 100;
    help_ticket t;
    assert_int_equal(help_try(r.e, r.in, &t, &r.c, &err), WEFT_E_BUSY);
    assert_non_null(strstr(err.text, "expected wait"));
    r.c.call.priority = 10; /* goes before all of them */
    help_start(r.e, r.in, &r.t[r.n], &r.c);
    weft_cancel(r.e, r.t[r.n++].number);
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 13));
    for (int i = 1; i < 13; i++)
        help_take(&r.t[i]);
    end(&r);
}

/* ---- borrowed inputs ---- */
typedef struct lent {
    help_ticket t;
    atomic_int n_released;
    int done_before_release;
} lent;

static void lent_done(void *cookie, weft_result *r)
{
    lent *l = cookie;
    help_done(&l->t, r);
}

static void lent_release(void *cookie)
{
    lent *l = cookie;
    l->done_before_release = l->t.n_done;
    atomic_fetch_add(&l->n_released, 1);
}

static void wait_released(lent *l)
{
    for (int i = 0; i < 5000 && !atomic_load(&l->n_released); i++)
        help_sleep_ms(1);
    assert_int_equal(atomic_load(&l->n_released), 1);
    assert_int_equal(l->done_before_release, 1);
}

static void test_inputs_come_back_once_and_after_an_overrun_run(void **state)
{
    rig r;
    weft_error err;
    lent l = {.t.inbox = NULL};
    begin(&r, 0);
    help_load(r.e, &r.h);
    help_call_init(&r.c, "m", 1, 1);
    weft_async a = {.done = lent_done, .release = lent_release, .cookie = &l};
    l.t.inbox = r.in;
    help_must(weft_infer_async(r.e, &r.c.call, &a, NULL, &err), &err);
    wait_released(&l);
    assert_int_equal(help_take(&l.t), WEFT_OK);

    memset(&l, 0, sizeof(l));
    l.t.inbox = r.in;
    weft_fake_inject("m", WEFT_FAKE_HANG_HARD, 1);
    r.c.call.timeout_ms = 20;
    help_must(weft_infer_async(r.e, &r.c.call, &a, NULL, &err), &err);
    assert_true(help_inbox_wait(r.in, 2));
    assert_int_equal(help_take(&l.t), WEFT_E_DEADLINE);
    help_sleep_ms(30);
    assert_int_equal(atomic_load(&l.n_released), 0); /* the run may still read them */
    weft_fake_release("m");
    wait_released(&l);
    end(&r);
}

/* ---- lost runs ---- */
static atomic_int n_fatal;
static void fatal(void *cookie, const char *why)
{
    atomic_fetch_add(&n_fatal, 1);
}

static void test_a_lost_run_is_replaced_by_a_spare(void **state)
{
    rig r;
    weft_error err;
    weft_result *result;
    begin(&r, 0);
    r.h.config.run_timeout_ms = 40;
    help_load(r.e, &r.h);
    weft_fake_inject("m", WEFT_FAKE_HANG_HARD, 1);
    help_ticket *t = start(&r, 1, 0);
    int64_t t0 = help_now_ns();
    assert_true(help_inbox_wait(r.in, 1));
    int64_t took = help_now_ns() - t0;
    assert_true(took >= 40 * MS && took < (40 + 10 * HELP_SLOW) * MS);
    assert_non_null(strstr(t->result->error.text, "run_timeout_ms"));
    assert_int_equal(help_take(t), WEFT_E_RUN_FAILED);
    /* the model has one instance, and it is gone: a spare serves */
    help_call_init(&r.c, "m", 1, 5);
    help_must(weft_infer(r.e, &r.c.call, &result, &err), &err);
    assert_true(help_y(result, 0, 0) == help_want(5, 0));
    weft_result_unref(result);
    assert_int_equal(stats(&r).lost_runs, 1);
    wait_for_state(&r, WEFT_MODEL_DEGRADED);
    weft_fake_release("m"); /* comes back at last: discarded */
    wait_for_state(&r, WEFT_MODEL_READY);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.instances_created, 2);
    assert_int_equal(c.instances_destroyed, 1);
    end(&r);
    weft_fake_count("m", &c);
    assert_int_equal(c.instances_destroyed, 2);
}

static void test_too_many_lost_runs_are_fatal(void **state)
{
    rig r;
    weft_engine_options o;
    weft_error err;
    begin(&r, 0);
    weft_engine_destroy(&r.e);
    help_engine_options(&o, 4);
    o.max_lost_runs = 1;
    o.fatal = fatal;
    atomic_store(&n_fatal, 0);
    help_must(weft_engine_create(&o, &r.e, &err), &err);
    r.h.config.run_timeout_ms = 20;
    r.h.config.instances = 4;
    help_load(r.e, &r.h);
    weft_fake_inject("m", WEFT_FAKE_HANG_HARD, 3);
    for (int i = 0; i < 3; i++)
        start(&r, 1, 0);
    assert_true(help_inbox_wait(r.in, 3));
    for (int i = 0; i < 3; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_E_RUN_FAILED);
    for (int i = 0; i < 5000 && !atomic_load(&n_fatal); i++)
        help_sleep_ms(1);
    assert_int_equal(atomic_load(&n_fatal), 1);
    /* the engine can be taken down over lost runs; they end later, on their own */
    end(&r);
    weft_fake_release("m");
    for (int i = 0; i < 5000; i++) {
        weft_fake_counts c;
        weft_fake_count("m", &c);
        if (c.unloads == c.loads)
            return;
        help_sleep_ms(1);
    }
    fail_msg("the lost runs did not release the model");
}

static void test_a_run_that_terminates_is_not_lost(void **state)
{
    rig r;
    begin(&r, 0);
    r.h.config.run_timeout_ms = 30;
    help_load(r.e, &r.h);
    for (int i = 0; i < 3; i++) {
        weft_fake_inject("m", WEFT_FAKE_HANG, 1);
        help_ticket *t = start(&r, 1, 0);
        assert_true(help_inbox_wait(r.in, 2 * i + 1));
        assert_int_equal(help_take(t), WEFT_E_RUN_FAILED);
        t = start(&r, 2, 0);
        assert_true(help_inbox_wait(r.in, 2 * i + 2));
        assert_int_equal(help_take(t), WEFT_OK);
    }
    assert_int_equal(stats(&r).lost_runs, 0);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.terminated, 3);
    assert_int_equal(c.instances_created, 1);
    end(&r);
}

/* ---- health ---- */
static void test_failures_in_a_row_open_the_breaker_and_it_recovers(void **state)
{
    rig r;
    weft_error err;
    weft_result *result;
    begin(&r, 0);
    help_load(r.e, &r.h);
    help_call_init(&r.c, "m", 1, 1);
    weft_fake_inject("m", WEFT_FAKE_REQUEST, 20); /* the client's: never counts */
    for (int i = 0; i < 20; i++)
        assert_int_equal(weft_infer(r.e, &r.c.call, &result, &err), WEFT_E_INVALID);
    wait_for_state(&r, WEFT_MODEL_READY);
    weft_fake_inject("m", WEFT_FAKE_UNKNOWN, 5 + 2); /* five open it, two more fail the first probes */
    for (int i = 0; i < 5; i++)
        assert_int_equal(weft_infer(r.e, &r.c.call, &result, &err), WEFT_E_RUN_FAILED);
    assert_int_equal(weft_infer(r.e, &r.c.call, &result, &err), WEFT_E_UNAVAILABLE);
    assert_true(err.retry_after_ms > 0);
    wait_for_state(&r, WEFT_MODEL_READY);
    help_must(weft_infer(r.e, &r.c.call, &result, &err), &err);
    weft_result_unref(result);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_true(c.instances_created >= 3); /* anew for every try */
    end(&r);
}

static void test_a_broken_stream_makes_the_instance_anew(void **state)
{
    rig r;
    begin(&r, 0);
    help_fault(&r.h, WEFT_FAKE_STREAM)->when_value = (weft_list){1, (double[]){7}};
    r.h.faults[0].sticky = true;
    help_load(r.e, &r.h);
    help_ticket *t = start(&r, 7, 0);
    assert_true(help_inbox_wait(r.in, 1));
    assert_int_equal(help_take(t), WEFT_E_RUN_FAILED);
    t = start(&r, 1, 0); /* waits for the new instance */
    assert_true(help_inbox_wait(r.in, 2));
    assert_int_equal(help_take(t), WEFT_OK);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.instances_created, 2);
    assert_int_equal(c.instances_destroyed, 1);
    end(&r);
}

static void test_a_dead_device_answers_what_waits(void **state)
{
    rig r;
    begin(&r, 1);
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    start(&r, 1, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    for (int i = 0; i < 5; i++)
        start(&r, 1, 0);
    weft_fake_inject("m", WEFT_FAKE_DEVICE, 1);
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(r.in, 6));
    int device = 0, unavailable = 0, ok = 0;
    for (int i = 0; i < 6; i++) {
        weft_status s = help_take(&r.t[i]);
        device += s == WEFT_E_DEVICE;
        unavailable += s == WEFT_E_UNAVAILABLE;
        ok += s == WEFT_OK;
    }
    assert_int_equal(device, 1);
    assert_int_equal(device + unavailable + ok, 6);
    wait_for_state(&r, WEFT_MODEL_READY);
    help_ticket *t = start(&r, 2, 0);
    assert_true(help_inbox_wait(r.in, 7));
    assert_int_equal(help_take(t), WEFT_OK);
    end(&r);
}

/* ---- the end of the engine ---- */
static void test_destroy_while_busy(void **state)
{
    rig r;
    begin(&r, 0);
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    for (int i = 0; i < 20; i++)
        start(&r, 1, i % 2 ? 60000 : 0);
    weft_engine_destroy(&r.e);
    assert_int_equal(help_inbox_count(r.in), 20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_E_CANCELLED);
    weft_fake_hold("m", false);
    help_inbox_destroy(r.in);
}

static void test_destroy_does_not_wait_for_a_run_that_never_ends(void **state)
{
    rig r;
    begin(&r, 0);
    help_load(r.e, &r.h); /* run_timeout 30 s */
    weft_fake_inject("m", WEFT_FAKE_HANG_HARD, 1);
    help_ticket *t = start(&r, 1, 0);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    int64_t t0 = help_now_ns();
    end(&r);
    assert_true(help_now_ns() - t0 < 10000 * MS);
    assert_int_equal(help_take(t), WEFT_E_CANCELLED);
    weft_fake_release("m");
    for (int i = 0; i < 5000; i++) {
        weft_fake_counts c;
        weft_fake_count("m", &c);
        if (c.unloads == c.loads)
            return;
        help_sleep_ms(1);
    }
    fail_msg("the lost run did not release the model");
}

static void test_drain(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    help_load(r.e, &r.h);
    weft_fake_hold("m", true);
    for (int i = 0; i < 3; i++)
        start(&r, 1, 0);
    assert_int_equal(weft_engine_drain(r.e, 20, &err), WEFT_E_DEADLINE);
    help_call_init(&r.c, "m", 1, 1);
    help_ticket t;
    assert_int_equal(help_try(r.e, r.in, &t, &r.c, &err), WEFT_E_UNAVAILABLE);
    weft_fake_hold("m", false);
    help_must(weft_engine_drain(r.e, 5000, &err), &err);
    assert_int_equal(help_inbox_count(r.in), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_OK);
    end(&r);
}

static void test_unload_while_busy(void **state)
{
    rig r;
    weft_error err;
    begin(&r, 1);
    r.h.fake.delay_ms = 5;
    help_load(r.e, &r.h);
    for (int i = 0; i < 10; i++)
        start(&r, (float)i, 0);
    help_must(weft_engine_unload(r.e, "m", &err), &err);
    assert_int_equal(help_inbox_count(r.in), 10); /* what was accepted was finished */
    for (int i = 0; i < 10; i++)
        assert_int_equal(help_take(&r.t[i]), WEFT_OK);
    help_call_init(&r.c, "m", 1, 1);
    help_ticket t;
    assert_int_equal(help_try(r.e, r.in, &t, &r.c, &err), WEFT_E_NOT_FOUND);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.unloads, 1);
    end(&r);
}

/* ---- callbacks ---- */
typedef struct chain {
    weft_engine *e;
    help_ticket last;
    help_call c;
    int left;
    weft_status sync_status;
} chain;

static void chain_done(void *cookie, weft_result *r)
{
    chain *k = cookie;
    weft_async a = {.done = chain_done, .cookie = k};
    weft_result *none;
    k->sync_status = weft_infer(k->e, &k->c.call, &none, NULL);
    if (--k->left > 0) {
        weft_result_unref(r);
        if (!weft_infer_async(k->e, &k->c.call, &a, NULL, NULL))
            return;
        r = NULL;
    }
    help_done(&k->last, r);
}

static void test_callbacks_may_call_again_but_not_wait(void **state)
{
    rig r;
    weft_error err;
    chain k = {.left = 200};
    begin(&r, 0);
    help_load(r.e, &r.h);
    k.e = r.e;
    k.last.inbox = r.in;
    help_call_init(&k.c, "m", 1, 4);
    weft_async a = {.done = chain_done, .cookie = &k};
    help_must(weft_infer_async(r.e, &k.c.call, &a, NULL, &err), &err);
    assert_true(help_inbox_wait(r.in, 1));
    assert_int_equal(k.sync_status, WEFT_E_CONFLICT);
    assert_int_equal(help_take(&k.last), WEFT_OK);
    assert_int_equal(stats(&r).succeeded, 200);
    end(&r);
}

static void test_info(void **state)
{
    rig r;
    const weft_model_info *info;
    begin(&r, 0);
    r.h.config.max_batch = 4;
    help_load(r.e, &r.h);
    assert_int_equal(weft_engine_model_info(r.e, "m", &info, NULL), WEFT_OK);
    assert_string_equal(info->name, "m");
    assert_string_equal(info->type, "tensor");
    assert_string_equal(info->backend, "fake");
    assert_int_equal(info->state, WEFT_MODEL_READY);
    assert_true(info->batched);
    assert_int_equal(info->max_batch, 4);
    assert_int_equal(info->n_inputs, 1);
    assert_string_equal(info->inputs[0].name, "x");
    assert_true(info->state_since_unix_ns > 0);
    end(&r);
    assert_string_equal(info->outputs[0].name, "y"); /* outlives the engine */
    weft_model_info_unref(info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_deadline_fires_while_the_run_hangs),
        cmocka_unit_test(test_what_has_expired_is_never_run),
        cmocka_unit_test(test_deadlines_and_cancels_during_preprocess),
        cmocka_unit_test(test_row_credits_bound_what_is_prepared),
        cmocka_unit_test(test_the_models_own_timeout),
        cmocka_unit_test(test_cancel_in_every_phase),
        cmocka_unit_test(test_a_full_queue_says_busy),
        cmocka_unit_test(test_a_queue_is_bounded_by_bytes),
        cmocka_unit_test(test_refused_by_estimate_but_never_from_an_empty_queue),
        cmocka_unit_test(test_inputs_come_back_once_and_after_an_overrun_run),
        cmocka_unit_test(test_a_lost_run_is_replaced_by_a_spare),
        cmocka_unit_test(test_too_many_lost_runs_are_fatal),
        cmocka_unit_test(test_a_run_that_terminates_is_not_lost),
        cmocka_unit_test(test_failures_in_a_row_open_the_breaker_and_it_recovers),
        cmocka_unit_test(test_a_broken_stream_makes_the_instance_anew),
        cmocka_unit_test(test_a_dead_device_answers_what_waits),
        cmocka_unit_test(test_destroy_while_busy),
        cmocka_unit_test(test_destroy_does_not_wait_for_a_run_that_never_ends),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_unload_while_busy),
        cmocka_unit_test(test_callbacks_may_call_again_but_not_wait),
        cmocka_unit_test(test_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
