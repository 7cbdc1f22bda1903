/* Memory that runs out at the n-th allocation: always NO_MEMORY, nothing leaked, nothing half made. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

#include "config/check.h"
#include "config/reference.h"
#include "harness/alloc_fault.h"

static const char good[] = "models:\n"
                           "- &b {name: page, type: ocr, detect: m.onnx, recognise: {path: m.onnx}, onnxruntime: ~}\n"
                           "- {name: k, type: kinds, path: m.onnx, texts: [a, b], blocks: [{count: 1}], named: {x: {level: 2}}, "
                           "pass: {y: 1}, files: [f]}\n"
                           "- {<<: *b, name: second}\n";
static const char bad[] = "models:\n- {name: m, path: m.bin, max_bach: 1, whole: x}\n- {name: m}\nextra: 1\n";

static void load(const char *text, weft_status want)
{
    for (long n = 1;; n++) {
        weft_config *c;
        weft_error err = {0};
        long before = alloc_outstanding();
        alloc_fault_at(n, false);
        weft_status s = weft_config_load_text(text, strlen(text), WEFT_TEST_DATA "/config/w.yaml", help_executors, help_backends,
                                              &c, NULL, &err);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : want);
        assert_int_equal(s == WEFT_OK, c != NULL);
        weft_config_destroy(&c);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
    }
}

static void test_load(void **state)
{
    load(good, WEFT_OK);
    load(bad, WEFT_E_CONFIG);
    load("models: [", WEFT_E_CONFIG);
}

static void test_load_file(void **state)
{
    for (long n = 1;; n++) {
        weft_config *c;
        long before = alloc_outstanding();
        alloc_fault_at(n, false);
        weft_status s = weft_config_load_file(WEFT_TEST_DATA "/config/good.yaml", help_executors, help_backends, &c, NULL, NULL);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
        weft_config_destroy(&c);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
    }
}

static void test_check(void **state)
{
    weft_config *c;
    weft_error err;
    if (weft_config_load_text(good, sizeof(good) - 1, WEFT_TEST_DATA "/config/w.yaml", help_executors, help_backends, &c, NULL,
                              &err))
        fail_msg("%s", err.text);
    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        memset(&help_count, 0, sizeof(help_count));
        alloc_fault_at(n, false);
        weft_status s = weft_config_check(c, NULL, NULL, NULL, &err);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
        assert_int_equal(help_count.opens, help_count.closes);
        assert_int_equal(help_count.loads, help_count.unloads);
        assert_int_equal(help_count.executor_opens, help_count.executor_closes);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
    }
    weft_config_destroy(&c);
}

static void test_writers(void **state)
{
    weft_config *c;
    assert_int_equal(weft_config_load_text(good, sizeof(good) - 1, "", help_executors, help_backends, &c, NULL, NULL), WEFT_OK);
    for (int what = 0; what < 3; what++) {
        for (long n = 1;; n++) {
            long before = alloc_outstanding();
            weft_buffer b;
            weft_buffer_init(&b, 0);
            alloc_fault_at(n, false);
            weft_diagnostics *d = weft_diagnostics_create();
            if (what == 0) {
                weft_config_print(c, &b);
            } else if (what == 1) {
                weft_config_reference(help_executors, help_backends, &b);
            } else if (d) {
                weft_diagnostics_source(d, "f", good, sizeof(good) - 1);
                weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, (weft_place){1, 1, 3}, "k", "s", "text");
                weft_diagnostics_print(d, &b, false);
                weft_diagnostics_json(d, &b);
            }
            bool hit = alloc_fault_hit(), told = !d || b.failed;
            alloc_fault_off();
            if (d && weft_diagnostics_status(d, NULL) == WEFT_E_NO_MEMORY)
                told = true;
            assert_int_equal(hit, told);
            weft_diagnostics_destroy(&d);
            weft_buffer_fini(&b);
            assert_int_equal(alloc_outstanding(), before);
            if (!hit)
                break;
        }
    }
    weft_config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_load_file),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
