#include "server/v2_call.h"

#include <stdio.h>
#include <string.h>

void weft_v2_call_init(weft_v2_call *c, weft_arena *arena)
{
    memset(c, 0, sizeof(*c));
    c->arena = arena;
    c->model = c->version = c->id = "";
}

/* ---- collecting ------------------------------------------------------------------------------------------------------------ */

weft_status weft_v2_call_add_input(weft_v2_call *c, const weft_tensor *t, weft_error *err)
{
    if (c->n_inputs == WEFT_V2_MAX_INPUTS)
        return weft_fail(err, WEFT_E_TOO_LARGE, "more than %d inputs came", WEFT_V2_MAX_INPUTS);
    for (size_t i = 0; i < c->n_inputs; i++)
        if (strcmp(c->inputs[i].name, t->name) == 0)
            return weft_fail(err, WEFT_E_INVALID, "the input \"%.64s\" was given twice", t->name);
    c->inputs[c->n_inputs++] = *t;
    return WEFT_OK;
}

weft_status weft_v2_call_add_ask(weft_v2_call *c, const char *name, weft_error *err)
{
    if (c->n_asks == WEFT_V2_MAX_OUTPUTS)
        return weft_fail(err, WEFT_E_TOO_LARGE, "more than %d outputs are asked for", WEFT_V2_MAX_OUTPUTS);
    for (size_t i = 0; i < c->n_asks; i++)
        if (strcmp(c->asks[i].name, name) == 0)
            return weft_fail(err, WEFT_E_INVALID, "the output \"%.64s\" is asked for twice", name);
    c->asks[c->n_asks++] = (weft_v2_ask){.name = name, .binary = -1};
    return WEFT_OK;
}

static weft_status want_whole(const weft_param *p, int64_t min, weft_error *err)
{
    if (p->kind == WEFT_PARAM_INT && p->i >= min)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_INVALID, "the parameter \"%s\" must be a whole number of %lld or more", p->name, (long long)min);
}

/* 1 is the highest of Triton, WEFT_PRIORITY_MAX of weft; what is further down than our scale reaches is the lowest. */
static int map_priority(int64_t p)
{
    int64_t mapped = WEFT_PRIORITY_MAX + 1 - p;
    if (p == 0)
        return WEFT_PRIORITY_DEFAULT;
    return (int)(mapped < WEFT_PRIORITY_MIN ? WEFT_PRIORITY_MIN : mapped);
}

weft_status weft_v2_call_add_param(weft_v2_call *c, const weft_param *p, weft_error *err)
{
    weft_status st;
    if (strcmp(p->name, "priority") == 0) {
        if (!(st = want_whole(p, 0, err)))
            c->priority = map_priority(p->i);
        return st;
    }
    if (strcmp(p->name, "timeout") == 0) {
        if ((st = want_whole(p, 0, err)))
            return st;
        int64_t ms = p->i / 1000 + (p->i % 1000 > 0);
        c->timeout_ms = ms < WEFT_V2_MAX_TIMEOUT_MS ? ms : WEFT_V2_MAX_TIMEOUT_MS;
        return WEFT_OK;
    }
    if (strcmp(p->name, "binary_data_output") == 0) {
        if (p->kind != WEFT_PARAM_BOOL)
            return weft_fail(err, WEFT_E_INVALID, "the parameter \"binary_data_output\" must be true or false");
        c->binary_outputs = p->i != 0;
        return WEFT_OK;
    }
    if (strncmp(p->name, "sequence_", 9) == 0)
        return WEFT_OK;
    if (c->n_params == WEFT_V2_MAX_PARAMS)
        return weft_fail(err, WEFT_E_TOO_LARGE, "more than %d parameters came", WEFT_V2_MAX_PARAMS);
    for (size_t i = 0; i < c->n_params; i++)
        if (strcmp(c->params[i].name, p->name) == 0)
            return weft_fail(err, WEFT_E_INVALID, "the parameter \"%.64s\" was given twice", p->name);
    c->params[c->n_params++] = *p;
    return WEFT_OK;
}

/* ---- to the engine --------------------------------------------------------------------------------------------------------- */

static weft_status no_memory(weft_error *err)
{
    return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for this request; try again later");
}

static void list_names(const weft_v2_tensor_info *t, size_t n, char *buf, size_t n_buf)
{
    size_t at = 0;
    snprintf(buf, n_buf, "none");
    for (size_t i = 0; i < n && at + 1 < n_buf; i++) {
        int k = snprintf(buf + at, n_buf - at, "%s\"%.64s\"", i ? ", " : "", t[i].name);
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Before anything runs: every asked output exists and can be what is asked. */
static weft_status check_asks(const weft_v2_call *c, const weft_v2_model *m, weft_error *err)
{
    char names[512];
    for (size_t i = 0; i < c->n_asks; i++) {
        size_t k = 0;
        while (k < m->n_outputs && strcmp(m->outputs[k].name, c->asks[i].name) != 0)
            k++;
        if (k == m->n_outputs) {
            list_names(m->outputs, m->n_outputs, names, sizeof(names));
            return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" has no output \"%.64s\"; its outputs: %s", m->info->name,
                             c->asks[i].name, names);
        }
        if (c->asks[i].n_classes > 0 && m->outputs[k].dtype == WEFT_DT_STRING)
            return weft_fail(err, WEFT_E_INVALID, "the output \"%.64s\" is BYTES; classes need numbers", c->asks[i].name);
    }
    return WEFT_OK;
}

static void fill_call(const weft_v2_call *c, int64_t default_timeout_ms, weft_call *call)
{
    *call = (weft_call){.model = c->model,
                        .version = c->version,
                        .id = c->id,
                        .trace = c->trace,
                        .params = c->params,
                        .n_params = c->n_params,
                        .timeout_ms = c->timeout_ms ? c->timeout_ms : default_timeout_ms,
                        .priority = c->priority};
}

static weft_status plan_tensors(weft_v2_call *c, weft_call *call, weft_error *err)
{
    weft_input *inputs = weft_arena_array(c->arena, c->n_inputs, sizeof(*inputs));
    const char **names = weft_arena_array(c->arena, c->n_asks, sizeof(*names));
    if (!inputs || !names)
        return no_memory(err);
    for (size_t i = 0; i < c->n_inputs; i++)
        inputs[i] = (weft_input){.name = c->inputs[i].name, .tensor = c->inputs[i]};
    for (size_t i = 0; i < c->n_asks; i++)
        names[i] = c->asks[i].name;
    call->inputs = inputs;
    call->n_inputs = c->n_inputs;
    call->outputs = c->n_asks ? names : NULL;
    call->n_outputs = c->n_asks;
    return WEFT_OK;
}

static weft_status check_picture_input(const weft_v2_call *c, const weft_v2_model *m, int64_t *n, weft_error *err)
{
    const weft_tensor *t = &c->inputs[0];
    if (c->n_inputs != 1 || strcmp(t->name, m->info->picture_input) != 0)
        return weft_fail(err, WEFT_E_INVALID, "the model \"%s\" takes one input, \"%s\"; %zu came%s%.64s%s", m->info->name,
                         m->info->picture_input, c->n_inputs, c->n_inputs ? ", the first is \"" : "", c->n_inputs ? t->name : "",
                         c->n_inputs ? "\"" : "");
    if (t->dtype != WEFT_DT_STRING)
        return weft_fail(err, WEFT_E_INVALID, "the input \"%s\" must be BYTES holding encoded pictures, not %s", t->name,
                         weft_dtype_name(t->dtype));
    weft_status st = weft_tensor_check(t, err);
    if (st)
        return st;
    weft_shape_elements(t->shape, t->rank, n);
    if (*n < 1 || *n > WEFT_V2_MAX_PICTURES)
        return weft_fail(err, *n < 1 ? WEFT_E_INVALID : WEFT_E_TOO_LARGE, "\"%s\" must hold 1 to %d pictures, but holds %lld",
                         t->name, WEFT_V2_MAX_PICTURES, (long long)*n);
    return WEFT_OK;
}

/* One call a picture, each lent straight out of the tensor. */
static weft_status plan_pictures(weft_v2_call *c, const weft_v2_model *m, int64_t default_timeout_ms, weft_call **calls,
                                 size_t *n_calls, weft_error *err)
{
    int64_t n = 0;
    weft_status st = check_picture_input(c, m, &n, err);
    if (st)
        return st;
    weft_call *all = weft_arena_array(c->arena, (size_t)n, sizeof(*all));
    weft_input *inputs = weft_arena_array(c->arena, (size_t)n, sizeof(*inputs));
    if (!all || !inputs)
        return no_memory(err);
    const uint8_t *p = c->inputs[0].data;
    for (int64_t i = 0; i < n; i++) {
        size_t n_bytes = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        inputs[i] = weft_input_bytes(c->inputs[0].name, p + 4, n_bytes);
        p += 4 + n_bytes;
        fill_call(c, default_timeout_ms, &all[i]);
        all[i].inputs = &inputs[i];
        all[i].n_inputs = 1;
    }
    *calls = all;
    *n_calls = (size_t)n;
    return WEFT_OK;
}

weft_status weft_v2_call_plan(weft_v2_call *c, const weft_v2_model *m, int64_t default_timeout_ms, weft_call **calls,
                              size_t *n_calls, weft_error *err)
{
    *calls = NULL;
    *n_calls = 0;
    weft_status st = check_asks(c, m, err);
    if (st)
        return st;
    if (m->picture)
        return plan_pictures(c, m, default_timeout_ms, calls, n_calls, err);
    weft_call *call = weft_arena_array(c->arena, 1, sizeof(*call));
    if (!call)
        return no_memory(err);
    fill_call(c, default_timeout_ms, call);
    if ((st = plan_tensors(c, call, err)))
        return st;
    *calls = call;
    *n_calls = 1;
    return WEFT_OK;
}

/* ---- from the engine ------------------------------------------------------------------------------------------------------- */

/* Columns of several results under one name, one behind the other. */
static weft_status join_column(weft_v2_call *c, weft_result *const *results, size_t n, const weft_column *first, weft_tensor *out,
                               weft_error *err)
{
    bool stack = !first->per_item && first->tensor.dtype != WEFT_DT_STRING;
    int skip = stack ? 0 : 1; /* dims that may differ */
    size_t n_bytes = 0;
    int64_t n_first = 0;
    *out = first->tensor;
    if (first->tensor.rank + stack > WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "\"%.64s\" has too many axes to be joined; send one picture a request",
                         out->name);
    for (size_t i = 0; i < n; i++) {
        const weft_column *col = weft_result_column(results[i], first->tensor.name);
        bool same = col && col->tensor.rank == first->tensor.rank && col->tensor.dtype == first->tensor.dtype;
        for (int k = skip; same && k < col->tensor.rank; k++)
            same = col->tensor.shape[k] == first->tensor.shape[k];
        if (!same)
            return weft_fail(
                err, WEFT_E_INVALID,
                "\"%.64s\" of picture %zu has another shape than that of the first; send such pictures one a request", out->name,
                i);
        n_bytes += col->tensor.n_bytes;
        n_first += stack ? 1 : col->tensor.rank ? col->tensor.shape[0] : 1;
    }
    uint8_t *to = weft_arena_alloc(c->arena, n_bytes < 64 ? 64 : n_bytes);
    if (!to)
        return no_memory(err);
    out->data = to;
    out->n_bytes = n_bytes;
    for (size_t i = 0; i < n; i++) {
        const weft_tensor *t = &weft_result_column(results[i], first->tensor.name)->tensor;
        if (t->n_bytes)
            memcpy(to, t->data, t->n_bytes);
        to += t->n_bytes;
    }
    if (stack) {
        memmove(out->shape + 1, out->shape, (size_t)out->rank * sizeof(out->shape[0]));
        out->rank++;
    }
    if (out->rank == 0)
        out->rank = 1;
    out->shape[0] = n_first;
    return WEFT_OK;
}

static weft_status count_items(weft_v2_call *c, weft_result *const *results, size_t n, weft_tensor *out, weft_error *err)
{
    int32_t *counts = weft_arena_array(c->arena, n, sizeof(*counts));
    if (!counts)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        counts[i] = (int32_t)results[i]->n_items;
    *out = (weft_tensor){.name = WEFT_V2_N_ITEMS,
                         .dtype = WEFT_DT_I32,
                         .rank = 1,
                         .shape = {(int64_t)n},
                         .data = counts,
                         .n_bytes = n * sizeof(*counts)};
    return WEFT_OK;
}

/* Is the first axis of an output a batch of rows? */
static bool has_rows(const weft_v2_model *m, const weft_tensor *t)
{
    if (m->info->n_fields || t->rank < 2)
        return false;
    for (size_t i = 0; i < m->n_outputs; i++)
        if (strcmp(m->outputs[i].name, t->name) == 0)
            return m->max_batch_size > 0 || (m->outputs[i].rank == t->rank && m->outputs[i].shape[0] < 0);
    return false;
}

/* A LABEL column beside a column per item names its elements. */
static weft_status labels_for(weft_v2_call *c, weft_result *const *results, size_t n, const weft_tensor *t, weft_tensor *out,
                              const weft_tensor **labels, weft_error *err)
{
    const weft_result *r = results[0];
    *labels = NULL;
    for (size_t i = 0; i < r->n_columns; i++) {
        const weft_column *col = &r->columns[i];
        if (col->kind != WEFT_FIELD_LABEL || !col->per_item)
            continue;
        weft_status st = WEFT_OK;
        *out = col->tensor;
        if (n > 1)
            st = join_column(c, results, n, col, out, err);
        if (!st && t->rank == 1 && out->shape[0] == t->shape[0])
            *labels = out;
        return st;
    }
    return WEFT_OK;
}

static weft_status make_output(weft_v2_call *c, const weft_v2_model *m, weft_result *const *results, size_t n, const char *name,
                               const weft_v2_ask *ask, weft_v2_output *out, weft_error *err)
{
    const weft_column *col = weft_result_column(results[0], name);
    weft_status st = WEFT_OK;
    out->ask = ask;
    if (col) {
        out->tensor = col->tensor;
        if (n > 1)
            st = join_column(c, results, n, col, &out->tensor, err);
    } else if (m->picture && strcmp(name, WEFT_V2_N_ITEMS) == 0) {
        st = count_items(c, results, n, &out->tensor, err);
    } else {
        return weft_fail(err, WEFT_E_INTERNAL, "the model \"%s\" did not give its output \"%.64s\"", m->info->name, name);
    }
    if (st || !ask || ask->n_classes <= 0)
        return st;
    weft_tensor scores = out->tensor, joined;
    const weft_tensor *labels;
    if ((st = labels_for(c, results, n, &scores, &joined, &labels, err)))
        return st;
    return weft_v2_classes(c->arena, &scores, has_rows(m, &scores), ask->n_classes, labels, &out->tensor, err);
}

static bool counts_items(const weft_v2_model *m)
{
    return m->picture && m->n_outputs && strcmp(m->outputs[m->n_outputs - 1].name, WEFT_V2_N_ITEMS) == 0;
}

weft_status weft_v2_outputs(weft_v2_call *c, const weft_v2_model *m, weft_result *const *results, size_t n_results,
                            weft_v2_output **out, size_t *n_out, weft_error *err)
{
    size_t n = c->n_asks ? c->n_asks : results[0]->n_columns + counts_items(m);
    weft_v2_output *outs = weft_arena_array(c->arena, n, sizeof(*outs));
    weft_status st = WEFT_OK;
    *out = outs;
    *n_out = n;
    if (!outs)
        return no_memory(err);
    for (size_t i = 0; !st && i < n; i++) {
        const weft_v2_ask *ask = c->n_asks ? &c->asks[i] : NULL;
        const char *name = ask ? ask->name : i < results[0]->n_columns ? results[0]->columns[i].tensor.name : WEFT_V2_N_ITEMS;
        st = make_output(c, m, results, n_results, name, ask, &outs[i], err);
    }
    return st;
}
