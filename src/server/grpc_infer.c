/* ModelInfer. Raw tensors are lent to the engine out of the message, and sent out of the results: no copy but for alignment. */
#include <string.h>

#include "server/grpc_internal.h"
#include "server/pb_write.h"
#include "server/v2_job.h"

#define INLINE_BYTES 16384 /* of typed contents, read on the loop: about a tenth of a millisecond */

typedef struct infer_job {
    weft_v2_job base; /* first: it is the exchange's job */
    weft_error err;   /* of reading the message */
    uv_buf_t more[2 * WEFT_V2_MAX_OUTPUTS];
    uint8_t heads[WEFT_V2_MAX_OUTPUTS][16];
} infer_job;

/* ---- the request ----------------------------------------------------------------------------------------------------------- */

/* Any thread. */
static void read_message(weft_exchange *x, infer_job *job)
{
    weft_error_clear(&job->err);
    weft_grpc_infer_read(&job->base.call, x->body, x->n_body, (size_t)x->loop->server->options.max_body_bytes, &job->err);
}

static void submit(weft_exchange *x, infer_job *job)
{
    weft_v2_call *c = &job->base.call;
    weft_error err = job->err;
    int64_t left_ms = weft_grpc_left_ms(x);
    bool own_id = c->id[0];
    if (left_ms && (!c->timeout_ms || left_ms < c->timeout_ms))
        c->timeout_ms = left_ms;
    if (!own_id)
        c->id = x->id; /* for the log; only the request's own is echoed */
    if (err.status != WEFT_OK ||
        weft_v2_job_submit(&job->base, (int64_t)x->loop->server->options.request_timeout_ms, &err) != WEFT_OK)
        weft_exchange_fail(x, &err);
    else if (!own_id)
        c->id = "";
}

static void read_work(uv_work_t *w)
{
    weft_exchange *x = w->data;
    read_message(x, x->job);
}

static void read_done(uv_work_t *w, int status)
{
    (void)status;
    weft_exchange *x = w->data;
    if (x->conn)
        submit(x, x->job);
    weft_exchange_unref(x);
}

static weft_status create_job(weft_exchange *x, infer_job **out, weft_error *err)
{
    const char *model, *version;
    weft_status st = weft_grpc_infer_model(x->arena, x->body, x->n_body, &model, &version, err);
    if (st)
        return st;
    *out = weft_arena_zalloc(x->arena, sizeof(**out));
    if (!*out)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
    st = weft_v2_job_init(&(*out)->base, x, model, version, err);
    (*out)->base.call.trace = x->trace[0] ? x->trace : NULL;
    return st;
}

void weft_grpc_infer(weft_exchange *x)
{
    infer_job *job;
    weft_error err;
    if (create_job(x, &job, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    if (x->n_body > INLINE_BYTES && !weft_grpc_infer_is_raw(x->body, x->n_body)) {
        weft_exchange_ref(x);
        x->work.data = x;
        if (uv_queue_work(&x->loop->uv, &x->work, read_work, read_done) == 0)
            return;
        weft_exchange_unref(x);
    }
    read_message(x, job);
    submit(x, job);
}

/* ---- the answer ------------------------------------------------------------------------------------------------------------ */

/* InferOutputTensor: name=1 datatype=2 shape=3 */
static void put_output(weft_buffer *b, const weft_tensor *t)
{
    size_t begun = weft_pb_begin(b, 5);
    weft_pb_put_string(b, 1, t->name);
    weft_pb_put_string(b, 2, weft_dtype_name(t->dtype));
    weft_pb_put_packed(b, 3, t->shape, (size_t)t->rank);
    weft_pb_end(b, begun);
}

/* ModelInferResponse: model_name=1 model_version=2 id=3 outputs=5 raw_output_contents=6. The raw contents follow the buffer as
 * pieces: head, tensor, head, tensor ... */
static void write_answer(weft_exchange *x, infer_job *job)
{
    const weft_result *r = job->base.results[0];
    weft_buffer *b = &x->answer;
    weft_pb_put_string(b, 1, r->model);
    weft_pb_put_string(b, 2, r->version);
    weft_pb_put_string(b, 3, job->base.call.id);
    for (size_t i = 0; i < job->base.n_outs; i++)
        put_output(b, &job->base.outs[i].tensor);
    for (size_t i = 0; i < job->base.n_outs; i++) {
        const weft_tensor *t = &job->base.outs[i].tensor;
        size_t n = weft_pb_bytes_head(job->heads[i], 6, t->n_bytes);
        job->more[x->n_more++] = uv_buf_init((char *)job->heads[i], (unsigned)n);
        if (t->n_bytes)
            job->more[x->n_more++] = (uv_buf_t){.base = t->data, .len = t->n_bytes};
    }
    x->more = job->more;
}

void weft_grpc_infer_finish(weft_exchange *x)
{
    infer_job *job = x->job;
    weft_error err;
    if (weft_v2_job_outputs(&job->base, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return;
    }
    write_answer(x, job);
    weft_grpc_reply(x);
}
