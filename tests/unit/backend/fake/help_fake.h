/* One loaded fake model with one instance, and runs on it from plain arrays. */
#ifndef WEFT_TESTS_HELP_FAKE_H
#define WEFT_TESTS_HELP_FAKE_H

#include "backend/fake/fake_control.h"

typedef struct fake_rig {
    const weft_backend *backend;
    void *self, *model, *instance;
    weft_model_desc desc;
    void *allocated[8]; /* what run->alloc gave, per output; freed by the next run and by rig_close */
    weft_tensor outputs[8];
    weft_fault fault;
    weft_error err;
} fake_rig;

/* Loads `name` with options o (NULL = none) and text file `path` (NULL = none). */
weft_status rig_open(fake_rig *r, const char *name, const weft_fake_options *o, const char *path);
void rig_close(fake_rig *r);
/* Runs with the given inputs; every output is allocated by callback. */
weft_status rig_run(fake_rig *r, const weft_tensor *inputs, size_t n_inputs);
/* FP32[rows, 4] over data for the default model. */
weft_tensor rows_of(const float *data, int64_t rows);

#endif
