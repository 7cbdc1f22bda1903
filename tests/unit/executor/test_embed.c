/* embed: length, choice of the output, broken vectors. */
#include "help_executor.h"

#include <math.h>

#include "base/fp.h"
#include "base/option_text.h"
#include "executor/embed/embed.h"

static void test_table_is_sound(void **state)
{
    weft_error err;
    assert_int_equal(weft_options_lint(weft_executor_embed.options, &err), WEFT_OK);
}

static void test_length(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 8, 8), out = desc_of("v", WEFT_DT_F32, 4, 1, 2, 1, 1);
    float v[] = {3.0f, -4.0f};
    const char *normalize[] = {"true", "false"};
    const float wanted[][2] = {{0.6f, -0.8f}, {3.0f, -4.0f}};
    for (int i = 0; i < 2; i++) {
        executor_bench b;
        weft_result *r;
        bench_init(&b, &weft_executor_embed, &in, &out, 1);
        bench_set(&b, "postprocess.normalize", normalize[i]);
        assert_int_equal(bench_open(&b), WEFT_OK);
        bench_picture(&b, 10, 10);
        assert_int_equal(bench_prepare(&b), WEFT_OK);
        assert_float_equal(((float *)b.row)[2 * 64], 64.0 / 255.0, 1e-6);
        weft_tensor t = tensor_of(&out, v);
        assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
        assert_int_equal(weft_result_column(r, "embedding")->tensor.shape[0], 2);
        assert_float_equal(weft_result_f32(r, "embedding", 0, 0), wanted[i][0], 1e-6);
        assert_float_equal(((float *)weft_result_column(r, "embedding")->tensor.data)[1], wanted[i][1], 1e-6);
        assert_float_equal(weft_result_f32(r, "norm", 0, 0), 5.0f, 1e-6);
        weft_result_unref(r);
        bench_fini(&b);
    }
}

static void test_vectors_without_a_length(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 8, 8), out = desc_of("v", WEFT_DT_F32, 2, 1, 2);
    float zero[] = {0, 0}, nan[] = {1, NAN}, inf[] = {-INFINITY, 1}, large[] = {3e38f, 3e38f};
    executor_bench b;
    weft_result *r;
    bench_init(&b, &weft_executor_embed, &in, &out, 1);
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_picture(&b, 10, 10);
    assert_int_equal(bench_prepare(&b), WEFT_OK);
    weft_tensor t = tensor_of(&out, zero);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_float_equal(weft_result_f32(r, "embedding", 0, 0), 0, 0);
    weft_result_unref(r);
    t = tensor_of(&out, large);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_OK);
    assert_float_equal(weft_result_f32(r, "embedding", 0, 0), sqrtf(0.5f), 1e-6);
    assert_true(isfinite(weft_result_f32(r, "norm", 0, 0)));
    weft_result_unref(r);
    t = tensor_of(&out, nan);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    t = tensor_of(&out, inf);
    assert_int_equal(bench_finish(&b, &t, 1, &r), WEFT_E_RUN_FAILED);
    bench_fini(&b);
}

static void test_output_by_name(void **state)
{
    weft_tensor_desc in = desc_of("x", WEFT_DT_F32, 4, 1, 3, 8, 8);
    weft_tensor_desc out[] = {desc_of("age", WEFT_DT_F32, 2, 1, 100), desc_of("vector", WEFT_DT_F32, 2, 1, 3)};
    executor_bench b;
    bench_init(&b, &weft_executor_embed, &in, out, 2);
    assert_int_equal(bench_open(&b), WEFT_E_CONFIG);
    assert_says(&b, "vector [1,3]");
    bench_set(&b, "postprocess.output", "vector");
    assert_int_equal(bench_open(&b), WEFT_OK);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_vectors_without_a_length),
        cmocka_unit_test(test_output_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
