#include "harness/cmocka_all.h"

#include <math.h>

#include "vision/ranking.h"

static void test_softmax(void **state)
{
    /* e^0, e^ln2, e^ln5 = 1, 2, 5 of 8. */
    float v[] = {0.0f, 0.69314718f, 1.60943791f};
    weft_softmax(v, 3);
    assert_float_equal(v[0], 0.125, 1e-6);
    assert_float_equal(v[1], 0.25, 1e-6);
    assert_float_equal(v[2], 0.625, 1e-6);
}

static void test_softmax_of_large_values(void **state)
{
    float v[] = {1000.0f, 1000.0f, -INFINITY, -1000.0f};
    weft_softmax(v, 4);
    assert_float_equal(v[0], 0.5, 0);
    assert_float_equal(v[1], 0.5, 0);
    assert_float_equal(v[2], 0, 0);
    assert_float_equal(v[3], 0, 0);
}

static void test_sigmoid(void **state)
{
    assert_float_equal(weft_sigmoid(0), 0.5, 0);
    assert_float_equal(weft_sigmoid(1.09861229f), 0.75, 1e-6); /* ln 3 */
    assert_float_equal(weft_sigmoid(1e6f), 1, 0);
    assert_float_equal(weft_sigmoid(-1e6f), 0, 0);
}

static void test_is_distribution(void **state)
{
    const float yes[] = {0.7f, 0.2f, 0.1f}, over[] = {0.7f, 0.7f, 0.7f}, logits[] = {2.0f, -1.0f, 0.0f}, nan[] = {NAN, 1.0f};
    assert_true(weft_is_distribution(yes, 3));
    assert_false(weft_is_distribution(over, 3));
    assert_false(weft_is_distribution(logits, 3));
    assert_false(weft_is_distribution(nan, 2));
    const float one = 0.3f, outside = 3.0f;
    assert_true(weft_is_distribution(&one, 1));
    assert_false(weft_is_distribution(&outside, 1));
}

static void test_count_broken(void **state)
{
    const float v[] = {1.0f, NAN, INFINITY, -INFINITY, -3.0f, -NAN};
    assert_int_equal(weft_count_broken(v, 6), 3);
}

static void test_top_k(void **state)
{
    const float v[] = {0.1f, 0.9f, 0.5f, 0.9f, 0.3f};
    weft_ranked best[8];
    assert_int_equal(weft_top_k(v, 5, best, 3), 3);
    const int32_t wanted[] = {1, 3, 2};
    for (int i = 0; i < 3; i++)
        assert_int_equal(best[i].index, wanted[i]);
    assert_float_equal(best[2].score, 0.5f, 0);
    assert_int_equal(weft_top_k(v, 5, best, 8), 5);
    assert_int_equal(best[4].index, 0);
    assert_int_equal(weft_top_k(v, 5, best, 0), 0);
    assert_int_equal(weft_top_k(v, 0, best, 3), 0);
}

static void test_top_k_of_a_permutation(void **state)
{
    float v[1009]; /* a prime, so that i * 401 runs through every rest once */
    for (int i = 0; i < 1009; i++)
        v[i] = (float)(i * 401 % 1009);
    weft_ranked best[100];
    assert_int_equal(weft_top_k(v, 1009, best, 100), 100);
    for (int i = 0; i < 100; i++) {
        assert_float_equal(best[i].score, 1008 - i, 0);
        assert_int_equal(best[i].index * 401 % 1009, 1008 - i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_softmax_of_large_values),
        cmocka_unit_test(test_sigmoid),
        cmocka_unit_test(test_is_distribution),
        cmocka_unit_test(test_count_broken),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_k_of_a_permutation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
