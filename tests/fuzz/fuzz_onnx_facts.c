#include "backend/onnxruntime/ort_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_onnx_facts facts;

    weft_onnx_parse_facts(data, n, &facts);
    if (facts.opset < 0 || facts.producer[sizeof facts.producer - 1])
        __builtin_trap();
    return 0;
}
