#include "harness/check.h"

#include "base/arena.h"
#include "base/asan.h"
#include "base/thread.h"

static void alignment_and_contents(void **state)
{
    weft_chunk_pool *pool = weft_chunk_pool_create(1 << 20, 0);
    weft_arena *a = weft_arena_create(pool, 0);
    uint64_t seed = 1;
    struct {
        uint8_t *p;
        size_t n;
    } blocks[600];

    assert_non_null(a);
    assert_int_equal(weft_arena_bytes(a), 4096);
    for (int i = 0; i < 600; i++) {
        blocks[i].n = test_random(&seed) % (i % 50 ? 300 : 70000);
        blocks[i].p = weft_arena_alloc(a, blocks[i].n);
        assert_non_null(blocks[i].p);
        assert_int_equal((uintptr_t)blocks[i].p % (blocks[i].n >= 64 ? 64 : 16), 0);
        memset(blocks[i].p, i & 255, blocks[i].n);
    }
    for (int i = 0; i < 600; i++) /* no two of them overlap */
        for (size_t k = 0; k < blocks[i].n; k++)
            assert_int_equal(blocks[i].p[k], i & 255);
    assert_int_equal(weft_arena_bytes(a), weft_chunk_pool_out_bytes(pool));
    weft_arena_destroy(&a);
    assert_null(a);
    weft_arena_destroy(&a);
    weft_arena_destroy(NULL);
    assert_int_equal(weft_chunk_pool_out_bytes(pool), 0);
    weft_chunk_pool_destroy(&pool);
    assert_null(pool);
}

static void first_bytes_are_there_at_once(void **state)
{
    for (size_t n = 1; n < 40000; n = n * 3 + 1) {
        weft_arena *a = weft_arena_create(NULL, n);
        size_t bytes = weft_arena_bytes(a);

        assert_non_null(weft_arena_alloc(a, n));
        assert_int_equal(weft_arena_bytes(a), bytes);
        weft_arena_destroy(&a);
    }
}

static void strings_and_arrays(void **state)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    uint64_t *array = weft_arena_array(a, 1000, sizeof *array);
    char *s;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], 0);
    assert_null(weft_arena_array(a, SIZE_MAX / 2, 4));
    assert_null(weft_arena_array(a, SIZE_MAX / 8, 8));
    assert_null(weft_arena_alloc(a, SIZE_MAX));
    assert_null(weft_arena_alloc(a, SIZE_MAX - 63));
    assert_non_null(weft_arena_alloc(a, 0));
    assert_null(weft_arena_strdup(a, NULL));
    assert_null(weft_arena_strndup(a, NULL, 4));
    s = weft_arena_strdup(a, "hello");
    assert_string_equal(s, "hello");
    assert_string_equal(weft_arena_strndup(a, "hello", 3), "hel");
    assert_string_equal(weft_arena_strndup(a, "hello", 30), "hello");
    assert_string_equal(weft_arena_printf(a, "%s-%d", s, 42), "hello-42");
    assert_string_equal(weft_arena_printf(a, "%s", ""), "");
    weft_arena_destroy(&a);
    assert_null(weft_arena_create(NULL, SIZE_MAX));
}

static void large_pieces_do_not_end_the_current_one(void **state)
{
    weft_arena *a = weft_arena_create(NULL, 4096);
    char *first = weft_arena_alloc(a, 16), *second;

    assert_non_null(weft_arena_alloc(a, 1000000));
    second = weft_arena_alloc(a, 16);
    assert_in_range(second - first, 16, 64);
    weft_arena_destroy(&a);
}

static void pool_classes(void **state)
{
    weft_chunk_pool *p = weft_chunk_pool_create(0, 0);
    static const struct {
        size_t ask, get;
    } cases[] = {{0, 1024},
                 {1, 1024},
                 {1024, 1024},
                 {1025, 1536},
                 {1536, 1536},
                 {1537, 2048},
                 {2049, 3072},
                 {3073, 4096},
                 {1 << 20, 1 << 20},
                 {(1 << 20) + 1, 3 << 19},
                 {(3 << 19) + 1, 1 << 21}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *c = weft_chunk_take(p, cases[i].ask);

        assert_non_null(c);
        assert_int_equal((uintptr_t)c % 64, 0);
        assert_int_equal(weft_chunk_bytes(c), cases[i].get);
        assert_int_equal(weft_chunk_pool_out_bytes(p), cases[i].get);
        memset(c, 1, cases[i].get);
        weft_chunk_give(p, c);
        assert_int_equal(weft_chunk_pool_kept_bytes(p), 0); /* keep_bytes is 0 */
    }
    assert_null(weft_chunk_take(p, SIZE_MAX));
    assert_null(weft_chunk_take(p, SIZE_MAX / 2));
    assert_int_equal(weft_chunk_pool_out_bytes(p), 0);
    weft_chunk_give(p, NULL);
    weft_chunk_pool_destroy(&p);
    weft_chunk_pool_destroy(&p);
    weft_chunk_pool_destroy(NULL);
}

static void pool_keeps_and_evicts_the_oldest(void **state)
{
    weft_chunk_pool *p = weft_chunk_pool_create(8192, 0);
    void *a = weft_chunk_take(p, 4096), *b = weft_chunk_take(p, 4096), *c = weft_chunk_take(p, 2048), *again;

    weft_chunk_give(p, a);
    weft_chunk_give(p, b);
    assert_int_equal(weft_chunk_pool_kept_bytes(p), 8192);
    weft_chunk_give(p, c); /* a, the oldest, must go */
    assert_int_equal(weft_chunk_pool_kept_bytes(p), 6144);
    assert_int_equal(weft_chunk_pool_out_bytes(p), 0);
    again = weft_chunk_take(p, 4000);
    assert_ptr_equal(again, b); /* recycled */
    assert_int_equal(weft_chunk_pool_kept_bytes(p), 2048);
    weft_chunk_give(p, again);
    again = weft_chunk_take(p, 100000);
    weft_chunk_give(p, again); /* larger than all that may be kept: freed, the others stay */
    assert_int_equal(weft_chunk_pool_kept_bytes(p), 6144);
    weft_chunk_pool_destroy(&p);
}

static void pool_limit(void **state)
{
    weft_chunk_pool *p = weft_chunk_pool_create(1 << 20, 10000);
    void *a = weft_chunk_take(p, 8000), *b; /* 8192 */

    assert_non_null(a);
    assert_null(weft_chunk_take(p, 2000)); /* 2048 more would be 10240 */
    assert_null(weft_chunk_take(p, 20000));
    b = weft_chunk_take(p, 1500);
    assert_non_null(b);
    assert_int_equal(weft_chunk_pool_out_bytes(p), 8192 + 1536);
    weft_chunk_give(p, a);
    a = weft_chunk_take(p, 8000);
    assert_non_null(a);
    weft_chunk_give(p, a);
    weft_chunk_give(p, b);
    weft_chunk_pool_destroy(&p);
}

static void give_twice(void *arg)
{
    void *c;
    weft_chunk_pool *p = weft_chunk_pool_create(1 << 20, 0);

    c = weft_chunk_take(p, 100);
    weft_chunk_give(p, c);
    weft_chunk_give(p, c);
}

static void destroy_with_a_chunk_out(void *arg)
{
    weft_chunk_pool *p = weft_chunk_pool_create(1 << 20, 0);

    weft_chunk_take(p, 100);
    weft_chunk_pool_destroy(&p);
}

static void misuse_aborts(void **state)
{
    assert_true(dies(give_twice, NULL));
    assert_true(dies(destroy_with_a_chunk_out, NULL));
}

/* Under AddressSanitizer, one byte past an allocation, and idle memory of the pool, are seen. */
static void one_past(void *arg)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    volatile char *p = weft_arena_alloc(a, *(size_t *)arg);

    weft_arena_alloc(a, 100);
    p[*(size_t *)arg] = 1;
}

static void after_give(void *arg)
{
    weft_chunk_pool *pool = weft_chunk_pool_create(1 << 20, 0);
    volatile char *p = weft_chunk_take(pool, 100);

    weft_chunk_give(pool, (void *)p);
    p[50] = 1;
}

static void overflows_are_seen(void **state)
{
#ifdef WEFT_ASAN
    for (size_t n = 1; n < 200; n += n < 17 ? 1 : 23)
        assert_true(dies(one_past, &n));
    assert_true(dies(after_give, NULL));
#else
    (void)one_past;
    (void)after_give;
    skip();
#endif
}

#define N_THREADS 4
static weft_chunk_pool *shared_pool;

static void churn(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    uint8_t *mine[16] = {0};

    for (int i = 0; i < 20000; i++) {
        size_t k = test_random(&seed) % 16;

        if (mine[k])
            assert_int_equal(*mine[k], (uint8_t)(uintptr_t)arg);
        weft_chunk_give(shared_pool, mine[k]);
        mine[k] = weft_chunk_take(shared_pool, test_random(&seed) % 20000);
        if (mine[k])
            *mine[k] = (uint8_t)(uintptr_t)arg;
        assert_true(weft_chunk_pool_out_bytes(shared_pool) <= 400000);
        assert_true(weft_chunk_pool_kept_bytes(shared_pool) <= 100000);
    }
    for (int k = 0; k < 16; k++)
        weft_chunk_give(shared_pool, mine[k]);
}

static void many_threads(void **state)
{
    weft_thread t[N_THREADS];

    shared_pool = weft_chunk_pool_create(100000, 400000);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(weft_thread_start(&t[i], "churn", churn, (void *)(i + 1), NULL), WEFT_OK);
    for (int i = 0; i < N_THREADS; i++)
        weft_thread_join(&t[i]);
    assert_int_equal(weft_chunk_pool_out_bytes(shared_pool), 0);
    weft_chunk_pool_destroy(&shared_pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alignment_and_contents),
        cmocka_unit_test(first_bytes_are_there_at_once),
        cmocka_unit_test(strings_and_arrays),
        cmocka_unit_test(large_pieces_do_not_end_the_current_one),
        cmocka_unit_test(pool_classes),
        cmocka_unit_test(pool_keeps_and_evicts_the_oldest),
        cmocka_unit_test(pool_limit),
        cmocka_unit_test(misuse_aborts),
        cmocka_unit_test(overflows_are_seen),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
