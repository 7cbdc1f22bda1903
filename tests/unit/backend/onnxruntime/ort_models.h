/* Skips the tests of this file where ONNX Runtime has not been fetched, and opens a model of tests/data/models. */
#ifndef WEFT_TESTS_ORT_MODELS_H
#define WEFT_TESTS_ORT_MODELS_H

#include "harness/check.h"

#include "backend/onnxruntime/ort_internal.h"
#include "base/option_text.h"
#include "conformance/backend_rig.h"

#define MODEL(name) WEFT_TEST_DATA "/models/" name ".onnx"

static inline void skip_without_library(void)
{
    const char *path = getenv("WEFT_ONNXRUNTIME");

    if (access(path ? path : WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1", R_OK) != 0)
        exit(77);
}

/* Opens and loads, or fails the test with the message. */
static inline void must_load(backend_rig *r, const char *path)
{
    if (rig_open(r, &weft_backend_onnxruntime, NULL) || rig_load_path(r, path, NULL))
        fail_msg("%s", r->err.text);
}

static inline void must_run(backend_rig *r, const weft_tensor *in, size_t n)
{
    if (rig_run(r, in, n))
        fail_msg("%s", r->err.text);
}

#endif
