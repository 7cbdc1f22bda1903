#include "harness/check.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

static weft_lock low, high;
static weft_cond cond;
static int turn;

static void setup(void)
{
    weft_lock_init(&low, "low", 10);
    weft_lock_init(&high, "high", 20);
    weft_cond_init(&cond);
}

static void takes_twice(void *arg)
{
    weft_lock_take(&low);
    weft_lock_take(&low);
}
static void drops_unheld(void *arg)
{
    weft_lock_drop(&low);
}
static void waits_unheld(void *arg)
{
    weft_cond_wait(&cond, &low);
}
static void fini_held(void *arg)
{
    weft_lock_take(&low);
    weft_lock_fini(&low);
}
static void wrong_order(void *arg)
{
    weft_lock_take(&high);
    weft_lock_take(&low);
}
static void same_rank(void *arg)
{
    weft_lock other;

    weft_lock_init(&other, "other", 10);
    weft_lock_take(&low);
    weft_lock_take(&other);
}
static void waits_on_outer(void *arg)
{
    weft_lock_take(&low);
    weft_lock_take(&high);
    weft_cond_wait_until(&cond, &low, 0);
}
static void asserts_held(void *arg)
{
    weft_assert_held(&low);
}
static void right_order(void *arg)
{
    weft_lock_take(&low);
    weft_lock_take(&high);
    weft_assert_held(&low);
    weft_lock_drop(&low); /* any order of dropping is right */
    weft_lock_drop(&high);
    weft_lock_take(&low);
    weft_cond_wait_until(&cond, &low, 0);
    weft_lock_take(&high);
    weft_lock_drop(&high);
    weft_lock_drop(&low);
}

static void misuse_aborts(void **state)
{
    setup();
    assert_true(dies(takes_twice, NULL));
    assert_true(dies(drops_unheld, NULL));
    assert_true(dies(waits_unheld, NULL));
    assert_true(dies(fini_held, NULL));
    assert_true(dies(asserts_held, NULL));
    assert_false(dies(right_order, NULL));
#ifndef NDEBUG
    assert_true(dies(wrong_order, NULL));
    assert_true(dies(same_rank, NULL));
    assert_true(dies(waits_on_outer, NULL));
#else
    (void)wrong_order;
    (void)same_rank;
    (void)waits_on_outer;
#endif
}

static void play(void *arg)
{
    int me = (int)(uintptr_t)arg;

    for (int i = 0; i < 500; i++) {
        weft_lock_take(&low);
        while (turn % 2 != me)
            weft_cond_wait(&cond, &low);
        assert_true(weft_lock_held(&low));
        turn++;
        weft_cond_broadcast(&cond);
        weft_lock_drop(&low);
        assert_false(weft_lock_held(&low));
    }
}

static void ping_pong(void **state)
{
    weft_thread t[2];

    setup();
    turn = 0;
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(weft_thread_start(&t[i], "a name longer than the kernel keeps", play, (void *)i, NULL), WEFT_OK);
    weft_thread_join(&t[0]);
    weft_thread_join(&t[1]);
    weft_thread_join(&t[1]);
    assert_int_equal(turn, 1000);
    weft_cond_fini(&cond);
    weft_lock_fini(&low);
    weft_lock_fini(&high);
}

static void time_out(void **state)
{
    int64_t start = weft_now_ns();

    setup();
    weft_lock_take(&low);
    assert_false(weft_cond_wait_until(&cond, &low, start + 20 * WEFT_MS));
    assert_true(weft_now_ns() - start >= 20 * WEFT_MS); /* never early: a scheduler that wakes early spins */
    assert_false(weft_cond_wait_until(&cond, &low, -5));
    weft_lock_drop(&low);
}

static void held_by_another(void *arg)
{
    *(bool *)arg = weft_lock_held(&low);
}

static void owner_is_the_thread(void **state)
{
    weft_thread t;
    bool held = true;

    setup();
    weft_lock_take(&low);
    assert_int_equal(weft_thread_start(&t, "other", held_by_another, &held, NULL), WEFT_OK);
    weft_thread_join(&t);
    assert_false(held);
    assert_true(weft_lock_held(&low));
    weft_lock_drop(&low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(misuse_aborts), cmocka_unit_test(ping_pong), cmocka_unit_test(time_out),
                                       cmocka_unit_test(owner_is_the_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
