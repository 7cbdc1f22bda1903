/* The allocator by itself: no library is opened, so a refused allocation is a NULL here. */
#include "ort_models.h"

#include "base/thread.h"

#define ALLOC(n) weft_ort_allocator.alloc(&weft_ort_allocator, (n))
#define RESERVE(n) weft_ort_allocator.reserve(&weft_ort_allocator, (n))
#define FREE(p) weft_ort_allocator.free(&weft_ort_allocator, (p))

static void test_heap_and_weights(void **state)
{
    weft_ort_account a = {.model = "m"};
    void *p, *q;

    p = ALLOC(100); /* a thread that works for nobody */
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    FREE(p);
    FREE(NULL);
    assert_null(ALLOC(0));
    assert_null(ALLOC(SIZE_MAX));
    assert_null(ALLOC(SIZE_MAX / 4));
    weft_ort_here.account = &a;
    atomic_store(&a.loading, true);
    p = ALLOC(1000);
    q = RESERVE(64);
    assert_int_equal(atomic_load(&a.weights_bytes), 1024 + 64);
    atomic_store(&a.loading, false);
    weft_ort_here.account = NULL;
    FREE(p); /* by any thread, at any time: the account is in the block */
    FREE(q);
    assert_int_equal(atomic_load(&a.weights_bytes), 0);
    assert_int_equal(atomic_load(&a.n_blocks), 0);
}

static void test_run_account(void **state)
{
    weft_ort_account a = {.model = "m"};
    weft_ort_scratch_counts c;
    void *p, *q;

    weft_ort_scratch_enter(&a);
    p = ALLOC(100000);
    q = ALLOC(50000);
    memset(p, 1, 100000);
    memset(q, 2, 50000);
    assert_in_range(atomic_load(&a.work_bytes), 150000, 150000 + 3 * 65536);
    FREE(p);
    p = ALLOC(64);
    FREE(q);
    FREE(p);
    weft_ort_scratch_leave(false);
    assert_int_equal(atomic_load(&a.work_bytes), 0);
    assert_int_equal(atomic_load(&a.peak_run_bytes), 100032 + 50048); /* rounded up to 64 */
    assert_int_equal(atomic_load(&a.n_blocks), 0);
    weft_ort_scratch_count(&c);
    assert_int_equal(c.n_blocks, 1);
    assert_true(c.touched_bytes >= 150000);
    weft_ort_scratch_trim(false);
    weft_ort_scratch_count(&c);
    assert_int_equal(c.touched_bytes, 0);
}

static void test_memory_is_used_again(void **state)
{
    weft_ort_account a = {.model = "a"}, b = {.model = "b"};
    weft_ort_scratch_counts c;

    /* Two models, one after the other: the block is as large as the larger one needs, not as both. */
    for (int i = 0; i < 10; i++) {
        void *p;

        weft_ort_scratch_enter(i % 2 ? &a : &b);
        p = ALLOC(i % 2 ? 8 << 20 : 3 << 20);
        memset(p, 1, 3 << 20);
        FREE(p);
        weft_ort_scratch_leave(false);
    }
    weft_ort_scratch_count(&c);
    assert_int_equal(c.n_blocks, 1);
    assert_in_range(c.touched_bytes, 8 << 20, (8 << 20) + 4096);
    assert_int_equal(atomic_load(&a.peak_run_bytes), 8 << 20);
    assert_int_equal(atomic_load(&b.peak_run_bytes), 3 << 20);
    /* 128 small runs later what nobody needs any more has gone back to the system. */
    for (int i = 0; i < 128; i++) {
        weft_ort_scratch_enter(&a);
        FREE(ALLOC(1000));
        weft_ort_scratch_leave(false);
    }
    weft_ort_scratch_count(&c);
    assert_true(c.touched_bytes < 1 << 20);
}

static void test_limit_is_exact(void **state)
{
    weft_ort_account a = {.model = "m", .limit_bytes = 1000000};
    void *p, *q;

    weft_ort.throw_bad_alloc = abort; /* a limit needs a way to refuse */
    atomic_store(&a.base_bytes, 200000);
    weft_ort_scratch_enter(&a);
    p = ALLOC(799936); /* 64 short of the limit */
    assert_non_null(p);
    q = ALLOC(64);
    assert_non_null(q);
    assert_int_equal(atomic_load(&a.work_bytes), 800000);
    weft_ort.throw_bad_alloc = NULL;
    FREE(p);
    FREE(q);
    weft_ort_scratch_leave(false);
    assert_int_equal(atomic_load(&a.work_bytes), 0);
}

static void one_too_many(void *arg)
{
    weft_ort_account a = {.model = "m", .limit_bytes = 1000};

    weft_ort.throw_bad_alloc = abort;
    weft_ort_scratch_enter(&a);
    ALLOC(960);
    ALLOC(64);
}

static void test_over_the_limit_throws(void **state)
{
    assert_true(dies(one_too_many, NULL));
}

static void test_told_to_fail(void **state)
{
    weft_ort_account a = {.model = "m"};
    void *p, *q;

    atomic_store(&a.fail_after, 2);
    weft_ort_scratch_enter(&a);
    p = ALLOC(10);
    assert_non_null(p);
    assert_false(weft_ort_here.out_of_memory);
    assert_null(ALLOC(10));
    assert_true(weft_ort_here.out_of_memory);
    q = ALLOC(10);
    assert_non_null(q);
    FREE(p);
    FREE(q);
    weft_ort_scratch_leave(false);
}

static void test_kept_blocks(void **state)
{
    weft_ort_account a = {.model = "m"}, b = {.model = "other"};
    void *kept, *p;

    weft_ort_scratch_enter(&a);
    kept = ALLOC(5000);
    memset(kept, 7, 5000);
    weft_ort_scratch_leave(false);
    assert_int_equal(atomic_load(&a.work_bytes), 5056);
    weft_ort_scratch_enter(&b);
    p = ALLOC(5000);
    memset(p, 8, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(((char *)kept)[i], 7);
    FREE(kept); /* in the run of another model */
    assert_int_equal(atomic_load(&a.work_bytes), 0);
    FREE(p);
    weft_ort_scratch_leave(false);
    assert_int_equal(atomic_load(&b.work_bytes), 0);
}

#define SLOTS 64
/* Random work: contents stay, nothing overlaps, all is given back. */
static void random_run(weft_ort_account *a, uint64_t seed)
{
    struct {
        uint8_t *p;
        size_t n;
        uint8_t fill;
    } slot[SLOTS] = {0};
    uint64_t random = seed;

    weft_ort_scratch_enter(a);
    for (int step = 0; step < 3000; step++) {
        size_t k = test_random(&random) % SLOTS;

        if (slot[k].p) {
            for (size_t i = 0; i < slot[k].n; i += 61)
                if (slot[k].p[i] != slot[k].fill)
                    fail_msg("block %zu was overwritten at %zu", k, i);
            FREE(slot[k].p);
            slot[k].p = NULL;
        } else {
            slot[k].n = 1 + test_random(&random) % (size_t)(1 << (test_random(&random) % 18));
            slot[k].fill = (uint8_t)test_random(&random);
            slot[k].p = ALLOC(slot[k].n);
            if (!slot[k].p || (uintptr_t)slot[k].p % 64)
                fail_msg("bad block");
            memset(slot[k].p, slot[k].fill, slot[k].n);
        }
    }
    for (size_t k = 0; k < SLOTS; k++)
        FREE(slot[k].p);
    weft_ort_scratch_leave(false);
}

static void test_random_work(void **state)
{
    weft_ort_account a = {.model = "m"};
    weft_ort_scratch_counts c;

    for (uint64_t seed = 1; seed <= 20; seed++)
        random_run(&a, seed);
    assert_int_equal(atomic_load(&a.work_bytes), 0);
    assert_int_equal(atomic_load(&a.n_blocks), 0);
    /* All blocks have been joined again: the next large one starts where the first did. */
    weft_ort_scratch_trim(false);
    weft_ort_scratch_enter(&a);
    FREE(ALLOC(1 << 20));
    weft_ort_scratch_leave(false);
    weft_ort_scratch_count(&c);
    assert_in_range(c.touched_bytes, 1 << 20, (1 << 20) + 4096);
}

typedef struct worker {
    weft_thread thread;
    weft_ort_account *account;
    uint64_t seed;
    void **handed; /* blocks that another thread frees */
} worker;

static void work(void *arg)
{
    worker *w = arg;

    for (uint64_t i = 0; i < 10; i++)
        random_run(w->account, w->seed * 100 + i);
    weft_ort_scratch_enter(w->account);
    for (int i = 0; i < 100; i++)
        w->handed[i] = ALLOC((size_t)(i + 1) * 100);
    weft_ort_scratch_leave(false);
}

static void test_threads(void **state)
{
    weft_ort_account a = {.model = "m"};
    void *handed[4][100];
    worker w[4];
    weft_ort_scratch_counts c;

    for (int i = 0; i < 4; i++) {
        w[i] = (worker){.account = &a, .seed = (uint64_t)i + 1, .handed = handed[i]};
        assert_int_equal(weft_thread_start(&w[i].thread, "work", work, &w[i], NULL), WEFT_OK);
    }
    for (int i = 0; i < 4; i++)
        weft_thread_join(&w[i].thread);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 100; k++)
            FREE(handed[i][k]);
    assert_int_equal(atomic_load(&a.work_bytes), 0);
    assert_int_equal(atomic_load(&a.n_blocks), 0);
    weft_ort_scratch_count(&c);
    assert_in_range(c.n_blocks, 1, 4);
    weft_ort_scratch_trim(true);
    weft_ort_scratch_count(&c);
    assert_int_equal(c.n_blocks, 0);
    assert_int_equal(c.reserved_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_and_weights),
        cmocka_unit_test(test_run_account),
        cmocka_unit_test(test_memory_is_used_again),
        cmocka_unit_test(test_limit_is_exact),
        cmocka_unit_test(test_told_to_fail),
        cmocka_unit_test(test_over_the_limit_throws),
        cmocka_unit_test(test_kept_blocks),
        cmocka_unit_test(test_random_work),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
