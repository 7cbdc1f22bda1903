/* The last stage of a simple model's request: outputs to a result, on whatever thread has them. */
#include "engine_internal.h"
#include "weft/builder.h"

/* A model without postprocess: every asked-for output is a column. */
static weft_status raw_columns(weft_request *r, weft_builder *b, const weft_tensor *outputs, size_t n, bool copy, weft_error *err)
{
    for (size_t k = 0; k < n; k++) {
        if (outputs[k].dtype == WEFT_DT_NONE)
            continue;
        weft_status s = weft_builder_tensor(b, WEFT_FIELD_TENSOR, false, &outputs[k], copy, err);
        if (s)
            return s;
    }
    return WEFT_OK;
}

void weft_finish_outputs(weft_request *r, const weft_tensor *outputs, bool copy)
{
    weft_model *m = r->model;
    const weft_executor *x = m->executor;
    weft_error err;
    weft_error_clear(&err);
    if (!x->postprocess) {
        /* Ours and quick: claimed first, so that the builder made at admission can hold the result. */
        if (!weft_request_claim(r))
            return;
        weft_status s = raw_columns(r, r->failure, outputs, m->desc.n_outputs, copy, &err);
        weft_request_answer(r, r->failure, s ? &err : NULL);
        return;
    }
    if (weft_request_answered(r))
        return;
    weft_builder *b;
    int64_t start = weft_engine_now(r->engine);
    weft_status s = weft_builder_create(r->arena, x->fields, x->n_fields, weft_request_result_released, r, &b, &err);
    if (!s)
        s = x->postprocess(m->state, &r->call, r->scratch, outputs, m->desc.n_outputs, b, &err);
    weft_add_ns(&r->post_ns, weft_engine_now(r->engine) - start);
    if (s) {
        if (!err.status)
            weft_fail(&err, s, "%s", weft_status_text(s));
        err.status = s;
    }
    if (weft_request_claim(r))
        weft_request_answer(r, s ? NULL : b, s ? &err : NULL);
}

void weft_finish_failed(weft_request *r, const weft_error *failure)
{
    if (!r->parent) {
        weft_request_fail(r, failure);
        return;
    }
    if (!r->error.status)
        r->error = *failure;
}
