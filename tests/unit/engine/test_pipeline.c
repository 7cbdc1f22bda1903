/* Call groups and pipelines. */
#include "help_engine.h"

#include <string.h>

typedef struct pipe_call {
    weft_call call;
    weft_param params[8];
} pipe_call;

static void pipe_init(pipe_call *p, const char *model)
{
    memset(p, 0, sizeof(*p));
    p->call = (weft_call){.model = model, .params = p->params};
}

static void set(pipe_call *p, const char *name, int64_t v)
{
    p->params[p->call.n_params++] = (weft_param){.name = name, .kind = WEFT_PARAM_INT, .i = v};
}

static weft_engine *pipeline_engine(help_model *a, help_model *b, help_model *p)
{
    weft_engine *e = help_engine(0);
    weft_fake_reset();
    help_model_init(a, "a");
    help_model_init(b, "b");
    help_model_init(p, "p");
    p->config.type = "pipe";
    p->config.backend = NULL;
    p->config.backend_options = NULL;
    p->submodels[0] = (weft_submodel_config){"a", "a"};
    p->submodels[1] = (weft_submodel_config){"b", "b"};
    p->config.submodels.n = 2;
    return e;
}

static void load_all(weft_engine *e, help_model *a, help_model *b, help_model *p)
{
    help_load(e, a);
    help_load(e, b);
    help_model copy = *p;
    copy.config.submodels.items = copy.submodels;
    weft_error err;
    help_must(weft_engine_load(e, &copy.config, &err), &err);
}

static float sum_of(const weft_result *r, size_t i)
{
    return weft_result_f32(r, "sum", i, 0);
}

static void test_calls_one_after_the_other_and_together(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_result *r;
    weft_error err;
    load_all(e, &a, &b, &p);
    for (int64_t at_once = 1; at_once <= 8; at_once *= 2) {
        pipe_call c;
        pipe_init(&c, "p");
        set(&c, "calls", 20);
        set(&c, "base", 7);
        set(&c, "at_once", at_once);
        help_must(weft_infer(e, &c.call, &r, &err), &err);
        assert_int_equal(r->n_items, 20);
        for (size_t i = 0; i < 20; i++)
            assert_true(((const float *)r->columns[0].tensor.data)[i] == 4 * (float)(7 + i));
        assert_int_equal(r->timing.n_runs, 20);
        weft_result_unref(r);
        set(&c, "use_b", 1);
        help_must(weft_infer(e, &c.call, &r, &err), &err);
        for (size_t i = 0; i < 20; i++)
            assert_true(((const float *)r->columns[0].tensor.data)[i] == 16 * (float)(7 + i));
        weft_result_unref(r);
    }
    (void)sum_of;
    weft_engine_destroy(&e);
}

static void test_leaving_a_group_joins_what_is_out(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_result *r;
    weft_error err;
    a.fake.delay_ms = 5;
    load_all(e, &a, &b, &p);
    pipe_call c;
    pipe_init(&c, "p");
    set(&c, "calls", 16);
    set(&c, "at_once", 16);
    set(&c, "leave", 2);
    help_must(weft_infer(e, &c.call, &r, &err), &err);
    weft_result_unref(r);
    weft_fake_counts n;
    weft_fake_count("a", &n);
    assert_true(n.runs_started == n.runs_ended);
    assert_true(n.runs_started < 10 + 6); /* most were taken back before they ran */
    weft_engine_destroy(&e);
}

static void test_failures_reach_the_caller(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_result *r;
    weft_error err;
    load_all(e, &a, &b, &p);
    pipe_call c;
    pipe_init(&c, "p");
    set(&c, "fail", 1);
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_UNPROCESSABLE);
    pipe_init(&c, "p");
    set(&c, "calls", 4);
    set(&c, "at_once", 4);
    weft_fake_inject("a", WEFT_FAKE_UNKNOWN, 1);
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_RUN_FAILED);
    help_must(weft_infer(e, &c.call, &r, &err), &err);
    weft_result_unref(r);
    weft_engine_destroy(&e);
}

static void test_deadline_and_cancel_inside_a_pipeline(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_result *r;
    weft_error err;
    load_all(e, &a, &b, &p);
    weft_fake_hold("a", true);
    pipe_call c;
    pipe_init(&c, "p");
    set(&c, "calls", 4);
    set(&c, "at_once", 4);
    c.call.timeout_ms = 50;
    int64_t start = help_now_ns();
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_DEADLINE);
    assert_true(help_now_ns() - start < (50 + 10 * HELP_SLOW) * 1000000LL);
    /* the fake's hold ends with terminate: the pipeline comes home by itself */
    weft_fake_hold("a", false);
    c.call.timeout_ms = 0;
    help_must(weft_infer(e, &c.call, &r, &err), &err);
    weft_result_unref(r);

    weft_fake_hold("a", true);
    help_inbox *in = help_inbox_create();
    help_ticket t = {.inbox = in};
    weft_async as = {.done = help_done, .cookie = &t};
    help_must(weft_infer_async(e, &c.call, &as, &t.number, &err), &err);
    help_sleep_ms(10);
    assert_int_equal(weft_cancel(e, t.number), WEFT_OK);
    assert_true(help_inbox_wait(in, 1));
    assert_int_equal(help_take(&t), WEFT_E_CANCELLED);
    assert_int_equal(weft_cancel(e, t.number), WEFT_E_NOT_FOUND);
    weft_fake_hold("a", false);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

static void test_concurrency_is_the_gate(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_error err;
    p.config.concurrency = 2;
    a.config.instances = 8;
    a.config.threads = 1;
    load_all(e, &a, &b, &p);
    weft_fake_hold("a", true);
    help_inbox *in = help_inbox_create();
    help_ticket t[6];
    pipe_call c;
    pipe_init(&c, "p");
    for (int i = 0; i < 6; i++) {
        weft_async as = {.done = help_done, .cookie = &t[i]};
        t[i] = (help_ticket){.inbox = in};
        help_must(weft_infer_async(e, &c.call, &as, &t[i].number, &err), &err);
    }
    assert_true(weft_fake_wait_waiting("a", 2, 5000));
    help_sleep_ms(20);
    weft_model_stats s;
    weft_engine_model_stats(e, "p", &s, NULL);
    assert_int_equal(s.running, 2);
    assert_int_equal(s.queued, 4);
    weft_fake_hold("a", false);
    assert_true(help_inbox_wait(in, 6));
    for (int i = 0; i < 6; i++)
        assert_int_equal(help_take(&t[i]), WEFT_OK);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

/* A pipeline that waits for a run that never ends: its request is answered, and a spare thread serves the next. */
static void test_a_lost_run_inside_a_pipeline(void **state)
{
    for (int k = 0; k < 2; k++) {
        help_model a, b, p;
        weft_engine *e = pipeline_engine(&a, &b, &p);
        weft_result *r;
        weft_error err;
        p.config.concurrency = 1;
        a.config.instances = 1;
        a.config.run_timeout_ms = 40;
        load_all(e, &a, &b, &p);
        pipe_call c;
        pipe_init(&c, "p");
        set(&c, "calls", 3);
        weft_fake_inject("a", WEFT_FAKE_HANG_HARD, 1);
        c.call.timeout_ms = k ? 20 : 0;
        assert_int_equal(weft_infer(e, &c.call, &r, &err), k ? WEFT_E_DEADLINE : WEFT_E_RUN_FAILED);
        c.call.timeout_ms = 0;
        help_must(weft_infer(e, &c.call, &r, &err), &err);
        weft_result_unref(r);
        weft_model_stats s;
        weft_engine_model_stats(e, "p", &s, NULL);
        if (k)
            weft_fake_release("a");
        weft_engine_destroy(&e); /* also while it hangs */
        weft_fake_release("a");
        for (int i = 0; i < 5000; i++) {
            weft_fake_counts n;
            weft_fake_count("a", &n);
            if (n.unloads == n.loads)
                break;
            help_sleep_ms(1);
        }
    }
}

static void test_registration_of_pipelines(void **state)
{
    help_model a, b, p;
    weft_engine *e = pipeline_engine(&a, &b, &p);
    weft_error err;
    assert_int_equal(weft_engine_load(e, &p.config, &err), WEFT_E_CONFIG); /* sub-models are not there */
    help_load(e, &a);
    help_load(e, &b);
    help_must(weft_engine_load(e, &p.config, &err), &err);
    assert_int_equal(weft_engine_load(e, &p.config, &err), WEFT_E_CONFLICT);
    assert_int_equal(weft_engine_unload(e, "a", &err), WEFT_E_CONFLICT);
    assert_non_null(strstr(err.text, "\"p\""));
    help_model q;
    help_model_init(&q, "q");
    q.config.type = "pipe";
    q.submodels[0] = (weft_submodel_config){"a", "p"};
    q.config.submodels.n = 1;
    assert_int_equal(weft_engine_load(e, &q.config, &err), WEFT_E_CONFIG); /* a pipeline is no sub-model */
    q.submodels[0] = (weft_submodel_config){"none", "a"};
    assert_int_equal(weft_engine_load(e, &q.config, &err), WEFT_E_CONFIG);
    q.submodels[0] = (weft_submodel_config){"b", "a"};
    assert_int_equal(weft_engine_load(e, &q.config, &err), WEFT_E_CONFIG); /* "a" is required */
    help_must(weft_engine_unload(e, "p", &err), &err);
    help_must(weft_engine_unload(e, "a", &err), &err);
    assert_int_equal(weft_engine_unload(e, "a", &err), WEFT_E_NOT_FOUND);
    weft_engine_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_one_after_the_other_and_together),
        cmocka_unit_test(test_leaving_a_group_joins_what_is_out),
        cmocka_unit_test(test_failures_reach_the_caller),
        cmocka_unit_test(test_deadline_and_cancel_inside_a_pipeline),
        cmocka_unit_test(test_concurrency_is_the_gate),
        cmocka_unit_test(test_a_lost_run_inside_a_pipeline),
        cmocka_unit_test(test_registration_of_pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
