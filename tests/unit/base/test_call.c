#include "harness/check.h"

#include "weft/executor.h"

static weft_error err;

static void inputs(void **state)
{
    weft_input two[] = {weft_input_bytes("image", "abc", 3), weft_input_bytes("mask", "d", 1)};
    weft_input unnamed[] = {weft_input_bytes(NULL, "abc", 3), weft_input_bytes("mask", "d", 1)};
    weft_call call = {.inputs = two, .n_inputs = 2};
    const weft_input *in;

    assert_int_equal(weft_call_input(&call, "mask", &in, &err), WEFT_OK);
    assert_ptr_equal(in, &two[1]);
    assert_int_equal(weft_call_input(&call, NULL, &in, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "one input is expected; these came: \"image\", \"mask\"");
    assert_null(in);
    assert_int_equal(weft_call_input(&call, "picture", &in, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "the input \"picture\" is missing; these came: \"image\", \"mask\"");
    call.n_inputs = 1;
    assert_int_equal(weft_call_input(&call, NULL, &in, &err), WEFT_OK);
    assert_ptr_equal(in, &two[0]);
    assert_int_equal(weft_call_input(&call, "other", &in, &err), WEFT_E_INVALID);
    call = (weft_call){.inputs = unnamed, .n_inputs = 2};
    assert_int_equal(weft_call_input(&call, "image", &in, &err), WEFT_OK);
    assert_ptr_equal(in, &unnamed[0]);
    assert_int_equal(weft_call_input(&call, "mask", &in, &err), WEFT_OK);
    assert_ptr_equal(in, &unnamed[1]);
    call.n_inputs = 0;
    assert_int_equal(weft_call_input(&call, "image", &in, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "the input \"image\" is missing; these came: none");
}

static void pictures(void **state)
{
    weft_tensor one = {
        .name = "image", .dtype = WEFT_DT_STRING, .rank = 2, .shape = {1, 1}, .data = (char *)"\3\0\0\0png", .n_bytes = 7};
    weft_input in = weft_input_bytes("image", "jpeg", 4);
    weft_call call = {.inputs = &in, .n_inputs = 1};
    const void *bytes;
    size_t n;

    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_OK);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "jpeg", 4);
    in.n_bytes = 0;
    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_E_INVALID);
    assert_null(bytes);
    in = weft_input_tensor(&one);
    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "png", 3);
    in.tensor.n_bytes = 6;
    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_E_INVALID);
    in.tensor = (weft_tensor){
        .name = "image", .dtype = WEFT_DT_STRING, .rank = 1, .shape = {2}, .data = (char *)"\0\0\0\0\0\0\0\0", .n_bytes = 8};
    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "holds 2"));
    in.tensor = (weft_tensor){.name = "image", .dtype = WEFT_DT_F32, .rank = 1, .shape = {0}};
    assert_int_equal(weft_call_picture(&call, "image", &bytes, &n, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "not FP32"));
}

static void params(void **state)
{
    weft_param p[] = {{.name = "seed", .kind = WEFT_PARAM_INT, .i = 7}, {.name = NULL}};
    weft_call call = {.params = p, .n_params = 2};

    assert_ptr_equal(weft_call_param(&call, "seed"), &p[0]);
    assert_null(weft_call_param(&call, "steps"));
}

static void plan_rows(void **state)
{
    weft_tensor_desc in[] = {
        {.name = "x", .dtype = WEFT_DT_F32, .rank = 4, .shape = {-1, 3, -1, 640}},
        {.name = "scale", .dtype = WEFT_DT_F32, .rank = 1, .shape = {2}},
    };
    weft_model_view m = {
        .name = "m", .inputs = in, .n_inputs = 2, .max_batch = 4, .batched = true, .shared_input = {false, true}};
    weft_plan plan = {0};

    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){3, 480, 640}, 3, &err), WEFT_OK);
    assert_int_equal(plan.n_inputs, 1);
    assert_int_equal(plan.rows[0].rank, 3);
    assert_int_equal(plan.rows[0].shape[0], 3);
    assert_int_equal(plan.rows[0].shape[1], 480);
    assert_int_equal(plan.rows[0].dtype, WEFT_DT_F32);
    assert_null(plan.rows[0].data);
    assert_int_equal(weft_plan_row(&plan, &m, 1, (int64_t[]){2}, 1, &err), WEFT_OK); /* shared: its full shape */
    assert_int_equal(plan.n_inputs, 2);
    assert_int_equal(plan.rows[1].rank, 1);
    assert_int_equal(weft_plan_row(&plan, &m, 2, (int64_t[]){2}, 1, &err), WEFT_E_INVALID);
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){3, 480, 641}, 3, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "the input \"x\" of the model \"m\" has the shape [-1,3,-1,640] with the batch first; a row of "
                                  "shape [3,480,641] does not fit");
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){1, 3, 480, 640}, 4, &err), WEFT_E_INVALID);
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){3, -1, 640}, 3, &err), WEFT_E_INVALID);
    m.batched = false;
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){3, 480, 640}, 3, &err), WEFT_OK); /* a leading 1 is added */
    assert_int_equal(plan.rows[0].rank, 4);
    assert_int_equal(plan.rows[0].shape[0], 1);
    assert_int_equal(plan.rows[0].shape[3], 640);
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){2, 3, 480, 640}, 4, &err), WEFT_OK);
    assert_int_equal(plan.rows[0].shape[0], 2);
    in[0].shape[0] = 2;
    assert_int_equal(weft_plan_row(&plan, &m, 0, (int64_t[]){3, 480, 640}, 3, &err), WEFT_E_INVALID);
    assert_int_equal(weft_plan_row(&plan, &m, 0, NULL, 0, &err), WEFT_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inputs), cmocka_unit_test(pictures), cmocka_unit_test(params),
                                       cmocka_unit_test(plan_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
