#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/option_text.h"
#include "config/config_models.h"

#define AT(member) offsetof(weft_config, member)

const weft_option weft_config_root_table[] = {
    {.name = "device_id",
     .kind = WEFT_OPT_INT,
     .offset = AT(device_id),
     .def = "0",
     .min = 0,
     .max = 1023,
     .help = "card of every model that names none; ignored on the CPU"},
    {.name = "engine",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(engine),
     .fields = weft_engine_option_table,
     .item_size = sizeof(weft_engine_options),
     .help = "how the models share the machine"},
    {.name = "server",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(server),
     .fields = weft_server_option_table,
     .item_size = sizeof(weft_server_options),
     .help = "the doors of weft serve"},
    {.name = "log",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(log),
     .fields = weft_log_option_table,
     .item_size = sizeof(weft_log_options),
     .help = "log files"},
    {.kind = WEFT_OPT_END},
};

/* The configuration is the first thing in its arena. */
typedef struct owned_config {
    weft_config config;
    weft_arena *arena;
} owned_config;

void weft_config_destroy(weft_config **c)
{
    if (!c || !*c)
        return;
    weft_arena *arena = ((owned_config *)*c)->arena;
    *c = NULL;
    weft_arena_destroy(&arena);
}

static const char *folder_of(weft_arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/');
    if (!slash)
        return "";
    return slash == file ? "/" : weft_arena_strndup(arena, file, (size_t)(slash - file));
}

static weft_config *new_config(const char *file)
{
    weft_arena *arena = weft_arena_create(NULL, 16384);
    owned_config *c = arena ? weft_arena_zalloc(arena, sizeof(*c)) : NULL;
    if (c) {
        c->arena = arena;
        c->config.file = weft_arena_strdup(arena, file);
        c->config.directory = folder_of(arena, file);
    }
    if (!c || !c->config.file || !c->config.directory || weft_options_defaults(weft_config_root_table, &c->config, arena, NULL)) {
        weft_arena_destroy(&arena);
        return NULL;
    }
    return &c->config;
}

static void read_root(weft_reader *r, weft_config *c, weft_yaml_node *root, const weft_executor *const *executors,
                      const weft_backend *const *backends)
{
    char words[80];
    if (weft_node_is_null(root)) {
        weft_read_mistake(r, (weft_place){.line = 1, .column = 1}, NULL, NULL, "%s", WEFT_YAML_EMPTY);
        return;
    }
    if (root->kind != WEFT_NODE_MAP) {
        weft_read_mistake(r, root->place, NULL, NULL, "expected a block of keys with at least \"models:\", got %s",
                          weft_node_words(root, words));
        return;
    }
    weft_section section = {.table = weft_config_root_table, .base = c};
    weft_special models = {.name = "models", .fields = weft_model_option_table};
    weft_entry *entries;
    size_t n;
    if (!weft_read_entries(r, root, NULL, &entries, &n))
        return;
    weft_read_sections(r, root, entries, n, NULL, &section, 1, &models, 1);
    weft_drafts d = {.r = r, .config = c, .root = &section, .executors = executors, .backends = backends};
    if (!models.key)
        weft_read_mistake(r, root->place, NULL, NULL,
                          "\"models\" is missing: expected a list of models (\"models: []\" for none)");
    else
        weft_read_models(&d, models.value);
    weft_join_models(&d);
}

static weft_status read_all(weft_config *c, const char *text, size_t n_bytes, const weft_executor *const *executors,
                            const weft_backend *const *backends, weft_diagnostics *diags, weft_error *err)
{
    weft_arena *arena = ((owned_config *)c)->arena;
    weft_reader r = {.arena = arena, .diags = diags, .directory = c->directory};
    weft_yaml_node *root;
    weft_diagnostics_source(diags, c->file, text, n_bytes);
    c->engine.executors = executors;
    c->engine.backends = backends;
    weft_status s = weft_yaml_parse(arena, text, n_bytes, diags, &root, err);
    if (s == WEFT_E_NO_MEMORY)
        return s;
    if (!s)
        read_root(&r, c, root, executors, backends);
    if (r.no_memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading the configuration");
    weft_diagnostics_sort(diags);
    return weft_diagnostics_status(diags, err);
}

weft_status weft_config_load_text(const char *text, size_t n_bytes, const char *file, const weft_executor *const *executors,
                                  const weft_backend *const *backends, weft_config **out, weft_diagnostics *diags,
                                  weft_error *err)
{
    *out = NULL;
    if (n_bytes > WEFT_CONFIG_MAX_BYTES)
        return weft_fail(err, WEFT_E_TOO_LARGE, "the configuration has more than %u bytes: is it the right file?",
                         WEFT_CONFIG_MAX_BYTES);
    weft_diagnostics *own = diags ? NULL : weft_diagnostics_create();
    weft_config *c = diags || own ? new_config(file ? file : "") : NULL;
    weft_status s = c ? read_all(c, text, n_bytes, executors, backends, diags ? diags : own, err)
                      : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading the configuration");
    weft_diagnostics_destroy(&own);
    if (s)
        weft_config_destroy(&c);
    *out = c;
    return s;
}

static weft_status read_file(const char *path, weft_buffer *b, weft_error *err)
{
    char chunk[16384];
    FILE *f = fopen(path, "re");
    if (!f)
        return weft_fail(err, errno == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "the configuration %s cannot be opened: %s", path,
                         strerror(errno));
    while (!b->failed && !ferror(f) && !feof(f)) {
        size_t n = fread(chunk, 1, sizeof(chunk), f);
        if (b->n_bytes + n > WEFT_CONFIG_MAX_BYTES) {
            fclose(f);
            return weft_fail(err, WEFT_E_TOO_LARGE, "the configuration %s has more than %u bytes: is it the right file?", path,
                             WEFT_CONFIG_MAX_BYTES);
        }
        weft_buffer_append(b, chunk, n);
    }
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    if (failed)
        return weft_fail(err, WEFT_E_IO, "the configuration %s cannot be read: %s", path, strerror(failed));
    return b->failed ? weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while reading %s", path) : WEFT_OK;
}

weft_status weft_config_load_file(const char *path, const weft_executor *const *executors, const weft_backend *const *backends,
                                  weft_config **out, weft_diagnostics *diags, weft_error *err)
{
    weft_buffer b;
    *out = NULL;
    weft_buffer_init(&b, 0);
    weft_status s = read_file(path, &b, err);
    if (!s)
        s = weft_config_load_text(b.data ? (const char *)b.data : "", b.n_bytes, path, executors, backends, out, diags, err);
    weft_buffer_fini(&b);
    return s;
}

weft_status weft_config_default(const weft_executor *const *executors, const weft_backend *const *backends, weft_config **out,
                                weft_error *err)
{
    static const char text[] = "models: []";
    return weft_config_load_text(text, sizeof(text) - 1, "", executors, backends, out, NULL, err);
}

const weft_config_model *weft_config_find(const weft_config *c, const char *name)
{
    for (size_t i = 0; i < c->n_models; i++)
        if (!strcmp(c->models[i].config.name, name))
            return &c->models[i];
    return NULL;
}

const weft_executor *weft_executor_by_name(const weft_executor *const *list, const char *name)
{
    for (; list && *list; list++) {
        if (!strcmp((*list)->name, name))
            return *list;
        for (const char *const *a = (*list)->aliases; a && *a; a++)
            if (!strcmp(*a, name))
                return *list;
    }
    return NULL;
}

const weft_backend *weft_backend_by_name(const weft_backend *const *list, const char *name)
{
    for (; list && *list; list++)
        if (!strcmp((*list)->name, name))
            return *list;
    return NULL;
}
