#include "help_fake.h"

#include <stdlib.h>
#include <string.h>

static void *give(void *cookie, size_t output, size_t n_bytes)
{
    fake_rig *r = cookie;

    free(r->allocated[output]);
    r->allocated[output] = malloc(n_bytes);
    return r->allocated[output];
}

weft_status rig_open(fake_rig *r, const char *name, const weft_fake_options *o, const char *path)
{
    weft_backend_env env = {.cores = 1};
    weft_model_source src = {.name = name, .paths = &path, .n_paths = path ? 1 : 0, .threads = 1, .max_batch = 8, .options = o};
    weft_status s;

    memset(r, 0, sizeof *r);
    r->backend = &weft_backend_fake;
    s = r->backend->open(&env, &r->self, &r->err);
    if (!s)
        s = r->backend->model_load(r->self, &src, &r->model, &r->desc, &r->err);
    if (!s)
        s = r->backend->instance_create(r->self, r->model, &r->instance, &r->err);
    if (s)
        rig_close(r);
    return s;
}

void rig_close(fake_rig *r)
{
    if (r->instance)
        r->backend->instance_destroy(r->self, r->instance);
    if (r->model)
        r->backend->model_unload(r->self, r->model);
    if (r->self)
        r->backend->close(r->self);
    for (int i = 0; i < 8; i++)
        free(r->allocated[i]);
    memset(r->allocated, 0, sizeof r->allocated);
    r->instance = r->model = r->self = NULL;
}

weft_status rig_run(fake_rig *r, const weft_tensor *inputs, size_t n_inputs)
{
    weft_run run = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .outputs = r->outputs,
                    .n_outputs = r->desc.n_outputs,
                    .alloc = give,
                    .cookie = r,
                    .n_rows = 1};
    weft_status s;

    memset(r->outputs, 0, sizeof r->outputs);
    s = r->backend->run(r->self, r->instance, &run, &r->err);
    r->fault = run.fault;
    return s;
}

weft_tensor rows_of(const float *data, int64_t rows)
{
    return (weft_tensor){
        .name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {rows, 4}, .data = (void *)data, .n_bytes = (size_t)rows * 16};
}
