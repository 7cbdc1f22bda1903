#include "server/v2_request.h"

#include <string.h>

#include "wire/json_tensor.h"

#define MAX_NAME_BYTES 1024
#define MAX_TEXT_BYTES 65536 /* of a parameter */

typedef struct request {
    weft_v2_call *c;
    weft_json_reader r;
    const uint8_t *binary; /* the next byte behind the JSON part that no input has taken */
    size_t binary_left;
    size_t max_bytes;
    weft_error *err;
} request;

/* One entry of "inputs" while it is read. */
typedef struct input {
    weft_tensor t;
    bool has_shape, has_data, data_read, base64;
    bool has_binary;
    uint64_t binary_bytes;
    weft_json_reader data; /* stands before the value of "data" */
} input;

static weft_status broken(request *q)
{
    return weft_json_read_fail(&q->r, "the request", q->err);
}

static weft_status want(request *q, weft_json_event got, weft_json_event event, const char *what)
{
    if (got == event)
        return WEFT_OK;
    return got == WEFT_JSON_ERROR ? broken(q) : weft_fail(q->err, WEFT_E_INVALID, "%s is expected in the request", what);
}

static weft_status no_memory(request *q)
{
    return weft_fail(q->err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
}

/* The last string in the arena. */
static weft_status take_text(request *q, size_t max_bytes, const char *what, const char **out)
{
    if (q->r.n_token > max_bytes * 6)
        return weft_fail(q->err, WEFT_E_TOO_LARGE, "%s has more than the %zu bytes that are possible", what, max_bytes);
    char *s = weft_arena_alloc(q->c->arena, q->r.n_token + 1);
    if (!s)
        return no_memory(q);
    size_t n = weft_json_read_text(&q->r, s);
    s[n] = 0;
    if (n > max_bytes)
        return weft_fail(q->err, WEFT_E_TOO_LARGE, "%s has %zu bytes; at most %zu are possible", what, n, max_bytes);
    if (memchr(s, 0, n))
        return weft_fail(q->err, WEFT_E_INVALID, "%s must not hold NUL characters", what);
    *out = s;
    return WEFT_OK;
}

static weft_status read_text(request *q, size_t max_bytes, const char *what, const char **out)
{
    weft_status st = want(q, weft_json_read(&q->r), WEFT_JSON_STRING, what);
    return st ? st : take_text(q, max_bytes, what, out);
}

static weft_status skip_value(request *q)
{
    weft_json_event e = weft_json_read(&q->r);
    return weft_json_skip(&q->r, e) ? WEFT_OK : broken(q);
}

/* Calls `member` for each name of the object that is about to be read; member reads the value. */
static weft_status read_object(request *q, const char *what, weft_status (*member)(request *q, void *cookie), void *cookie)
{
    weft_status st = want(q, weft_json_read(&q->r), WEFT_JSON_OBJECT, what);
    while (!st) {
        weft_json_event e = weft_json_read(&q->r);
        if (e == WEFT_JSON_OBJECT_END)
            return WEFT_OK;
        st = e == WEFT_JSON_KEY ? member(q, cookie) : broken(q);
    }
    return st;
}

static weft_status read_list(request *q, const char *what, weft_status (*item)(request *q))
{
    weft_status st = want(q, weft_json_read(&q->r), WEFT_JSON_ARRAY, what);
    while (!st) {
        weft_json_reader before = q->r;
        weft_json_event e = weft_json_read(&q->r);
        if (e == WEFT_JSON_ARRAY_END)
            return WEFT_OK;
        if (e == WEFT_JSON_ERROR)
            return broken(q);
        q->r = before;
        st = item(q);
    }
    return st;
}

/* ---- parameters ------------------------------------------------------------------------------------------------------------ */

static weft_status read_param_value(request *q, weft_param *p)
{
    weft_json_event e = weft_json_read(&q->r);
    switch (e) {
    case WEFT_JSON_ERROR:
        return broken(q);
    case WEFT_JSON_TRUE:
    case WEFT_JSON_FALSE:
        p->kind = WEFT_PARAM_BOOL;
        p->i = e == WEFT_JSON_TRUE;
        return WEFT_OK;
    case WEFT_JSON_STRING:
        p->kind = WEFT_PARAM_STRING;
        return take_text(q, MAX_TEXT_BYTES, "a parameter", &p->s);
    case WEFT_JSON_NUMBER:
        p->kind = WEFT_PARAM_INT;
        if (weft_json_read_i64(&q->r, &p->i))
            return WEFT_OK;
        p->kind = WEFT_PARAM_FLOAT;
        if (weft_json_read_double(&q->r, &p->f))
            return WEFT_OK;
        break;
    default:
        break;
    }
    return weft_fail(q->err, WEFT_E_INVALID, "the parameter \"%.64s\" must be a string, a number, true or false", p->name);
}

static weft_status read_param(request *q, weft_param *p)
{
    *p = (weft_param){0};
    weft_status st = take_text(q, MAX_NAME_BYTES, "the name of a parameter", &p->name);
    return st ? st : read_param_value(q, p);
}

static weft_status request_param(request *q, void *cookie)
{
    weft_param p;
    (void)cookie;
    weft_status st = read_param(q, &p);
    return st ? st : weft_v2_call_add_param(q->c, &p, q->err);
}

static weft_status refuse_shared_memory(request *q, const weft_param *p)
{
    if (strncmp(p->name, "shared_memory_", 14) != 0)
        return WEFT_OK;
    return weft_fail(q->err, WEFT_E_UNSUPPORTED, "tensors in shared memory are not supported; send them in the body");
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------------- */

static weft_status input_param(request *q, void *cookie)
{
    input *in = cookie;
    weft_param p;
    weft_status st = read_param(q, &p);
    if (!st)
        st = refuse_shared_memory(q, &p);
    if (st)
        return st;
    if (strcmp(p.name, "binary_data_size") == 0) {
        if (p.kind != WEFT_PARAM_INT || p.i < 0)
            return weft_fail(q->err, WEFT_E_INVALID, "binary_data_size must be a whole number of bytes");
        in->has_binary = true;
        in->binary_bytes = (uint64_t)p.i;
    } else if (strcmp(p.name, "content_type") == 0 && p.kind == WEFT_PARAM_STRING) {
        in->base64 = strcmp(p.s, "base64") == 0;
    }
    return WEFT_OK;
}

static weft_status read_shape(request *q, input *in)
{
    weft_status st = want(q, weft_json_read(&q->r), WEFT_JSON_ARRAY, "a list of whole numbers as \"shape\"");
    in->t.rank = 0;
    in->has_shape = true;
    while (!st) {
        weft_json_event e = weft_json_read(&q->r);
        if (e == WEFT_JSON_ARRAY_END)
            return WEFT_OK;
        if ((st = want(q, e, WEFT_JSON_NUMBER, "a list of whole numbers as \"shape\"")))
            break;
        if (in->t.rank == WEFT_MAX_RANK)
            return weft_fail(q->err, WEFT_E_INVALID, "a shape has more than the %d dimensions that are possible", WEFT_MAX_RANK);
        if (!weft_json_read_i64(&q->r, &in->t.shape[in->t.rank]) || in->t.shape[in->t.rank] < 0)
            return weft_fail(q->err, WEFT_E_INVALID, "a dimension of a shape must be a whole number of 0 or more, not %.*s",
                             (int)(q->r.n_token < 24 ? q->r.n_token : 24), q->r.token);
        in->t.rank++;
    }
    return st;
}

static weft_status read_datatype(request *q, input *in)
{
    char name[16] = "";
    weft_status st = want(q, weft_json_read(&q->r), WEFT_JSON_STRING, "a string as \"datatype\"");
    if (st)
        return st;
    weft_json_read_string(&q->r, name, sizeof(name));
    in->t.dtype = weft_dtype_from_name(name);
    if (in->t.dtype == WEFT_DT_NONE || strcmp(weft_dtype_name(in->t.dtype), name) != 0)
        return weft_fail(
            q->err, WEFT_E_INVALID,
            "the datatype \"%.15s\" is not known; expected BOOL, UINT8 to UINT64, INT8 to INT64, FP16, BF16, FP32, FP64 "
            "or BYTES",
            name);
    return WEFT_OK;
}

static weft_status twice(request *q, const char *name)
{
    return weft_fail(q->err, WEFT_E_INVALID, "\"%s\" is given twice in one object", name);
}

static weft_status input_member(request *q, void *cookie)
{
    input *in = cookie;
    if (weft_json_read_is(&q->r, "name"))
        return in->t.name ? twice(q, "name") : read_text(q, MAX_NAME_BYTES, "a string as the \"name\" of an input", &in->t.name);
    if (weft_json_read_is(&q->r, "shape"))
        return in->has_shape ? twice(q, "shape") : read_shape(q, in);
    if (weft_json_read_is(&q->r, "datatype"))
        return in->t.dtype ? twice(q, "datatype") : read_datatype(q, in);
    if (weft_json_read_is(&q->r, "parameters"))
        return read_object(q, "an object as \"parameters\"", input_param, in);
    if (!weft_json_read_is(&q->r, "data"))
        return skip_value(q);
    if (in->has_data)
        return twice(q, "data");
    in->has_data = true;
    in->data = q->r;
    /* Usually the last member: then its value is read once. Base64 may still be said behind it, for strings only. */
    if (!in->t.name || !in->has_shape || !in->t.dtype || in->t.dtype == WEFT_DT_STRING)
        return skip_value(q);
    in->data_read = true;
    return weft_json_read_tensor(&q->r, q->c->arena, q->max_bytes, false, &in->t, q->err);
}

static weft_status check_input(request *q, const input *in)
{
    const char *missing = !in->t.name ? "name" : !in->has_shape ? "shape" : !in->t.dtype ? "datatype" : NULL;
    if (missing)
        return weft_fail(q->err, WEFT_E_INVALID, "input %zu%s%.64s%s has no \"%s\"", q->c->n_inputs, in->t.name ? " (\"" : "",
                         in->t.name ? in->t.name : "", in->t.name ? "\")" : "", missing);
    if (in->has_data && in->has_binary)
        return weft_fail(q->err, WEFT_E_INVALID, "the input \"%.64s\" has both \"data\" and a binary_data_size; one is possible",
                         in->t.name);
    if (!in->has_data && !in->has_binary)
        return weft_fail(q->err, WEFT_E_INVALID, "the input \"%.64s\" has neither \"data\" nor a binary_data_size", in->t.name);
    return WEFT_OK;
}

/* The element size that an address must fit. */
static bool misaligned(const weft_tensor *t, const uint8_t *p)
{
    size_t size = weft_dtype_bytes(t->dtype);
    return size > 1 && (uintptr_t)p % size != 0;
}

static weft_status lend_binary(request *q, input *in)
{
    if (in->binary_bytes > q->binary_left)
        return weft_fail(q->err, WEFT_E_INVALID,
                         "the input \"%.64s\" says %llu binary bytes, but only %zu are left behind the JSON part", in->t.name,
                         (unsigned long long)in->binary_bytes, q->binary_left);
    const uint8_t *p = q->binary;
    in->t.n_bytes = (size_t)in->binary_bytes;
    q->binary += in->t.n_bytes;
    q->binary_left -= in->t.n_bytes;
    if (misaligned(&in->t, p) && in->t.n_bytes) {
        uint8_t *copy = weft_arena_alloc(q->c->arena, in->t.n_bytes < 64 ? 64 : in->t.n_bytes);
        if (!copy)
            return no_memory(q);
        memcpy(copy, p, in->t.n_bytes);
        p = copy;
    }
    in->t.data = (void *)(uintptr_t)p;
    return WEFT_OK;
}

static weft_status read_input(request *q)
{
    input in = {0};
    weft_status st = read_object(q, "an object for each input", input_member, &in);
    if (!st)
        st = check_input(q, &in);
    if (!st && in.has_binary)
        st = lend_binary(q, &in);
    else if (!st && !in.data_read)
        st = weft_json_read_tensor(&in.data, q->c->arena, q->max_bytes, in.base64, &in.t, q->err);
    return st ? st : weft_v2_call_add_input(q->c, &in.t, q->err);
}

/* ---- outputs --------------------------------------------------------------------------------------------------------------- */

static weft_status ask_param(request *q, void *cookie)
{
    weft_v2_ask *ask = cookie;
    weft_param p;
    weft_status st = read_param(q, &p);
    if (!st)
        st = refuse_shared_memory(q, &p);
    if (st)
        return st;
    if (strcmp(p.name, "binary_data") == 0) {
        if (p.kind != WEFT_PARAM_BOOL)
            return weft_fail(q->err, WEFT_E_INVALID, "binary_data must be true or false");
        ask->binary = p.i != 0;
    } else if (strcmp(p.name, "classification") == 0) {
        if (p.kind != WEFT_PARAM_INT || p.i < 0)
            return weft_fail(q->err, WEFT_E_INVALID, "classification must be a whole number of classes");
        ask->n_classes = p.i;
    }
    return WEFT_OK;
}

static weft_status ask_member(request *q, void *cookie)
{
    weft_v2_ask *ask = cookie;
    if (weft_json_read_is(&q->r, "name"))
        return ask->name ? twice(q, "name") : read_text(q, MAX_NAME_BYTES, "a string as the \"name\" of an output", &ask->name);
    if (weft_json_read_is(&q->r, "parameters"))
        return read_object(q, "an object as \"parameters\"", ask_param, ask);
    return skip_value(q);
}

static weft_status read_ask(request *q)
{
    weft_v2_ask ask = {.binary = -1};
    weft_status st = read_object(q, "an object for each output", ask_member, &ask);
    if (!st && !ask.name)
        st = weft_fail(q->err, WEFT_E_INVALID, "output %zu has no \"name\"", q->c->n_asks);
    if (!st)
        st = weft_v2_call_add_ask(q->c, ask.name, q->err);
    if (!st)
        q->c->asks[q->c->n_asks - 1] = ask;
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------- */

static weft_status top_member(request *q, void *cookie)
{
    static const char *const names[] = {"id", "parameters", "inputs", "outputs"};
    unsigned *seen = cookie;
    size_t i = 0;
    while (i < 4 && !weft_json_read_is(&q->r, names[i]))
        i++;
    if (i == 4)
        return skip_value(q);
    if (*seen & 1u << i)
        return twice(q, names[i]);
    *seen |= 1u << i;
    switch (i) {
    case 0:
        return read_text(q, WEFT_V2_MAX_ID_BYTES, "a string as \"id\"", &q->c->id);
    case 1:
        return read_object(q, "an object as \"parameters\"", request_param, NULL);
    case 2:
        return read_list(q, "a list as \"inputs\"", read_input);
    default:
        return read_list(q, "a list as \"outputs\"", read_ask);
    }
}

weft_status weft_v2_request_read(weft_v2_call *c, const uint8_t *body, size_t n_bytes, size_t json_bytes, size_t max_bytes,
                                 weft_error *err)
{
    unsigned seen = 0;
    if (json_bytes > n_bytes)
        return weft_fail(err, WEFT_E_INVALID, "the JSON part is said to have %zu bytes, but the whole body has only %zu",
                         json_bytes, n_bytes);
    request q = {.c = c, .max_bytes = max_bytes, .err = err, .binary = body + json_bytes, .binary_left = n_bytes - json_bytes};
    weft_json_read_init(&q.r, (const char *)body, json_bytes);
    weft_status st = read_object(&q, "a JSON object", top_member, &seen);
    if (!st && weft_json_read(&q.r) != WEFT_JSON_END)
        st = broken(&q);
    if (!st && q.binary_left)
        st = weft_fail(err, WEFT_E_INVALID, "%zu bytes behind the JSON part belong to no input", q.binary_left);
    return st;
}

/* ---- raw ------------------------------------------------------------------------------------------------------------------- */

static weft_status raw_shape(const weft_v2_model *m, const weft_v2_tensor_info *in, size_t n_bytes, weft_tensor *t,
                             weft_error *err)
{
    size_t known = weft_dtype_bytes(in->dtype);
    int variable = -1;
    t->rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        t->shape[i] = i == 0 && m->max_batch_size > 0 ? 1 : in->shape[i];
        if (t->shape[i] < 0 && variable >= 0)
            return weft_fail(err, WEFT_E_INVALID,
                             "the input \"%.64s\" has more than one variable dimension; a raw request cannot say them", in->name);
        if (t->shape[i] < 0)
            variable = i;
        else if (__builtin_mul_overflow(known, (size_t)t->shape[i], &known))
            return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" is too large for a raw request", in->name);
    }
    if (variable >= 0 && known && n_bytes % known == 0)
        t->shape[variable] = (int64_t)(n_bytes / known);
    else if (variable >= 0 || n_bytes != known)
        return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" needs %s%zu bytes, but %zu came", in->name,
                         variable >= 0 ? "a multiple of " : "", known, n_bytes);
    return WEFT_OK;
}

weft_status weft_v2_request_raw(weft_v2_call *c, const weft_v2_model *m, uint8_t *body, size_t n_bytes, weft_error *err)
{
    if (m->n_inputs != 1)
        return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has %zu inputs; a raw request is possible with one",
                         m->info->name, m->n_inputs);
    const weft_v2_tensor_info *in = &m->inputs[0];
    weft_tensor t = {.name = in->name, .dtype = in->dtype, .data = body, .n_bytes = n_bytes};
    c->binary_outputs = true;
    if (in->dtype != WEFT_DT_STRING) {
        weft_status st = raw_shape(m, in, n_bytes, &t, err);
        return st ? st : weft_v2_call_add_input(c, &t, err);
    }
    if (n_bytes > UINT32_MAX)
        return weft_fail(err, WEFT_E_TOO_LARGE, "an element of BYTES has at most 4294967295 bytes");
    for (int i = 0; i < 4; i++)
        body[i - 4] = (uint8_t)(n_bytes >> 8 * i);
    t.data = body - 4;
    t.n_bytes = n_bytes + 4;
    t.rank = in->rank;
    for (int i = 0; i < in->rank; i++)
        t.shape[i] = 1;
    return weft_v2_call_add_input(c, &t, err);
}
