/* weft_engine_open: from a file to an engine that answers, and every message when it does not. */
#include "harness/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft/engine.h"

static char folder[64];

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/weft-open-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void test_no_models(void **state)
{
    weft_engine *e;
    weft_error err = {0};
    if (weft_engine_open(write_file("weft.yaml", "models: []\n"), &e, &err))
        fail_msg("%s", err.text);
    assert_non_null(e);
    weft_engine_destroy(&e);
}

static void test_missing_and_wrong_files(void **state)
{
    weft_engine *e = (weft_engine *)(void *)&folder;
    weft_error err;
    assert_int_equal(weft_engine_open("/nowhere.yaml", &e, &err), WEFT_E_NOT_FOUND);
    assert_null(e);
    const char *path = write_file("weft.yaml", "models:\n- {name: a, max_batch: 0}\n- {nam: b}\n");
    assert_int_equal(weft_engine_open(path, &e, &err), WEFT_E_CONFIG);
    assert_null(e);
    assert_non_null(
        strstr(err.text, "weft.yaml:2:24: models[0].max_batch: expected a whole number from 1 to 4096 rows, got \"0\""));
    assert_non_null(strstr(err.text, "weft.yaml:3:4: models[1]: unknown key \"nam\"; did you mean \"name\"?"));
    assert_int_equal(weft_engine_open(path, &e, NULL), WEFT_E_CONFIG);
}

/* All models that do not load are named, each with its line; nothing stays open. */
static void test_all_messages_of_models(void **state)
{
    weft_engine *e;
    weft_error err;
    const char *path = write_file("weft.yaml", "models:\n- {name: a, path: none.om}\n- {name: b, path: nothing.om}\n");
    assert_int_not_equal(weft_engine_open(path, &e, &err), WEFT_OK);
    assert_null(e);
    assert_non_null(strstr(err.text, ":2:10: model \"a\": "));
    assert_non_null(strstr(err.text, ":3:10: model \"b\": "));
    assert_non_null(strstr(err.text, "acl"));
}

/* The paragraph about a runtime that is not there comes once, whole, and every model is named. */
static void test_no_runtime_is_said_once(void **state)
{
    weft_engine *e;
    weft_error err;
    setenv("WEFT_ONNXRUNTIME", "/nowhere/libonnxruntime.so.1", 1);
    write_file("a.onnx", "x");
    const char *path = write_file("weft.yaml", "models:\n- {name: a, path: a.onnx}\n- {name: b, path: a.onnx}\n- {name: c, path: "
                                               "a.onnx}\n");
    assert_int_equal(weft_engine_open(path, &e, &err), WEFT_E_UNAVAILABLE);
    const char *once = strstr(err.text, "no usable ONNX Runtime");
    assert_non_null(once);
    assert_null(strstr(once + 1, "no usable ONNX Runtime"));
    assert_non_null(strstr(err.text, ":2:10: model \"a\": backend \"onnxruntime\": no usable"));
    assert_non_null(strstr(err.text, ":3:10: model \"b\": the same\n"));
    assert_non_null(strstr(err.text, ":4:10: model \"c\": the same"));
    assert_true(strlen(err.text) < WEFT_ERROR_TEXT_BYTES - 1); /* nothing was cut off */
    unsetenv("WEFT_ONNXRUNTIME");
}

static void test_version(void **state)
{
    int major, minor, patch;
    assert_int_equal(sscanf(weft_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    assert_true(strlen(weft_revision()) < 64);
    assert_int_equal(strspn(weft_revision(), "0123456789abcdef+"), strlen(weft_revision()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_models),
        cmocka_unit_test(test_missing_and_wrong_files),
        cmocka_unit_test(test_all_messages_of_models),
        cmocka_unit_test(test_no_runtime_is_said_once),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
