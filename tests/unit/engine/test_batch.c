/* The batch rule and the gears, with a clock that only the test moves. */
#include "help_engine.h"

#include "base/clock.h"
#include "engine/batch.h"
#include "engine/gear.h"

#define MS WEFT_MS

static weft_batch_facts facts(int64_t n_ready)
{
    return (weft_batch_facts){.n_ready = n_ready,
                              .useful_rows = 8,
                              .oldest_ready_ns = 1000 * MS,
                              .first_deadline_ns = WEFT_NEVER,
                              .run_ns = 5 * MS,
                              .cohort_wait_ns = 3 * MS};
}

static void test_without_a_window_what_is_ready_runs(void **state)
{
    int64_t wake;
    weft_batch_facts f = facts(1);
    assert_true(weft_batch_eligible(&f, 1000 * MS, &wake));
}

static void test_the_window_is_waited_for_and_not_longer(void **state)
{
    int64_t wake;
    weft_batch_facts f = facts(3);
    f.window_ns = 10 * MS;
    assert_false(weft_batch_eligible(&f, 1000 * MS, &wake));
    assert_int_equal(wake, 1010 * MS);
    assert_false(weft_batch_eligible(&f, 1010 * MS - 1, &wake));
    assert_true(weft_batch_eligible(&f, 1010 * MS, &wake));
    f.n_ready = 8; /* the largest useful batch is there */
    assert_true(weft_batch_eligible(&f, 1000 * MS, &wake));
    f = facts(3);
    f.window_ns = 10 * MS;
    f.useful_rows = 3; /* more rows would not pay */
    assert_true(weft_batch_eligible(&f, 1000 * MS, &wake));
}

static void test_a_deadline_ends_the_window_in_time_for_the_run(void **state)
{
    int64_t wake;
    weft_batch_facts f = facts(3);
    f.window_ns = 100 * MS;
    f.first_deadline_ns = 1020 * MS;
    assert_false(weft_batch_eligible(&f, 1000 * MS, &wake));
    assert_int_equal(wake, 1013 * MS); /* 20 - 5 for the run - 2 to spare */
    assert_true(weft_batch_eligible(&f, 1013 * MS, &wake));
    f.first_deadline_ns = 1001 * MS; /* too late already: at once */
    assert_true(weft_batch_eligible(&f, 1000 * MS, &wake));
}

static void test_a_cohort_holds_the_instance_back_for_a_moment(void **state)
{
    int64_t wake;
    weft_batch_facts f = facts(1);
    f.n_between = 1;
    f.idle_since_ns = 1001 * MS;
    assert_false(weft_batch_eligible(&f, 1001 * MS, &wake));
    assert_int_equal(wake, 1004 * MS);
    assert_true(weft_batch_eligible(&f, 1004 * MS, &wake));
    f.n_between = 0; /* nobody is on the way */
    assert_true(weft_batch_eligible(&f, 1001 * MS, &wake));
    f.n_between = 1;
    f.alone = true;
    assert_true(weft_batch_eligible(&f, 1001 * MS, &wake));
    f = facts(1);
    f.n_between = 1;
    f.idle_since_ns = 0; /* idle for long: from the row's arrival on */
    assert_false(weft_batch_eligible(&f, 1002 * MS, &wake));
    assert_int_equal(wake, 1003 * MS);
}

/* ---- gears ---- */
static void costs(weft_gear_costs *c, const weft_gears *g, const double *ms)
{
    *c = (weft_gear_costs){.row_bytes = 100};
    for (size_t i = 0; i < g->n; i++)
        c->cost_ns[i] = ms[i] * MS;
    weft_gears_judge(g, c);
}

static void test_gears_of_any_and_of_compiled_sizes(void **state)
{
    weft_gears g;
    weft_gears_init(&g, 12, NULL, 0);
    assert_int_equal(g.n, 5); /* 1 2 4 8 12 */
    assert_int_equal(g.rows[4], 12);
    assert_int_equal(weft_gears_fit(&g, 3), 3);
    assert_int_equal(weft_gears_fit(&g, 13), 0);
    const int64_t sizes[] = {1, 4, 16};
    weft_gears_init(&g, 8, sizes, 3);
    assert_int_equal(g.n, 2);
    assert_int_equal(weft_gears_fit(&g, 2), 4);
    assert_int_equal(weft_gears_fit(&g, 5), 0);
    weft_gears_init(&g, 2, sizes + 2, 1); /* only larger ones exist */
    assert_int_equal(g.n, 1);
    assert_int_equal(weft_gears_fit(&g, 1), 16);
    weft_gears_init(&g, 4096, NULL, 0);
    assert_int_equal(g.n, 13);
    weft_gears_init(&g, 1, NULL, 0);
    assert_int_equal(g.n, 1);
}

static void test_a_larger_gear_must_be_five_percent_better(void **state)
{
    weft_gears g;
    weft_gear_costs c;
    weft_gears_init(&g, 8, NULL, 0);
    costs(&c, &g, (double[]){10, 20, 40, 80}); /* linear: a CPU */
    assert_int_equal(c.useful_rows, 1);
    assert_int_equal(weft_gears_choose(&g, &c, 8, 8, 0), 1);
    costs(&c, &g, (double[]){10, 12, 16, 24}); /* a card */
    assert_int_equal(c.useful_rows, 8);
    assert_int_equal(weft_gears_choose(&g, &c, 8, 8, 0), 8);
    assert_int_equal(weft_gears_choose(&g, &c, 3, 8, 0), 3);
    assert_int_equal(weft_gears_choose(&g, &c, 8, 4, 0), 4);
    costs(&c, &g, (double[]){10, 19, 38, 76}); /* exactly 5 % at two, nothing after it */
    assert_int_equal(c.useful_rows, 2);
    costs(&c, &g, (double[]){10, 19.2, 38.4, 76.8}); /* 4 % */
    assert_int_equal(c.useful_rows, 1);
    costs(&c, &g, (double[]){10, 20, 24, 48}); /* flat at two, pays at four */
    assert_int_equal(c.useful_rows, 4);
    costs(&c, &g, (double[]){0, 0, 0, 0}); /* nothing is known */
    assert_int_equal(c.useful_rows, 1);
    assert_int_equal(weft_gears_choose(&g, &c, 5, 8, 0), 1);
}

static void test_no_run_longer_than_the_limit_while_others_wait(void **state)
{
    weft_gears g;
    weft_gear_costs c;
    weft_gears_init(&g, 8, NULL, 0);
    costs(&c, &g, (double[]){10, 12, 16, 24});
    assert_int_equal(weft_gears_choose(&g, &c, 8, 8, 16 * MS), 4);
    assert_int_equal(weft_gears_choose(&g, &c, 8, 8, 15 * MS), 2);
    assert_int_equal(weft_gears_choose(&g, &c, 8, 8, 1 * MS), 1); /* the smallest always may */
}

static void test_compiled_sizes_by_real_rows(void **state)
{
    const int64_t sizes[] = {1, 8};
    weft_gears g;
    weft_gear_costs c;
    weft_gears_init(&g, 8, sizes, 2);
    costs(&c, &g, (double[]){10, 24});
    assert_int_equal(weft_gears_choose(&g, &c, 2, 8, 0), 1); /* 24/2 per row is worse than 10 */
    assert_int_equal(weft_gears_choose(&g, &c, 3, 8, 0), 3); /* 24/3 = 8 is better */
    assert_int_equal(weft_gears_cost(&g, &c, 3), 24 * MS);
}

static void test_costs_between_gears_and_learning(void **state)
{
    weft_gears g;
    weft_gear_costs c;
    weft_gears_init(&g, 8, NULL, 0);
    costs(&c, &g, (double[]){10, 12, 16, 24});
    assert_int_equal(weft_gears_cost(&g, &c, 6), 20 * MS);
    for (int i = 0; i < 100; i++)
        weft_gears_learn(&g, &c, 8, 80 * MS);
    assert_in_range(weft_gears_cost(&g, &c, 8), 79 * MS, 81 * MS);
    assert_int_equal(weft_gears_cost(&g, &c, 4), 16 * MS);
    assert_int_equal(c.useful_rows, 4); /* eight rows do not pay any more */
    assert_int_equal(weft_gears_smaller(&g, 8), 4);
    assert_int_equal(weft_gears_smaller(&g, 3), 2);
    assert_int_equal(weft_gears_smaller(&g, 1), 0);
}

static void test_an_unknown_bucket_starts_from_the_nearest(void **state)
{
    static weft_gear_table t;
    weft_gears g;
    weft_gears_init(&g, 4, NULL, 0);
    weft_gear_costs *c = weft_gear_table_get(&t, &g, 1, 99);
    c->cost_ns[0] = 10 * MS;
    c->cost_ns[1] = 12 * MS;
    c->cost_ns[2] = 20 * MS;
    weft_gears_judge(&g, c);
    c = weft_gear_table_get(&t, &g, 2, 199);
    assert_int_equal(weft_gears_cost(&g, c, 1), 20 * MS);
    assert_int_equal(c->useful_rows, 4);
    for (uint64_t k = 3; k < 200; k++)
        weft_gear_table_get(&t, &g, k, 99); /* the table stays bounded */
    assert_int_equal(t.n, WEFT_MAX_BUCKETS);
    assert_true(weft_gear_table_get(&t, &g, 199, 99)->key == 199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_window_what_is_ready_runs),
        cmocka_unit_test(test_the_window_is_waited_for_and_not_longer),
        cmocka_unit_test(test_a_deadline_ends_the_window_in_time_for_the_run),
        cmocka_unit_test(test_a_cohort_holds_the_instance_back_for_a_moment),
        cmocka_unit_test(test_gears_of_any_and_of_compiled_sizes),
        cmocka_unit_test(test_a_larger_gear_must_be_five_percent_better),
        cmocka_unit_test(test_no_run_longer_than_the_limit_while_others_wait),
        cmocka_unit_test(test_compiled_sizes_by_real_rows),
        cmocka_unit_test(test_costs_between_gears_and_learning),
        cmocka_unit_test(test_an_unknown_bucket_starts_from_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
