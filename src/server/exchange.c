/* One request and its answer. See server_internal.h for the lifetimes.
 *
 *   phase      who moves it            what is legal
 *   born       loop (head parsed)      body_reserve, fail
 *   handled    loop (body complete)    infer, reply, fail
 *   in engine  loop (infer)            abandon; the engine's threads only touch refs, result and the mailbox
 *   home       loop (mailbox)          route->finish, then reply or fail
 *   answered   loop                    nothing; ends with the last reference */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/server_internal.h"
#include "wire/result_json.h"

weft_exchange *weft_exchange_create(weft_loop *loop, weft_conn *conn)
{
    weft_exchange *x = weft_chunk_take(loop->server->pool, sizeof(*x));
    if (!x)
        return NULL;
    memset(x, 0, sizeof(*x));
    x->loop = loop;
    x->conn = conn;
    atomic_init(&x->refs, 1);
    weft_buffer_init(&x->answer, 0);
    atomic_fetch_add(&loop->server->n_exchanges, 1);
    return x;
}

void weft_exchange_ref(weft_exchange *x)
{
    atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
}

void weft_exchange_unref(weft_exchange *x)
{
    if (atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_server *s = x->loop->server;
    weft_result_unref(x->result);
    if (x->job_free)
        x->job_free(x->job);
    weft_arena_destroy(&x->arena);
    weft_chunk_give(s->pool, x->body ? x->body - x->body_skew : NULL);
    weft_buffer_fini(&x->answer);
    weft_chunk_give(s->pool, x);
    atomic_fetch_sub(&s->n_exchanges, 1);
}

bool weft_exchange_body_reserve(weft_exchange *x, size_t n)
{
    if (n <= x->body_capacity)
        return true;
    size_t want = x->body_capacity ? x->body_capacity * 2 : n;
    if (want < n)
        want = n;
    uint8_t *bigger = weft_chunk_take(x->loop->server->pool, want + x->body_skew);
    if (!bigger)
        return false;
    bigger += x->body_skew;
    if (x->n_body)
        memcpy(bigger, x->body, x->n_body);
    weft_chunk_give(x->loop->server->pool, x->body ? x->body - x->body_skew : NULL);
    x->body = bigger;
    x->body_capacity = want;
    return true;
}

void weft_exchange_reply(weft_exchange *x, int status, const char *content_type)
{
    weft_assert(!x->answered);
    x->answered = true;
    x->status = status;
    x->answer_type = content_type;
    if (x->answer.failed) {
        static const char oom[] =
            "{\"error\":{\"code\":\"NO_MEMORY\",\"message\":\"The server has no memory for this answer; try again.\"}}\n";
        static const char oom_v2[] = "{\"error\":\"The server has no memory for this answer; try again.\"}\n";
        weft_buffer_fini(&x->answer);
        weft_buffer_init(&x->answer, 0);
        weft_buffer_puts(&x->answer, x->v2 ? oom_v2 : oom);
        x->answer_headers[0] = 0;
        x->n_more = 0;
        x->status = 503;
        x->answer_type = "application/json";
    }
    if (x->conn)
        weft_conn_answer(x->conn);
}

/* The Open Inference Protocol's shape, with the request's id where it brought one. */
static void put_v2_error(weft_exchange *x, const char *text)
{
    weft_json j;
    weft_json_init(&j, &x->answer);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "error", text);
    if (x->error_id)
        weft_json_key_string(&j, "id", x->error_id);
    weft_json_object_end(&j);
}

/* Triton answers a full queue with 503. */
static int http_status_of(const weft_exchange *x, weft_status s)
{
    return s == WEFT_E_BUSY && x->v2 && x->loop->server->options.triton_compatible ? 503 : weft_status_http(s);
}

static void drop_answer(weft_exchange *x)
{
    weft_buffer_clear(&x->answer);
    x->answer.failed = false;
    x->answer_headers[0] = 0;
    x->n_more = 0;
}

void weft_exchange_fail(weft_exchange *x, const weft_error *err)
{
    drop_answer(x);
    if (x->v2)
        put_v2_error(x, err->text);
    else
        weft_error_json(&x->answer, err);
    if (err->retry_after_ms > 0)
        snprintf(x->answer_headers, sizeof(x->answer_headers), "Retry-After: %lld\r\nretry-after-ms: %lld\r\n",
                 (long long)((err->retry_after_ms + 999) / 1000), (long long)err->retry_after_ms);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, http_status_of(x, err->status), "application/json");
}

void weft_exchange_fail_status(weft_exchange *x, int http_status, const char *code, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    drop_answer(x);
    if (x->v2) {
        put_v2_error(x, text);
    } else {
        weft_json j;
        weft_json_init(&j, &x->answer);
        weft_json_object_begin(&j);
        weft_json_key(&j, "error");
        weft_json_object_begin(&j);
        weft_json_key_string(&j, "code", code);
        weft_json_key_string(&j, "message", text);
        weft_json_object_end(&j);
        weft_json_object_end(&j);
    }
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, http_status, "application/json");
}

void weft_exchange_abandon(weft_exchange *x)
{
    x->conn = NULL;
    if (x->in_engine && x->cancel)
        x->cancel(x);
    else if (x->in_engine)
        weft_cancel(x->loop->server->engine, x->ticket);
}

/* ---- the engine's side: any thread ------------------------------------------------------------------------------------- */

void weft_exchange_post_home(weft_exchange *x)
{
    weft_loop *loop = x->loop;
    weft_lock_take(&loop->lock);
    bool was_empty = weft_node_empty(&loop->mailbox);
    weft_node_push_back(&loop->mailbox, &x->node);
    weft_lock_drop(&loop->lock);
    if (was_empty)
        uv_async_send(&loop->wake);
}

static void on_done(void *cookie, weft_result *r)
{
    weft_exchange *x = cookie;
    x->result = r;
    weft_exchange_post_home(x); /* with the reference taken in weft_exchange_infer */
}

static void on_release(void *cookie)
{
    weft_exchange_unref(cookie);
}

void weft_exchange_infer(weft_exchange *x, const weft_call *call)
{
    weft_error err;
    weft_error_clear(&err);
    const weft_async a = {.done = on_done, .cookie = x, .release = on_release};
    weft_exchange_ref(x); /* for done, until the loop has taken it from the mailbox */
    weft_exchange_ref(x); /* for release */
    x->in_engine = true;
    if (weft_infer_async(x->loop->server->engine, call, &a, &x->ticket, &err) == WEFT_OK)
        return;
    x->in_engine = false;
    weft_exchange_unref(x);
    weft_exchange_unref(x);
    weft_exchange_fail(x, &err);
}
