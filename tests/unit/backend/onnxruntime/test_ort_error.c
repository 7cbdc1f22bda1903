#include "ort_models.h"

static void cleans_to(const char *from, const char *to)
{
    char buf[400];

    weft_ort_clean(from, buf, sizeof buf);
    assert_string_equal(buf, to);
}

static void test_clean(void **state)
{
    cleans_to("", "");
    cleans_to("plain text", "plain text");
    cleans_to("  two\n\nlines\t\x1b[31mred ", "two lines [31mred");
    /* As seen from ONNX Runtime 1.30: NonZero with a buffer of another shape, and a failed check in a kernel. */
    cleans_to("Non-zero status code returned while running NonZero node. Name:'' Status Message: "
              "/onnxruntime_src/onnxruntime/core/framework/op_kernel.cc:83 virtual OrtValue* "
              "onnxruntime::OpKernelContext::OutputMLValue(int, const "
              "onnxruntime::TensorShape&) [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : The output OrtValue provided",
              "Non-zero status code returned while running NonZero node. Name:'' Status Message: [ONNXRuntimeError] : 2 : "
              "INVALID_ARGUMENT : The output "
              "OrtValue provided");
    cleans_to("Exception during initialization: /onnxruntime_src/onnxruntime/core/providers/cpu/rnn/rnn_helpers.h:47 void "
              "onnxruntime::RNN<T>::Check(const Info&) const [with T = float] layout_ == 0 was false. Batchwise",
              "Exception during initialization: layout_ == 0 was false. Batchwise");
    cleans_to("failed at 0x7fd51509ffd8 here", "failed at here");
    cleans_to("value 0x12 stays", "value 0x12 stays");
    cleans_to("it broke Stacktrace: #0 a #1 b", "it broke");
    /* A slash alone is not a place in a source file. */
    cleans_to("node /layer1/conv failed", "node /layer1/conv failed");
    /* No signature after the place. */
    cleans_to("/src/a.cc:12 Invalid rank (4)", "Invalid rank (4)");
}

static void test_clean_is_bounded(void **state)
{
    char big[5000], buf[8];

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    big[5] = ' ';
    weft_ort_clean(big, buf, sizeof buf);
    assert_string_equal(buf, "xxxxx");
    weft_ort_clean("abc", buf, 1);
    assert_string_equal(buf, "");
    weft_ort_clean("abc", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_clean_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
