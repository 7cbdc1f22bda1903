/* The suite directly on the ONNX Runtime backend. */
#include <string.h>

#include "backend/onnxruntime/ort_backend.h"
#include "conformance/suite_runner.h"

static const weft_backend *const b = &weft_backend_onnxruntime;
static void *self;

typedef struct loaded {
    void *model, *instance;
    weft_arena *arena;
} loaded;

static weft_status backend_open(const char *library, weft_error *err)
{
    weft_backend_env env = {.cores = 1, .library = library};

    return b->open(&env, &self, err);
}

static void backend_close(void)
{
    b->close(self);
}

static void backend_unload(suite_model *m)
{
    loaded *l = m->internal;
    weft_arena *a;

    if (!l)
        return;
    if (l->instance)
        b->instance_destroy(self, l->instance);
    if (l->model)
        b->model_unload(self, l->model);
    a = l->arena;
    weft_arena_destroy(&a);
    m->internal = NULL;
}

static weft_status backend_load(const char *path, suite_model *m, weft_error *err)
{
    weft_model_source src = {.name = "case", .paths = &path, .n_paths = 1, .threads = 1, .max_batch = 1};
    weft_arena *arena = weft_arena_create(NULL, 0);
    loaded *l = arena ? weft_arena_zalloc(arena, sizeof *l) : NULL;
    weft_model_desc d;
    weft_status s;

    memset(m, 0, sizeof *m);
    if (!l)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory");
    l->arena = arena;
    m->internal = l;
    s = b->model_load(self, &src, &l->model, &d, err);
    if (!s)
        s = b->instance_create(self, l->model, &l->instance, err);
    if (s) {
        backend_unload(m);
        return s;
    }
    m->inputs = d.inputs;
    m->outputs = d.outputs;
    m->n_inputs = d.n_inputs;
    m->n_outputs = d.n_outputs;
    return WEFT_OK;
}

static void *give(void *cookie, size_t output, size_t n_bytes)
{
    return weft_arena_alloc(cookie, n_bytes);
}

static weft_status backend_run(suite_model *m, const weft_tensor *inputs, weft_tensor *outputs, weft_arena *arena,
                               weft_error *err)
{
    loaded *l = m->internal;
    weft_run run = {.inputs = inputs,
                    .n_inputs = m->n_inputs,
                    .outputs = outputs,
                    .n_outputs = m->n_outputs,
                    .alloc = give,
                    .cookie = arena,
                    .n_rows = 1};

    return b->run(self, l->instance, &run, err);
}

const suite_runner suite_backend = {
    .name = "backend",
    .open = backend_open,
    .close = backend_close,
    .load = backend_load,
    .run = backend_run,
    .unload = backend_unload,
};
