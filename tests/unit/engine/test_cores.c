/* max_cores: a slow model leaves cores to the quick ones, also when its runs cannot be interrupted. */
#include "help_engine.h"

#include <string.h>

static void load(weft_engine *e, const char *name, int64_t max_cores)
{
    help_model m;
    help_model_init(&m, name);
    m.config.instances = 4;
    m.config.max_cores = max_cores;
    help_load(e, &m);
}

/* Three held runs are wanted on four cores: how many begin? */
static uint64_t n_begun(int64_t max_cores)
{
    weft_engine *e = help_engine(4);
    help_inbox *b = help_inbox_create();
    help_ticket t[4] = {{0}};
    weft_fake_counts before, now;
    load(e, "slow", max_cores);
    load(e, "quick", 0);
    weft_fake_count("slow", &before);
    weft_fake_hold("slow", true);
    for (int i = 0; i < 3; i++) {
        help_call c;
        help_call_init(&c, "slow", 1, (float)i);
        help_start(e, b, &t[i], &c);
    }
    uint64_t want = max_cores ? (uint64_t)max_cores : 3;
    assert_true(weft_fake_wait_waiting("slow", want, 5000));
    help_sleep_ms(30);
    weft_fake_count("slow", &now);

    help_call c; /* a core is free for the other model meanwhile */
    help_call_init(&c, "quick", 1, 5);
    help_start(e, b, &t[3], &c);
    assert_true(help_inbox_wait(b, 1));

    weft_fake_hold("slow", false); /* and those that waited run afterwards */
    assert_true(help_inbox_wait(b, 4));
    for (int i = 0; i < 4; i++)
        assert_int_equal(help_take(&t[i]), WEFT_OK);
    help_inbox_destroy(b);
    weft_engine_destroy(&e);
    weft_fake_reset();
    return now.waiting;
}

static void test_a_cap_bounds_the_runs_at_once(void **state)
{
    (void)state;
    assert_int_equal(n_begun(0), 3);
    assert_int_equal(n_begun(1), 1);
    assert_int_equal(n_begun(2), 2);
}

/* A run that alone takes more cores than the cap still runs, by itself. */
static void test_a_run_wider_than_the_cap_still_runs(void **state)
{
    (void)state;
    weft_engine *e = help_engine(4);
    help_model m;
    help_model_init(&m, "wide");
    m.config.threads = 3;
    m.config.max_cores = 2;
    help_load(e, &m);
    help_call c;
    weft_result *r;
    weft_error err;
    help_call_init(&c, "wide", 1, 1);
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_OK);
    assert_float_equal(help_y(r, 0, 0), help_want(1, 0), 0);
    weft_result_unref(r);
    weft_engine_destroy(&e);
    weft_fake_reset();
}

/* A pipeline's own sub-models share its cap: three calls at once on one core do not lock each other out. */
static void test_a_pipeline_and_its_sub_models_share_one_cap(void **state)
{
    (void)state;
    weft_engine *e = help_engine(4);
    help_model a, p;
    help_model_init(&a, "pipe.a");
    a.config.hidden = true;
    a.config.instances = 4;
    help_load(e, &a);
    help_model_init(&p, "pipe");
    memset(&p.config.paths, 0, sizeof(p.config.paths));
    p.config.type = "pipe";
    p.config.backend = NULL;
    p.config.max_cores = 1;
    p.submodels[0] = (weft_submodel_config){.slot = "a", .model = "pipe.a"};
    p.config.submodels = (weft_list){1, p.submodels};
    help_load(e, &p);
    help_inbox *b = help_inbox_create();
    help_ticket t[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        help_call c;
        help_call_init(&c, "pipe", 1, (float)i);
        help_start(e, b, &t[i], &c);
    }
    assert_true(help_inbox_wait(b, 3));
    for (int i = 0; i < 3; i++)
        assert_int_equal(help_take(&t[i]), WEFT_OK);
    help_inbox_destroy(b);
    weft_engine_destroy(&e);
    weft_fake_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cap_bounds_the_runs_at_once),
        cmocka_unit_test(test_a_run_wider_than_the_cap_still_runs),
        cmocka_unit_test(test_a_pipeline_and_its_sub_models_share_one_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
