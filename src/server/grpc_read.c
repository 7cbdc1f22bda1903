/* ModelInferRequest -> weft_v2_call:
 * model_name=1 model_version=2 id=3 parameters=4 inputs=5 outputs=6 raw_input_contents=7
 * InferInputTensor: name=1 datatype=2 shape=3 parameters=4 contents=5; InferRequestedOutputTensor: name=1 parameters=2
 * InferParameter: bool=1 int64=2 string=3 double=4 uint64=5 */
#include <stdio.h>
#include <string.h>

#include "server/grpc_internal.h"
#include "server/grpc_typed.h"

#define MAX_NAME 256
#define MAX_TEXT 65536 /* of a string parameter */

typedef struct reader {
    weft_v2_call *c;
    weft_error *err;
    size_t n_raw, n_inputs;
    bool typed; /* some input has contents */
    size_t max_bytes;
    weft_pb_field raw[WEFT_V2_MAX_INPUTS], inputs[WEFT_V2_MAX_INPUTS];
} reader;

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
}

/* ---- parameters ------------------------------------------------------------------------------------------------------------ */

static weft_status read_value(weft_arena *arena, const weft_pb_field *message, weft_param *p, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_pb_read_init(&r, message->data, message->n_bytes);
    while (weft_pb_next(&r, &f)) { /* of a oneof the last one counts */
        weft_status st = WEFT_OK;
        if ((f.number == 1 || f.number == 2 || f.number == 5) && f.type == WEFT_PB_VARINT) {
            p->kind = f.number == 1 ? WEFT_PARAM_BOOL : WEFT_PARAM_INT;
            p->i = f.number == 1 ? f.value != 0 : (int64_t)f.value;
            if (f.number == 5 && f.value > INT64_MAX)
                return weft_fail(err, WEFT_E_INVALID, "the parameter \"%.64s\" is larger than 2^63 - 1", p->name);
        } else if (f.number == 3 && f.type == WEFT_PB_BYTES) {
            p->kind = WEFT_PARAM_STRING;
            st = weft_grpc_text(arena, &f, MAX_TEXT, "a string parameter", &p->s, err);
        } else if (f.number == 4 && f.type == WEFT_PB_FIXED64) {
            p->kind = WEFT_PARAM_FLOAT;
            memcpy(&p->f, &f.value, sizeof(p->f));
        } else if (f.number <= 5) {
            return weft_grpc_malformed("InferParameter", err);
        }
        if (st)
            return st;
    }
    return r.bad ? weft_grpc_malformed("InferParameter", err) : WEFT_OK;
}

/* An entry of map<string, InferParameter>: key=1 value=2. *p has kind 0 when the value is empty. */
static weft_status read_param(weft_arena *arena, const weft_pb_field *entry, weft_param *p, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f, value = {0};
    weft_status st = WEFT_OK;
    *p = (weft_param){.name = ""};
    if (entry->type != WEFT_PB_BYTES)
        return weft_grpc_malformed("ModelInferRequest", err);
    weft_pb_read_init(&r, entry->data, entry->n_bytes);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(arena, &f, MAX_NAME, "a parameter's name", &p->name, err);
        else if (f.number == 2 && f.type == WEFT_PB_BYTES)
            value = f;
    }
    if (!st && r.bad)
        st = weft_grpc_malformed("ModelInferRequest", err);
    return st ? st : read_value(arena, &value, p, err);
}

static weft_status add_param(reader *in, const weft_pb_field *entry)
{
    weft_param p;
    weft_status st = read_param(in->c->arena, entry, &p, in->err);
    if (!st && !p.kind)
        st = weft_fail(in->err, WEFT_E_INVALID, "the parameter \"%.64s\" has no value", p.name);
    return st ? st : weft_v2_call_add_param(in->c, &p, in->err);
}

/* ---- asked outputs --------------------------------------------------------------------------------------------------------- */

static weft_status ask_param(reader *in, const weft_pb_field *entry, int64_t *n_classes)
{
    weft_param p;
    weft_status st = read_param(in->c->arena, entry, &p, in->err);
    if (st)
        return st;
    if (strncmp(p.name, "shared_memory", 13) == 0)
        return weft_fail(in->err, WEFT_E_UNSUPPORTED, "shared memory is not served here; outputs come in the answer");
    if (strcmp(p.name, "classification") != 0)
        return WEFT_OK; /* binary_data and others mean nothing here */
    if (p.kind != WEFT_PARAM_INT || p.i < 1)
        return weft_fail(in->err, WEFT_E_INVALID, "classification must be a whole number of 1 or more");
    *n_classes = p.i;
    return WEFT_OK;
}

static weft_status add_ask(reader *in, const weft_pb_field *message)
{
    weft_pb_reader r;
    weft_pb_field f;
    const char *name = "";
    int64_t n_classes = 0;
    weft_status st = WEFT_OK;
    if (message->type != WEFT_PB_BYTES)
        return weft_grpc_malformed("ModelInferRequest", in->err);
    weft_pb_read_init(&r, message->data, message->n_bytes);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(in->c->arena, &f, MAX_NAME, "an output's name", &name, in->err);
        else if (f.number == 2)
            st = ask_param(in, &f, &n_classes);
    }
    if (!st && r.bad)
        st = weft_grpc_malformed("ModelInferRequest", in->err);
    if (!st)
        st = weft_v2_call_add_ask(in->c, name, in->err);
    if (!st)
        in->c->asks[in->c->n_asks - 1].n_classes = n_classes;
    return st;
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------------- */

static weft_status add_dim(weft_tensor *t, uint64_t v, weft_error *err)
{
    if (t->rank == WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_INVALID, "an input has more than %d dimensions", WEFT_MAX_RANK);
    if ((int64_t)v < 0)
        return weft_fail(err, WEFT_E_INVALID, "an input has a negative dimension");
    t->shape[t->rank++] = (int64_t)v;
    return WEFT_OK;
}

static weft_status add_dims(weft_tensor *t, const weft_pb_field *f, weft_error *err)
{
    weft_pb_reader r;
    uint64_t v;
    weft_status st = WEFT_OK;
    if (f->type == WEFT_PB_VARINT)
        return add_dim(t, f->value, err);
    if (f->type != WEFT_PB_BYTES)
        return weft_grpc_malformed("InferInputTensor", err);
    weft_pb_read_init(&r, f->data, f->n_bytes);
    while (!st && weft_pb_varint(&r, &v))
        st = add_dim(t, v, err);
    return !st && r.bad ? weft_grpc_malformed("InferInputTensor", err) : st;
}

static weft_status input_param(reader *in, const weft_pb_field *entry)
{
    weft_param p;
    weft_status st = read_param(in->c->arena, entry, &p, in->err);
    if (!st && strncmp(p.name, "shared_memory", 13) == 0)
        st = weft_fail(in->err, WEFT_E_UNSUPPORTED, "shared memory is not served here; send the tensor in the message");
    return st;
}

static weft_status read_input(reader *in, const weft_pb_field *message, weft_tensor *t, weft_pb_field *contents)
{
    weft_pb_reader r;
    weft_pb_field f;
    const char *type = "";
    weft_status st = WEFT_OK;
    *t = (weft_tensor){.name = ""};
    *contents = (weft_pb_field){0};
    weft_pb_read_init(&r, message->data, message->n_bytes);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(in->c->arena, &f, MAX_NAME, "an input's name", &t->name, in->err);
        else if (f.number == 2)
            st = weft_grpc_text(in->c->arena, &f, 32, "a datatype", &type, in->err);
        else if (f.number == 3)
            st = add_dims(t, &f, in->err);
        else if (f.number == 4)
            st = f.type == WEFT_PB_BYTES ? input_param(in, &f) : weft_grpc_malformed("InferInputTensor", in->err);
        else if (f.number == 5 && f.type == WEFT_PB_BYTES)
            *contents = f;
    }
    if (!st && r.bad)
        st = weft_grpc_malformed("InferInputTensor", in->err);
    if (!st && !(t->dtype = weft_dtype_from_name(type)))
        st = weft_fail(in->err, WEFT_E_INVALID, "the datatype \"%s\" of the input \"%.64s\" is not known; FP32 is one", type,
                       t->name);
    return st;
}

/* The tensor lies in the message; only one whose address does not fit its type is copied. */
static weft_status lend_raw(reader *in, weft_tensor *t, const weft_pb_field *raw)
{
    size_t element = weft_dtype_bytes(t->dtype);
    t->data = (void *)(uintptr_t)raw->data;
    t->n_bytes = raw->n_bytes;
    if (element > 1 && t->n_bytes && (uintptr_t)raw->data % element != 0) {
        t->data = weft_arena_alloc(in->c->arena, t->n_bytes < 64 ? 64 : t->n_bytes);
        if (!t->data)
            return no_memory(in->err);
        memcpy(t->data, raw->data, t->n_bytes);
    }
    return WEFT_OK;
}

static weft_status add_inputs(reader *in)
{
    if (in->n_raw && in->n_raw != in->n_inputs)
        return weft_fail(in->err, WEFT_E_INVALID,
                         "%zu raw_input_contents came for %zu inputs; there must be one for each, in the same order", in->n_raw,
                         in->n_inputs);
    for (size_t i = 0; i < in->n_inputs; i++) {
        weft_tensor t;
        weft_pb_field contents;
        weft_status st = read_input(in, &in->inputs[i], &t, &contents);
        if (!st && in->n_raw && contents.data)
            st = weft_fail(in->err, WEFT_E_INVALID,
                           "the input \"%.64s\" has contents beside raw_input_contents; send one of them", t.name);
        if (!st)
            st = in->n_raw ? lend_raw(in, &t, &in->raw[i])
                           : weft_grpc_typed_read(in->c->arena, &contents, &t, &in->max_bytes, in->err);
        if (!st)
            st = weft_tensor_check(&t, in->err);
        if (!st)
            st = weft_v2_call_add_input(in->c, &t, in->err);
        if (st)
            return st;
    }
    return WEFT_OK;
}

/* ---- the request ----------------------------------------------------------------------------------------------------------- */

static weft_status keep(weft_pb_field *list, size_t *n, const weft_pb_field *f, const char *what, weft_error *err)
{
    if (f->type != WEFT_PB_BYTES)
        return weft_grpc_malformed("ModelInferRequest", err);
    if (*n == WEFT_V2_MAX_INPUTS)
        return weft_fail(err, WEFT_E_TOO_LARGE, "more than %d %s came", WEFT_V2_MAX_INPUTS, what);
    list[(*n)++] = *f;
    return WEFT_OK;
}

static weft_status read_field(reader *in, const weft_pb_field *f)
{
    switch (f->number) {
    case 3:
        return weft_grpc_text(in->c->arena, f, WEFT_V2_MAX_ID_BYTES, "the id", &in->c->id, in->err);
    case 4:
        return add_param(in, f);
    case 5:
        return keep(in->inputs, &in->n_inputs, f, "inputs", in->err);
    case 6:
        return add_ask(in, f);
    case 7:
        return keep(in->raw, &in->n_raw, f, "raw_input_contents", in->err);
    default:
        return WEFT_OK;
    }
}

weft_status weft_grpc_infer_read(weft_v2_call *c, const void *message, size_t n_bytes, size_t max_bytes, weft_error *err)
{
    reader in = {.c = c, .err = err, .max_bytes = max_bytes};
    weft_pb_reader r;
    weft_pb_field f;
    weft_status st = WEFT_OK;
    weft_pb_read_init(&r, message, n_bytes);
    while (!st && weft_pb_next(&r, &f))
        st = read_field(&in, &f);
    if (!st && r.bad)
        st = weft_grpc_malformed("ModelInferRequest", err);
    return st ? st : add_inputs(&in);
}

weft_status weft_grpc_infer_model(weft_arena *arena, const void *message, size_t n_bytes, const char **model,
                                  const char **version, weft_error *err)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_status st = WEFT_OK;
    *model = *version = "";
    weft_pb_read_init(&r, message, n_bytes);
    while (!st && weft_pb_next(&r, &f)) {
        if (f.number == 1)
            st = weft_grpc_text(arena, &f, MAX_NAME, "the model's name", model, err);
        else if (f.number == 2)
            st = weft_grpc_text(arena, &f, MAX_NAME, "the model's version", version, err);
    }
    return !st && r.bad ? weft_grpc_malformed("ModelInferRequest", err) : st;
}

bool weft_grpc_infer_is_raw(const void *message, size_t n_bytes)
{
    return weft_pb_find_bytes(message, n_bytes, 7) > 0;
}
