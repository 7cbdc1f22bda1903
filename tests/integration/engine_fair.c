/* Fairness on the real scheduler: shares by time and weight, priority, and the starvation bound, with callers that never stop. */
#include "unit/engine/help_engine.h"

#include <stdatomic.h>
#include <string.h>

#define MS 1000000LL

/* `width` calls of one model always out. */
typedef struct flood {
    weft_engine *e;
    help_call c;
    weft_async a;
    help_inbox *in;
    atomic_bool stop;
    atomic_int n_open;
    atomic_long n_done;
    atomic_llong run_ns, longest_ns;
} flood;

static void again(void *cookie, weft_result *r)
{
    flood *f = cookie;
    atomic_fetch_add(&f->run_ns, r->timing.run_ns);
    if (r->timing.total_ns > atomic_load(&f->longest_ns))
        atomic_store(&f->longest_ns, r->timing.total_ns);
    weft_result_unref(r);
    atomic_fetch_add(&f->n_done, 1);
    if (atomic_load(&f->stop) || weft_infer_async(f->e, &f->c.call, &f->a, NULL, NULL))
        atomic_fetch_sub(&f->n_open, 1);
}

static void start(flood *f, weft_engine *e, const char *model, int width, int priority)
{
    memset(f, 0, sizeof(*f));
    f->e = e;
    help_call_init(&f->c, model, 1, 1);
    f->c.call.priority = priority;
    f->a = (weft_async){.done = again, .cookie = f};
    atomic_store(&f->n_open, width);
    for (int i = 0; i < width; i++)
        assert_int_equal(weft_infer_async(e, &f->c.call, &f->a, NULL, NULL), WEFT_OK);
}

static void clear(flood *f)
{
    atomic_store(&f->run_ns, 0);
    atomic_store(&f->n_done, 0);
    atomic_store(&f->longest_ns, 0);
}

static void stop(flood *f)
{
    atomic_store(&f->stop, true);
    while (atomic_load(&f->n_open) > 0)
        help_sleep_ms(1);
}

static weft_engine *engine(int64_t cores, double max_starve_ms)
{
    weft_engine_options o;
    weft_engine *e;
    weft_error err;
    weft_fake_reset();
    help_engine_options(&o, cores);
    o.max_starve_ms = max_starve_ms;
    help_must(weft_engine_create(&o, &e, &err), &err);
    return e;
}

static void load(weft_engine *e, const char *name, double run_ms, double weight)
{
    help_model h;
    help_model_init(&h, name);
    h.fake.delay_ms = run_ms;
    h.config.weight = weight;
    h.config.queue_size = 1000;
    help_load(e, &h);
}

static void shares(double weight, double low, double high)
{
    weft_engine *e = engine(2, 1000);
    flood pages, faces;
    load(e, "pages", 40, 1);
    load(e, "faces", 3, weight);
    start(&pages, e, "pages", 8, 0);
    start(&faces, e, "faces", 8, 0);
    help_sleep_ms(300);
    clear(&pages);
    clear(&faces);
    help_sleep_ms(3000);
    double ratio = (double)atomic_load(&faces.run_ns) / (double)atomic_load(&pages.run_ns);
    print_message("weight %g: time of faces / time of pages %.2f\n", weight, ratio);
    assert_true(ratio > low && ratio < high);
    stop(&pages);
    stop(&faces);
    weft_engine_destroy(&e);
}

static void test_equal_weights_share_the_time(void **state)
{
    shares(1, 0.75, 1.33);
}

static void test_weights(void **state)
{
    shares(3, 2.2, 3.8);
}

/* One small caller beside a flood of long runs waits for the run in progress and its own, not for the flood. */
static void test_a_small_caller_beside_a_flood(void **state)
{
    weft_engine *e = engine(1, 1000);
    flood pages;
    weft_result *r;
    weft_error err;
    load(e, "pages", 30, 1);
    load(e, "faces", 2, 1);
    start(&pages, e, "pages", 50, 0);
    help_sleep_ms(100);
    int64_t longest = 0;
    for (int i = 0; i < 20; i++) {
        help_call c;
        help_call_init(&c, "faces", 1, 1);
        int64_t t0 = help_now_ns();
        help_must(weft_infer(e, &c.call, &r, &err), &err);
        if (help_now_ns() - t0 > longest)
            longest = help_now_ns() - t0;
        weft_result_unref(r);
        help_sleep_ms(10);
    }
    print_message("longest face beside 50 pages of 30 ms: %.1f ms\n", (double)longest / MS);
    assert_true(longest <
                (30 + 2 + 30) * MS * (HELP_SLOW > 1 ? 3 : 1)); /* the page in progress and its own run, with room for noise */
    stop(&pages);
    weft_engine_destroy(&e);
}

static void test_nothing_starves_and_priority_keeps_its_place(void **state)
{
    weft_engine *e = engine(1, 200);
    flood high, low;
    load(e, "high", 2, 1);
    load(e, "low", 2, 1);
    start(&high, e, "high", 4, 10);
    start(&low, e, "low", 1, -10);
    help_sleep_ms(300);
    clear(&high);
    clear(&low);
    help_sleep_ms(3000);
    long n_low = atomic_load(&low.n_done), n_high = atomic_load(&high.n_done);
    print_message("low: %ld answers, the longest after %.0f ms; high: %ld\n", n_low, (double)atomic_load(&low.longest_ns) / MS,
                  n_high);
    assert_true(n_low >= 8); /* one each 200 ms or so */
    assert_true(atomic_load(&low.longest_ns) < (200 + 50 * (HELP_SLOW > 1 ? 4 : 1)) * MS);
    assert_true(n_high > 20 * n_low);
    stop(&high);
    stop(&low);
    weft_engine_destroy(&e);
}

/* A deep backlog of low priority, all of it past max_starve, leaves high priority half of the lane. */
static void test_a_backlog_of_low_priority_takes_half_at_most(void **state)
{
    weft_engine *e = engine(1, 50);
    flood high, low;
    load(e, "high", 4, 1);
    load(e, "low", 4, 1);
    start(&low, e, "low", 300, -10);
    help_sleep_ms(100);
    start(&high, e, "high", 4, 10);
    help_sleep_ms(100);
    clear(&high);
    clear(&low);
    help_sleep_ms(1500);
    double share = (double)atomic_load(&high.run_ns) / (double)(atomic_load(&high.run_ns) + atomic_load(&low.run_ns));
    print_message("high priority has %.0f %% of the lane beside 300 starved requests\n", 100 * share);
    assert_true(share > 0.42 && share < (HELP_SLOW > 1 ? 0.85 : 0.7)); /* whole runs: it may get one more than its half */
    stop(&high);
    stop(&low);
    weft_engine_destroy(&e);
}

/* A run of several cores gets them, although runs of one core never stop. */
static void test_a_wide_run_gets_its_cores(void **state)
{
    weft_engine *e = engine(4, 1000);
    flood narrow, wide;
    help_model h;
    load(e, "narrow", 3, 1);
    help_model_init(&h, "wide");
    h.config.threads = 4;
    h.fake.delay_ms = 3;
    help_load(e, &h);
    start(&narrow, e, "narrow", 16, 0);
    start(&wide, e, "wide", 2, 0);
    help_sleep_ms(2000);
    long n_wide = atomic_load(&wide.n_done), n_narrow = atomic_load(&narrow.n_done);
    print_message("wide %ld, narrow %ld\n", n_wide, n_narrow);
    assert_true(n_wide > 100); /* it has half of 2 s in runs of 3 ms */
    assert_true(n_narrow > 400);
    stop(&narrow);
    stop(&wide);
    weft_engine_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_weights_share_the_time),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_a_small_caller_beside_a_flood),
        cmocka_unit_test(test_nothing_starves_and_priority_keeps_its_place),
        cmocka_unit_test(test_a_backlog_of_low_priority_takes_half_at_most),
        cmocka_unit_test(test_a_wide_run_gets_its_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
