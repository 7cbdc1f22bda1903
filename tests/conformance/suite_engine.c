/* The suite through an engine with the tensor executor: called directly, and through a worker that encodes every call and every
 * result. */
#include <stdio.h>
#include <string.h>

#include "backend/backend_list.h"
#include "conformance/suite_runner.h"
#include "executor/executor_list.h"
#include "weft/engine.h"
#include "worker/loopback.h"

static weft_engine *engine;
static weft_loopback *loopback; /* NULL = called directly */

static weft_status engine_open(const char *library, weft_error *err)
{
    weft_engine_options o;

    weft_engine_options_init(&o);
    o.cores = 1;
    o.onnxruntime_library = library;
    o.executors = weft_builtin_executors;
    o.backends = weft_builtin_backends;
    return weft_engine_create(&o, &engine, err);
}

static weft_status loopback_open(const char *library, weft_error *err)
{
    weft_status s = engine_open(library, err);

    return s ? s : weft_loopback_create(engine, &loopback, err);
}

static void engine_close(void)
{
    weft_loopback_destroy(&loopback);
    weft_engine_destroy(&engine);
}

static weft_status engine_load(const char *path, suite_model *m, weft_error *err)
{
    const weft_model_info *info;
    weft_model_config c;
    weft_status s;

    memset(m, 0, sizeof *m);
    weft_model_config_init(&c);
    c.name = "case";
    c.type = "tensor";
    c.paths = (weft_list){1, &path};
    c.warmup = false; /* with zeros: many of these models take only inputs that mean something */
    s = weft_engine_load(engine, &c, err);
    if (s)
        return s;
    s = weft_engine_model_info(engine, "case", &info, err);
    if (s)
        return s;
    m->inputs = info->inputs;
    m->outputs = info->outputs;
    m->n_inputs = info->n_inputs;
    m->n_outputs = info->n_outputs;
    m->internal = (void *)(uintptr_t)info;
    return WEFT_OK;
}

static void engine_unload(suite_model *m)
{
    weft_error err;

    if (weft_engine_unload(engine, "case", &err))
        fprintf(stderr, "unload: %s\n", err.text);
    weft_model_info_unref(m->internal);
}

static weft_status copy_columns(const suite_model *m, const weft_result *r, weft_tensor *outputs, weft_arena *arena,
                                weft_error *err)
{
    for (size_t i = 0; i < m->n_outputs; i++) {
        const weft_column *c = weft_result_column(r, m->outputs[i].name);

        if (!c)
            return weft_fail(err, WEFT_E_INTERNAL, "the result has no column \"%s\"", m->outputs[i].name);
        outputs[i] = c->tensor;
        outputs[i].name = m->outputs[i].name;
        outputs[i].data = weft_arena_alloc(arena, c->tensor.n_bytes);
        if (!outputs[i].data)
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory");
        if (c->tensor.n_bytes)
            memcpy(outputs[i].data, c->tensor.data, c->tensor.n_bytes);
    }
    return WEFT_OK;
}

static weft_status engine_run(suite_model *m, const weft_tensor *inputs, weft_tensor *outputs, weft_arena *arena, weft_error *err)
{
    weft_input in[16];
    weft_call call = {.model = "case", .inputs = in, .n_inputs = m->n_inputs, .timeout_ms = 60000};
    weft_result *r = NULL;
    weft_status s;

    for (size_t i = 0; i < m->n_inputs; i++) {
        weft_tensor t = inputs[i];

        t.name = m->inputs[i].name;
        in[i] = weft_input_tensor(&t);
    }
    s = loopback ? weft_loopback_infer(loopback, &call, &r, err) : weft_infer(engine, &call, &r, err);
    if (!s)
        s = copy_columns(m, r, outputs, arena, err);
    weft_result_unref(r);
    return s;
}

const suite_runner suite_engine = {
    .name = "engine",
    .open = engine_open,
    .close = engine_close,
    .load = engine_load,
    .run = engine_run,
    .unload = engine_unload,
};

const suite_runner suite_loopback = {
    .name = "loopback",
    .open = loopback_open,
    .close = engine_close,
    .load = engine_load,
    .run = engine_run,
    .unload = engine_unload,
};
