/* A pipeline for tests. Parameters of a call:
 *   calls (INT, 1)    how many calls of "a" it makes, each one row of value base + i
 *   base (INT, 0)
 *   at_once (INT, 1)  how many are out together
 *   loop (BOOL)       the calls repeat: they join the cohort
 *   think_us (INT)    work between two calls
 *   use_b (BOOL)      every answer of "a" goes through "b"
 *   leave (INT)       closes the group when so many answers are there, with the rest still out
 *   fail (BOOL)       run fails with UNPROCESSABLE at its end
 * Result: column "sum" NUMBER F32 [calls]: the first element of every last answer. */
#include "help_engine.h"

#include <string.h>
#include <time.h>

typedef struct job {
    int64_t calls, base, at_once, think_us, leave;
    bool loop, use_b, fail;
} job;

static int64_t param(const weft_call *call, const char *name, int64_t def)
{
    const weft_param *p = weft_call_param(call, name);
    return p ? p->i : def;
}

static void work_for(int64_t us)
{
    int64_t until = help_now_ns() + us * 1000;
    while (us && help_now_ns() < until)
        ;
}

static weft_status submit(weft_pipe *p, weft_group *g, size_t slot, int64_t tag, const float *row, bool repeats, weft_error *err)
{
    float *x = weft_pipe_alloc(p, 16);
    if (!x)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a row");
    memcpy(x, row, 16);
    weft_tensor t = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {1, 4}, .data = x, .n_bytes = 16};
    weft_sub_call c = {.submodel = slot, .inputs = &t, .n_inputs = 1, .n_rows = 1, .repeats = repeats, .tag = (uint64_t)tag};
    return weft_group_submit(g, &c, err);
}

static weft_status run_group(weft_pipe *p, weft_group *g, const job *j, float *sums, weft_error *err)
{
    int64_t sent = 0, got = 0;
    weft_status s = WEFT_OK;
    while (got < j->calls && !s) {
        while (sent < j->calls && sent - got < j->at_once && !s) {
            float v = (float)(j->base + sent), row[4] = {v, v, v, v};
            s = submit(p, g, 0, sent, row, j->loop && sent + 1 < j->calls, err);
            sent++;
        }
        weft_sub_result r;
        if (s || (s = weft_group_wait_any(g, &r, err)))
            break;
        if (r.status) {
            if (err)
                *err = r.error;
            return r.status;
        }
        uint64_t tag = r.tag & 0xffff;
        bool second = r.tag >> 16;
        float first = ((const float *)r.outputs[0].data)[0], row[4] = {first, first, first, first};
        weft_group_release(g, r.slot);
        if (j->use_b && !second) {
            s = submit(p, g, 1, (int64_t)(tag | 1 << 16), row, false, err);
            continue;
        }
        sums[tag] = first;
        got++;
        weft_pipe_progress(p, (int)got, (int)j->calls);
        if (j->leave && got == j->leave)
            break;
        work_for(j->think_us);
    }
    return s;
}

static weft_status pipe_run(void *state, weft_pipe *p, const weft_call *call, weft_builder *b, weft_error *err)
{
    job j = {.calls = param(call, "calls", 1),
             .base = param(call, "base", 0),
             .at_once = param(call, "at_once", 1),
             .think_us = param(call, "think_us", 0),
             .leave = param(call, "leave", 0),
             .loop = param(call, "loop", 0),
             .use_b = param(call, "use_b", 0),
             .fail = param(call, "fail", 0)};
    weft_group *g;
    weft_status s = weft_group_open(p, (size_t)j.at_once, &g, err);
    if (s)
        return s;
    float *sums = weft_pipe_alloc(p, (size_t)j.calls * sizeof(float));
    s = sums ? run_group(p, g, &j, sums, err) : weft_fail(err, WEFT_E_NO_MEMORY, "no memory for sums");
    weft_group_close(&g);
    if (!s && j.fail)
        s = weft_fail(err, WEFT_E_UNPROCESSABLE, "told to fail");
    void *data;
    if (!s) {
        weft_builder_items(b, (size_t)j.calls);
        s = weft_builder_column(b, "sum", &j.calls, 1, &data, err);
    }
    if (!s)
        memcpy(data, sums, (size_t)j.calls * sizeof(float));
    return s;
}

static weft_status pipe_open(const weft_open *o, void **state, weft_error *err)
{
    *state = NULL;
    return o->submodels[0]->n_inputs == 1 ? WEFT_OK : weft_fail(err, WEFT_E_CONFIG, "slot a must have one input");
}

static const weft_submodel_decl slots[] = {
    {.slot = "a", .required = true, .help = "first"}, {.slot = "b", .help = "second"}, {.slot = NULL}};
static const weft_field_decl fields[] = {
    {.name = "sum", .kind = WEFT_FIELD_NUMBER, .dtype = WEFT_DT_F32, .per_item = true, .help = "sum"}};

const weft_executor help_pipe_executor = {
    .name = "pipe",
    .summary = "for tests",
    .fields = fields,
    .n_fields = 1,
    .submodels = slots,
    .open = pipe_open,
    .run = pipe_run,
};
