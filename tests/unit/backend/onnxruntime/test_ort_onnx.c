/* Facts read from the file. The right values are those of tests/data/make_models.py. */
#include "ort_models.h"

static void test_files(void **state)
{
    weft_onnx_facts f;

    weft_onnx_read_facts(MODEL("add"), &f);
    assert_int_equal(f.ir_version, 8);
    assert_int_equal(f.opset, 13);
    assert_string_equal(f.producer, "weft-tests 1.0");
    assert_false(f.sizes_follow_values);
    weft_onnx_read_facts(MODEL("listed_weights"), &f);
    assert_int_equal(f.ir_version, 3);
    assert_int_equal(f.opset, 8);
    weft_onnx_read_facts(MODEL("nonzero"), &f);
    assert_true(f.sizes_follow_values);
    weft_onnx_read_facts(MODEL("loop"), &f);
    assert_true(f.sizes_follow_values);
    weft_onnx_read_facts("/nonexistent", &f);
    assert_int_equal(f.opset, 0);
    weft_onnx_read_facts("/", &f);
    assert_string_equal(f.producer, "");
}

static void test_bytes(void **state)
{
    /* ModelProto {ir_version: 7, producer_name: "a", opset_import {version: 300}, opset_import {domain: "x" version: 5}} by hand
     */
    static const uint8_t good[] = {0x08, 7, 0x12, 1, 'a', 0x42, 3, 0x10, 0xac, 0x02, 0x42, 5, 0x0a, 1, 'x', 0x10, 5};
    static const uint8_t long_string[] = {0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 'a'};
    static const uint8_t endless[] = {0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    weft_onnx_facts f;

    weft_onnx_parse_facts(good, sizeof good, &f);
    assert_int_equal(f.ir_version, 7);
    assert_int_equal(f.opset, 300);
    assert_string_equal(f.producer, "a");
    for (size_t n = 0; n < sizeof good; n++)
        weft_onnx_parse_facts(good, n, &f);
    weft_onnx_parse_facts(long_string, sizeof long_string, &f);
    assert_string_equal(f.producer, "");
    weft_onnx_parse_facts(endless, sizeof endless, &f);
    assert_int_equal(f.ir_version, 0);
    weft_onnx_parse_facts(NULL, 0, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
