/* How a case of the suite is run: directly on the backend, through an engine, through a worker. */
#ifndef WEFT_TESTS_SUITE_RUNNER_H
#define WEFT_TESTS_SUITE_RUNNER_H

#include "base/arena.h"
#include "weft/tensor.h"

typedef struct suite_model {
    const weft_tensor_desc *inputs, *outputs;
    size_t n_inputs, n_outputs;
    void *internal;
} suite_model;

typedef struct suite_runner {
    const char *name;
    /* library: path of ONNX Runtime, or NULL. */
    weft_status (*open)(const char *library, weft_error *err);
    void (*close)(void);
    weft_status (*load)(const char *path, suite_model *m, weft_error *err);
    /* inputs and outputs in model order; the outputs' memory comes from the arena. */
    weft_status (*run)(suite_model *m, const weft_tensor *inputs, weft_tensor *outputs, weft_arena *arena, weft_error *err);
    void (*unload)(suite_model *m);
} suite_runner;

extern const suite_runner suite_backend, suite_engine, suite_loopback;

#endif
