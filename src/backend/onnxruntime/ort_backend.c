#include "backend/onnxruntime/ort_backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/onnxruntime/ort_internal.h"

static const weft_enum_value optimizations[] = {
    {"off", ORT_OPTIMIZE_OFF, "run the graph as it is in the file"},
    {"basic", ORT_OPTIMIZE_BASIC, "fold constants, drop what has no effect"},
    {"extended", ORT_OPTIMIZE_EXTENDED, "fuse operators as well"},
    {"all", ORT_OPTIMIZE_ALL, "also change layouts to suit this processor"},
    {0},
};

static const weft_enum_value log_levels[] = {
    {"verbose", ORT_LOG_VERBOSE, "everything"},           {"info", ORT_LOG_INFO, "progress"},
    {"warning", ORT_LOG_WARNING, "what looks wrong"},     {"error", ORT_LOG_ERROR, "what failed"},
    {"off", ORT_LOG_FATAL, "only what ends the process"}, {0},
};

const weft_option weft_ort_option_table[] = {
    {.name = "graph_optimization",
     .kind = WEFT_OPT_ENUM,
     .offset = offsetof(weft_ort_options, graph_optimization),
     .def = "all",
     .values = optimizations,
     .help = "how far ONNX Runtime rewrites the graph at load"},
    {.name = "optimized_model",
     .kind = WEFT_OPT_STRING,
     .offset = offsetof(weft_ort_options, optimized_model),
     .max_count = 1000,
     .is_path = true,
     .help = "file that keeps the optimised graph between starts",
     .details = "Written at the first load and read instead of the model while it is newer than it. It belongs to one kind of "
                "processor and one release of ONNX Runtime: delete it when "
                "either changes. Only for models of one file; worth it for models that take seconds to load."},
    {.name = "providers",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_STRING,
     .offset = offsetof(weft_ort_options, providers),
     .max_count = 16,
     .help = "execution providers in order of preference; none = cpu",
     .details = "Names as ONNX Runtime spells them (XNNPACK, CUDA, OpenVINO, ...). The library must have been built with them; "
                "weft says which ones it has when one is missing. Thread and memory "
                "accounts cover the cpu provider only."},
    {.name = "provider_options",
     .kind = WEFT_OPT_PASSTHROUGH,
     .offset = offsetof(weft_ort_options, provider_options),
     .max_count = 32,
     .help = "options of providers, as PROVIDER.KEY: value"},
    {.name = "session_config",
     .kind = WEFT_OPT_PASSTHROUGH,
     .offset = offsetof(weft_ort_options, session_config),
     .max_count = 32,
     .help = "session configuration entries, handed to ONNX Runtime unread",
     .details = "For example session.set_denormal_as_zero: 1. Keys that govern threads, memory and optimisation are refused: "
                "weft sets them."},
    {.name = "fix_dims",
     .kind = WEFT_OPT_PASSTHROUGH,
     .offset = offsetof(weft_ort_options, fix_dims),
     .max_count = 32,
     .help = "gives a named dynamic dim one size, as NAME: SIZE",
     .details = "A graph with fixed dims can be optimised further. `weft inspect` shows the names."},
    {.name = "log_level",
     .kind = WEFT_OPT_ENUM,
     .offset = offsetof(weft_ort_options, log_level),
     .def = "warning",
     .values = log_levels,
     .help = "what ONNX Runtime says about this model in the log"},
    {.name = "release_memory",
     .kind = WEFT_OPT_BOOL,
     .offset = offsetof(weft_ort_options, release_memory),
     .help = "give work memory back to the system after every run",
     .details = "For a model that runs rarely and needs much. Costs the page faults of every run."},
    {0},
};

static weft_status ort_open(const weft_backend_env *env, void **self, weft_error *err)
{
    weft_ort_self *o = calloc(1, sizeof *o);
    weft_status s;

    *self = NULL;
    if (!o)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to open ONNX Runtime");
    o->env = *env;
    s = weft_ort_env_ref(o, err);
    if (s) {
        free(o);
        return s;
    }
    if (!weft_ort.throw_bad_alloc)
        weft_ort_say(o, WEFT_LOG_WARN, "onnxruntime", "",
                     "%s has another C++ runtime than libstdc++: memory limits of models are not enforced", weft_ort.path);
    *self = o;
    return WEFT_OK;
}

static void ort_close(void *self)
{
    if (!self)
        return;
    weft_ort_env_unref();
    free(self);
}

static weft_status ort_describe(void *self, char *buf, size_t n_buf)
{
    snprintf(buf, n_buf, "ONNX Runtime %s (%s)", weft_ort.version, weft_ort.path);
    return WEFT_OK;
}

static void ort_memory(void *self, void *model, weft_backend_memory *out)
{
    const weft_ort_model *m = model;

    *out = (weft_backend_memory){
        .weights_bytes = m->weights_bytes,
        .work_bytes = (uint64_t)atomic_load(&m->account.work_bytes),
        .peak_work_bytes = (uint64_t)atomic_load(&m->account.peak_run_bytes),
    };
}

void weft_ort_fail_allocation(void *model, int64_t n)
{
    atomic_store(&((weft_ort_model *)model)->account.fail_after, n);
}

static const char *const extensions[] = {".onnx", ".ort", NULL};

const weft_backend weft_backend_onnxruntime = {
    .abi = WEFT_BACKEND_ABI,
    .name = "onnxruntime",
    .summary = "ONNX models on the CPU, or on what ONNX Runtime was built for",
    .extensions = extensions,
    .options = weft_ort_option_table,
    .options_size = sizeof(weft_ort_options),
    .on_cpu = true,
    .open = ort_open,
    .close = ort_close,
    .describe = ort_describe,
    .model_load = weft_ort_model_load,
    .model_unload = weft_ort_model_unload,
    .instance_create = weft_ort_instance_create,
    .instance_destroy = weft_ort_instance_destroy,
    .run = weft_ort_run,
    .terminate = weft_ort_terminate,
    .memory = ort_memory,
};
