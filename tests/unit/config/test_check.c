/* The dry run, against a backend and executors that count what is opened and closed. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

#include "config/check.h"

#define DATA WEFT_TEST_DATA "/config/"

/* One line for each diagnostic; "" folder names are cut. */
static const char *check_text(const char *text)
{
    static char all[16384];
    size_t len = 0;
    weft_config *c;
    weft_error err;
    weft_diagnostics *d = weft_diagnostics_create();
    memset(&help_count, 0, sizeof(help_count));
    if (weft_config_load_text(text, strlen(text), DATA "w.yaml", help_executors, help_backends, &c, d, &err))
        fail_msg("%s", err.text);
    weft_status s = weft_config_check(c, NULL, NULL, d, &err);
    assert_int_equal(s, weft_diagnostics_errors(d) ? WEFT_E_CONFIG : WEFT_OK);
    all[0] = 0;
    for (size_t i = 0; i < weft_diagnostics_count(d); i++) {
        const weft_diagnostic *x = weft_diagnostics_at(d, i);
        static const char *const kinds[] = {"", "error", "warning", "note"};
        char line[4096], *folder;
        snprintf(line, sizeof(line), "%d:%d %s %s: %s\n", x->place.line, x->place.column, kinds[x->severity], x->key, x->text);
        while ((folder = strstr(line, DATA)))
            memmove(folder, folder + strlen(DATA), strlen(folder + strlen(DATA)) + 1);
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s", line);
    }
    assert_int_equal(help_count.opens, help_count.closes);
    assert_int_equal(help_count.loads, help_count.unloads);
    assert_int_equal(help_count.executor_opens, help_count.executor_closes);
    weft_config_destroy(&c);
    weft_diagnostics_destroy(&d);
    return all;
}

static void test_good(void **state)
{
    assert_string_equal(
        check_text("models:\n- {name: m, path: m.onnx, max_batch: 4}\n- {name: n, path: fixed.onnx}\n"),
        "2:10 note m: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[-1,2]; up to 4 rows in one run\n"
        "3:10 note n: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[1,2]; one request in one run\n");
    assert_int_equal(help_count.opens, 1); /* one backend, once */
    assert_int_equal(help_count.loads, 2);
}

static void test_files(void **state)
{
    assert_string_equal(
        check_text("models:\n- {name: a, path: none.onnx}\n- {name: b, path: broken.onnx}\n- {name: c, path: empty.onnx}\n"
                   "- {name: d, path: [m.onnx, gone.onnx]}\n- {name: e, path: m.om}\n- {name: f, path: ., backend: toy}\n"),
        "2:19 error a: the model file none.onnx cannot be used: No such file or directory\n"
        "3:19 error b: broken.onnx is not a model\n"
        "4:19 error c: the model file empty.onnx cannot be used: it is empty\n"
        "5:28 error d: the model file gone.onnx cannot be used: No such file or directory\n"
        "6:19 error e: the file needs the backend acl, which is not in this build (it has: onnxruntime, toy)\n"
        "6:19 error e: the model file m.om cannot be used: No such file or directory\n"
        "7:19 error f: the model file . cannot be used: it is a folder\n");
}

static void test_options_against_the_model(void **state)
{
    assert_string_equal(
        check_text("models:\n- {name: a, path: fixed.onnx, max_batch: 8}\n- {name: bad, path: m.onnx}\n"),
        "2:10 warning a: max_batch is 8, but not every output of the model has a free batch axis: each request will be a run of "
        "its own\n"
        "2:10 note a: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[1,2]; one request in one run\n"
        "3:10 error bad: the options do not fit the model\n");
    assert_non_null(strstr(check_text("engine: {cores: 2}\nmodels:\n- {name: a, path: m.onnx, threads: 3}\n"),
                           "3:10 warning a: threads is 3, but there are 2 cores\n"));
}

static void test_file_of_an_executor(void **state)
{
    assert_non_null(strstr(check_text("models:\n- {name: reader, path: m.onnx}\n"),
                           "2:10 error reader: the file small.txt has more than 8 bytes\n"));
}

static void test_sub_models(void **state)
{
    assert_string_equal(check_text("models:\n- {name: p, type: ocr, detect: m.onnx, recognise: fixed.onnx, max_batch: 2}\n"),
                        "2:10 warning p: max_batch has no effect: the model has no file of its own; set it in its sub-models\n"
                        "2:32 note p.detect: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[-1,2]; one "
                        "request in one run\n"
                        "2:51 note p.recognise: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[1,2]; "
                        "one request in one run\n");
    assert_int_equal(help_count.executor_opens, 3);
    /* A sub-model that does not load is named once, not again by what uses it. */
    assert_string_equal(check_text("models:\n- {name: p, type: ocr, detect: m.onnx, recognise: broken.onnx}\n"),
                        "2:32 note p.detect: tensor on onnxruntime, 2.0 KiB of weights; in: x FP32[-1,4]; out: y FP32[-1,2]; one "
                        "request in one run\n"
                        "2:51 error p.recognise: broken.onnx is not a model\n");
}

static weft_status cannot_open(const weft_backend_env *env, void **self, weft_error *err)
{
    return weft_fail(err, WEFT_E_UNAVAILABLE, "no library");
}

static void test_a_backend_that_cannot_start(void **state)
{
    weft_backend dead = *help_backends[0], old = *help_backends[0];
    dead.open = cannot_open;
    old.abi = 77;
    const weft_backend *const lists[][2] = {{&dead, NULL}, {&old, NULL}};
    static const char *const want[] = {"the backend onnxruntime cannot start: no library",
                                       "the backend onnxruntime was built for interface 77, this program has 1"};
    static const char text[] = "models:\n- {name: a, path: m.onnx}\n- {name: b, path: m.onnx}\n";
    for (size_t i = 0; i < 2; i++) {
        weft_config *c;
        weft_error err;
        assert_int_equal(weft_config_load_text(text, sizeof(text) - 1, DATA "w.yaml", help_executors, lists[i], &c, NULL, &err),
                         WEFT_OK);
        assert_int_equal(weft_config_check(c, NULL, NULL, NULL, &err), WEFT_E_CONFIG);
        assert_non_null(strstr(err.text, want[i]));
        assert_null(strstr(strstr(err.text, want[i]) + 1, want[i])); /* once, for two models */
        weft_config_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_options_against_the_model),
        cmocka_unit_test(test_file_of_an_executor),
        cmocka_unit_test(test_sub_models),
        cmocka_unit_test(test_a_backend_that_cannot_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
