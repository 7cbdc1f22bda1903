/* Loops that call one model again and again: two of them meet in one run, one alone is not delayed. */
#include "unit/engine/help_engine.h"

#include <pthread.h>
#include <string.h>

#define STEPS 40

typedef struct loop {
    weft_engine *e;
    int64_t repeats, think_us;
    double start_after_ms;
    int64_t took_ns;
} loop;

static void *run_loop(void *arg)
{
    loop *l = arg;
    weft_result *r;
    weft_error err;
    weft_param p[3] = {{.name = "calls", .kind = WEFT_PARAM_INT, .i = STEPS},
                       {.name = "loop", .kind = WEFT_PARAM_INT, .i = l->repeats},
                       {.name = "think_us", .kind = WEFT_PARAM_INT, .i = l->think_us}};
    weft_call c = {.model = "p", .params = p, .n_params = 3};
    help_sleep_ms(l->start_after_ms);
    int64_t start = help_now_ns();
    if (weft_infer(l->e, &c, &r, &err)) {
        print_error("%s\n", err.text);
        return NULL;
    }
    l->took_ns = help_now_ns() - start;
    for (int64_t i = 0; i < STEPS; i++)
        if (((const float *)r->columns[0].tensor.data)[i] != 4 * (float)i)
            l->took_ns = 0;
    weft_result_unref(r);
    return NULL;
}

static weft_engine *engine(double step_ms, double cohort_wait_ms)
{
    help_model m, p;
    weft_error err;
    weft_fake_reset();
    weft_engine *e = help_engine(4);
    help_model_init(&m, "m");
    m.config.max_batch = 4;
    m.config.instances = 1;
    m.config.cohort_wait_ms = cohort_wait_ms;
    m.fake.delay_ms = step_ms;
    help_load(e, &m);
    help_model_init(&p, "p");
    p.config.type = "pipe";
    p.config.backend = NULL;
    p.config.backend_options = NULL;
    p.submodels[0] = (weft_submodel_config){"a", "m"};
    p.config.submodels.n = 1;
    help_must(weft_engine_load(e, &p.config, &err), &err);
    return e;
}

static double part_at_batch(weft_engine *e, int n)
{
    weft_model_stats s;
    assert_int_equal(weft_engine_model_stats(e, "m", &s, NULL), WEFT_OK);
    uint64_t rows = 0;
    for (int i = 0; i < WEFT_STAT_BATCH_BUCKETS; i++)
        rows += s.batch_rows[i] * (uint64_t)(i + 1);
    print_message("runs of 1/2/3/4 rows: %llu %llu %llu %llu\n", (unsigned long long)s.batch_rows[0],
                  (unsigned long long)s.batch_rows[1], (unsigned long long)s.batch_rows[2], (unsigned long long)s.batch_rows[3]);
    return (double)(s.batch_rows[n - 1] * (uint64_t)n) / (double)rows;
}

static void run_loops(loop *l, int n)
{
    pthread_t t[8];
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&t[i], NULL, run_loop, &l[i]), 0);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < n; i++)
        assert_true(l[i].took_ns > 0);
}

static void test_two_loops_half_a_step_apart_meet(void **state)
{
    weft_engine *e = engine(10, 3 * (HELP_SLOW > 1 ? 3 : 1));
    loop l[2] = {{.e = e, .repeats = 1, .think_us = 500}, {.e = e, .repeats = 1, .think_us = 500, .start_after_ms = 5}};
    run_loops(l, 2);
    double part = part_at_batch(e, 2);
    print_message("%.1f %% of the steps at batch 2\n", 100 * part);
    assert_true(part >= 0.85);
    weft_engine_destroy(&e);
}

static void test_without_a_cohort_they_never_do(void **state)
{
    weft_engine *e = engine(10, 3);
    loop l[2] = {{.e = e, .repeats = 0, .think_us = 500}, {.e = e, .repeats = 0, .think_us = 500, .start_after_ms = 5}};
    run_loops(l, 2);
    assert_true(part_at_batch(e, 2) < 0.5); /* the test above can fail */
    weft_engine_destroy(&e);
}

static void test_four_loops_meet(void **state)
{
    weft_engine *e = engine(10, 3 * (HELP_SLOW > 1 ? 3 : 1));
    loop l[4];
    for (int i = 0; i < 4; i++)
        l[i] = (loop){.e = e, .repeats = 1, .think_us = 300, .start_after_ms = 2.5 * i};
    run_loops(l, 4);
    assert_true(part_at_batch(e, 4) >= 0.6);
    weft_engine_destroy(&e);
}

static void test_one_alone_is_not_delayed(void **state)
{
    weft_engine *e = engine(4, 50); /* a wait that would show */
    loop with = {.e = e, .repeats = 1, .think_us = 200}, without = {.e = e, .repeats = 0, .think_us = 200};
    run_loops(&without, 1);
    run_loops(&with, 1);
    print_message("a step: %.2f ms alone in a cohort, %.2f ms without\n", (double)with.took_ns / STEPS / 1e6,
                  (double)without.took_ns / STEPS / 1e6);
    assert_true((double)with.took_ns < 1.3 * (double)without.took_ns + 20e6);
    weft_engine_destroy(&e);
}

/* One that thinks far longer than the wait is not waited for again and again. */
static void test_a_slow_member_does_not_hold_the_others(void **state)
{
    weft_engine *e = engine(4, 3);
    loop alone = {.e = e, .repeats = 1, .think_us = 200};
    run_loops(&alone, 1);
    loop l[2] = {{.e = e, .repeats = 1, .think_us = 200}, {.e = e, .repeats = 1, .think_us = 15000}};
    run_loops(l, 2);
    print_message("a step beside a slow one: %.2f ms, alone %.2f ms\n", (double)l[0].took_ns / STEPS / 1e6,
                  (double)alone.took_ns / STEPS / 1e6);
    assert_true((double)l[0].took_ns <
                1.9 * (double)alone.took_ns + 20e6); /* every step could wait 4 ms for the other's run, not 3 ms more each time */
    weft_engine_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_loops_half_a_step_apart_meet),
        cmocka_unit_test(test_without_a_cohort_they_never_do),
        cmocka_unit_test(test_four_loops_meet),
        cmocka_unit_test(test_one_alone_is_not_delayed),
        cmocka_unit_test(test_a_slow_member_does_not_hold_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
