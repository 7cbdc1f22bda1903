/* Fairness, priority and ageing, in simulated time: one core, claims that wait, runs of known length. */
#include "help_engine.h"

#include <string.h>

#include "base/clock.h"
#include "engine/lane.h"
#include "engine/queue.h"

#define MS WEFT_MS
#define MAX_SOURCES 4

/* A model that always has work (arrival = when its last request was taken, or earlier for a backlog). */
typedef struct source {
    weft_share share;
    int level;
    int64_t run_ns, predicted_ns;
    int64_t backlog_since_ns; /* >= 0: arrivals lie this far back and never catch up */
    bool active;
    int64_t arrival_ns;
    int64_t used_ns, n_runs, longest_wait_ns;
} source;

/* Runs the lane for `until` of simulated time. */
static int64_t simulate(weft_lane *l, source *s, int n, int64_t from, int64_t until)
{
    int64_t now = from;
    while (now < until) {
        weft_contest c;
        bool starved;
        memset(&c, 0, sizeof(c));
        for (int i = 0; i < n; i++) {
            if (!s[i].active)
                continue;
            weft_claim claim = {.kind = WEFT_CLAIM_RUN,
                                .rank = WEFT_CLAIM_RUN,
                                .level = s[i].level,
                                .arrival_ns = s[i].arrival_ns,
                                .share = &s[i].share,
                                .tokens = 1,
                                .owner = &s[i]};
            weft_contest_offer(l, &c, &claim, now);
        }
        const weft_claim *w = weft_contest_winner(l, &c, &starved);
        if (!w)
            return now;
        source *o = w->owner;
        if (now - o->arrival_ns > o->longest_wait_ns)
            o->longest_wait_ns = now - o->arrival_ns;
        weft_lane_charge(l, &o->share, o->predicted_ns, 1, starved);
        now += o->run_ns;
        weft_lane_correct(l, &o->share, o->predicted_ns, o->run_ns, 1, starved);
        o->used_ns += o->run_ns;
        o->n_runs++;
        o->arrival_ns = now; /* the next one comes at once */
    }
    return now;
}

static source make(double weight, int level, int64_t run_ns)
{
    return (source){.share = {.weight = weight}, .level = level, .run_ns = run_ns, .predicted_ns = run_ns, .active = true};
}

static void enter(weft_lane *l, source *s, int n)
{
    for (int i = 0; i < n; i++)
        weft_share_enter(l, &s[i].share);
}

static void test_equal_weights_share_time_not_turns(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[2] = {make(1, 10, 400 * MS), make(1, 10, 7 * MS)}; /* a page of text, a face */
    enter(&l, s, 2);
    simulate(&l, s, 2, 0, 60000 * MS);
    double ratio = (double)s[0].used_ns / (double)s[1].used_ns;
    assert_true(ratio > 0.95 && ratio < 1.05);
    assert_true(s[1].n_runs > 50 * s[0].n_runs);
    assert_true(s[1].longest_wait_ns <= 400 * MS); /* a face never waits for two pages */
}

static void test_weights_share_in_proportion(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[3] = {make(1, 10, 10 * MS), make(2, 10, 10 * MS), make(5, 10, 30 * MS)};
    enter(&l, s, 3);
    simulate(&l, s, 3, 0, 80000 * MS);
    assert_in_range(s[1].used_ns * 100 / s[0].used_ns, 195, 205);
    assert_in_range(s[2].used_ns * 100 / s[0].used_ns, 490, 510);
}

static void test_wrong_predictions_are_corrected(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[2] = {make(1, 10, 10 * MS), make(1, 10, 10 * MS)};
    s[0].predicted_ns = 1;       /* says it is quick */
    s[1].predicted_ns = 50 * MS; /* says it is slow */
    enter(&l, s, 2);
    simulate(&l, s, 2, 0, 20000 * MS);
    assert_in_range(s[0].used_ns * 100 / s[1].used_ns, 98, 102);
}

static void test_idleness_is_not_saved_up(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[2] = {make(1, 10, 10 * MS), make(1, 10, 10 * MS)};
    s[1].active = false;
    weft_share_enter(&l, &s[0].share);
    int64_t now = simulate(&l, s, 2, 0, 10000 * MS);
    weft_share_enter(&l, &s[1].share); /* comes back after ten seconds */
    s[1].active = true;
    s[1].arrival_ns = s[0].arrival_ns = now;
    s[0].used_ns = s[1].used_ns = 0;
    simulate(&l, s, 2, now, now + 1000 * MS);
    assert_in_range(s[0].used_ns * 100 / s[1].used_ns, 90, 110);
}

static void test_priority_goes_first(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000000 * MS);
    source s[2] = {make(1, 10, 10 * MS), make(1, 11, 10 * MS)};
    enter(&l, s, 2);
    simulate(&l, s, 2, 0, 5000 * MS);
    assert_int_equal(s[0].n_runs, 0); /* max_starve is far away */
    assert_int_equal(s[1].n_runs, 500);
}

/* The documented bound: a starved row goes first as soon as the others have had as much time as the starved ones. */
static void test_nothing_starves(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[3] = {make(1, 0, 50 * MS), make(1, 5, 30 * MS), make(1, 20, 10 * MS)};
    enter(&l, s, 3);
    simulate(&l, s, 3, 0, 100000 * MS);
    /* max_starve + the time of the run in progress + one starved run of the other + what the rest gets back for it */
    for (int i = 0; i < 3; i++)
        assert_true(s[i].longest_wait_ns <= 1000 * MS + 50 * MS + 30 * MS + 80 * MS);
    assert_true(s[0].n_runs >= 80 && s[1].n_runs >= 80);
    assert_true(s[2].used_ns > 90000 * MS); /* and priority keeps nearly everything */
}

static void test_a_flood_of_low_priority_takes_at_most_half(void **state)
{
    weft_lane l;
    weft_lane_init(&l, 1000 * MS);
    source s[2] = {make(1, 0, 200 * MS), make(1, 20, 7 * MS)};
    enter(&l, s, 2);
    /* A backlog: every row of s[0] has waited an hour. */
    int64_t now = 3600000 * MS;
    for (int i = 0; i < 2000; i++) {
        s[0].arrival_ns = 0;
        s[1].arrival_ns = now;
        now = simulate(&l, s, 2, now, now + 1);
    }
    double share = (double)s[1].used_ns / (double)(s[0].used_ns + s[1].used_ns);
    assert_true(share > 0.47 && share < 0.6);
    assert_true(s[0].n_runs > 10); /* and it does run */
}

static void test_within_a_share_what_is_nearest_to_an_answer(void **state)
{
    weft_lane l;
    weft_contest c;
    bool starved;
    weft_share a = {.weight = 1}, b = {.weight = 1, .vtime_ns = 5};
    weft_lane_init(&l, 1000 * MS);
    memset(&c, 0, sizeof(c));
    weft_claim prep = {.kind = WEFT_CLAIM_PREP, .rank = WEFT_CLAIM_PREP, .level = 10, .arrival_ns = 1, .share = &a};
    weft_claim run = {.kind = WEFT_CLAIM_RUN, .rank = WEFT_CLAIM_RUN, .level = 10, .arrival_ns = 2, .share = &a};
    weft_claim post = {.kind = WEFT_CLAIM_POST, .rank = WEFT_CLAIM_POST, .level = 10, .arrival_ns = 0, .share = &b};
    assert_null(weft_contest_winner(&l, &c, &starved));
    weft_contest_offer(&l, &c, &prep, 10);
    weft_contest_offer(&l, &c, &post, 10);
    weft_contest_offer(&l, &c, &run, 10);
    assert_int_equal(weft_contest_winner(&l, &c, &starved)->kind, WEFT_CLAIM_RUN); /* a's share is behind b's */
    assert_false(starved);
}

static void test_levels_are_clamped(void **state)
{
    assert_int_equal(weft_level(0, 0), 10);
    assert_int_equal(weft_level(10, 10), WEFT_LEVELS - 1);
    assert_int_equal(weft_level(-10, -10), 0);
    assert_int_equal(weft_level(-3, 5), 12);
}

/* ---- the queue ---- */
static void test_queue_order(void **state)
{
    weft_queue q;
    weft_qnode n[8];
    memset(n, 0, sizeof(n));
    weft_queue_init(&q);
    assert_null(weft_queue_first(&q));
    const int level[8] = {10, 10, 0, 20, 10, 20, 0, 20};
    const int64_t arrival[8] = {5, 3, 1, 9, 4, 2, 7, 2};
    const int want[8] = {5, 7, 3, 1, 4, 0, 2, 6}; /* equal arrival: first come */
    for (int i = 0; i < 8; i++) {
        n[i].level = level[i];
        n[i].arrival_ns = arrival[i];
        weft_queue_push(&q, &n[i]);
    }
    int k = 0;
    weft_queue_each(x, &q) assert_ptr_equal(x, &n[want[k++]]);
    assert_int_equal(k, 8);
    assert_ptr_equal(weft_queue_lower(&q, &n[5]), &n[1]);
    assert_ptr_equal(weft_queue_lower(&q, &n[1]), &n[2]);
    assert_null(weft_queue_lower(&q, &n[2]));
    for (int i = 0; i < 8; i++)
        weft_queue_remove(&q, &n[i]);
    assert_int_equal(q.n, 0);
    assert_int_equal(q.mask, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_weights_share_time_not_turns),
        cmocka_unit_test(test_weights_share_in_proportion),
        cmocka_unit_test(test_wrong_predictions_are_corrected),
        cmocka_unit_test(test_idleness_is_not_saved_up),
        cmocka_unit_test(test_priority_goes_first),
        cmocka_unit_test(test_nothing_starves),
        cmocka_unit_test(test_a_flood_of_low_priority_takes_at_most_half),
        cmocka_unit_test(test_within_a_share_what_is_nearest_to_an_answer),
        cmocka_unit_test(test_levels_are_clamped),
        cmocka_unit_test(test_queue_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
