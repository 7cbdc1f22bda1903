/* HTTP over an HTTP/2 stream: the same routes and handlers as HTTP/1. */
#include <stdio.h>
#include <string.h>

#include "server/h2_conn.h"

#define MAX_ANSWER_HEADERS 12

/* "Name: value\r\n" lines, as handlers write them, to fields with small names. `line` is cut up in place. */
static size_t split_headers(char *line, nghttp2_nv *nv, size_t n, size_t max)
{
    while (*line && n < max) {
        char *end = strstr(line, "\r\n"), *colon = strchr(line, ':');
        if (!end || !colon || colon > end)
            break;
        *end = *colon = 0;
        for (char *p = line; *p; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        nv[n++] = weft_h2_nv(line, colon + 1 + strspn(colon + 1, " "));
        line = end + 2;
    }
    return n;
}

static void answer(weft_exchange *x)
{
    weft_h2_stream *s = x->stream;
    char status[8], length[24], more[sizeof(x->answer_headers)];
    nghttp2_nv nv[MAX_ANSWER_HEADERS];
    size_t n = 0, n_bytes = x->answer.n_bytes;
    for (size_t i = 0; i < x->n_more; i++)
        n_bytes += x->more[i].len;
    snprintf(status, sizeof(status), "%d", x->status);
    snprintf(length, sizeof(length), "%zu", n_bytes);
    memcpy(more, x->answer_headers, sizeof(more));
    nv[n++] = weft_h2_nv(":status", status);
    nv[n++] = weft_h2_nv("content-type", x->answer_type);
    nv[n++] = weft_h2_nv("content-length", length);
    if (x->id[0])
        nv[n++] = weft_h2_nv("x-request-id", x->id);
    if (x->trace[0])
        nv[n++] = weft_h2_nv("traceparent", x->trace);
    n = split_headers(more, nv, n, MAX_ANSWER_HEADERS);
    weft_h2_send(s, nv, n, n_bytes > 0 && !x->head_only);
}

static void go_on(weft_h2_stream *s)
{
    const weft_http_slice *expect = weft_http_header(&s->head, "expect");
    if (expect && weft_http_slice_is(*expect, "100-continue"))
        weft_h2_continue(s);
    weft_h2_expect(s, s->head.has_length ? (size_t)s->head.content_length : SIZE_MAX);
}

static void on_head(weft_h2_stream *s)
{
    weft_exchange *x = s->x;
    weft_error err;
    const weft_http_slice *type = weft_http_header(&s->head, "content-type");
    if (type && weft_http_slice_starts(*type, "application/grpc") && x->loop->server->options.grpc_port >= 0) {
        s->app = &weft_grpc_app; /* a client that has this port, or only the Unix socket */
        x->door = &s->app->door;
        s->app->head(s);
        return;
    }
    if (!weft_exchange_open(x, &s->head) || s->ended)
        return;
    if (s->head.has_length && weft_h2_reserve(s, (size_t)s->head.content_length, &err) != WEFT_OK)
        weft_exchange_fail(x, &err);
    else
        go_on(s);
}

static void on_data(weft_h2_stream *s, const uint8_t *data, size_t n)
{
    weft_exchange *x = s->x;
    weft_error err;
    if (n > x->loop->server->options.max_body_bytes - x->n_body) {
        weft_exchange_fail_too_large(x);
        return;
    }
    if (weft_h2_reserve(s, x->n_body + n, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    if (n)
        memcpy(x->body + x->n_body, data, n);
    x->n_body += n;
}

static void on_end(weft_h2_stream *s)
{
    s->x->route->handle(s->x, &s->head);
}

static void on_late(weft_h2_stream *s)
{
    weft_exchange_fail_status(s->x, 408, "DEADLINE",
                              "The request did not arrive completely in time; send it faster or in one piece.");
}

static void on_large_head(weft_h2_stream *s)
{
    weft_exchange_fail_status(s->x, 431, "TOO_LARGE",
                              "The request head is larger than this server accepts (server.max_head_bytes).");
}

const weft_h2_app weft_h2_http_app = {
    .door = {.answer = answer},
    .head = on_head,
    .data = on_data,
    .end = on_end,
    .late = on_late,
    .head_too_large = on_large_head,
};
