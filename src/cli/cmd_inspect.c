/* weft inspect: what a model file holds, as its backend sees it. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "wire/json.h"

static const weft_backend *backend_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t b = 0; dot && weft_builtin_backends[b]; b++)
        for (size_t i = 0; weft_builtin_backends[b]->extensions && weft_builtin_backends[b]->extensions[i]; i++)
            if (strcmp(dot, weft_builtin_backends[b]->extensions[i]) == 0)
                return weft_builtin_backends[b];
    return NULL;
}

/* "[N,3,H,W]": dynamic dims by the model's own names. */
static void print_dims(const weft_tensor_desc *d, char *out, size_t n_out)
{
    size_t o = (size_t)snprintf(out, n_out, "[");
    for (int i = 0; i < d->rank && o < n_out; i++) {
        const char *comma = i ? "," : "";
        if (d->shape[i] >= 0)
            o += (size_t)snprintf(out + o, n_out - o, "%s%lld", comma, (long long)d->shape[i]);
        else
            o += (size_t)snprintf(out + o, n_out - o, "%s%s", comma,
                                  d->dim_names[i] && d->dim_names[i][0] ? d->dim_names[i] : "?");
    }
    if (o < n_out)
        snprintf(out + o, n_out - o, "]");
}

static void rows(weft_table *t, const char *what, const weft_tensor_desc *d, size_t n)
{
    static const char *const size_names[] = {"", "", "bounded", "runtime"};
    for (size_t i = 0; i < n; i++) {
        char dims[256];
        print_dims(&d[i], dims, sizeof(dims));
        weft_table_cell(t, what);
        weft_table_cell(t, d[i].name);
        weft_table_cell(t, weft_dtype_name(d[i].dtype));
        weft_table_cell(t, dims);
        weft_table_cell(t, d[i].optional ? "optional" : size_names[d[i].size_kind & 3]);
    }
}

static void show_text(weft_buffer *out, const char *path, uint64_t n_bytes, const char *runtime, const weft_model_desc *d)
{
    char size[32];
    weft_table t;
    weft_buffer_printf(out, "%s  %s", path, weft_print_bytes(n_bytes, size, sizeof(size)));
    if (d->opset)
        weft_buffer_printf(out, "  opset %lld", (long long)d->opset);
    if (d->producer && d->producer[0])
        weft_buffer_printf(out, "  made by %s", d->producer);
    weft_buffer_printf(out, "\n  runs on %s\n", runtime);
    weft_table_init(&t, 5);
    const char *const head[] = {"", "name", "type", "shape", ""};
    for (size_t i = 0; i < 5; i++)
        weft_table_cell(&t, head[i]);
    rows(&t, "in", d->inputs, d->n_inputs);
    rows(&t, "out", d->outputs, d->n_outputs);
    weft_table_print(&t, 2, out);
    weft_table_fini(&t);
}

static void json_tensors(weft_json *j, const char *key, const weft_tensor_desc *d, size_t n)
{
    weft_json_key(j, key);
    weft_json_array_begin(j);
    for (size_t i = 0; i < n; i++) {
        weft_json_object_begin(j);
        weft_json_key_string(j, "name", d[i].name);
        weft_json_key_string(j, "datatype", weft_dtype_name(d[i].dtype));
        weft_json_key(j, "shape");
        weft_json_array_begin(j);
        for (int k = 0; k < d[i].rank; k++)
            weft_json_int(j, d[i].shape[k]);
        weft_json_array_end(j);
        if (d[i].optional) {
            weft_json_key_bool(j, "optional", true);
        }
        weft_json_object_end(j);
    }
    weft_json_array_end(j);
}

static void show_json(weft_buffer *out, const char *path, uint64_t n_bytes, const char *backend, const weft_model_desc *d)
{
    weft_json j;
    weft_json_init(&j, out);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "file", path);
    weft_json_key_int(&j, "bytes", (int64_t)n_bytes);
    weft_json_key_string(&j, "backend", backend);
    if (d->opset) {
        weft_json_key_int(&j, "opset", d->opset);
    }
    weft_json_key_string(&j, "producer", d->producer ? d->producer : "");
    json_tensors(&j, "inputs", d->inputs, d->n_inputs);
    json_tensors(&j, "outputs", d->outputs, d->n_outputs);
    weft_json_object_end(&j);
    weft_buffer_putc(out, '\n');
}

static void quiet_log(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    (void)cookie, (void)level, (void)event, (void)model, (void)line;
}

static weft_status inspect(const char *path, bool json, weft_error *err)
{
    struct stat st;
    const weft_backend *b = backend_of(path);
    if (stat(path, &st) < 0)
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no file %s", path);
    if (!S_ISREG(st.st_mode))
        return weft_fail(err, WEFT_E_INVALID, "%s is %s; give a model file", path, S_ISDIR(st.st_mode) ? "a folder" : "no file");
    if (!b) {
        char known[200];
        weft_cli_extensions(known, sizeof(known));
        return weft_fail(err, WEFT_E_UNSUPPORTED, "%s is no model file; known: %s", path, known);
    }
    weft_backend_env env = {.log = quiet_log, .cores = weft_cores()};
    weft_model_source src = {.name = weft_cli_base_name(path), .paths = &path, .n_paths = 1, .threads = 1, .max_batch = 1};
    weft_model_desc desc;
    void *self = NULL, *model = NULL;
    char runtime[256] = "";
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_status s = b->open(&env, &self, err);
    if (s == WEFT_OK)
        s = b->model_load(self, &src, &model, &desc, err);
    if (s == WEFT_OK) {
        if (!b->describe || b->describe(self, runtime, sizeof(runtime)) != WEFT_OK)
            snprintf(runtime, sizeof(runtime), "%s", b->name);
        if (json)
            show_json(&out, path, (uint64_t)st.st_size, b->name, &desc);
        else
            show_text(&out, path, (uint64_t)st.st_size, runtime, &desc);
        fwrite(out.data, 1, out.n_bytes, stdout);
        b->model_unload(self, model);
    }
    if (self)
        b->close(self);
    weft_buffer_fini(&out);
    return s;
}

int weft_cmd_inspect(int argc, char **argv)
{
    static const struct option long_options[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
    bool json = false;
    int c, exit_code = WEFT_EXIT_OK;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c != 'j')
            return weft_cli_bad_option("inspect", long_options, argv[optind - 1]);
        json = true;
    }
    if (optind == argc)
        return weft_cli_usage("inspect", "expected \"weft inspect FILE\", got no file");
    for (int i = optind; i < argc; i++) {
        weft_error err;
        if (inspect(argv[i], json, &err) != WEFT_OK)
            exit_code = weft_cli_fail("inspect", &err);
    }
    return exit_code;
}
