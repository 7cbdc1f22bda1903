/* Every allocation of weft's own code in load, instance and run fails once: NO_MEMORY, and nothing stays behind. */
#include "ort_models.h"

#include "harness/alloc_fault.h"

static backend_rig r;

static weft_status work(const char *const *paths, size_t n, const weft_tensor *in)
{
    weft_model_source src = {.name = "alloc", .paths = paths, .n_paths = n, .threads = 1, .max_batch = 8};
    weft_status s = rig_load(&r, &src);

    if (!s)
        s = rig_run(&r, in, 1);
    rig_unload(&r);
    return s;
}

static void every_allocation(const char *const *paths, size_t n_paths, const weft_tensor *in, int at_least)
{
    int failed = 0;

    assert_int_equal(work(paths, n_paths, in), WEFT_OK); /* what the first use of a process keeps */
    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        weft_status s;
        bool hit;

        alloc_fault_at_thread(n, false);
        s = work(paths, n_paths, in);
        hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(alloc_outstanding(), before);
        if (!hit) {
            assert_int_equal(s, WEFT_OK);
            break;
        }
        if (s != WEFT_E_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, s ? r.err.text : "it went unnoticed");
        failed++;
    }
    assert_true(failed >= at_least);
}

static void test_strings(void **state)
{
    static const char *const paths[] = {MODEL("strings")};
    static uint8_t text[300 * 5];
    weft_tensor in = rig_tensor(WEFT_DT_STRING, text, sizeof text, 1, 300);

    for (int i = 0; i < 300; i++)
        text[5 * i] = 1;
    every_allocation(paths, 1, &in, 5);
}

static void test_gears_and_misaligned(void **state)
{
    static const char *const paths[] = {MODEL("batch1"), MODEL("batch2"), MODEL("batch4")};
    static _Alignas(8) uint8_t place[32];
    weft_tensor in = rig_tensor(WEFT_DT_F32, place + 1, 24, 2, 2, 3);

    every_allocation(paths, 3, &in, 5);
}

static void test_work_memory(void **state)
{
    static const char *const paths[] = {MODEL("outer")};
    static float row[100];
    weft_tensor in = rig_tensor(WEFT_DT_F32, row, sizeof row, 1, 100);

    every_allocation(paths, 1, &in, 5);
}

static void test_open(void **state)
{
    rig_close(&r);
    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        weft_status s;
        bool hit;

        alloc_fault_at_thread(n, false);
        s = rig_open(&r, &weft_backend_onnxruntime, NULL);
        hit = alloc_fault_hit();
        alloc_fault_off();
        if (!hit) {
            assert_int_equal(s, WEFT_OK);
            return;
        }
        assert_int_equal(s, WEFT_E_NO_MEMORY);
        assert_int_equal(alloc_outstanding(), before);
    }
}

static int open_backend(void **state)
{
    return rig_open(&r, &weft_backend_onnxruntime, NULL) ? -1 : 0;
}

static int close_backend(void **state)
{
    rig_close(&r);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_gears_and_misaligned),
        cmocka_unit_test(test_work_memory),
        cmocka_unit_test(test_open),
    };

    skip_without_library();
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
