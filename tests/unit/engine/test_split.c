/* Batches, and what a failed one means for the requests in it. */
#include "help_engine.h"

#include <string.h>

typedef struct bench {
    weft_engine *e;
    help_inbox *in;
    help_model h;
    help_ticket first, t[64];
    help_call c;
    int n;
} bench;

/* One instance on one core; batches pay (5 ms a run, whatever its rows). */
static void begin(bench *b)
{
    memset(b, 0, sizeof(*b));
    weft_fake_reset();
    b->e = help_engine(1);
    b->in = help_inbox_create();
    help_model_init(&b->h, "m");
    b->h.config.max_batch = 8;
    b->h.config.instances = 1;
    b->h.fake.delay_ms = 5;
}

/* Holds the instance with one call while the others queue up. */
static void hold(bench *b)
{
    help_load(b->e, &b->h);
    weft_fake_hold("m", true);
    help_call_init(&b->c, "m", 1, 1000);
    help_start(b->e, b->in, &b->first, &b->c);
    assert_true(weft_fake_wait_waiting("m", 1, 5000));
}

static void add(bench *b, int64_t n_rows, float v)
{
    help_call_init(&b->c, "m", n_rows, v);
    help_start(b->e, b->in, &b->t[b->n++], &b->c);
}

static void go(bench *b)
{
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(b->in, b->n + 1));
    assert_int_equal(help_take(&b->first), WEFT_OK);
}

static void expect_ok(bench *b, int i, int64_t n_rows, float v)
{
    if (b->t[i].result->error.status)
        fail_msg("%d: %s", i, b->t[i].result->error.text);
    for (int64_t r = 0; r < n_rows; r++)
        assert_true(help_y(b->t[i].result, r, 2) == help_want(v + (float)r, 2));
    help_take(&b->t[i]);
}

static void end(bench *b)
{
    weft_engine_destroy(&b->e);
    help_inbox_destroy(b->in);
}

static void last_runs(int64_t *rows, size_t n)
{
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_true(c.n_history >= n);
    memcpy(rows, c.history + c.n_history - n, n * sizeof(*rows));
}

static void test_what_is_ready_runs_together(void **state)
{
    bench b;
    int64_t rows[2];
    begin(&b);
    hold(&b);
    for (int i = 0; i < 8; i++)
        add(&b, 1, (float)i);
    go(&b);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(b.t[i].result->timing.batch_rows, 8);
        expect_ok(&b, i, 1, (float)i);
    }
    last_runs(rows, 2);
    assert_int_equal(rows[0], 1);
    assert_int_equal(rows[1], 8);
    weft_model_stats s;
    weft_engine_model_stats(b.e, "m", &s, NULL);
    assert_int_equal(s.batch_rows[7], 1);
    assert_int_equal(s.rows, 9);
    end(&b);
}

static void test_rows_of_one_request_stay_together(void **state)
{
    bench b;
    int64_t rows[2];
    begin(&b);
    hold(&b);
    add(&b, 3, 10);
    add(&b, 4, 20);
    add(&b, 4, 30); /* does not fit beside the two */
    add(&b, 1, 40); /* does */
    go(&b);
    expect_ok(&b, 0, 3, 10);
    expect_ok(&b, 1, 4, 20);
    expect_ok(&b, 2, 4, 30);
    expect_ok(&b, 3, 1, 40);
    last_runs(rows, 2);
    assert_int_equal(rows[0], 8);
    assert_int_equal(rows[1], 4);
    end(&b);
}

static void test_a_request_larger_than_a_run(void **state)
{
    bench b;
    begin(&b);
    hold(&b);
    add(&b, 21, 5);
    go(&b);
    assert_int_equal(b.t[0].result->timing.n_runs, 3);
    expect_ok(&b, 0, 21, 5);
    weft_fake_counts c;
    weft_fake_count("m", &c);
    assert_int_equal(c.largest_rows, 8);
    end(&b);
}

static void test_shapes_do_not_mix(void **state)
{
    static const int64_t free_shape[2] = {-1, -1};
    static weft_fake_tensor in = {.name = "x", .dtype = WEFT_DT_F32, .shape = {2, (void *)free_shape}};
    bench b;
    begin(&b);
    b.h.fake.inputs = (weft_list){1, &in};
    hold(&b);
    for (int i = 0; i < 6; i++) {
        help_call_init(&b.c, "m", 1, (float)i);
        b.c.input.tensor.shape[1] = i % 2 ? 4 : 2;
        b.c.input.tensor.n_bytes = i % 2 ? 16 : 8;
        help_start(b.e, b.in, &b.t[b.n++], &b.c);
    }
    go(&b);
    for (int i = 0; i < 6; i++) {
        assert_true(help_y(b.t[i].result, 0, 0) == (i % 2 ? 4 : 2) * (float)i);
        assert_int_equal(b.t[i].result->timing.batch_rows, 3);
        help_take(&b.t[i]);
    }
    end(&b);
}

static void test_shared_inputs_must_be_equal(void **state)
{
    static const int64_t row[2] = {-1, 4}, one[1] = {1};
    static weft_fake_tensor in[2] = {{.name = "x", .dtype = WEFT_DT_F32, .shape = {2, (void *)row}},
                                     {.name = "s", .dtype = WEFT_DT_F32, .shape = {1, (void *)one}}};
    bench b;
    begin(&b);
    b.h.fake.inputs = (weft_list){2, in};
    help_load(b.e, &b.h);
    weft_fake_hold("m", true);
    float s[7] = {0, 1, 2, 1, 2, 1, 2};
    for (int i = 0; i < 7; i++) {
        weft_input inputs[2];
        help_call_init(&b.c, "m", 1, 1);
        weft_tensor t = {.name = "s", .dtype = WEFT_DT_F32, .rank = 1, .shape = {1}, .data = &s[i], .n_bytes = 4};
        inputs[0] = b.c.input;
        inputs[1] = weft_input_tensor(&t);
        b.c.call.inputs = inputs;
        b.c.call.n_inputs = 2;
        help_start(b.e, b.in, i ? &b.t[b.n++] : &b.first, &b.c);
        if (!i)
            assert_true(weft_fake_wait_waiting("m", 1, 5000));
    }
    go(&b);
    for (int i = 0; i < 6; i++) {
        assert_true(help_y(b.t[i].result, 0, 0) == 4 + 2 * s[i + 1]);
        assert_int_equal(b.t[i].result->timing.batch_rows, 3);
        help_take(&b.t[i]);
    }
    end(&b);
}

static void test_a_model_whose_rows_mix_is_not_batched(void **state)
{
    static const int64_t row[2] = {-1, 4};
    static weft_fake_tensor out = {
        .name = "y", .dtype = WEFT_DT_F32, .shape = {2, (void *)row}, .size = WEFT_SIZE_FIXED, .values = WEFT_FAKE_MIX};
    bench b;
    const weft_model_info *info;
    begin(&b);
    b.h.fake.outputs = (weft_list){1, &out};
    hold(&b);
    assert_int_equal(weft_engine_model_info(b.e, "m", &info, NULL), WEFT_OK);
    assert_false(info->batched);
    weft_model_info_unref(info);
    for (int i = 0; i < 4; i++)
        add(&b, 1, (float)i);
    add(&b, 3, 7); /* the caller's own shape: one run of three rows */
    go(&b);
    for (int i = 0; i < 4; i++)
        expect_ok(&b, i, 1, (float)i);
    assert_true(help_y(b.t[4].result, 2, 0) == 4 * (7 + 8 + 9));
    help_take(&b.t[4]);
    end(&b);
}

static void test_a_linear_model_runs_row_by_row(void **state)
{
    int alone = 0;
    for (int attempt = 0; attempt < 4 && alone < 6; attempt++) { /* a busy machine may mismeasure once */
        bench b;
        begin(&b);
        b.h.fake.delay_ms = 0;
        b.h.fake.row_delay_ms = 20; /* a CPU */
        hold(&b);
        for (int i = 0; i < 6; i++)
            add(&b, 1, (float)i);
        go(&b);
        alone = 0;
        for (int i = 0; i < 6; i++) {
            alone += b.t[i].result->timing.batch_rows == 1;
            expect_ok(&b, i, 1, (float)i);
        }
        end(&b);
    }
    assert_int_equal(alone, 6);
}

static void test_compiled_sizes_are_padded_with_zeros(void **state)
{
    bench b;
    int64_t rows[1];
    begin(&b);
    b.h.batch_sizes[0] = 4;
    b.h.batch_sizes[1] = 8;
    b.h.fake.batch_sizes = (weft_list){2, b.h.batch_sizes};
    hold(&b);
    for (int i = 0; i < 5; i++)
        add(&b, 1, (float)i);
    go(&b);
    for (int i = 0; i < 5; i++)
        expect_ok(&b, i, 1, (float)i);
    last_runs(rows, 1);
    assert_true(rows[0] == 8 || rows[0] == 4);
    end(&b);
}

static void test_one_bad_request_fails_alone(void **state)
{
    for (int k = 0; k < 2; k++) {
        bench b;
        double bad = 3;
        begin(&b);
        weft_fake_fault *f = help_fault(&b.h, k ? WEFT_FAKE_UNKNOWN : WEFT_FAKE_REQUEST);
        f->when_value = (weft_list){1, &bad};
        hold(&b);
        for (int i = 0; i < 8; i++)
            add(&b, 1, (float)i);
        go(&b);
        for (int i = 0; i < 8; i++) {
            if (i == 3)
                assert_int_equal(help_take(&b.t[i]), k ? WEFT_E_RUN_FAILED : WEFT_E_INVALID);
            else
                expect_ok(&b, i, 1, (float)i);
        }
        weft_model_stats s;
        weft_engine_model_stats(b.e, "m", &s, NULL);
        assert_int_equal(s.splits, 1);
        assert_int_equal(s.failed_client, k ? 0 : 1);
        assert_int_equal(s.failed_server, k ? 1 : 0);
        end(&b);
    }
}

static void test_out_of_memory_takes_the_next_smaller_gear_once(void **state)
{
    bench b;
    int64_t rows[3];
    begin(&b);
    hold(&b);                                     /* warmed up without the fault: eight rows pay */
    weft_fake_inject("m", WEFT_FAKE_NO_FAULT, 1); /* the held one */
    weft_fake_inject("m", WEFT_FAKE_MEMORY, 1);
    for (int i = 0; i < 8; i++)
        add(&b, 1, (float)i);
    go(&b);
    for (int i = 0; i < 8; i++)
        expect_ok(&b, i, 1, (float)i);
    last_runs(rows, 3);
    assert_int_equal(rows[0], 8);
    assert_int_equal(rows[1], 4);
    assert_int_equal(rows[2], 4);
    end(&b);

    begin(&b);
    hold(&b);
    weft_fake_inject("m", WEFT_FAKE_NO_FAULT, 1);
    weft_fake_inject("m", WEFT_FAKE_MEMORY, 2);
    for (int i = 0; i < 8; i++)
        add(&b, 1, (float)i);
    go(&b);
    int failed = 0;
    for (int i = 0; i < 8; i++) {
        weft_status s = help_take(&b.t[i]);
        assert_true(!s || s == WEFT_E_NO_MEMORY);
        failed += s != WEFT_OK;
    }
    assert_int_equal(failed, 4); /* once only */
    end(&b);
}

static void test_no_second_run_after_a_timeout_or_a_broken_stream(void **state)
{
    static const weft_fake_kind kinds[] = {WEFT_FAKE_TIMEOUT, WEFT_FAKE_STREAM, WEFT_FAKE_DEVICE};
    static const weft_status want[] = {WEFT_E_RUN_FAILED, WEFT_E_RUN_FAILED, WEFT_E_DEVICE};
    for (int k = 0; k < 3; k++) {
        bench b;
        weft_fake_counts c;
        begin(&b);
        hold(&b);
        weft_fake_inject("m", WEFT_FAKE_NO_FAULT, 1);
        weft_fake_inject("m", kinds[k], 1);
        for (int i = 0; i < 8; i++)
            add(&b, 1, (float)i);
        weft_fake_count("m", &c);
        uint64_t before = c.runs_started;
        go(&b);
        for (int i = 0; i < 8; i++)
            assert_int_equal(help_take(&b.t[i]), want[k]);
        weft_fake_count("m", &c);
        if (kinds[k] != WEFT_FAKE_DEVICE) /* a device fault is followed by a probe */
            assert_int_equal(c.runs_started, before + 1);
        end(&b);
    }
}

/* Eight rows that share a run wait for one run, not for eight. */
static void test_the_expected_wait_knows_of_batches(void **state)
{
    bench b;
    begin(&b);
    b.h.fake.delay_ms = 40;
    hold(&b);
    for (int i = 0; i < 16; i++)
        add(&b, 1, (float)i);
    weft_model_stats s;
    weft_engine_model_stats(b.e, "m", &s, NULL);
    assert_in_range(s.expected_wait_ns, 70 * 1000000LL, 180 * 1000000LL); /* two runs of 40 ms and half of the held one */
    go(&b);
    for (int i = 0; i < 16; i++)
        expect_ok(&b, i, 1, (float)i);
    end(&b);
}

static void test_no_split_when_there_is_no_time(void **state)
{
    bench b;
    begin(&b);
    hold(&b);
    weft_fake_inject("m", WEFT_FAKE_NO_FAULT, 1);
    weft_fake_inject("m", WEFT_FAKE_UNKNOWN, 1);
    for (int i = 0; i < 4; i++) {
        help_call_init(&b.c, "m", 1, (float)i);
        b.c.call.timeout_ms = i < 2 ? 150 : 0;
        help_start(b.e, b.in, &b.t[b.n++], &b.c);
    }
    weft_fake_set_delay("m", 200); /* the failing run ends after their deadline */
    weft_fake_hold("m", false);
    assert_true(help_inbox_wait(b.in, 5));
    help_take(&b.first);
    for (int i = 0; i < 2; i++)
        assert_int_equal(help_take(&b.t[i]), WEFT_E_DEADLINE);
    for (int i = 2; i < 4; i++)
        expect_ok(&b, i, 1, (float)i);
    end(&b);
}

/* The batch's failure is one request's fault; another one's time is over when it is known. */
static void test_a_failure_is_not_blamed_on_who_had_no_time(void **state)
{
    for (int n = 0; n < 10; n++) {
        bench b;
        double bad = 3;
        begin(&b);
        help_fault(&b.h, WEFT_FAKE_REQUEST)->when_value = (weft_list){1, &bad};
        b.h.fake.delay_ms = 20;
        hold(&b);
        for (int i = 0; i < 6; i++) {
            help_call_init(&b.c, "m", 1, (float)i);
            b.c.call.timeout_ms = i == 3 ? 0 : 38 + i; /* about when the run after the held one fails */
            help_start(b.e, b.in, &b.t[b.n++], &b.c);
        }
        go(&b);
        for (int i = 0; i < 6; i++) {
            weft_status s = help_take(&b.t[i]);
            if (i == 3)
                assert_int_equal(s, WEFT_E_INVALID);
            else
                assert_true(!s || s == WEFT_E_DEADLINE);
        }
        end(&b);
    }
}

static void test_a_wrong_size_is_a_failure_of_the_run(void **state)
{
    bench b;
    begin(&b);
    hold(&b);
    weft_fake_inject("m", WEFT_FAKE_NO_FAULT, 1);
    weft_fake_inject("m", WEFT_FAKE_WRONG_SIZE, 1);
    add(&b, 1, 1);
    go(&b);
    assert_int_equal(help_take(&b.t[0]), WEFT_E_RUN_FAILED);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_ready_runs_together),
        cmocka_unit_test(test_rows_of_one_request_stay_together),
        cmocka_unit_test(test_a_request_larger_than_a_run),
        cmocka_unit_test(test_shapes_do_not_mix),
        cmocka_unit_test(test_shared_inputs_must_be_equal),
        cmocka_unit_test(test_a_model_whose_rows_mix_is_not_batched),
        cmocka_unit_test(test_a_linear_model_runs_row_by_row),
        cmocka_unit_test(test_compiled_sizes_are_padded_with_zeros),
        cmocka_unit_test(test_one_bad_request_fails_alone),
        cmocka_unit_test(test_out_of_memory_takes_the_next_smaller_gear_once),
        cmocka_unit_test(test_no_second_run_after_a_timeout_or_a_broken_stream),
        cmocka_unit_test(test_no_split_when_there_is_no_time),
        cmocka_unit_test(test_the_expected_wait_knows_of_batches),
        cmocka_unit_test(test_a_failure_is_not_blamed_on_who_had_no_time),
        cmocka_unit_test(test_a_wrong_size_is_a_failure_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
