/* weft version: version, build, runtimes. */
#include <string.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "wire/json.h"

static void quiet_log(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    (void)cookie, (void)level, (void)event, (void)model, (void)line;
}

/* What the backend says of its runtime, or why it has none. */
static bool describe(const weft_backend *b, char *text, size_t n_text)
{
    weft_backend_env env = {.log = quiet_log, .cores = weft_cores()};
    weft_error err;
    void *self = NULL;
    if (b->open(&env, &self, &err) != WEFT_OK) {
        snprintf(text, n_text, "%s", err.text);
        return false;
    }
    if (!b->describe || b->describe(self, text, n_text) != WEFT_OK)
        snprintf(text, n_text, "%s", b->summary);
    b->close(self);
    return true;
}

int weft_cmd_version(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json)
        return weft_cli_usage("version", "nothing expected but --json, got \"%s\"", argv[1]);
    weft_buffer out;
    weft_json j;
    char text[1024];
    weft_buffer_init(&out, 0);
    weft_json_init(&j, &out);
    if (!json) {
        printf("weft %s%s%s, %d cores\n", weft_version(), weft_revision()[0] ? " " : "", weft_revision(), weft_cores());
        for (size_t i = 0; weft_builtin_backends[i]; i++) {
            bool ok = describe(weft_builtin_backends[i], text, sizeof(text));
            printf("  %-12s %s%s\n", weft_builtin_backends[i]->name, ok ? "" : "not available: ", text);
        }
        weft_buffer_fini(&out);
        return WEFT_EXIT_OK;
    }
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "version", weft_version());
    weft_json_key_string(&j, "revision", weft_revision());
    weft_json_key(&j, "backends");
    weft_json_array_begin(&j);
    for (size_t i = 0; weft_builtin_backends[i]; i++) {
        bool ok = describe(weft_builtin_backends[i], text, sizeof(text));
        weft_json_object_begin(&j);
        weft_json_key_string(&j, "name", weft_builtin_backends[i]->name);
        weft_json_key_bool(&j, "available", ok);
        weft_json_key_string(&j, "text", text);
        weft_json_object_end(&j);
    }
    weft_json_array_end(&j);
    weft_json_object_end(&j);
    printf("%.*s\n", (int)out.n_bytes, (const char *)out.data);
    weft_buffer_fini(&out);
    return WEFT_EXIT_OK;
}
