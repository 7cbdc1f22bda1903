/* The timer thread, with a clock that only the test moves; and an engine on such a clock. */
#include "help_engine.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "engine/timer.h"

typedef struct hand {
    weft_clock clock; /* first */
    atomic_llong now_ns;
} hand;

static int64_t hand_now(weft_clock *c)
{
    return atomic_load(&((hand *)c)->now_ns);
}

static void hand_init(hand *h, int64_t now_ns)
{
    h->clock.now = hand_now;
    atomic_store(&h->now_ns, now_ns);
}

#define N 500

typedef struct probe {
    weft_timer timer;
    int64_t want_ns;
    atomic_int n_due;
    bool cleared;
} probe;

typedef struct watcher {
    hand *clock;
    int64_t last_ns;
    atomic_int n_due, n_wrong, n_rounds;
} watcher;

static void due(void *cookie, weft_timer *t)
{
    watcher *w = cookie;
    probe *p = weft_container_of(t, probe, timer);
    int64_t now = atomic_load(&w->clock->now_ns);
    if (p->want_ns > now || p->want_ns < w->last_ns || p->cleared)
        atomic_fetch_add(&w->n_wrong, 1); /* early, out of order, or cleared */
    w->last_ns = p->want_ns;
    atomic_fetch_add(&p->n_due, 1);
    atomic_fetch_add(&w->n_due, 1);
}

static void round_over(void *cookie, bool wake, bool watch)
{
    watcher *w = cookie;
    atomic_fetch_add(&w->n_rounds, 1);
}

static uint32_t random_of(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static void test_timers_fall_due_in_order_and_cleared_ones_never(void **state)
{
    static probe p[N];
    hand h;
    weft_timers ts = {0};
    watcher w = {.clock = &h};
    uint32_t seed = 7;
    int expected = 0;
    hand_init(&h, 1000);
    weft_timers_init(&ts, &h.clock);
    ts.due = due;
    ts.round = round_over;
    ts.cookie = &w;
    assert_int_equal(weft_timers_reserve(&ts, N, NULL), WEFT_OK);
    for (int i = 0; i < N; i++) {
        p[i].timer.kind = WEFT_TIMER_DEADLINE;
        p[i].want_ns = 2000 + random_of(&seed) % 100000;
        weft_timer_set(&ts, &p[i].timer, p[i].want_ns);
    }
    for (int i = 0; i < N; i++) { /* some move, some go */
        if (random_of(&seed) % 3 == 0) {
            p[i].want_ns = 2000 + random_of(&seed) % 100000;
            weft_timer_set(&ts, &p[i].timer, p[i].want_ns);
        }
        if (random_of(&seed) % 4 == 0) {
            p[i].cleared = true;
            weft_timer_clear(&ts, &p[i].timer);
            weft_timer_clear(&ts, &p[i].timer); /* twice is harmless */
        }
        expected += !p[i].cleared;
    }
    assert_int_equal(weft_timers_start(&ts, NULL), WEFT_OK);
    help_sleep_ms(5);
    assert_int_equal(atomic_load(&w.n_due), 0);
    for (int64_t now = 2000; now <= 110000; now += 6000) {
        atomic_store(&h.now_ns, now);
        int want = 0;
        for (int i = 0; i < N; i++)
            want += !p[i].cleared && p[i].want_ns <= now;
        for (int k = 0; k < 5000 && atomic_load(&w.n_due) < want; k++)
            help_sleep_ms(1);
        assert_int_equal(atomic_load(&w.n_due), want);
    }
    assert_int_equal(atomic_load(&w.n_due), expected);
    assert_int_equal(atomic_load(&w.n_wrong), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(atomic_load(&p[i].n_due), p[i].cleared ? 0 : 1);
    assert_int_equal(atomic_load(&w.n_rounds), 0); /* deadlines are only posted */
    weft_timers_stop(&ts);
    weft_timers_unreserve(&ts, N);
    weft_timers_fini(&ts);
}

static weft_engine *engine_on(hand *h)
{
    weft_engine_options o;
    weft_engine *e;
    weft_error err;
    weft_fake_reset();
    hand_init(h, 1000000000);
    help_engine_options(&o, 2);
    o.clock = &h->clock;
    help_must(weft_engine_create(&o, &e, &err), &err);
    return e;
}

static void test_a_deadline_by_the_engines_clock(void **state)
{
    hand h;
    weft_engine *e = engine_on(&h);
    help_inbox *in = help_inbox_create();
    help_model m;
    help_call c;
    help_ticket t;
    help_model_init(&m, "m");
    m.config.run_timeout_ms = 3600000;
    help_load(e, &m);
    weft_fake_hold("m", true);
    help_call_init(&c, "m", 1, 1);
    c.call.timeout_ms = 1000;
    help_start(e, in, &t, &c);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
    atomic_fetch_add(&h.now_ns, 999 * WEFT_MS);
    help_sleep_ms(20);
    assert_int_equal(help_inbox_count(in), 0);
    atomic_fetch_add(&h.now_ns, 1 * WEFT_MS);
    assert_true(help_inbox_wait(in, 1));
    assert_int_equal(t.result->timing.total_ns, 1000 * WEFT_MS);
    assert_int_equal(help_take(&t), WEFT_E_DEADLINE);
    weft_fake_hold("m", false);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

/* The whole rule on the real scheduler: nothing runs before the window ends, and what came meanwhile runs together. */
static void test_a_batch_window_by_the_engines_clock(void **state)
{
    hand h;
    weft_engine *e = engine_on(&h);
    help_inbox *in = help_inbox_create();
    help_model m;
    help_call c;
    help_ticket t[4];
    help_model_init(&m, "m");
    m.config.max_batch = 8;
    m.config.instances = 1;
    m.config.batch_window_ms = 50;
    m.config.run_timeout_ms = 3600000;
    m.fake.delay_ms = 5; /* measured by the real clock at warm-up: batches pay */
    help_load(e, &m);
    weft_fake_counts before, after;
    weft_fake_count("m", &before);
    for (int i = 0; i < 3; i++) {
        help_call_init(&c, "m", 1, (float)i);
        help_start(e, in, &t[i], &c);
        atomic_fetch_add(&h.now_ns, 10 * WEFT_MS);
    }
    help_sleep_ms(20);
    weft_fake_count("m", &after);
    assert_int_equal(after.runs_started, before.runs_started);
    atomic_fetch_add(&h.now_ns, 19 * WEFT_MS); /* 49 ms after the first */
    help_sleep_ms(20);
    weft_fake_count("m", &after);
    assert_int_equal(after.runs_started, before.runs_started);
    atomic_fetch_add(&h.now_ns, 1 * WEFT_MS);
    assert_true(help_inbox_wait(in, 3));
    weft_fake_count("m", &after);
    assert_int_equal(after.runs_started, before.runs_started + 1);
    assert_int_equal(after.history[after.n_history - 1], 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(help_take(&t[i]), WEFT_OK);
    help_call_init(&c, "m", 8, 1); /* a full batch waits for nobody */
    help_start(e, in, &t[3], &c);
    assert_true(help_inbox_wait(in, 4));
    assert_int_equal(help_take(&t[3]), WEFT_OK);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_fall_due_in_order_and_cleared_ones_never),
        cmocka_unit_test(test_a_deadline_by_the_engines_clock),
        cmocka_unit_test(test_a_batch_window_by_the_engines_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
