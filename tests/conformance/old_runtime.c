/* A library that looks like an ONNX Runtime of long ago. */
#include "backend/onnxruntime/ort_abi.h"

static const void *const *api(uint32_t version)
{
    return NULL;
}

static const char *version(void)
{
    return "1.9.7";
}

const ort_api_base *OrtGetApiBase(void);
__attribute__((visibility("default"))) const ort_api_base *OrtGetApiBase(void)
{
    static const ort_api_base base = {api, version};

    return &base;
}
