#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/fake/fake_text.h"
#include "base/option_text.h"
#include "help_fake.h"

static weft_status parse(const char *text, weft_arena *a, weft_fake_options *o, weft_error *err)
{
    memset(o, 0, sizeof *o);
    return weft_fake_text_parse(text, strlen(text), a, o, err);
}

static void test_good(void **state)
{
    static const char text[] = "# a model\n"
                               "input  image FP32 [-1, 3,8 ,8]   # with blanks\r\n"
                               "input  bias float32 [8] optional\n"
                               "\n"
                               "output prob FP16 []\n"
                               "output boxes INT64 [-1,4] mix runtime\n"
                               "output few UINT8 [-1] bounded=100\n"
                               "batch 1 2 4\ndelay 5\nrow_delay 0.5\nload_delay 1\nweights 1000000\nwork 7\nspin";
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_fake_options o;
    weft_error err;
    weft_fake_tensor *t;

    assert_int_equal(parse(text, a, &o, &err), WEFT_OK);
    assert_int_equal(o.inputs.n, 2);
    assert_int_equal(o.outputs.n, 3);
    t = o.inputs.items;
    assert_string_equal(t[0].name, "image");
    assert_int_equal(t[0].shape.n, 4);
    assert_int_equal(((int64_t *)t[0].shape.items)[0], -1);
    assert_int_equal(((int64_t *)t[0].shape.items)[3], 8);
    assert_true(t[1].optional);
    t = o.outputs.items;
    assert_int_equal(t[0].dtype, WEFT_DT_F16);
    assert_int_equal(t[0].shape.n, 0);
    assert_int_equal(t[1].values, WEFT_FAKE_MIX);
    assert_int_equal(t[1].size, WEFT_SIZE_RUNTIME);
    assert_int_equal(t[2].size, WEFT_SIZE_BOUNDED);
    assert_int_equal(t[2].max_bytes, 100);
    assert_int_equal(o.batch_sizes.n, 3);
    assert_int_equal(((int64_t *)o.batch_sizes.items)[2], 4);
    assert_float_equal(o.delay_ms, 5, 0);
    assert_float_equal(o.row_delay_ms, 0.5, 0);
    assert_int_equal(o.weights_bytes, 1000000);
    assert_int_equal(o.work_bytes, 7);
    assert_true(o.spin);
    weft_arena_destroy(&a);
}

static void test_bad(void **state)
{
    static const char *const cases[][2] = {
        {"\nimput x FP32 [1]",
         "line 2: expected input, output, batch, delay, row_delay, load_delay, weights, work or spin, got \"imput\""},
        {"input", "line 1: expected NAME TYPE [SHAPE]"},
        {"input x FP33 [1]", "line 1: expected an element type such as FP32, got \"FP33\""},
        {"input x FP32", "line 1: expected a shape such as [-1,3,224,224] with at most 8 dims of -1 or more, got \"\""},
        {"input x FP32 [1,2,3,4,5,6,7,8,9]",
         "line 1: expected a shape such as [-1,3,224,224] with at most 8 dims of -1 or more, got \"[1,2,3,4,5,6,7,8,9]\""},
        {"input x FP32 [-2]", "line 1: expected a shape such as [-1,3,224,224] with at most 8 dims of -1 or more, got \"[-2]\""},
        {"input x FP32 [1 2]",
         "line 1: expected a shape such as [-1,3,224,224] with at most 8 dims of -1 or more, got \"[1 2]\""},
        {"input x FP32 [1", "line 1: expected a shape such as [-1,3,224,224] with at most 8 dims of -1 or more, got \"[1\""},
        {"input x FP32 [1] sum", "line 1: expected optional, got \"sum\""},
        {"output x FP32 [1] big", "line 1: expected sum, copy, rows, mix, run, fixed, runtime or bounded=BYTES, got \"big\""},
        {"delay fast", "line 1: expected a number from 0 to 1000000000000000, got \"fast\""},
        {"delay -1", "line 1: expected a number from 0 to 1000000000000000, got \"-1\""},
        {"batch 1 5000", "line 1: expected a number from 0 to 4096, got \"5000\""},
        {"spin now", "line 1: \"now\" after the end of the statement"},
    };
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_fake_options o;
    weft_error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i][0], a, &o, &err), WEFT_E_CONFIG);
        assert_string_equal(err.text, cases[i][1]);
    }
    assert_int_equal(weft_fake_text_parse("a\0b", 3, a, &o, &err), WEFT_E_CONFIG);
    weft_arena_destroy(&a);
}

static void test_file_and_options(void **state)
{
    char path[] = "/tmp/weft-fake-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "input a FP32 [-1,4]\noutput b FP32 [-1]\ndelay 1\n";
    weft_fake_tensor out = {.name = "c", .dtype = WEFT_DT_I32, .shape = {0, NULL}};
    weft_fake_options o = {.outputs = {1, &out}};
    fake_rig r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_int_equal(rig_open(&r, "file", &o, path), WEFT_OK);
    assert_string_equal(r.desc.inputs[0].name, "a");
    assert_string_equal(r.desc.outputs[0].name, "c"); /* the options win */
    rig_close(&r);
    unlink(path);
}

static void test_option_table(void **state)
{
    weft_error err;
    weft_fake_options o;

    assert_int_equal(weft_options_lint(weft_fake_option_table, &err), WEFT_OK);
    memset(&o, 0xff, sizeof o);
    assert_int_equal(weft_options_defaults(weft_fake_option_table, &o, NULL, &err), WEFT_OK);
    assert_int_equal(o.inputs.n, 0);
    assert_float_equal(o.delay_ms, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_file_and_options),
        cmocka_unit_test(test_option_table),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weft_fake_reset();
    return failed;
}
