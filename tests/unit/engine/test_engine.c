/* One request, many requests, and how they end. */
#include "help_engine.h"

#include <stdio.h>
#include <string.h>

static void test_one_synchronous_call(void **state)
{
    weft_engine *e = help_engine(0);
    help_model h;
    help_call c;
    weft_result *r;
    weft_error err;
    help_model_init(&h, "m");
    help_load(e, &h);
    help_call_init(&c, "m", 1, 3);
    c.call.id = "req-1";
    help_must(weft_infer(e, &c.call, &r, &err), &err);
    for (int j = 0; j < 4; j++)
        assert_true(help_y(r, 0, j) == help_want(3, j));
    assert_string_equal(r->id, "req-1");
    assert_string_equal(r->model, "m");
    assert_string_equal(r->version, "1");
    assert_true(r->timing.total_ns > 0);
    assert_int_equal(r->timing.n_runs, 1);
    weft_engine_destroy(&e);
    assert_true(help_y(r, 0, 0) == help_want(3, 0)); /* a result outlives its engine */
    weft_result_unref(r);
    assert_null(e);
}

static void test_many_asynchronous_calls(void **state)
{
    weft_engine *e = help_engine(0);
    help_inbox *b = help_inbox_create();
    help_model h;
    static help_ticket t[100];
    help_call c;
    help_model_init(&h, "m");
    help_load(e, &h);
    for (int i = 0; i < 100; i++) {
        help_call_init(&c, "m", 1, (float)i);
        help_start(e, b, &t[i], &c);
    }
    assert_true(help_inbox_wait(b, 100));
    for (int i = 0; i < 100; i++) {
        assert_true(help_y(t[i].result, 0, 1) == help_want((float)i, 1));
        assert_int_equal(help_take(&t[i]), WEFT_OK);
    }
    weft_model_stats s;
    assert_int_equal(weft_engine_model_stats(e, "m", &s, NULL), WEFT_OK);
    assert_int_equal(s.accepted, 100);
    assert_int_equal(s.succeeded, 100);
    assert_int_equal(s.queued, 0);
    weft_engine_destroy(&e);
    help_inbox_destroy(b);
}

static void test_wrong_calls_are_refused(void **state)
{
    weft_engine *e = help_engine(0);
    help_model h;
    help_call c;
    weft_result *r;
    weft_error err;
    help_model_init(&h, "model");
    help_load(e, &h);
    help_call_init(&c, "modle", 1, 3);
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "\"model\""));
    assert_null(r);
    help_call_init(&c, "model", 1, 3);
    c.input.tensor.shape[1] = 5;
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    help_call_init(&c, "model", 1, 3);
    c.input.tensor.dtype = WEFT_DT_I32;
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "FP32"));
    help_call_init(&c, "model", 1, 3);
    c.input.name = c.input.tensor.name = "z";
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "\"x\""));
    help_call_init(&c, "model", 1, 3);
    c.call.n_inputs = 0;
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "missing"));
    help_call_init(&c, "model", 1, 3);
    c.call.priority = 11;
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    help_call_init(&c, "model", 1, 3);
    c.call.version = "2";
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_NOT_FOUND);
    help_call_init(&c, "model", 1, 3);
    const char *none = "nothing";
    c.call.outputs = &none;
    c.call.n_outputs = 1;
    assert_int_equal(weft_infer(e, &c.call, &r, &err), WEFT_E_INVALID);
    weft_model_stats s;
    weft_engine_model_stats(e, "model", &s, NULL);
    assert_int_equal(s.accepted, 0);
    assert_int_equal(s.queued, 0);
    weft_engine_destroy(&e);
}

static void test_preprocess_and_postprocess(void **state)
{
    weft_engine *e = help_engine(0);
    help_model h;
    weft_error err;
    weft_result *r;
    help_model_init(&h, "m");
    h.config.type = "bytes";
    h.config.max_batch = 4;
    help_load(e, &h);
    const uint8_t bytes[6] = {1, 2, 3, 4, 5, 6}; /* more rows than one run takes */
    weft_input in = weft_input_bytes("bytes", bytes, 6);
    weft_call call = {.model = "m", .inputs = &in, .n_inputs = 1};
    help_must(weft_infer(e, &call, &r, &err), &err);
    assert_int_equal(r->n_items, 6);
    for (size_t i = 0; i < 6; i++)
        assert_true(((const float *)r->columns[0].tensor.data)[i] == 4 * (float)bytes[i]);
    assert_int_equal(r->timing.n_runs, 2);
    weft_result_unref(r);
    const uint8_t bad[2] = {1, 255};
    in = weft_input_bytes("bytes", bad, 2);
    assert_int_equal(weft_infer(e, &call, &r, &err), WEFT_E_UNPROCESSABLE);
    in = weft_input_bytes("bytes", bytes, 1);
    weft_param p = {.name = "post_fail", .kind = WEFT_PARAM_BOOL, .i = 1};
    call.params = &p;
    call.n_params = 1;
    assert_int_equal(weft_infer(e, &call, &r, &err), WEFT_E_INTERNAL);
    weft_engine_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_synchronous_call),
        cmocka_unit_test(test_many_asynchronous_calls),
        cmocka_unit_test(test_wrong_calls_are_refused),
        cmocka_unit_test(test_preprocess_and_postprocess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
