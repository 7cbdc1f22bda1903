#include "harness/check.h"

#include "base/hash.h"

static void equal_bytes_equal_hash(void **state)
{
    uint8_t a[80], b[88];
    uint64_t seed = 3;

    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (uint8_t)test_random(&seed);
    for (size_t n = 0; n <= sizeof a; n++)
        for (size_t shift = 0; shift < 8; shift++) { /* alignment must not matter */
            memcpy(b + shift, a, n);
            assert_int_equal(weft_hash(WEFT_HASH_SEED, a, n), weft_hash(WEFT_HASH_SEED, b + shift, n));
        }
    assert_int_equal(weft_hash_str(WEFT_HASH_SEED, "abc"), weft_hash(WEFT_HASH_SEED, "abc", 3));
}

static void parts_are_told_apart(void **state)
{
    uint64_t ab_c = weft_hash_str(weft_hash_str(WEFT_HASH_SEED, "ab"), "c");

    assert_int_not_equal(ab_c, weft_hash_str(weft_hash_str(WEFT_HASH_SEED, "a"), "bc"));
    assert_int_not_equal(weft_hash(1, "\0", 1), weft_hash(1, "\0\0", 2));
    assert_int_not_equal(weft_hash(1, NULL, 0), weft_hash(2, NULL, 0));
}

/* One flipped bit of the input flips about half of the output, for every input bit and length. */
static void avalanche(void **state)
{
    for (size_t n = 1; n <= 40; n += 3)
        for (size_t bit = 0; bit < n * 8; bit++) {
            int flips = 0;
            uint64_t seed = 7;

            for (int round = 0; round < 64; round++) {
                uint8_t data[40];
                uint64_t before;

                for (size_t i = 0; i < n; i++)
                    data[i] = (uint8_t)test_random(&seed);
                before = weft_hash(WEFT_HASH_SEED, data, n);
                data[bit / 8] ^= (uint8_t)(1 << bit % 8);
                flips += __builtin_popcountll(before ^ weft_hash(WEFT_HASH_SEED, data, n));
            }
            assert_in_range(flips, 64 * 26, 64 * 38); /* mean 32 of 64, standard deviation of the mean 0.5 */
        }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void no_collisions_among_counters(void **state)
{
    enum { N = 100000 };
    uint64_t *h = malloc(N * sizeof *h);

    for (uint64_t i = 0; i < N; i++)
        h[i] = weft_hash(WEFT_HASH_SEED, &i, sizeof i);
    qsort(h, N, sizeof *h, compare);
    for (int i = 1; i < N; i++)
        assert_true(h[i] != h[i - 1]);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_bytes_equal_hash), cmocka_unit_test(parts_are_told_apart),
                                       cmocka_unit_test(avalanche), cmocka_unit_test(no_collisions_among_counters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
