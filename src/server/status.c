/* What the server says about itself and its models: health, lists, figures. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server_internal.h"
#include "wire/result_json.h"

/* ---- readiness --------------------------------------------------------------------------------------------------------------
 */

typedef struct readiness {
    size_t n_models, n_ready, n_required, n_required_ready;
} readiness;

static bool serves(weft_model_state s)
{
    return s == WEFT_MODEL_READY || s == WEFT_MODEL_DEGRADED;
}

static void count_ready(void *cookie, const weft_model_info *info)
{
    readiness *r = cookie;
    bool ready = serves(info->state);
    r->n_models++;
    r->n_ready += ready;
    r->n_required += info->required;
    r->n_required_ready += info->required && ready;
}

/* Ready: not draining, and every required model serves. */
static bool is_ready(weft_server *s, readiness *r)
{
    memset(r, 0, sizeof(*r));
    weft_engine_each_model(s->engine, count_ready, r);
    return !atomic_load(&s->not_ready) && r->n_required == r->n_required_ready;
}

bool weft_server_is_ready(weft_server *s)
{
    readiness r;
    return is_ready(s, &r);
}

void weft_live_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_buffer_puts(&x->answer, "{\"live\":true}\n");
    weft_exchange_reply(x, 200, "application/json");
}

void weft_ready_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    readiness r;
    bool ready = is_ready(x->loop->server, &r);
    weft_buffer_printf(&x->answer, "{\"ready\":%s}\n", ready ? "true" : "false");
    weft_exchange_reply(x, ready ? 200 : 503, "application/json");
}

/* ---- models ------------------------------------------------------------------------------------------------------------------
 */

static void put_visible_model(void *cookie, const weft_model_info *info)
{
    if (!info->hidden)
        weft_json_model_info(cookie, info);
}

void weft_models_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_json j;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key(&j, "models");
    weft_json_array_begin(&j);
    weft_engine_each_model(x->loop->server->engine, put_visible_model, &j);
    weft_json_array_end(&j);
    weft_json_object_end(&j);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, 200, "application/json");
}

/* ---- one model with its figures
 * ------------------------------------------------------------------------------------------------ */

void weft_model_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_engine *e = x->loop->server->engine;
    const weft_model_info *info = NULL;
    weft_model_stats stats;
    weft_error err;
    if (weft_engine_model_info(e, x->model, &info, &err) != WEFT_OK ||
        weft_engine_model_stats(e, x->model, &stats, &err) != WEFT_OK) {
        if (info)
            weft_model_info_unref(info);
        weft_exchange_fail(x, &err);
        return;
    }
    weft_json j;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key(&j, "model");
    weft_json_model_info(&j, info);
    weft_json_key(&j, "stats");
    weft_json_model_stats(&j, &stats);
    weft_json_object_end(&j);
    weft_buffer_putc(&x->answer, '\n');
    weft_model_info_unref(info);
    weft_exchange_reply(x, 200, "application/json");
}

/* ---- the whole process
 * ----------------------------------------------------------------------------------------------------------- */

typedef struct health_walk {
    weft_json *j;
    weft_engine *engine;
    bool hidden; /* which models: those that callers see, or the parts of pipelines */
} health_walk;

static void put_state(weft_json *j, const weft_model_info *info)
{
    weft_json_key_string(j, "name", info->name);
    weft_json_key_string(j, "state", weft_model_state_name(info->state));
    if (info->state_cause && info->state_cause[0])
        weft_json_key_string(j, "state_cause", info->state_cause);
    weft_json_key_int(j, "state_since_unix_ms", info->state_since_unix_ns / WEFT_MS);
    weft_json_key_bool(j, "required", info->required);
}

static void put_health(void *cookie, const weft_model_info *info)
{
    health_walk *w = cookie;
    if (info->hidden != w->hidden)
        return;
    weft_model_stats s;
    weft_error err;
    weft_json_object_begin(w->j);
    put_state(w->j, info);
    if (weft_engine_model_stats(w->engine, info->name, &s, &err) == WEFT_OK) {
        weft_json_key_uint(w->j, "queued", s.queued);
        weft_json_key_uint(w->j, "running", s.running);
        weft_json_key_double(w->j, "expected_wait_ms", (double)s.expected_wait_ns / 1e6);
        if (s.last_success_unix_ns)
            weft_json_key_int(w->j, "last_success_unix_ms", s.last_success_unix_ns / WEFT_MS);
    }
    weft_json_object_end(w->j);
}

void weft_healthz_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_server *s = x->loop->server;
    readiness r;
    weft_json j;
    bool ready = is_ready(s, &r);
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "status",
                         ready                        ? (r.n_ready == r.n_models ? "ready" : "degraded")
                         : atomic_load(&s->not_ready) ? "draining"
                                                      : "not ready");
    weft_json_key_string(&j, "version", weft_version());
    weft_json_key_double(&j, "uptime_s", (double)(weft_unix_ns() - s->started_unix_ns) / 1e9);
    weft_json_key_int(&j, "connections", atomic_load(&s->n_conns));
    weft_json_key(&j, "models");
    weft_json_array_begin(&j);
    health_walk w = {&j, s->engine, false};
    weft_engine_each_model(s->engine, put_health, &w);
    weft_json_array_end(&j);
    weft_json_key(&j, "parts"); /* hidden sub-models, called MODEL.SLOT */
    weft_json_array_begin(&j);
    w.hidden = true;
    weft_engine_each_model(s->engine, put_health, &w);
    weft_json_array_end(&j);
    weft_json_object_end(&j);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, ready ? 200 : 503, "application/json");
}

/* "GET /v2/models/{name}/versions/{version}": what it does */
static void put_route(weft_json *j, const weft_route *r)
{
    char path[160], key[176];
    weft_route_path(r, path, sizeof(path));
    snprintf(key, sizeof(key), "%s %s", weft_http_method_name(r->method), path);
    weft_json_key_string(j, key, r->help);
}

void weft_root_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_json j;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "server", "weft");
    weft_json_key_string(&j, "version", weft_version());
    weft_json_key(&j, "serves");
    weft_json_object_begin(&j);
    for (const weft_route *r = weft_routes; r->pattern; r++) {
        if (!r->help) /* another spelling of the one above */
            continue;
        put_route(&j, r);
    }
    weft_json_object_end(&j);
    weft_json_object_end(&j);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, 200, "application/json");
}
