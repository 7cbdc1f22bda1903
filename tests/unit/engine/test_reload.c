/* New versions under load. */
#include "help_engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Callers that never stop asking; every answer must be a success of one of the versions. */
typedef struct load {
    weft_engine *e;
    const char *model;
    bool pipeline;
    atomic_bool stop;
    atomic_int n_ok, n_failed, n_version[10];
    char first_failure[256];
    pthread_t threads[3];
} load;

static void *ask(void *arg)
{
    load *l = arg;
    while (!atomic_load(&l->stop)) {
        help_call c;
        weft_result *r;
        weft_error err;
        help_call_init(&c, l->model, 1, 2);
        weft_param p[2] = {{.name = "calls", .kind = WEFT_PARAM_INT, .i = 3}, {.name = "base", .kind = WEFT_PARAM_INT, .i = 2}};
        if (l->pipeline) {
            c.call.n_inputs = 0;
            c.call.params = p;
            c.call.n_params = 2;
        }
        if (weft_infer(l->e, &c.call, &r, &err)) {
            if (!atomic_fetch_add(&l->n_failed, 1))
                memcpy(l->first_failure, err.text, sizeof(l->first_failure) - 1);
            continue;
        }
        bool right = l->pipeline ? weft_result_f32(r, "sum", 0, 0) == 8 : help_y(r, 0, 0) == help_want(2, 0);
        atomic_fetch_add(right ? &l->n_ok : &l->n_failed, 1);
        atomic_fetch_add(&l->n_version[r->version[0] - '0'], 1);
        weft_result_unref(r);
    }
    return NULL;
}

static void start_load(load *l, weft_engine *e, const char *model, bool pipeline)
{
    memset(l, 0, sizeof(*l));
    l->e = e;
    l->model = model;
    l->pipeline = pipeline;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&l->threads[i], NULL, ask, l), 0);
}

static void wait_for_answers(load *l, int more)
{
    int want = atomic_load(&l->n_ok) + more;
    for (int i = 0; i < 20000 && atomic_load(&l->n_ok) < want && !atomic_load(&l->n_failed); i++)
        help_sleep_ms(1);
}

static void stop_load(load *l)
{
    atomic_store(&l->stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(l->threads[i], NULL);
    if (atomic_load(&l->n_failed))
        fail_msg("%d calls failed; the first: %s", atomic_load(&l->n_failed), l->first_failure);
}

static const char *version_of(weft_engine *e, const char *name)
{
    static char text[32];
    const weft_model_info *info;
    assert_int_equal(weft_engine_model_info(e, name, &info, NULL), WEFT_OK);
    strcpy(text, info->version);
    assert_int_equal(info->state, WEFT_MODEL_READY);
    weft_model_info_unref(info);
    return text;
}

static void reload_under_load(weft_reload_mode mode)
{
    static const char *const versions[] = {"1", "2", "3", "4"};
    help_model h;
    load l;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    help_model_init(&h, "m");
    h.fake.delay_ms = 0.2;
    h.fake.load_delay_ms = 20;
    help_load(e, &h);
    start_load(&l, e, "m", false);
    for (int v = 1; v < 4; v++) {
        wait_for_answers(&l, 30);
        h.config.version = versions[v];
        help_must(weft_engine_reload(e, &h.config, mode, &err), &err);
        assert_string_equal(version_of(e, "m"), versions[v]);
    }
    wait_for_answers(&l, 30);
    stop_load(&l);
    for (int v = 1; v < 5; v++)
        assert_true(atomic_load(&l.n_version[v]) > 0);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.loads, 4);
    assert_int_equal(c.unloads, 3);
    weft_engine_destroy(&e);
}

static void test_swap_under_load(void **state)
{
    reload_under_load(WEFT_RELOAD_SWAP);
}

static void test_replace_under_load(void **state)
{
    reload_under_load(WEFT_RELOAD_REPLACE);
}

static void failing_version(weft_reload_mode mode, weft_fake_kind kind)
{
    help_model h;
    load l;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    help_model_init(&h, "m");
    help_load(e, &h);
    start_load(&l, e, "m", false);
    wait_for_answers(&l, 20);
    h.config.version = "2";
    help_model bad = h;
    if (kind == WEFT_FAKE_LOAD || kind == WEFT_FAKE_INSTANCE)
        weft_fake_inject("m", kind, 1);
    else
        help_fault(&bad, kind); /* every run of the new version, so its warm-up fails */
    bad.fake.faults.items = bad.faults;
    bad.config.backend_options = &bad.fake;
    assert_int_not_equal(weft_engine_reload(e, &bad.config, mode, &err), WEFT_OK);
    assert_true(err.text[0] != 0);
    assert_string_equal(version_of(e, "m"), "1");
    wait_for_answers(&l, 20);
    stop_load(&l);
    assert_int_equal(atomic_load(&l.n_version[2]), 0);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.loads - c.failed_loads - c.unloads, 1);
    weft_engine_destroy(&e);
}

static void test_a_failing_version_changes_nothing(void **state)
{
    failing_version(WEFT_RELOAD_SWAP, WEFT_FAKE_LOAD);
    failing_version(WEFT_RELOAD_SWAP, WEFT_FAKE_INSTANCE);
    failing_version(WEFT_RELOAD_SWAP, WEFT_FAKE_UNKNOWN);
    failing_version(WEFT_RELOAD_REPLACE, WEFT_FAKE_LOAD);
    failing_version(WEFT_RELOAD_REPLACE, WEFT_FAKE_UNKNOWN);
}

static void test_replace_that_cannot_go_back(void **state)
{
    help_model h;
    help_call c;
    weft_result *r;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    help_model_init(&h, "m");
    help_load(e, &h);
    weft_fake_inject("m", WEFT_FAKE_LOAD, 2); /* the new and the old */
    assert_int_not_equal(weft_engine_reload(e, &h.config, WEFT_RELOAD_REPLACE, &err), WEFT_OK);
    help_call_init(&c, "m", 1, 1);
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_NOT_FOUND);
    help_load(e, &h); /* the name is free */
    help_must(weft_infer(e, &c.call, &r, &err), &err);
    weft_result_unref(r);
    weft_engine_destroy(&e);
}

static void test_calls_wait_while_a_model_is_replaced(void **state)
{
    help_model h;
    help_call c;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    help_inbox *in = help_inbox_create();
    help_ticket t[4];
    help_model_init(&h, "m");
    h.fake.load_delay_ms = 150;
    help_load(e, &h);
    pthread_t other;
    struct job {
        weft_engine *e;
        help_model *h;
    } job = {e, &h};
    void *reload(void *arg);
    assert_int_equal(pthread_create(&other, NULL, reload, &job), 0);
    help_sleep_ms(50);
    for (int i = 0; i < 4; i++) {
        help_call_init(&c, "m", 1, (float)i);
        c.call.timeout_ms = i == 1 ? 20 : 0; /* one does not have the time */
        if (i == 3)
            c.input.tensor.shape[1] = 3, c.input.tensor.n_bytes = 12; /* one is wrong, which only the new version can say */
        help_start(e, in, &t[i], &c);
    }
    weft_cancel(e, t[2].number);
    assert_true(help_inbox_wait(in, 2));
    assert_int_equal(help_take(&t[1]), WEFT_E_DEADLINE);
    assert_int_equal(help_take(&t[2]), WEFT_E_CANCELLED);
    assert_int_equal(t[0].n_done, 0);
    assert_int_equal(weft_engine_reload(e, &(weft_model_config){.name = "none"}, WEFT_RELOAD_SWAP, &err), WEFT_E_NOT_FOUND);
    pthread_join(other, NULL);
    assert_true(help_inbox_wait(in, 4));
    assert_int_equal(help_take(&t[0]), WEFT_OK);
    assert_int_equal(help_take(&t[3]), WEFT_E_INVALID);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

void *reload(void *arg);
void *reload(void *arg)
{
    struct {
        weft_engine *e;
        help_model *h;
    } *job = arg;
    weft_error err;
    if (weft_engine_reload(job->e, &job->h->config, WEFT_RELOAD_REPLACE, &err))
        print_error("reload: %s\n", err.text);
    return NULL;
}

/* ---- pipelines change with what they use ---- */
static void load_pipeline(weft_engine *e, help_model *a, help_model *p)
{
    weft_error err;
    help_model_init(a, "a");
    help_load(e, a);
    help_model_init(p, "p");
    p->config.type = "pipe";
    p->config.backend = NULL;
    p->config.backend_options = NULL;
    p->submodels[0] = (weft_submodel_config){"a", "a"};
    p->config.submodels.n = 1;
    help_must(weft_engine_load(e, &p->config, &err), &err);
}

static void pipeline_follows(weft_reload_mode mode)
{
    help_model a, p;
    load l;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    load_pipeline(e, &a, &p);
    start_load(&l, e, "p", true);
    for (int i = 0; i < 4; i++) {
        wait_for_answers(&l, 20);
        help_must(weft_engine_reload(e, &a.config, mode, &err), &err);
    }
    wait_for_answers(&l, 20);
    p.config.version = "2";
    help_must(weft_engine_reload(e, &p.config, mode, &err), &err);
    wait_for_answers(&l, 20);
    stop_load(&l);
    assert_true(atomic_load(&l.n_version[2]) > 0);
    weft_fake_counts c;
    weft_fake_count("a", &c);
    assert_int_equal(c.loads, 5);
    assert_int_equal(c.unloads, 4); /* nobody keeps an old one */
    weft_engine_destroy(&e);
}

static void test_pipelines_follow_their_sub_models(void **state)
{
    pipeline_follows(WEFT_RELOAD_SWAP);
    pipeline_follows(WEFT_RELOAD_REPLACE);
}

static void test_together_or_not_at_all(void **state)
{
    static const int64_t other[2] = {-1, 3};
    static weft_fake_tensor two[2] = {{.name = "x", .dtype = WEFT_DT_F32, .shape = {2, (void *)other}},
                                      {.name = "z", .dtype = WEFT_DT_F32, .shape = {2, (void *)other}}};
    help_model a, p;
    load l;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    load_pipeline(e, &a, &p);
    start_load(&l, e, "p", true);
    wait_for_answers(&l, 10);
    a.config.version = "2";
    a.fake.inputs = (weft_list){2, two}; /* a good model, but the pipeline cannot use it */
    assert_int_equal(weft_engine_reload(e, &a.config, WEFT_RELOAD_SWAP, &err), WEFT_E_CONFIG);
    assert_string_equal(version_of(e, "a"), "1");
    assert_int_equal(weft_engine_reload(e, &a.config, WEFT_RELOAD_REPLACE, &err), WEFT_E_CONFIG);
    assert_string_equal(version_of(e, "a"), "1");
    wait_for_answers(&l, 10);
    stop_load(&l);
    weft_engine_destroy(&e);
}

static void test_hidden_sub_models_go_with_their_pipeline(void **state)
{
    help_model a, p;
    weft_error err;
    const weft_model_info *info;
    weft_fake_reset();
    weft_engine *e = help_engine(0);
    help_model_init(&a, "p.a");
    a.config.hidden = true;
    help_load(e, &a);
    help_model_init(&p, "p");
    p.config.type = "pipe";
    p.config.backend = NULL;
    p.config.backend_options = NULL;
    p.submodels[0] = (weft_submodel_config){"a", "p.a"};
    p.config.submodels.n = 1;
    help_must(weft_engine_load(e, &p.config, &err), &err);
    help_must(weft_engine_unload(e, "p", &err), &err);
    assert_int_equal(weft_engine_model_info(e, "p.a", &info, &err), WEFT_E_NOT_FOUND);
    weft_engine_destroy(&e);
}

static void look(void *cookie, const weft_model_info *info)
{
    int *seen = cookie;
    seen[info->state]++;
    if (info->state == WEFT_MODEL_READY)
        assert_int_equal(info->n_inputs, 1);
}

static void *watch(void *arg)
{
    load *l = arg;
    static int seen[16];
    while (!atomic_load(&l->stop)) {
        weft_engine_each_model(l->e, look, seen);
        help_sleep_ms(1);
    }
    return seen;
}

/* What a model says about itself while it loads, warms, serves and goes. */
static void test_info_during_changes(void **state)
{
    help_model h;
    load l = {.model = "m"};
    weft_error err;
    pthread_t t;
    void *seen;
    weft_fake_reset();
    l.e = help_engine(0);
    assert_int_equal(pthread_create(&t, NULL, watch, &l), 0);
    help_model_init(&h, "m");
    h.config.max_batch = 4;
    h.fake.delay_ms = 3;
    h.fake.load_delay_ms = 20;
    for (int i = 0; i < 5; i++) {
        help_load(l.e, &h);
        help_must(weft_engine_reload(l.e, &h.config, WEFT_RELOAD_REPLACE, &err), &err);
        help_sleep_ms(5);
        help_must(weft_engine_unload(l.e, "m", &err), &err);
    }
    atomic_store(&l.stop, true);
    pthread_join(t, &seen);
    assert_true(((int *)seen)[WEFT_MODEL_LOADING] > 0);
    assert_true(((int *)seen)[WEFT_MODEL_WARMING] > 0);
    assert_true(((int *)seen)[WEFT_MODEL_READY] > 0);
    weft_engine_destroy(&l.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swap_under_load),
        cmocka_unit_test(test_replace_under_load),
        cmocka_unit_test(test_a_failing_version_changes_nothing),
        cmocka_unit_test(test_replace_that_cannot_go_back),
        cmocka_unit_test(test_calls_wait_while_a_model_is_replaced),
        cmocka_unit_test(test_pipelines_follow_their_sub_models),
        cmocka_unit_test(test_together_or_not_at_all),
        cmocka_unit_test(test_hidden_sub_models_go_with_their_pipeline),
        cmocka_unit_test(test_info_during_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
