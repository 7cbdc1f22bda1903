/* What include/weft/backend.h promises, checked on every backend with the same list: y[r] = f(x[r]) for x FP32[N,4], y FP32[N,4]
 * (batched), and a model that runs until it is terminated. What y is, only the backend's own tests know; here the same rows must
 * give the same answers. */
#include "harness/check.h"

#include <malloc.h>
#include <stdio.h>

#include "backend/backend_list.h"
#include "backend/fake/fake_control.h"
#include "backend/onnxruntime/ort_backend.h"
#include "base/thread.h"
#include "conformance/backend_rig.h"

#define MODEL(name) WEFT_TEST_DATA "/models/" name ".onnx"

typedef struct subject {
    const weft_backend *backend;
    const char *plain;   /* path, or NULL */
    const char *endless; /* path of a model that runs on until it is terminated */
    const void *endless_options;
    weft_dtype endless_input; /* of its one input, one element of ~0 */
    bool counts_work;         /* memory() knows the peak of a run */
} subject;

static const weft_fake_fault hang_once = {.kind = WEFT_FAKE_HANG, .at = 1};
static const weft_fake_options hanging = {.faults = {1, (void *)&hang_once}};

static const subject subjects[] = {
    {.backend = &weft_backend_fake, .endless_options = &hanging, .endless_input = WEFT_DT_F32},
    {.backend = &weft_backend_fake_card, .endless_options = &hanging, .endless_input = WEFT_DT_F32},
    {.backend = &weft_backend_onnxruntime,
     .plain = MODEL("plain"),
     .endless = MODEL("loop"),
     .endless_input = WEFT_DT_I64,
     .counts_work = true},
};

static const subject *now;
static backend_rig r;

static int setup(void **state)
{
    now = *state;
    if (rig_open(&r, now->backend, NULL)) {
        print_error("%s\n", r.err.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    rig_close(&r);
    weft_fake_reset();
    return 0;
}

static void load_plain(void)
{
    if (rig_load_path(&r, now->plain, NULL))
        fail_msg("%s", r.err.text);
}

static const float rows[12] = {1, -2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12};

static weft_tensor rows_from(int first, int n)
{
    return rig_tensor(WEFT_DT_F32, rows + 4 * first, (size_t)n * 16, 2, n, 4);
}

/* ---- the table
 * ---------------------------------------------------------------------------------------------------------------------------------
 */

static void test_table(void **state)
{
    const weft_backend *b = now->backend;
    bool listed = false;
    char text[200] = "";

    for (int i = 0; weft_builtin_backends[i]; i++)
        listed = listed || weft_builtin_backends[i] == b;
    assert_true(listed);
    assert_int_equal(b->abi, WEFT_BACKEND_ABI);
    assert_true(b->name && *b->name && b->summary && *b->summary && b->extensions);
    assert_true(!b->options || b->options_size > 0);
    assert_true(b->open && b->close && b->describe && b->model_load && b->model_unload && b->instance_create &&
                b->instance_destroy && b->run);
    assert_true(!b->host_alloc == !b->host_free);
    assert_true(!b->needs_block || b->host_alloc);
    assert_int_equal(b->describe(r.self, text, sizeof text), WEFT_OK);
    assert_true(*text);
    assert_int_equal(b->describe(r.self, text, 4), WEFT_OK); /* cut, not overrun */
    assert_true(strlen(text) < 4);
}

static void test_nothing_to_destroy(void **state)
{
    now->backend->instance_destroy(r.self, NULL);
    now->backend->model_unload(r.self, NULL);
    now->backend->close(NULL);
}

static void test_several_users(void **state)
{
    weft_backend_env env = {
        .cores = 1, .library = getenv("WEFT_ONNXRUNTIME") ? NULL : WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1"};
    weft_tensor x = rows_from(0, 1);
    void *other = NULL;

    load_plain();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(now->backend->open(&env, &other, &r.err), WEFT_OK);
        now->backend->close(other); /* the first user must not notice */
        assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    }
}

static void test_host_memory(void **state)
{
    const weft_backend *b = now->backend;
    char *p;

    if (!b->host_alloc)
        return;
    p = b->host_alloc(r.self, 100000);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    memset(p, 1, 100000);
    b->host_free(r.self, p);
    b->host_free(r.self, NULL);
}

/* ---- loading
 * -------------------------------------------------------------------------------------------------------------------------------------
 */

static void test_missing_file(void **state)
{
    assert_int_equal(rig_load_path(&r, "/nonexistent/model.bin", NULL), WEFT_E_NOT_FOUND);
    assert_non_null(strstr(r.err.text, "/nonexistent/model.bin"));
    assert_null(r.model);
}

static void test_junk_file(void **state)
{
    const char *path = WEFT_BINARY_DIR "/contract_junk.bin", *const paths[] = {path};
    weft_model_source src = {.name = "junk", .paths = paths, .n_paths = 1, .threads = 1, .max_batch = 1};
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fputs("this is no model\n", f);
    fclose(f);
    assert_int_equal(rig_load(&r, &src), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, path));
    assert_int_equal(now->backend->model_load(r.self, &src, &r.model, &r.desc, NULL), WEFT_E_CONFIG); /* no error wanted */
    assert_null(r.model);
    unlink(path);
}

static void test_description(void **state)
{
    load_plain();
    assert_int_equal(r.desc.n_inputs, 1);
    assert_int_equal(r.desc.n_outputs, 1);
    for (int i = 0; i < 2; i++) {
        const weft_tensor_desc *d = i ? r.desc.outputs : r.desc.inputs;

        assert_string_equal(d->name, i ? "y" : "x");
        assert_int_equal(d->dtype, WEFT_DT_F32);
        assert_int_equal(d->rank, 2);
        assert_int_equal(d->shape[0], -1);
        assert_int_equal(d->shape[1], 4);
        assert_int_equal(d->size_kind, WEFT_SIZE_FIXED);
        assert_false(d->optional);
    }
    assert_int_equal(r.desc.n_batch_sizes, 0);
    assert_non_null(r.desc.producer);
}

/* ---- running
 * -------------------------------------------------------------------------------------------------------------------------------------
 */

static void test_rows_are_independent(void **state)
{
    float single[3][4];
    weft_tensor x = rows_from(0, 3);

    load_plain();
    for (int i = 0; i < 3; i++) {
        weft_tensor one = rows_from(i, 1);

        assert_int_equal(rig_run(&r, &one, 1), WEFT_OK);
        assert_int_equal(r.fault, WEFT_FAULT_NONE);
        assert_int_equal(r.outputs[0].n_bytes, 16);
        memcpy(single[i], r.outputs[0].data, 16);
    }
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_string_equal(r.outputs[0].name, "y");
    assert_int_equal(r.outputs[0].dtype, WEFT_DT_F32);
    assert_int_equal(r.outputs[0].rank, 2);
    assert_int_equal(r.outputs[0].shape[0], 3);
    assert_int_equal(r.outputs[0].n_bytes, 48);
    assert_memory_equal(r.outputs[0].data, single, 48);
}

static void test_inputs_are_only_read(void **state)
{
    float copy[12] = {0};
    weft_tensor x = rig_tensor(WEFT_DT_F32, copy, 48, 2, 3, 4);

    memcpy(copy, rows, sizeof copy);
    load_plain();
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_memory_equal(copy, rows, sizeof copy);
}

static void refused(weft_tensor t, size_t n, const char *text)
{
    assert_int_equal(rig_run(&r, &t, n), WEFT_E_INVALID);
    assert_int_equal(r.fault, WEFT_FAULT_REQUEST);
    assert_string_equal(r.err.text, text);
}

static void test_wrong_inputs(void **state)
{
    weft_tensor good = rows_from(0, 3), t = good;

    load_plain();
    refused(t, 0, "the model has 1 inputs, but 0 came");
    t = (weft_tensor){.name = "x"};
    refused(t, 1, "input \"x\" is required, but it is missing");
    t = good;
    t.dtype = WEFT_DT_I32;
    refused(t, 1, "input \"x\" must be FP32[-1,4] (-1 = any size), but INT32[3,4] came");
    t = good;
    t.rank = 1;
    refused(t, 1, "input \"x\" must be FP32[-1,4] (-1 = any size), but FP32[3] came");
    t = good;
    t.shape[1] = 5;
    refused(t, 1, "input \"x\" must be FP32[-1,4] (-1 = any size), but FP32[3,5] came");
    t = good;
    t.n_bytes = 47;
    refused(t, 1, "tensor \"x\" of FP32[3,4] needs 48 bytes, but 47 came");
    t.n_bytes = 49;
    refused(t, 1, "tensor \"x\" of FP32[3,4] needs 48 bytes, but 49 came");
    t = good;
    t.shape[0] = -1;
    refused(t, 1, "tensor \"x\" has the impossible shape [-1,4]");
    t.shape[0] = INT64_MAX;
    refused(t, 1, "tensor \"x\" has the impossible shape [9223372036854775807,4]");
    assert_int_equal(rig_run(&r, &good, 1), WEFT_OK); /* none of this did harm */
}

static void test_buffers(void **state)
{
    float room[12];
    weft_tensor x = rows_from(0, 3);
    static const bool no[1] = {false};

    load_plain();
    for (int i = 0; i < 4; i++) { /* a buffer that fits is used, also when it is larger than needed */
        r.outputs[0] = (weft_tensor){.data = room, .n_bytes = sizeof room};
        assert_int_equal(rig_run_kept(&r, &x, 1), WEFT_OK);
        assert_ptr_equal(r.outputs[0].data, room);
        assert_int_equal(r.n_allocs, 0);
    }
    r.outputs[0] = (weft_tensor){.data = room, .n_bytes = 47};
    assert_int_equal(rig_run_kept(&r, &x, 1), WEFT_OK);
    assert_ptr_not_equal(r.outputs[0].data, room);
    assert_int_equal(r.n_allocs, 1);
    assert_int_equal(r.outputs[0].n_bytes, 48);
    r.wanted = no;
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.n_allocs, 0);
    assert_null(r.outputs[0].data);
    r.wanted = NULL;
    r.refuse_alloc = true;
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_NO_MEMORY);
    assert_int_equal(r.fault, WEFT_FAULT_MEMORY);
    r.refuse_alloc = false;
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
}

static void test_no_error_wanted(void **state)
{
    weft_tensor x = rows_from(0, 1), out = {0};
    weft_run run = {.inputs = &x, .n_inputs = 1, .outputs = &out, .n_outputs = 0};

    load_plain();
    assert_int_equal(now->backend->run(r.self, r.instance, &run, NULL), WEFT_E_INVALID);
    assert_int_equal(run.fault, WEFT_FAULT_REQUEST);
}

/* ---- ending a run
 * --------------------------------------------------------------------------------------------------------------------------------
 */

static weft_status endless_status;

static void run_endless(void *arg)
{
    static const uint64_t all[4] = {INT64_MAX, 0, 0, 0};
    weft_tensor in = now->endless_input == WEFT_DT_I64 ? rig_tensor(WEFT_DT_I64, all, 8, 0) : rows_from(0, 1);

    endless_status = rig_run(&r, &in, 1);
    *(atomic_bool *)arg = true;
}

static void test_terminate(void **state)
{
    atomic_bool over = false;
    weft_thread t;

    if (rig_load_path(&r, now->endless, now->endless_options))
        fail_msg("%s", r.err.text);
    now->backend->terminate(r.self, r.instance); /* nothing runs: nothing happens */
    assert_int_equal(weft_thread_start(&t, "run", run_endless, &over, NULL), WEFT_OK);
    usleep(30000);
    assert_false(atomic_load(&over));
    while (!atomic_load(&over)) { /* again and again, as a watchdog would */
        now->backend->terminate(r.self, r.instance);
        usleep(1000);
    }
    weft_thread_join(&t);
    assert_int_equal(endless_status, WEFT_E_DEADLINE);
    assert_int_equal(r.fault, WEFT_FAULT_TIMEOUT);
    now->backend->terminate(r.self, r.instance);
}

/* ---- many
 * ----------------------------------------------------------------------------------------------------------------------------------------
 */

typedef struct worker {
    weft_thread thread;
    void *instance;
    int number, failed;
} worker;

static void work(void *arg)
{
    worker *w = arg;
    float want[4], y[12];

    for (int i = 0; i < 200; i++) {
        int first = (i + w->number) % 3;
        weft_tensor x = rows_from(first, 1), out = {.data = y, .n_bytes = sizeof y};
        weft_run run = {.inputs = &x, .n_inputs = 1, .outputs = &out, .n_outputs = 1, .n_rows = 1};

        w->failed += now->backend->run(r.self, w->instance, &run, NULL) != WEFT_OK;
        if (first == 0 && i < 3)
            memcpy(want, y, 16);
        w->failed += first == 0 && memcmp(want, y, 16) != 0;
    }
}

static void test_instances_side_by_side(void **state)
{
    worker w[3];

    load_plain();
    for (int i = 0; i < 3; i++) {
        w[i] = (worker){.number = i};
        assert_int_equal(now->backend->instance_create(r.self, r.model, &w[i].instance, &r.err), WEFT_OK);
        assert_int_equal(weft_thread_start(&w[i].thread, "work", work, &w[i], NULL), WEFT_OK);
    }
    for (int i = 0; i < 3; i++) {
        weft_thread_join(&w[i].thread);
        now->backend->instance_destroy(r.self, w[i].instance);
        assert_int_equal(w[i].failed, 0);
    }
}

static size_t heap_in_use(void)
{
    struct mallinfo2 m = mallinfo2(); /* zeros under a sanitizer, whose own leak check looks then */

    return m.uordblks + m.hblkhd;
}

static void test_load_and_unload_again(void **state)
{
    weft_tensor x = rows_from(0, 3);
    size_t before = 0;

    for (int i = 0; i < 120; i++) {
        if (i == 20)
            before = heap_in_use();
        load_plain();
        assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
        rig_unload(&r);
    }
    if (heap_in_use() > before + 65536)
        fail_msg("100 loads left %zu bytes", heap_in_use() - before);
}

static void test_memory_account(void **state)
{
    weft_tensor x = rows_from(0, 3);
    weft_backend_memory m;

    if (!now->backend->memory)
        return;
    load_plain();
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    now->backend->memory(r.self, r.model, &m);
    assert_int_equal(m.work_bytes, 0); /* nothing runs */
    assert_int_equal(m.weights_bytes, r.desc.weights_bytes);
    if (now->counts_work)
        assert_in_range(m.peak_work_bytes, 1, 1 << 20);
}

int main(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        void *s = (void *)(uintptr_t)&subjects[i];
#define CASE(f)                                                                                                                  \
    {                                                                                                                            \
#f, f, setup, teardown, s                                                                                                \
    }
        const struct CMUnitTest tests[] = {
            CASE(test_table),
            CASE(test_nothing_to_destroy),
            CASE(test_several_users),
            CASE(test_host_memory),
            CASE(test_missing_file),
            CASE(test_junk_file),
            CASE(test_description),
            CASE(test_rows_are_independent),
            CASE(test_inputs_are_only_read),
            CASE(test_wrong_inputs),
            CASE(test_buffers),
            CASE(test_no_error_wanted),
            CASE(test_terminate),
            CASE(test_instances_side_by_side),
            CASE(test_load_and_unload_again),
            CASE(test_memory_account),
        };
        const char *library = getenv("WEFT_ONNXRUNTIME");

        if (subjects[i].backend == &weft_backend_onnxruntime &&
            access(library ? library : WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1", R_OK) != 0) {
            printf("no ONNX Runtime: script/fetch brings it\n");
            return failed ? 1 : 77;
        }
        failed += _cmocka_run_group_tests(subjects[i].backend->name, tests, sizeof tests / sizeof *tests, NULL, NULL);
    }
    return failed;
}
