/* How the library is found and what is said when it is not. A process of its own: the first library that fits stays. */
#include "harness/check.h"

#include <dirent.h>
#include <stdio.h>

#include "backend/onnxruntime/ort_backend.h"
#include "base/thread.h"

#define GOOD WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1"

static const weft_backend *const b = &weft_backend_onnxruntime;

static weft_status open_with(const char *library, void **self, weft_error *err)
{
    weft_backend_env env = {.library = library, .cores = 1};

    return b->open(&env, self, err);
}

static void says(const char *library, const char *text)
{
    weft_error err;
    void *self = &err;

    assert_int_equal(open_with(library, &self, &err), WEFT_E_UNAVAILABLE);
    assert_null(self);
    if (!strstr(err.text, text) || !strstr(err.text, "weft needs release 1.15 or newer") || !strstr(err.text, "WEFT_ONNXRUNTIME"))
        fail_msg("\"%s\" should have said \"%s\"", err.text, text);
}

static void test_not_there(void **state)
{
    unsetenv("WEFT_ONNXRUNTIME");
    says("/nonexistent/libonnxruntime.so", "/nonexistent/libonnxruntime.so: not found");
    says("libm.so.6", "libm.so.6: is not ONNX Runtime");
    says(OLD_RUNTIME, "is release 1.9.7, too old");
    says(WEFT_TEST_DATA "/models/add.onnx", "invalid ELF header");
    setenv("WEFT_ONNXRUNTIME", "/nonexistent/other.so", 1);
    says(NULL, "/nonexistent/other.so: not found");
    says("", "/nonexistent/other.so: not found");
    unsetenv("WEFT_ONNXRUNTIME");
}

static void test_usual_places(void **state)
{
    char folder[] = "/tmp/weft-search-XXXXXX", before[1000];
    weft_error err;
    void *self;

    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    if (open_with(NULL, &self, &err)) { /* unless the machine has one installed */
        assert_non_null(strstr(err.text, "libonnxruntime.so.1: not found"));
        assert_non_null(strstr(err.text, "/../lib"));
        assert_non_null(strstr(err.text, ".cache/runtime/onnxruntime"));
    } else {
        b->close(self);
    }
    assert_int_equal(chdir(before), 0);
    rmdir(folder);
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* A joined thread may be listed a little longer than it lives. */
static int threads_after(int expected)
{
    for (int i = 0; i < 2000 && count_threads() != expected; i++)
        usleep(1000);
    return count_threads();
}

static void nothing(void *arg)
{
}

/* With one thread a run, neither the library nor a session starts threads of its own. */
static void test_no_threads(void **state)
{
    static const char *const paths[] = {WEFT_TEST_DATA "/models/plain.onnx"};
    weft_model_source src = {.name = "m", .paths = paths, .n_paths = 1, .threads = 1, .max_batch = 1};
    int before;
    weft_thread first;
    weft_model_desc desc;
    weft_error err;
    void *self, *model;

    if (access(GOOD, R_OK) != 0)
        skip();
    /* A sanitizer starts a thread of its own with the first of ours. */
    assert_int_equal(weft_thread_start(&first, "first", nothing, NULL, NULL), WEFT_OK);
    weft_thread_join(&first);
    usleep(50000);
    before = count_threads();
    assert_int_equal(open_with(GOOD, &self, &err), WEFT_OK);
    assert_int_equal(b->model_load(self, &src, &model, &desc, &err), WEFT_OK);
    assert_int_equal(threads_after(before), before);
    src.threads = 3;
    b->model_unload(self, model);
    assert_int_equal(b->model_load(self, &src, &model, &desc, &err), WEFT_OK);
    assert_int_equal(threads_after(before + 2), before + 2); /* the caller is the third */
    b->model_unload(self, model);
    assert_int_equal(threads_after(before), before);
    b->close(self);
}

static void test_found(void **state)
{
    char text[300];
    weft_error err;
    void *first, *second;

    if (access(GOOD, R_OK) != 0)
        skip();
    unsetenv("ORT_DISABLE_TELEMETRY");
    setenv("WEFT_ONNXRUNTIME", GOOD, 1);
    assert_int_equal(open_with(NULL, &first, &err), WEFT_OK);
    assert_string_equal(getenv("ORT_DISABLE_TELEMETRY"), "1");
    assert_int_equal(b->describe(first, text, sizeof text), WEFT_OK);
    assert_non_null(strstr(text, GOOD));
    assert_int_equal(open_with(GOOD, &second, &err), WEFT_OK);
    b->close(second);
    assert_int_equal(open_with("/elsewhere/libonnxruntime.so", &second, &err), WEFT_E_CONFLICT);
    assert_non_null(strstr(err.text, "/elsewhere/libonnxruntime.so"));
    b->close(first);
    for (int i = 0; i < 20; i++) { /* the environment comes and goes */
        assert_int_equal(open_with(GOOD, &first, &err), WEFT_OK);
        b->close(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_usual_places),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_no_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
