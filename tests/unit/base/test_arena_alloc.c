#include "harness/alloc_fault.h"
#include "harness/check.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/thread.h"

static bool use_arena(weft_chunk_pool *pool, weft_arena **a)
{
    *a = weft_arena_create(pool, 0);
    return *a && weft_arena_alloc(*a, 3000) && weft_arena_zalloc(*a, 9000) && weft_arena_array(*a, 1000, 100) &&
           weft_arena_printf(*a, "%05000d", 7) && weft_arena_strdup(*a, "text") && weft_arena_alloc(*a, 2000000);
}

static void arena_with_and_without_pool(void **state)
{
    for (int with_pool = 0; with_pool < 2; with_pool++) {
        int failures = 0;

        for (long n = 1;; n++) {
            long before = alloc_outstanding();
            weft_chunk_pool *pool;
            weft_arena *a = NULL;
            bool ok, hit;

            alloc_fault_at(n, n % 2);
            pool = with_pool ? weft_chunk_pool_create(1 << 20, 0) : NULL;
            ok = (!with_pool || pool) && use_arena(pool, &a);
            hit = alloc_fault_hit();
            alloc_fault_off();
            if (a) /* still usable after a failure */
                assert_non_null(weft_arena_alloc(a, 10000));
            weft_arena_destroy(&a);
            if (pool)
                assert_int_equal(weft_chunk_pool_out_bytes(pool), 0);
            weft_chunk_pool_destroy(&pool);
            assert_int_equal(alloc_outstanding(), before);
            assert_int_equal(ok, !hit);
            if (!hit)
                break;
            failures++;
        }
        assert_true(failures >= 4);
    }
}

static void steady_state_does_not_allocate(void **state)
{
    weft_chunk_pool *pool = weft_chunk_pool_create(64 << 20, 0);

    for (int i = 0; i < 100; i++) {
        weft_arena *a;

        if (i == 1)
            alloc_count_reset();
        assert_true(use_arena(pool, &a));
        weft_arena_destroy(&a);
    }
    assert_int_equal(alloc_count(), 0);
    weft_chunk_pool_destroy(&pool);
}

static void pool_gives_up_what_it_keeps_before_it_fails(void **state)
{
    weft_chunk_pool *pool = weft_chunk_pool_create(1 << 20, 0);
    void *c = weft_chunk_take(pool, 5000);

    weft_chunk_give(pool, c);
    alloc_fault_at(1, false);
    c = weft_chunk_take(pool, 50000);
    alloc_fault_off();
    assert_non_null(c);
    assert_int_equal(weft_chunk_pool_kept_bytes(pool), 0);
    weft_chunk_give(pool, c);
    weft_chunk_pool_destroy(&pool);
}

static void buffer(void **state)
{
    for (long n = 1;; n++) {
        weft_buffer b;
        bool hit, ok = true;
        long before = alloc_outstanding();

        weft_buffer_init(&b, 0);
        alloc_fault_at(n, false);
        for (int i = 0; i < 200; i++)
            ok = weft_buffer_puts(&b, "0123456789") && ok;
        hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(ok, !hit);
        assert_int_equal(b.failed, hit);
        if (!hit)
            assert_int_equal(b.n_bytes, 2000);
        weft_buffer_fini(&b);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
    }
}

static void nothing(void *arg)
{
}

static void thread(void **state)
{
    weft_thread t;
    weft_error err;

    alloc_fault_at(1, false);
    assert_int_equal(weft_thread_start(&t, "x", nothing, NULL, &err), WEFT_E_NO_MEMORY);
    alloc_fault_off();
    assert_false(t.started);
    weft_thread_join(&t);
}

/* The harness itself: what it says must be right, or the tests above could not fail. */
static void harness_counts(void **state)
{
    long before = alloc_outstanding(), bytes = alloc_outstanding_bytes();
    char *p, *q, *refused;

    alloc_count_reset();
    p = malloc(100);
    q = strdup("abc");
    assert_int_equal(alloc_count(), 2);
    assert_int_equal(alloc_count_thread(), 2);
    assert_int_equal(alloc_outstanding(), before + 2);
    assert_int_equal(alloc_outstanding_bytes(), bytes + 104);
    alloc_fault_at(2, false);
    p = realloc(p, 200);
    assert_non_null(p);
    refused = realloc(p, 300);
    if (refused)
        p = refused;
    assert_null(refused);
    assert_true(alloc_fault_hit());
    p = realloc(p, 400);
    assert_non_null(p);
    alloc_fault_at(1, true);
    assert_null(malloc(1));
    assert_null(calloc(1, 1));
    alloc_fault_at_thread(1, false);
    assert_null(aligned_alloc(64, 64));
    alloc_fault_off();
    assert_int_equal(alloc_outstanding(), before + 2);
    assert_int_equal(alloc_outstanding_bytes(), bytes + 404);
    free(p);
    free(q);
    free(NULL);
    assert_int_equal(alloc_outstanding(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harness_counts),
        cmocka_unit_test(arena_with_and_without_pool),
        cmocka_unit_test(steady_state_does_not_allocate),
        cmocka_unit_test(pool_gives_up_what_it_keeps_before_it_fails),
        cmocka_unit_test(buffer),
        cmocka_unit_test(thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
