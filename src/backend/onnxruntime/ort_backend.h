/* The ONNX Runtime backend: models in .onnx (and .ort) files, on the CPU unless `providers` says otherwise. */
#ifndef WEFT_ORT_BACKEND_H
#define WEFT_ORT_BACKEND_H

#include "weft/backend.h"

typedef struct weft_ort_options {
    int graph_optimization;      /* ORT_OPTIMIZE_* */
    const char *optimized_model; /* file that keeps the optimised graph between starts, or NULL */
    weft_list providers;         /* const char *; none = cpu */
    weft_list provider_options;  /* weft_key_value: "PROVIDER.KEY" */
    weft_list session_config;    /* weft_key_value */
    weft_list fix_dims;          /* weft_key_value: name of a dynamic dim -> size */
    int log_level;               /* ORT_LOG_* */
    bool release_memory;         /* give work memory back to the system after every run */
} weft_ort_options;

extern const weft_option weft_ort_option_table[];
extern const weft_backend weft_backend_onnxruntime;

/* For tests: the n-th allocation of work memory from now on by this model fails (0 = none again). `model` is what model_load
 * gave. */
void weft_ort_fail_allocation(void *model, int64_t n);

#endif
