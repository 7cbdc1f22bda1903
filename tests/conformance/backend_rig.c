#include "conformance/backend_rig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_log(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    backend_rig *r = cookie;
    size_t n = strlen(r->log);

    snprintf(r->log + n, sizeof r->log - n, "%s %s %s\n", event, model, line);
}

weft_status rig_open(backend_rig *r, const weft_backend *b, const char *library)
{
    weft_backend_env env = {.log = keep_log, .log_cookie = r, .library = library, .cores = 2};

    memset(r, 0, sizeof *r);
    r->backend = b;
    if (!library && !getenv("WEFT_ONNXRUNTIME"))
        env.library = WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1";
    return b->open(&env, &r->self, &r->err);
}

weft_status rig_load(backend_rig *r, const weft_model_source *src)
{
    weft_status s = r->backend->model_load(r->self, src, &r->model, &r->desc, &r->err);

    if (!s)
        s = r->backend->instance_create(r->self, r->model, &r->instance, &r->err);
    if (s)
        rig_unload(r);
    return s;
}

weft_status rig_load_path(backend_rig *r, const char *path, const void *options)
{
    weft_model_source src = {
        .name = "rig", .paths = &path, .n_paths = path ? 1 : 0, .threads = 1, .max_batch = 8, .options = options};

    return rig_load(r, &src);
}

static void free_allocated(backend_rig *r)
{
    for (int i = 0; i < RIG_MAX_OUTPUTS; i++) {
        free(r->allocated[i]);
        r->allocated[i] = NULL;
    }
}

void rig_unload(backend_rig *r)
{
    if (r->instance)
        r->backend->instance_destroy(r->self, r->instance);
    if (r->model)
        r->backend->model_unload(r->self, r->model);
    r->instance = r->model = NULL;
    free_allocated(r);
}

void rig_close(backend_rig *r)
{
    if (!r->backend)
        return;
    rig_unload(r);
    if (r->self)
        r->backend->close(r->self);
    r->self = NULL;
}

static void *give(void *cookie, size_t output, size_t n_bytes)
{
    backend_rig *r = cookie;

    r->n_allocs++;
    if (r->refuse_alloc)
        return NULL;
    free(r->allocated[output]);
    r->allocated[output] = malloc(n_bytes);
    return r->allocated[output];
}

weft_status rig_run_kept(backend_rig *r, const weft_tensor *inputs, size_t n_inputs)
{
    weft_run run = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .outputs = r->outputs,
                    .n_outputs = r->desc.n_outputs,
                    .wanted = r->wanted,
                    .alloc = give,
                    .cookie = r,
                    .n_rows = 1,
                    .fault = WEFT_FAULT_DEVICE};
    weft_status s;

    r->n_allocs = 0;
    s = r->backend->run(r->self, r->instance, &run, &r->err);
    r->fault = run.fault;
    return s;
}

weft_status rig_run(backend_rig *r, const weft_tensor *inputs, size_t n_inputs)
{
    free_allocated(r);
    memset(r->outputs, 0, sizeof r->outputs);
    return rig_run_kept(r, inputs, n_inputs);
}

weft_tensor rig_tensor(weft_dtype t, const void *data, size_t n_bytes, int rank, ...)
{
    weft_tensor out = {.name = "in", .dtype = t, .rank = rank, .data = (void *)(uintptr_t)data, .n_bytes = n_bytes};
    va_list ap;

    va_start(ap, rank);
    for (int k = 0; k < rank; k++)
        out.shape[k] = va_arg(ap, int);
    va_end(ap);
    return out;
}
