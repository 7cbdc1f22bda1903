/* One backend, one model, one instance, and runs on it: for the contract list and for unit tests of backends. */
#ifndef WEFT_TESTS_BACKEND_RIG_H
#define WEFT_TESTS_BACKEND_RIG_H

#include <stdatomic.h>

#include "weft/backend.h"

#define RIG_MAX_OUTPUTS 16

typedef struct backend_rig {
    const weft_backend *backend;
    void *self, *model, *instance;
    weft_model_desc desc;
    weft_tensor outputs[RIG_MAX_OUTPUTS];
    void *allocated[RIG_MAX_OUTPUTS]; /* what alloc gave; freed by the next rig_run and by rig_close */
    int n_allocs;                     /* calls of alloc in the last run */
    bool refuse_alloc;
    const bool *wanted;
    weft_fault fault;
    weft_error err;
    char log[4096]; /* all lines, joined by newlines */
} backend_rig;

/* Opens the backend only. library NULL = the fetched one. */
weft_status rig_open(backend_rig *r, const weft_backend *b, const char *library);
/* Loads, and creates an instance. */
weft_status rig_load(backend_rig *r, const weft_model_source *src);
weft_status rig_load_path(backend_rig *r, const char *path, const void *options);
void rig_unload(backend_rig *r);
void rig_close(backend_rig *r);
/* Starts with outputs[i].data and n_bytes as the caller left them; rig_run starts from none. */
weft_status rig_run_kept(backend_rig *r, const weft_tensor *inputs, size_t n_inputs);
weft_status rig_run(backend_rig *r, const weft_tensor *inputs, size_t n_inputs);

/* A tensor over an array: rig_tensor(WEFT_DT_F32, data, sizeof data, 2, 2, 3) is FP32[2,3]. */
weft_tensor rig_tensor(weft_dtype t, const void *data, size_t n_bytes, int rank, ...);

#endif
