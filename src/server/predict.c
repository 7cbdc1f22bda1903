/* POST /v1/models/{name}/predict: a picture in, JSON (or the drawn picture) out. */
#include <string.h>
#include <strings.h>

#include "image/decode.h"
#include "image/draw_result.h"
#include "image/encode.h"
#include "server/multipart.h"
#include "server/predict_params.h"
#include "server/server_internal.h"
#include "wire/result_json.h"

#define DRAW_JPEG_QUALITY 90

static bool is_type(const char *type, const char *want)
{
    size_t n = strlen(want);
    return strncasecmp(type, want, n) == 0 && (type[n] == 0 || type[n] == ';' || type[n] == ' ');
}

static bool accepts_body(const char *type)
{
    return type[0] == 0 || strncasecmp(type, "image/", 6) == 0 || is_type(type, "application/octet-stream") ||
           is_type(type, "application/x-www-form-urlencoded") /* what curl -d and --data-binary say by default */ ||
           is_type(type, "multipart/form-data");
}

bool weft_predict_admit(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    const weft_model_info *info;
    weft_error err;
    if (weft_engine_model_info(x->loop->server->engine, x->model, &info, &err) != WEFT_OK) {
        weft_exchange_fail(x, &err);
        return false;
    }
    bool ok = false;
    if (!info->picture_input)
        weft_exchange_fail_status(x, 415, "MEDIA_TYPE", "Model %s takes tensors, not a picture; this door accepts pictures only.",
                                  x->model);
    else if (!accepts_body(x->content_type))
        weft_exchange_fail_status(
            x, 415, "MEDIA_TYPE",
            "Content-Type %.100s is not accepted here; send image/jpeg, image/png, image/webp, application/octet-stream or a "
            "multipart/form-data form with one picture.",
            x->content_type);
    else
        ok = true;
    weft_model_info_unref(info);
    return ok;
}

/* The picture of a form: the part called image or file, else the only part that looks like a file. */
static const weft_part *pick_part(const weft_part *parts, size_t n)
{
    const weft_part *only = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(parts[i].name, "image") == 0 || strcmp(parts[i].name, "file") == 0)
            return &parts[i];
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].has_filename && strncmp(parts[i].content_type, "image/", 6) != 0)
            continue;
        if (only)
            return NULL;
        only = &parts[i];
    }
    return only;
}

/* Text fields beside the picture are parameters, as in curl -F image=@photo.jpg -F top_k=1. */
static weft_status take_fields(weft_predict_params *params, const weft_part *parts, size_t n, const weft_part *picture,
                               weft_error *err)
{
    weft_status st = WEFT_OK;
    for (size_t i = 0; st == WEFT_OK && i < n; i++)
        if (&parts[i] != picture && !parts[i].has_filename && strncmp(parts[i].content_type, "image/", 6) != 0)
            st = weft_predict_params_field(params, parts[i].name, parts[i].data, parts[i].n_bytes, err);
    return st;
}

static weft_status find_picture(weft_exchange *x, weft_predict_params *params, weft_error *err)
{
    x->picture = x->body;
    x->n_picture = x->n_body;
    if (is_type(x->content_type, "multipart/form-data")) {
        weft_part parts[WEFT_MULTIPART_MAX_PARTS];
        size_t n;
        weft_status st = weft_multipart_split(x->content_type, x->body, x->n_body, parts, &n, err);
        if (st != WEFT_OK)
            return st;
        const weft_part *p = pick_part(parts, n);
        if (!p)
            return weft_fail(err, WEFT_E_INVALID,
                             "The form has no part named \"image\" or \"file\" and not exactly one file part; send the picture "
                             "as -F image=@picture.jpg.");
        x->picture = p->data;
        x->n_picture = p->n_bytes;
        st = take_fields(params, parts, n, p, err);
        if (st != WEFT_OK)
            return st;
    }
    if (x->n_picture == 0)
        return weft_fail(
            err, WEFT_E_INVALID,
            "The body is empty; send the bytes of a JPEG, PNG or WebP picture, as in curl --data-binary @picture.jpg.");
    return WEFT_OK;
}

/* Refuses a picture that is too large or no picture before it takes a place in the queue. */
static weft_status check_picture(weft_exchange *x, weft_error *err)
{
    weft_picture_limits limits = weft_picture_limits_default();
    limits.max_pixels = x->loop->server->options.max_pixels;
    weft_picture_info info;
    return weft_picture_probe(x->picture, x->n_picture, &limits, &info, err);
}

void weft_predict_handle(weft_exchange *x, const weft_http_head *head)
{
    weft_error err;
    const weft_model_info *info = NULL;
    weft_predict_params p;
    weft_predict_params_init(&p, NULL, (int64_t)x->loop->server->options.request_timeout_ms);
    weft_status st = weft_engine_model_info(x->loop->server->engine, x->model, &info, &err);
    p.known = info ? info->params : NULL; /* of the executor's static table */
    if (st == WEFT_OK)
        st = weft_predict_params_query(&p, head->query, &err);
    if (st == WEFT_OK)
        st = find_picture(x, &p, &err);
    if (st == WEFT_OK)
        st = check_picture(x, &err);
    weft_model_info_unref(info);
    if (st == WEFT_OK) {
        x->draw = p.draw;
        weft_input in = weft_input_bytes(NULL, x->picture, x->n_picture);
        weft_call call = {.model = x->model,
                          .id = x->id,
                          .trace = x->trace[0] ? x->trace : NULL,
                          .inputs = &in,
                          .n_inputs = 1,
                          .params = p.params,
                          .n_params = p.n,
                          .timeout_ms = p.timeout_ms,
                          .priority = (int)p.priority};
        weft_exchange_infer(x, &call);
    } else {
        weft_exchange_fail(x, &err);
    }
    weft_predict_params_fini(&p);
}

/* ---- the drawn picture: decoding, drawing and encoding take milliseconds, so they run on libuv's threads ------------------- */

static void draw_work(uv_work_t *w)
{
    weft_exchange *x = w->data;
    weft_error err;
    weft_picture_limits limits = weft_picture_limits_default();
    limits.max_pixels = x->loop->server->options.max_pixels;
    weft_picture p = {0};
    x->status = 200;
    if (weft_picture_decode(x->picture, x->n_picture, &limits, 3, &p, &err) != WEFT_OK) {
        x->answer.failed = true;
        return;
    }
    if (weft_draw_result(&p, x->result, NULL, &err) != WEFT_OK ||
        weft_picture_encode_jpeg(&p, DRAW_JPEG_QUALITY, WEFT_CHROMA_444, &x->answer, &err) != WEFT_OK)
        x->answer.failed = true;
    weft_picture_destroy(&p);
}

static void draw_done(uv_work_t *w, int status)
{
    (void)status;
    weft_exchange *x = w->data;
    if (x->conn)
        weft_exchange_reply(x, 200, "image/jpeg");
    weft_exchange_unref(x);
}

void weft_predict_finish(weft_exchange *x)
{
    if (x->result->error.status != WEFT_OK) {
        weft_exchange_fail(x, &x->result->error);
        return;
    }
    if (x->draw) {
        weft_exchange_ref(x);
        x->work.data = x;
        if (uv_queue_work(&x->loop->uv, &x->work, draw_work, draw_done) == 0)
            return;
        weft_exchange_unref(x);
    }
    weft_result_json(&x->answer, x->result);
    weft_buffer_putc(&x->answer, '\n');
    weft_exchange_reply(x, 200, "application/json");
}
