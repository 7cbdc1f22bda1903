/* POST /v2/models/{name}[/versions/{version}]/infer.
 *
 *   admit    loop            headers: model, lengths, codings; where the body must lie to align tensors behind the JSON
 *   handle   loop or worker  decompress and parse; what may take longer than a moment goes to libuv's threads
 *   submit   loop            one call, or one a picture, to the engine
 *   done     engine threads  the last result posts the exchange home
 *   finish   loop or worker  outputs -> JSON and pieces, compressed when asked for
 *
 * The job lives in the exchange's arena. A worker touches the job, x->body and x->answer, never the connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/gzip_body.h"
#include "server/v2_answer.h"
#include "server/v2_http.h"
#include "server/v2_job.h"
#include "server/v2_request.h"
#include "wire/json.h"

#define INLINE_JSON_BYTES 16384 /* parsed or written on the loop: about a tenth of a millisecond */
#define COMPRESS_MIN_BYTES 1024 /* below it an answer is not worth compressing */
#define RAW_SKEW 16             /* room for the length of a BYTES element, and aligned for every type */
#define ARENA_BYTES 16384

/* The job must come first: free and cancel see it only. */
typedef struct v2_job {
    weft_v2_job base;
    weft_error err; /* of a worker */
    /* from the head */
    bool has_json_length, wants_json;
    size_t json_length;
    weft_coding body_coding, answer_coding;
    bool compress_tensors;
    /* the answer */
    uv_buf_t more[WEFT_V2_MAX_OUTPUTS + 1];
} v2_job;

static v2_job *job_of(const weft_exchange *x)
{
    return x->job;
}

/* ---- the head -------------------------------------------------------------------------------------------------------------- */

static bool read_length(const weft_http_slice *v, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->p[i] < '0' || v->p[i] > '9' || __builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(v->p[i] - '0'), out))
            return false;
    }
    return v->n > 0;
}

static bool accepts_json_only(const weft_http_head *head)
{
    const weft_http_slice *v = weft_http_header(head, "accept");
    return v && weft_http_slice_is(*v, "application/json");
}

static bool read_head(weft_exchange *x, v2_job *job, const weft_http_head *head)
{
    uint64_t length;
    const weft_http_slice *v = weft_http_header(head, "inference-header-content-length");
    if (v) {
        if (!read_length(v, &length) || length > x->loop->server->options.max_body_bytes) {
            weft_exchange_fail_status(x, 400, "INVALID",
                                      "Inference-Header-Content-Length must be the number of bytes of the JSON part.");
            return false;
        }
        job->has_json_length = true;
        job->json_length = (size_t)length;
        x->body_skew = length ? (64 - (size_t)(length % 64)) % 64 : RAW_SKEW;
    }
    if ((v = weft_http_header(head, "content-encoding")))
        job->body_coding = weft_coding_of(v->p, v->n);
    if (job->body_coding == WEFT_CODING_UNKNOWN) {
        weft_exchange_fail_status(x, 415, "MEDIA_TYPE", "The Content-Encoding %.*s is not known here; gzip and deflate are.",
                                  (int)(v->n < 40 ? v->n : 40), v->p);
        return false;
    }
    if ((v = weft_http_header(head, "accept-encoding")))
        job->answer_coding = weft_coding_accepted(v->p, v->n, &job->compress_tensors);
    job->wants_json = accepts_json_only(head);
    return true;
}

bool weft_v2_infer_admit(weft_exchange *x, const weft_http_head *head)
{
    weft_error err;
    x->arena = weft_arena_create(x->loop->server->pool, ARENA_BYTES);
    v2_job *job = x->arena ? weft_arena_zalloc(x->arena, sizeof(*job)) : NULL;
    if (!job) {
        weft_fail(&err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
        weft_exchange_fail(x, &err);
        return false;
    }
    if (weft_v2_job_init(&job->base, x, x->model, x->version, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return false;
    }
    job->base.call.trace = x->trace[0] ? x->trace : NULL;
    job->base.call.nan_in_json = x->loop->server->options.triton_compatible;
    return read_head(x, job, head);
}

/* ---- the body -------------------------------------------------------------------------------------------------------------- */

static weft_status decompress(weft_exchange *x, v2_job *job)
{
    weft_chunk_pool *pool = x->loop->server->pool;
    uint8_t *plain;
    size_t n;
    weft_status st = weft_inflate(pool, job->body_coding, x->body, x->n_body, (size_t)x->loop->server->options.max_body_bytes,
                                  x->body_skew, &plain, &n, &job->err);
    if (st)
        return st;
    weft_chunk_give(pool, x->body ? x->body - x->body_skew : NULL);
    x->body = plain;
    x->n_body = n;
    x->body_capacity = n;
    return WEFT_OK;
}

/* Any thread. */
static void read_body(weft_exchange *x, v2_job *job)
{
    static const uint8_t nothing[1];
    weft_error_clear(&job->err);
    if (job->body_coding != WEFT_CODING_NONE && decompress(x, job) != WEFT_OK)
        return;
    weft_v2_call *c = &job->base.call;
    size_t max_bytes = (size_t)x->loop->server->options.max_body_bytes;
    if (job->has_json_length && job->json_length == 0) {
        if (!x->body && !weft_exchange_body_reserve(x, 1)) /* an empty element still needs the room before it */
            weft_fail(&job->err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
        else if (weft_v2_request_raw(c, &job->base.model, x->body, x->n_body, &job->err) == WEFT_OK)
            c->binary_outputs = !job->wants_json;
        return;
    }
    weft_v2_request_read(c, x->body ? x->body : nothing, x->n_body, job->has_json_length ? job->json_length : x->n_body,
                         max_bytes, &job->err);
}

/* ---- to the engine and back ------------------------------------------------------------------------------------------------ */

static void submit(weft_exchange *x, v2_job *job)
{
    weft_v2_call *c = &job->base.call;
    weft_error err;
    if (c->id[0])
        x->error_id = c->id;
    else
        c->id = x->id; /* for the log; only the request's own is echoed in the body */
    weft_status st = weft_v2_job_submit(&job->base, (int64_t)x->loop->server->options.request_timeout_ms, &err);
    if (st)
        weft_exchange_fail(x, &err);
    else if (!x->error_id)
        c->id = "";
}

static void body_read(weft_exchange *x, v2_job *job)
{
    if (job->err.status == WEFT_OK) {
        submit(x, job);
        return;
    }
    if (job->base.call.id[0])
        x->error_id = job->base.call.id;
    weft_exchange_fail(x, &job->err);
}

static void read_work(uv_work_t *w)
{
    weft_exchange *x = w->data;
    read_body(x, job_of(x));
}

static void read_done(uv_work_t *w, int status)
{
    (void)status;
    weft_exchange *x = w->data;
    if (x->conn)
        body_read(x, job_of(x));
    weft_exchange_unref(x);
}

void weft_v2_infer_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    v2_job *job = job_of(x);
    size_t n_json = job->has_json_length ? job->json_length : x->n_body;
    if (job->body_coding != WEFT_CODING_NONE || n_json > INLINE_JSON_BYTES) {
        weft_exchange_ref(x);
        x->work.data = x;
        if (uv_queue_work(&x->loop->uv, &x->work, read_work, read_done) == 0)
            return;
        weft_exchange_unref(x);
    }
    read_body(x, job);
    body_read(x, job);
}

/* ---- the answer ------------------------------------------------------------------------------------------------------------ */

static size_t pieces_bytes(const weft_piece *p, size_t n)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += p[i].n_bytes;
    return n_bytes;
}

static void compress(weft_exchange *x, v2_job *job, const weft_piece *tensors, size_t n_tensors)
{
    weft_piece pieces[WEFT_V2_MAX_OUTPUTS + 2] = {{x->answer.data, x->answer.n_bytes}};
    weft_buffer small;
    if (n_tensors)
        memcpy(pieces + 1, tensors, n_tensors * sizeof(*tensors));
    weft_buffer_init(&small, 0);
    if (x->answer.failed || !weft_deflate(job->answer_coding, pieces, n_tensors + 1, &small)) {
        weft_buffer_fini(&small); /* then it goes as it is */
        job->answer_coding = WEFT_CODING_NONE;
        return;
    }
    weft_buffer_fini(&x->answer);
    x->answer = small;
    x->n_more = 0;
}

/* Any thread. */
static void write_answer(weft_exchange *x, v2_job *job)
{
    weft_piece pieces[WEFT_V2_MAX_OUTPUTS + 1];
    size_t n_pieces = 0;
    const weft_result *r = job->base.results[0];
    weft_v2_answer_write(&job->base.call, r->model, r->version, job->base.outs, job->base.n_outs, &x->answer, pieces, &n_pieces);
    size_t n_json = x->answer.n_bytes, n_all = n_json + pieces_bytes(pieces, n_pieces);
    bool binary = false;
    for (size_t i = 0; i < job->base.n_outs; i++)
        binary = binary || (job->base.outs[i].ask && job->base.outs[i].ask->binary >= 0 ? job->base.outs[i].ask->binary > 0
                                                                                        : job->base.call.binary_outputs);
    for (size_t i = 0; i < n_pieces; i++)
        job->more[i] = (uv_buf_t){.base = (char *)(uintptr_t)pieces[i].data, .len = pieces[i].n_bytes};
    x->more = job->more;
    x->n_more = n_pieces;
    /* A single coding in Accept-Encoding is a wish; a list is what HTTP libraries send unasked, and tensors compress badly. */
    if (n_all < COMPRESS_MIN_BYTES || (n_pieces && !job->compress_tensors))
        job->answer_coding = WEFT_CODING_NONE;
    if (job->answer_coding != WEFT_CODING_NONE)
        compress(x, job, pieces, n_pieces);
    int n = 0;
    if (binary)
        n = snprintf(x->answer_headers, sizeof(x->answer_headers), "Inference-Header-Content-Length: %zu\r\n", n_json);
    if (job->answer_coding != WEFT_CODING_NONE)
        snprintf(x->answer_headers + n, sizeof(x->answer_headers) - (size_t)n,
                 "Content-Encoding: %s\r\nVary: Accept-Encoding\r\n", weft_coding_name(job->answer_coding));
    x->answer_type = binary ? "application/octet-stream" : "application/json";
}

static void write_work(uv_work_t *w)
{
    weft_exchange *x = w->data;
    write_answer(x, job_of(x));
}

static void write_done(uv_work_t *w, int status)
{
    (void)status;
    weft_exchange *x = w->data;
    if (x->conn)
        weft_exchange_reply(x, 200, x->answer_type);
    weft_exchange_unref(x);
}

void weft_v2_infer_finish(weft_exchange *x)
{
    v2_job *job = job_of(x);
    weft_error err;
    if (weft_v2_job_outputs(&job->base, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    size_t n_json = weft_v2_answer_json_bytes(&job->base.call, job->base.outs, job->base.n_outs), n_all = 0;
    for (size_t i = 0; i < job->base.n_outs; i++)
        n_all += job->base.outs[i].tensor.n_bytes;
    bool compresses = job->answer_coding != WEFT_CODING_NONE && n_all > INLINE_JSON_BYTES / 4;
    if (n_json > INLINE_JSON_BYTES / 4 || compresses) { /* four bytes become about ten characters */
        weft_exchange_ref(x);
        x->work.data = x;
        if (uv_queue_work(&x->loop->uv, &x->work, write_work, write_done) == 0)
            return;
        weft_exchange_unref(x);
    }
    write_answer(x, job);
    weft_exchange_reply(x, 200, x->answer_type);
}
