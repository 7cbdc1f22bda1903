/* POST /v2/repository/...: index on the loop; load and unload, which take seconds, each on a thread of its own. */
#include <stdlib.h>
#include <string.h>

#include "server/v2_change.h"
#include "server/v2_http.h"
#include "server/v2_repository.h"
#include "wire/json.h"
#include "wire/json_read.h"

#define MAX_CONFIG_BYTES 65536

typedef struct change {
    weft_v2_change base;
    bool only_ready;
} change;

/* ---- the body: {"ready": bool} or {"parameters": {...}}; may be empty -------------------------------------------------------
 */

typedef struct body_reader {
    weft_json_reader r;
    weft_arena *arena;
    change *c;
    weft_error *err;
} body_reader;

static weft_status broken(body_reader *b)
{
    return weft_json_read_fail(&b->r, "the request", b->err);
}

static weft_status read_flag(body_reader *b, const char *name, bool *out)
{
    weft_json_event e = weft_json_read(&b->r);
    *out = e == WEFT_JSON_TRUE;
    if (e == WEFT_JSON_TRUE || e == WEFT_JSON_FALSE)
        return WEFT_OK;
    return e == WEFT_JSON_ERROR ? broken(b) : weft_fail(b->err, WEFT_E_INVALID, "%s must be true or false", name);
}

static weft_status read_config(body_reader *b)
{
    weft_json_event e = weft_json_read(&b->r);
    if (e != WEFT_JSON_STRING)
        return e == WEFT_JSON_ERROR ? broken(b) : weft_fail(b->err, WEFT_E_INVALID, "config must be a string that holds JSON");
    if (b->r.n_token > MAX_CONFIG_BYTES)
        return weft_fail(b->err, WEFT_E_TOO_LARGE, "config has more than %d bytes", MAX_CONFIG_BYTES);
    char *text = weft_arena_alloc(b->arena, b->r.n_token + 1);
    if (!text)
        return weft_fail(b->err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    b->c->base.n_config = weft_json_read_text(&b->r, text);
    b->c->base.config = text;
    return WEFT_OK;
}

static weft_status read_param(body_reader *b)
{
    if (weft_json_read_is(&b->r, "config") && !b->c->base.unload)
        return read_config(b);
    if (weft_json_read_is(&b->r, "unload_dependents") && b->c->base.unload)
        return read_flag(b, "unload_dependents", &b->c->base.unload_dependents);
    if (b->r.n_token >= 5 && memcmp(b->r.token, "file:", 5) == 0)
        return weft_fail(b->err, WEFT_E_FORBIDDEN,
                         "model files cannot be sent by a client; put them where the server reads them");
    return weft_fail(b->err, WEFT_E_INVALID, "the parameter \"%.*s\" is not known here",
                     (int)(b->r.n_token < 64 ? b->r.n_token : 64), b->r.token);
}

static weft_status read_object(body_reader *b, const char *what, weft_status (*member)(body_reader *b))
{
    weft_json_event e = weft_json_read(&b->r);
    if (e != WEFT_JSON_OBJECT)
        return e == WEFT_JSON_ERROR ? broken(b) : weft_fail(b->err, WEFT_E_INVALID, "%s must be an object", what);
    for (;;) {
        e = weft_json_read(&b->r);
        if (e == WEFT_JSON_OBJECT_END)
            return WEFT_OK;
        weft_status st = e == WEFT_JSON_KEY ? member(b) : broken(b);
        if (st)
            return st;
    }
}

static weft_status read_member(body_reader *b)
{
    if (weft_json_read_is(&b->r, "parameters"))
        return read_object(b, "parameters", read_param);
    if (weft_json_read_is(&b->r, "ready"))
        return read_flag(b, "ready", &b->c->only_ready);
    weft_json_event e = weft_json_read(&b->r);
    return weft_json_skip(&b->r, e) ? WEFT_OK : broken(b);
}

static weft_status read_body(weft_exchange *x, change *c, weft_error *err)
{
    body_reader b = {.arena = x->arena, .c = c, .err = err};
    if (x->n_body == 0)
        return WEFT_OK;
    weft_json_read_init(&b.r, (const char *)x->body, x->n_body);
    weft_status st = read_object(&b, "the request", read_member);
    if (!st && weft_json_read(&b.r) != WEFT_JSON_END)
        st = broken(&b);
    return st;
}

/* The job with the body read into it; NULL when it was answered with an error. */
static change *begin(weft_exchange *x, bool unload)
{
    weft_error err;
    weft_status st;
    x->arena = weft_arena_create(x->loop->server->pool, 4096);
    change *c = x->arena ? weft_arena_zalloc(x->arena, sizeof(*c)) : NULL;
    if (!c) {
        st = weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    } else {
        c->base.model = x->model;
        c->base.unload = unload;
        st = read_body(x, c, &err);
    }
    if (!st)
        return c;
    weft_exchange_fail(x, &err);
    return NULL;
}

/* ---- index ----------------------------------------------------------------------------------------------------------------- */

void weft_v2_index_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_error err;
    weft_v2_index_entry *entries;
    size_t n;
    weft_json j;
    change *c = begin(x, false);
    if (!c)
        return;
    weft_server *s = x->loop->server;
    if (weft_v2_repository_index(s->engine, atomic_load(&s->config), c->only_ready, x->arena, &entries, &n, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    weft_json_init(&j, &x->answer);
    weft_json_array_begin(&j);
    for (size_t i = 0; i < n; i++) {
        weft_json_object_begin(&j);
        weft_json_key_string(&j, "name", entries[i].name);
        weft_json_key_string(&j, "version", entries[i].version);
        weft_json_key_string(&j, "state", entries[i].state);
        weft_json_key_string(&j, "reason", entries[i].reason);
        weft_json_object_end(&j);
    }
    weft_json_array_end(&j);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, 200, "application/json");
}

/* ---- load and unload ------------------------------------------------------------------------------------------------------- */

bool weft_v2_admin_admit(weft_exchange *x, const weft_http_head *head)
{
    weft_error err;
    if (weft_admin_allowed(x, head, &err))
        return true;
    weft_exchange_fail(x, &err);
    return false;
}

static void start_change(weft_exchange *x, bool unload)
{
    weft_error err;
    change *c = begin(x, unload);
    if (c && weft_v2_change_start(&c->base, x, &err) != WEFT_OK)
        weft_exchange_fail(x, &err);
}

void weft_v2_load_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    start_change(x, false);
}

void weft_v2_unload_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    start_change(x, true);
}

void weft_v2_change_finish(weft_exchange *x)
{
    weft_v2_change *c = x->job;
    if (c->err.status != WEFT_OK)
        weft_exchange_fail(x, &c->err);
    else
        weft_exchange_reply(x, 200, "application/json");
}
