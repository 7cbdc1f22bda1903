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

#define MAX_SAID 32

/* The messages so far, and where in them each different one stands: what is wrong with the machine and not with a model (there is
 * no runtime) is said once. */
typedef struct report {
    weft_buffer text;
    struct {
        size_t at, n;
    } said[MAX_SAID];
    size_t n_said;
} report;

static const char *without_model(const weft_config_model *m, const char *text)
{
    char prefix[80];
    int n = snprintf(prefix, sizeof(prefix), "model \"%s\": ", m->config.name);
    return n > 0 && strncmp(text, prefix, (size_t)n) == 0 ? text + n : text;
}

static void add_message(report *r, const weft_config *c, const weft_config_model *m, const weft_error *err)
{
    const char *why = without_model(m, err->text);
    size_t n = strlen(why);
    bool same = false;
    for (size_t i = 0; i < r->n_said && !same; i++)
        same = r->said[i].n == n && memcmp(r->text.data + r->said[i].at, why, n) == 0;
    weft_buffer_printf(&r->text, "%s%s:%d:%d: model \"%s\": ", r->text.n_bytes ? "\n" : "", c->file, m->place.line,
                       m->place.column, m->config.name);
    if (!same && r->n_said < MAX_SAID && !r->text.failed) {
        r->said[r->n_said].at = r->text.n_bytes;
        r->said[r->n_said++].n = n;
    }
    weft_buffer_puts(&r->text, same ? "the same" : why);
    if (r->text.failed)
        r->n_said = 0;
}

/* Loads what can be loaded, so that all messages are seen at once. The status is the first failure's. */
static weft_status load_models(weft_engine *e, const weft_config *c, weft_error *err)
{
    report r = {.n_said = 0};
    weft_status first = WEFT_OK;
    bool failed[WEFT_CONFIG_MAX_MODELS] = {false};
    weft_buffer_init(&r.text, 65536);
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
        add_message(&r, c, &c->models[i], &one);
    }
    if (first)
        weft_fail(err, first, "%s", r.text.data && !r.text.failed ? (const char *)r.text.data : "out of memory");
    weft_buffer_fini(&r.text);
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
