/* Where the reader of configurations, the built-in parts and the engine meet. */
#include <stdio.h>
#include <string.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "config/config.h"
#include "executor/executor_list.h"
#include "weft/engine.h"

/* Something that the model uses did not load: its own message would only repeat that. */
static bool uses_failed(const weft_config_model *m, const bool *failed)
{
    for (size_t i = 0; i < m->n_slots; i++)
        if (failed[m->slots[i].model])
            return true;
    return false;
}

static void add_message(weft_buffer *messages, const weft_config *c, const weft_config_model *m, const weft_error *err)
{
    weft_buffer_printf(messages, "%s%s:%d:%d: model %s: %s", messages->n_bytes ? "\n" : "", c->file, m->place.line,
                       m->place.column, m->config.name, err->text);
}

/* Loads what can be loaded, so that all messages are seen at once. The status is the first failure's. */
static weft_status load_models(weft_engine *e, const weft_config *c, weft_error *err)
{
    weft_buffer messages;
    weft_status first = WEFT_OK;
    bool failed[WEFT_CONFIG_MAX_MODELS] = {false};
    weft_buffer_init(&messages, 65536);
    for (size_t i = 0; i < c->n_models; i++) {
        weft_error one;
        weft_status s;
        failed[i] = uses_failed(&c->models[i], failed);
        if (failed[i])
            continue;
        weft_error_clear(&one);
        s = weft_engine_load(e, &c->models[i].config, &one);
        if (!s)
            continue;
        failed[i] = true;
        first = first ? first : s;
        add_message(&messages, c, &c->models[i], &one);
    }
    if (first)
        weft_fail(err, first, "%s", messages.data ? (const char *)messages.data : "out of memory");
    weft_buffer_fini(&messages);
    return first;
}

weft_status weft_engine_open(const char *path, weft_engine **out, weft_error *err)
{
    weft_config *c = NULL;
    weft_engine *e = NULL;
    *out = NULL;
    weft_status s = weft_config_load_file(path, weft_builtin_executors, weft_builtin_backends, &c, NULL, err);
    if (s)
        return s;
    s = weft_engine_create(&c->engine, &e, err);
    if (!s)
        s = load_models(e, c, err);
    if (s)
        weft_engine_destroy(&e);
    weft_config_destroy(&c);
    *out = e;
    return s;
}
