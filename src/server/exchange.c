/* One request and its answer. See server_internal.h for the lifetimes.
 *
 *   phase      who moves it            what is legal
 *   born       loop (head parsed)      body_reserve, fail
 *   handled    loop (body complete)    infer, reply, fail
 *   in engine  loop (infer)            abandon; the engine's threads only touch refs, result and the mailbox
 *   home       loop (mailbox)          route->finish, then reply or fail
 *   answered   loop                    nothing; ends with the last reference */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/server_internal.h"
#include "wire/result_json.h"

weft_exchange *weft_exchange_create(weft_loop *loop, const weft_door *door, weft_conn *conn)
{
    weft_exchange *x = weft_chunk_take(loop->server->pool, sizeof(*x));
    if (!x)
        return NULL;
    memset(x, 0, sizeof(*x));
    x->loop = loop;
    x->door = door;
    x->conn = conn;
    x->started_ns = weft_now_ns();
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
    if (x->charged_bytes)
        atomic_fetch_sub(&s->body_bytes, x->charged_bytes);
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

/* ---- what is counted and logged about an answer --------------------------------------------------------------------------- */

static void peer_text(const weft_exchange *x, char *text, size_t n)
{
    struct sockaddr_storage a;
    char host[64] = "";
    int n_a = sizeof(a), port = 0;
    snprintf(text, n, "%s", x->conn && x->conn->io.handle.type == UV_NAMED_PIPE ? "unix" : "");
    if (!x->conn || x->conn->io.handle.type != UV_TCP || uv_tcp_getpeername(&x->conn->io.tcp, (struct sockaddr *)&a, &n_a) < 0)
        return;
    if (a.ss_family == AF_INET6) {
        uv_ip6_name((struct sockaddr_in6 *)&a, host, sizeof(host));
        port = ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
    } else {
        uv_ip4_name((struct sockaddr_in *)&a, host, sizeof(host));
        port = ntohs(((struct sockaddr_in *)&a)->sin_port);
    }
    snprintf(text, n, a.ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host, port);
}

static const weft_server_hooks *access_hooks(const weft_exchange *x)
{
    const weft_server_hooks *h = atomic_load_explicit(&x->loop->server->hooks, memory_order_acquire);
    return h && h->access ? h : NULL;
}

/* Once for each exchange: when it has its answer, or its client has left without one. */
static void count_answer(weft_exchange *x, int status)
{
    int64_t ns = weft_now_ns() - x->started_ns;
    if (x->counted)
        return;
    x->counted = true;
    weft_http_count_answer(&x->loop->counters, weft_route_index(x->route), status, ns);
    const weft_server_hooks *h = access_hooks(x);
    if (!h)
        return;
    char peer[80];
    peer_text(x, peer, sizeof(peer));
    weft_access a = {.method = weft_http_method_name(x->method),
                     .path = x->target,
                     .peer = peer,
                     .id = x->id,
                     .trace = x->trace,
                     .status = status,
                     .n_received_bytes = x->n_body,
                     .n_sent_bytes = x->head_only ? 0 : x->answer.n_bytes,
                     .total_ns = ns};
    for (size_t i = 0; i < x->n_more && !x->head_only; i++)
        a.n_sent_bytes += x->more[i].len;
    h->access(h->cookie, &a);
}

void weft_exchange_reply(weft_exchange *x, int status, const char *content_type)
{
    weft_assert(!x->answered);
    if (x->answer.failed && x->door->fail) {
        weft_error err;
        weft_fail(&err, WEFT_E_NO_MEMORY, "the server has no memory for this answer; try again");
        weft_exchange_fail(x, &err);
        return;
    }
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
    count_answer(x, x->status);
    if (x->conn)
        x->door->answer(x);
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
    if (x->door->fail) {
        weft_assert(!x->answered);
        x->answered = true;
        count_answer(x, weft_status_http(err->status));
        if (x->conn)
            x->door->fail(x, err);
        return;
    }
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

/* RFC 9110, section 15.5.6: a 405 names what is allowed. */
static void put_allow(weft_exchange *x, int http_status)
{
    size_t n = 0;
    for (int m = WEFT_HTTP_GET; http_status == 405 && m <= WEFT_HTTP_OPTIONS; m++)
        if (x->allow & (1u << m))
            n += (size_t)snprintf(x->answer_headers + n, sizeof(x->answer_headers) - n, "%s%s",
                                  n ? ", " : "Allow: ", weft_http_method_name((weft_http_method)m));
    if (n)
        snprintf(x->answer_headers + n, sizeof(x->answer_headers) - n, "\r\n");
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
    put_allow(x, http_status);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, http_status, "application/json");
}

static void copy_header(const weft_http_head *h, const char *name, char *out, size_t n_out)
{
    const weft_http_slice *v = weft_http_header(h, name);
    out[0] = 0;
    if (!v || v->n >= n_out)
        return;
    for (size_t i = 0; i < v->n; i++)
        if ((unsigned char)v->p[i] < 0x20 || (unsigned char)v->p[i] > 0x7e)
            return;
    memcpy(out, v->p, v->n);
    out[v->n] = 0;
}

bool weft_exchange_open(weft_exchange *x, const weft_http_head *h)
{
    weft_server *s = x->loop->server;
    int status = 404;
    x->head_only = h->method == WEFT_HTTP_HEAD;
    x->v2 = h->path.n >= 3 && memcmp(h->path.p, "/v2", 3) == 0 && (h->path.n == 3 || h->path.p[3] == '/');
    copy_header(h, "x-request-id", x->id, sizeof(x->id));
    weft_trace_from_head(h, x->trace);
    copy_header(h, "content-type", x->content_type, sizeof(x->content_type));
    x->method = h->method;
    if (access_hooks(x))
        snprintf(x->target, sizeof(x->target), "%.*s%s%.*s", (int)h->path.n, h->path.p, h->query.n ? "?" : "", (int)h->query.n,
                 h->query.n ? h->query.p : "");
    x->route = weft_route_find(h, x->model, x->version, sizeof(x->model), &status);
    if (!x->route)
        x->allow = weft_route_methods(h);
    if (!x->route)
        weft_exchange_fail_status(x, status, status == 405 ? "METHOD" : "NOT_FOUND",
                                  status == 405 ? "%.*s exists, but not with this method; GET / lists what is served."
                                                : "There is nothing at %.*s; GET / lists what is served.",
                                  (int)(h->path.n > 200 ? 200 : h->path.n), h->path.p);
    else if (atomic_load_explicit(&s->refuse_new, memory_order_relaxed))
        weft_exchange_fail_status(x, 503, "UNAVAILABLE", "The server is shutting down; send the request to another one.");
    else if (h->content_length > s->options.max_body_bytes)
        weft_exchange_fail_too_large(x);
    else if (x->route->wants_body && !h->chunked && !h->has_length)
        weft_exchange_fail_status(x, 411, "LENGTH", "This request needs a body with Content-Length or chunked coding.");
    else
        return !x->route->admit || x->route->admit(x, h);
    return false;
}

void weft_exchange_fail_too_large(weft_exchange *x)
{
    weft_exchange_fail_status(x, 413, "TOO_LARGE",
                              "The body is larger than %llu bytes, the limit of this server (server.max_body_bytes).",
                              (unsigned long long)x->loop->server->options.max_body_bytes);
}

void weft_exchange_abandon(weft_exchange *x)
{
    count_answer(x, 499);
    x->conn = NULL;
    x->stream = NULL;
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
