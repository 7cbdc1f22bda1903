/* The model repository over gRPC. */
#include <string.h>

#include "server/grpc_internal.h"
#include "server/pb_write.h"
#include "server/v2_change.h"
#include "server/v2_repository.h"

#define MAX_NAME 256
#define MAX_CONFIG_BYTES 65536

/* RepositoryIndexRequest: repository_name=1 ready=2; RepositoryIndexResponse: models=1 {name=1 version=2 state=3 reason=4} */
void weft_grpc_index(weft_exchange *x)
{
    weft_server *s = x->loop->server;
    weft_pb_reader r;
    weft_pb_field f;
    weft_error err;
    weft_v2_index_entry *entries;
    size_t n = 0;
    bool only_ready = false;
    weft_pb_read_init(&r, x->body, x->n_body);
    while (weft_pb_next(&r, &f))
        only_ready = f.number == 2 && f.type == WEFT_PB_VARINT ? f.value != 0 : only_ready;
    weft_status st = r.bad
                         ? weft_grpc_malformed("RepositoryIndexRequest", &err)
                         : weft_v2_repository_index(s->engine, atomic_load(&s->config), only_ready, x->arena, &entries, &n, &err);
    if (st) {
        weft_exchange_fail(x, &err);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t begun = weft_pb_begin(&x->answer, 1);
        weft_pb_put_string(&x->answer, 1, entries[i].name);
        weft_pb_put_string(&x->answer, 2, entries[i].version);
        weft_pb_put_string(&x->answer, 3, entries[i].state);
        weft_pb_put_string(&x->answer, 4, entries[i].reason);
        weft_pb_end(&x->answer, begun);
    }
    weft_grpc_reply(x);
}

/* ---- load and unload ------------------------------------------------------------------------------------------------------- */

/* ModelRepositoryParameter: bool=1 int64=2 string=3 bytes=4. The last one counts. */
static weft_status read_value(const weft_pb_field *message, weft_pb_field *value, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f;
    *value = (weft_pb_field){0};
    weft_pb_read_init(&r, message->data, message->n_bytes);
    while (weft_pb_next(&r, &f))
        if (f.number <= 4)
            *value = f;
    return r.bad ? weft_grpc_malformed("ModelRepositoryParameter", err) : WEFT_OK;
}

static weft_status use_param(weft_v2_change *c, weft_arena *arena, const char *name, const weft_pb_field *value, weft_error *err)
{
    if (strcmp(name, "config") == 0 && !c->unload) {
        if (value->number != 3 || value->type != WEFT_PB_BYTES)
            return weft_fail(err, WEFT_E_INVALID, "config must be a string that holds JSON");
        c->n_config = value->n_bytes;
        return weft_grpc_text(arena, value, MAX_CONFIG_BYTES, "config", &c->config, err);
    }
    if (strcmp(name, "unload_dependents") == 0 && c->unload) {
        if (value->number != 1 || value->type != WEFT_PB_VARINT)
            return weft_fail(err, WEFT_E_INVALID, "unload_dependents must be true or false");
        c->unload_dependents = value->value != 0;
        return WEFT_OK;
    }
    if (strncmp(name, "file:", 5) == 0)
        return weft_fail(err, WEFT_E_FORBIDDEN, "model files cannot be sent by a client; put them where the server reads them");
    return weft_fail(err, WEFT_E_INVALID, "the parameter \"%.64s\" is not known here", name);
}

/* An entry of map<string, ModelRepositoryParameter>: key=1 value=2 */
static weft_status read_param(weft_v2_change *c, weft_arena *arena, const weft_pb_field *entry, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f, message = {0}, value;
    const char *name = "";
    weft_status st = WEFT_OK;
    if (entry->type != WEFT_PB_BYTES)
        return weft_grpc_malformed("request", err);
    weft_pb_read_init(&r, entry->data, entry->n_bytes);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(arena, &f, MAX_NAME, "a parameter's name", &name, err);
        else if (f.number == 2 && f.type == WEFT_PB_BYTES)
            message = f;
    }
    if (!st && r.bad)
        st = weft_grpc_malformed("request", err);
    if (!st)
        st = read_value(&message, &value, err);
    return st ? st : use_param(c, arena, name, &value, err);
}

/* RepositoryModelLoad- and -UnloadRequest: repository_name=1 model_name=2 parameters=3 */
static weft_status read_change(weft_exchange *x, weft_v2_change *c, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_status st = WEFT_OK;
    c->model = "";
    weft_pb_read_init(&r, x->body, x->n_body);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 2)
            st = weft_grpc_text(x->arena, &f, MAX_NAME, "the model's name", &c->model, err);
        else if (f.number == 3)
            st = read_param(c, x->arena, &f, err);
    }
    return !st && r.bad ? weft_grpc_malformed("request", err) : st;
}

static void start_change(weft_exchange *x, bool unload)
{
    const weft_h2_stream *s = x->stream;
    weft_error err;
    weft_v2_change *c = weft_arena_zalloc(x->arena, sizeof(*c));
    weft_status st = WEFT_OK;
    if (!c)
        st = weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    else if (!weft_admin_allowed(x, &s->head, &err))
        st = err.status;
    if (!st) {
        c->unload = unload;
        st = read_change(x, c, &err);
    }
    if (!st)
        st = weft_v2_change_start(c, x, &err);
    if (st)
        weft_exchange_fail(x, &err);
}

void weft_grpc_load(weft_exchange *x)
{
    start_change(x, false);
}

void weft_grpc_unload(weft_exchange *x)
{
    start_change(x, true);
}

void weft_grpc_change_finish(weft_exchange *x)
{
    const weft_v2_change *c = x->job;
    if (c->err.status != WEFT_OK)
        weft_exchange_fail(x, &c->err);
    else
        weft_grpc_reply(x);
}
