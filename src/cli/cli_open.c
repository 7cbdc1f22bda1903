/* Finding a configuration and starting an engine on it, with progress for people. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "executor/executor_list.h"

#define MAX_FOLDER_MODELS 256

static weft_config *finish_config(const char *command, weft_status st, weft_config *c, weft_diagnostics *diags,
                                  const weft_error *err, int *exit_code)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    if (weft_diagnostics_count(diags) > 0) {
        weft_diagnostics_print(diags, &out, weft_cli_is_terminal(stderr));
        fwrite(out.data, 1, out.n_bytes, stderr);
    } else if (st != WEFT_OK) {
        fprintf(stderr, "weft %s: %s\n", command, err->text);
    }
    weft_buffer_fini(&out);
    weft_diagnostics_destroy(&diags);
    *exit_code = st == WEFT_OK ? WEFT_EXIT_OK : WEFT_EXIT_CONFIG;
    return c;
}

static weft_config *config_from_text(const char *command, const weft_buffer *text, const char *file, int *exit_code)
{
    weft_error err;
    weft_config *c = NULL;
    weft_diagnostics *diags = weft_diagnostics_create();
    weft_status st = text->failed ? weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory")
                                  : weft_config_load_text((const char *)text->data, text->n_bytes, file, weft_builtin_executors,
                                                          weft_builtin_backends, &c, diags, &err);
    return finish_config(command, st, c, diags, &err, exit_code);
}

/* The name of a model made from its file: characters that a name may not have become '_'. */
static void model_name(const char *path, char out[65])
{
    const char *base = weft_cli_base_name(path);
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    n = n > 64 ? 64 : n;
    for (size_t i = 0; i < n; i++) {
        char c = base[i];
        bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  (c == '.' && i > 0);
        out[i] = ok ? c : '_';
    }
    out[n] = 0;
}

/* A YAML double-quoted scalar. */
static void put_yaml_string(weft_buffer *out, const char *s)
{
    weft_buffer_putc(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            weft_buffer_putc(out, '\\');
        if ((unsigned char)*s < 0x20)
            weft_buffer_printf(out, "\\x%02x", (unsigned)*s);
        else
            weft_buffer_putc(out, *s);
    }
    weft_buffer_putc(out, '"');
}

static void put_model(weft_buffer *out, const char *path, const char *type)
{
    char name[65];
    model_name(path, name);
    weft_buffer_puts(out, "  - name: ");
    put_yaml_string(out, name);
    weft_buffer_printf(out, "\n    type: %s\n    path: ", type);
    put_yaml_string(out, path);
    weft_buffer_puts(out, "\n");
}

bool weft_cli_has_model_extension(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t b = 0; dot && weft_builtin_backends[b]; b++)
        for (size_t i = 0; weft_builtin_backends[b]->extensions && weft_builtin_backends[b]->extensions[i]; i++)
            if (strcmp(dot, weft_builtin_backends[b]->extensions[i]) == 0)
                return true;
    return false;
}

void weft_cli_extensions(char *text, size_t n_text)
{
    size_t len = 0;
    text[0] = 0;
    for (size_t b = 0; weft_builtin_backends[b]; b++)
        for (size_t i = 0; weft_builtin_backends[b]->extensions && weft_builtin_backends[b]->extensions[i]; i++) {
            const char *e = weft_builtin_backends[b]->extensions[i];
            if (!strstr(text, e) && len + strlen(e) + 3 < n_text) /* two backends may read the same files */
                len += (size_t)snprintf(text + len, n_text - len, "%s%s", len ? ", " : "", e);
        }
}

void weft_cli_picture_types(char *text, size_t n_text)
{
    const char *names[64];
    size_t n = 0, len = 0;
    text[0] = 0;
    for (size_t i = 0; weft_builtin_executors[i] && n < 64; i++)
        if (weft_builtin_executors[i]->picture_input && !weft_builtin_executors[i]->run)
            names[n++] = weft_builtin_executors[i]->name;
    for (size_t i = 0; i < n && len + 40 < n_text; i++)
        len += (size_t)snprintf(text + len, n_text - len, "%s%.32s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
}

static int unknown_type(const char *command, const char *type)
{
    const char *names[256];
    char list[400];
    size_t n = 0, len = 0;
    list[0] = 0;
    for (size_t i = 0; weft_builtin_executors[i]; i++) {
        const weft_executor *x = weft_builtin_executors[i];
        if (len + 40 < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.32s", i ? ", " : "", x->name);
        if (n < 256)
            names[n++] = x->name;
        for (size_t k = 0; x->aliases && x->aliases[k] && n < 256; k++)
            names[n++] = x->aliases[k];
    }
    const char *near = weft_nearest_name(type, names, n);
    if (near)
        return weft_cli_usage(command, "there is no type \"%s\" (%s); did you mean \"%s\"?", type, list, near);
    return weft_cli_usage(command, "there is no type \"%s\"; known: %s", type, list);
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static weft_config *config_of_folder(const char *command, const char *folder, int *exit_code)
{
    struct dirent **list;
    int n = scandir(folder, &list, not_hidden, alphasort), used = 0;
    weft_buffer text;
    weft_buffer_init(&text, 1 << 20);
    weft_buffer_puts(&text, "models:\n");
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
        if (used < MAX_FOLDER_MODELS && weft_cli_has_model_extension(path)) {
            put_model(&text, path, "tensor");
            used++;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    weft_config *c = NULL;
    if (used == 0) {
        fprintf(stderr,
                "weft %s: there is no weft.yaml here and no model file in ./models; give a configuration with --config FILE "
                "(examples/demo.yaml is one)\n",
                command);
        *exit_code = WEFT_EXIT_CONFIG;
    } else {
        c = config_from_text(command, &text, "", exit_code);
    }
    weft_buffer_fini(&text);
    return c;
}

weft_config *weft_cli_config(const char *command, const char *path, int *exit_code)
{
    if (!path && access("weft.yaml", R_OK) == 0)
        path = "weft.yaml";
    if (!path)
        return config_of_folder(command, "models", exit_code);
    weft_error err;
    weft_config *c = NULL;
    weft_diagnostics *diags = weft_diagnostics_create();
    weft_status st = weft_config_load_file(path, weft_builtin_executors, weft_builtin_backends, &c, diags, &err);
    return finish_config(command, st, c, diags, &err, exit_code);
}

weft_config *weft_cli_config_of_file(const char *command, const char *model_path, const char *type, int *exit_code)
{
    if (type && !weft_executor_by_name(weft_builtin_executors, type)) {
        *exit_code = unknown_type(command, type);
        return NULL;
    }
    weft_buffer text;
    weft_buffer_init(&text, 1 << 16);
    weft_buffer_puts(&text, "models:\n");
    put_model(&text, model_path, type ? type : "tensor");
    weft_config *c = config_from_text(command, &text, "", exit_code);
    weft_buffer_fini(&text);
    return c;
}

/* ---- the engine ------------------------------------------------------------------------------------------------------------ */

/* Marks model i and everything it uses. */
static void mark(const weft_config *c, size_t i, bool *wanted)
{
    wanted[i] = true;
    for (size_t s = 0; s < c->models[i].n_slots; s++)
        mark(c, c->models[i].slots[s].model, wanted);
}

static void show_progress(bool terminal, size_t i, size_t n, const char *name, int64_t ns)
{
    if (!terminal)
        return;
    enum { WIDTH = 24 };
    int done = (int)(n ? i * WIDTH / n : WIDTH);
    fprintf(stderr, "\r\033[K[%.*s%.*s] %zu/%zu %s", done, "########################", WIDTH - done, "........................",
            i, n, name);
    if (i == n)
        fprintf(stderr, "\r\033[K");
    (void)ns;
    fflush(stderr);
}

static weft_status load_models(const weft_config *c, const bool *wanted, size_t n_wanted, weft_engine *e, weft_error *err)
{
    bool terminal = weft_cli_is_terminal(stderr);
    size_t done = 0;
    weft_status st = WEFT_OK;
    for (size_t i = 0; st == WEFT_OK && i < c->n_models; i++) {
        if (!wanted[i])
            continue;
        int64_t start = weft_now_ns();
        show_progress(terminal, done, n_wanted, c->models[i].config.name, 0);
        st = weft_engine_load(e, &c->models[i].config, err);
        if (st != WEFT_OK)
            weft_fail_prefix(err, st, "model \"%s\"", c->models[i].config.name);
        done++;
        if (st == WEFT_OK)
            show_progress(terminal, done, n_wanted, c->models[i].config.name, weft_now_ns() - start);
    }
    if (st != WEFT_OK && terminal)
        fprintf(stderr, "\r\033[K");
    return st;
}

weft_engine *weft_cli_engine(const char *command, const weft_config *c, const char *only, weft_engine_options *options,
                             int *exit_code)
{
    weft_error err;
    weft_engine *e = NULL;
    size_t n_wanted = 0;
    bool *wanted = calloc(c->n_models + 1, sizeof(*wanted));
    const weft_config_model *m = only ? weft_config_find(c, only) : NULL;
    weft_status st = wanted ? WEFT_OK : weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory");
    if (st == WEFT_OK && only && !m) {
        const char *names[256];
        size_t n = c->n_models < 256 ? c->n_models : 256;
        for (size_t i = 0; i < n; i++)
            names[i] = c->models[i].config.name;
        const char *near = weft_nearest_name(only, names, n);
        st = weft_fail(&err, WEFT_E_NOT_FOUND, "there is no model \"%s\" in the configuration%s%s%s", only,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    for (size_t i = 0; st == WEFT_OK && i < c->n_models; i++)
        if (!only || &c->models[i] == m)
            mark(c, i, wanted);
    for (size_t i = 0; st == WEFT_OK && i < c->n_models; i++)
        n_wanted += wanted[i];
    if (st == WEFT_OK)
        st = weft_engine_create(options, &e, &err);
    if (st == WEFT_OK)
        st = load_models(c, wanted, n_wanted, e, &err);
    free(wanted);
    if (st != WEFT_OK) {
        weft_engine_destroy(&e);
        *exit_code = weft_cli_fail(command, &err);
    }
    return e;
}
