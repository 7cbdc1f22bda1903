#include "backend/fake/fake_backend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/fake/fake_model.h"
#include "backend/fake/fake_text.h"
#include "base/tensor_match.h"

#define ROWS_ON_STACK 64

static weft_status open_as(bool card, const weft_backend_env *env, void **self, weft_error *err)
{
    weft_fake_self *s = calloc(1, sizeof *s);

    *self = s;
    if (!s)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to open the fake backend");
    s->env = *env;
    s->card = card;
    return WEFT_OK;
}

static weft_status fake_open(const weft_backend_env *env, void **self, weft_error *err)
{
    return open_as(false, env, self, err);
}

static weft_status card_open(const weft_backend_env *env, void **self, weft_error *err)
{
    return open_as(true, env, self, err);
}

static void fake_close(void *self)
{
    free(self);
}

static weft_status fake_describe(void *self, char *buf, size_t n_buf)
{
    snprintf(buf, n_buf, "fake %s, for tests", ((weft_fake_self *)self)->card ? "card" : "CPU");
    return WEFT_OK;
}

/* ---- load
 * -------------------------------------------------------------------------------------------------------------------------- */

static weft_status read_text(weft_fake_model *m, const char *path, weft_error *err)
{
    FILE *f = fopen(path, "rb");
    weft_status s;
    char *text;
    size_t n;

    if (!f)
        return weft_fail(err, errno == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "cannot read the fake model %s: %s", path,
                         strerror(errno));
    text = weft_arena_alloc(m->arena, WEFT_FAKE_TEXT_MAX_BYTES + 1);
    if (!text) {
        fclose(f);
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to read %s", path);
    }
    n = fread(text, 1, WEFT_FAKE_TEXT_MAX_BYTES + 1, f);
    s = ferror(f) ? weft_fail(err, WEFT_E_IO, "reading the fake model %s failed", path) : WEFT_OK;
    fclose(f);
    if (s)
        return s;
    s = weft_fake_text_parse(text, n, m->arena, &m->o, err);
    return s ? weft_fail_prefix(err, s, "%s", path) : WEFT_OK;
}

/* The options need not outlive the load: lists and strings are copied. */
static weft_status copy_list(weft_fake_model *m, const weft_list *from, size_t item_bytes, weft_list *to, weft_error *err)
{
    if (!from->n)
        return WEFT_OK;
    to->items = weft_arena_array(m->arena, from->n, item_bytes);
    if (!to->items)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a fake model");
    memcpy(to->items, from->items, from->n * item_bytes);
    to->n = from->n;
    return WEFT_OK;
}

static weft_status copy_tensors(weft_fake_model *m, const weft_list *from, weft_list *to, weft_error *err)
{
    weft_status s = copy_list(m, from, sizeof(weft_fake_tensor), to, err);

    for (size_t i = 0; !s && i < from->n; i++) {
        weft_fake_tensor *t = (weft_fake_tensor *)to->items + i;

        if (!t->name)
            return weft_fail(err, WEFT_E_CONFIG, "tensor %zu of the fake model \"%s\" has no name", i, m->name);
        t->name = weft_arena_strdup(m->arena, t->name);
        if (!t->name)
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a fake model");
        s = copy_list(m, &((const weft_fake_tensor *)from->items)[i].shape, sizeof(int64_t), &t->shape, err);
    }
    return s;
}

static weft_status copy_faults(weft_fake_model *m, const weft_list *from, weft_error *err)
{
    weft_status s = copy_list(m, from, sizeof(weft_fake_fault), &m->o.faults, err);

    for (size_t i = 0; !s && i < from->n; i++) {
        weft_fake_fault *f = (weft_fake_fault *)m->o.faults.items + i;

        if (f->message && !(f->message = weft_arena_strdup(m->arena, f->message)))
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a fake model");
        s = copy_list(m, &((const weft_fake_fault *)from->items)[i].when_value, sizeof(double), &f->when_value, err);
    }
    return s;
}

static weft_status overlay(weft_fake_model *m, const weft_fake_options *o, weft_error *err)
{
    weft_status s = copy_tensors(m, &o->inputs, &m->o.inputs, err);

    if (!s)
        s = copy_tensors(m, &o->outputs, &m->o.outputs, err);
    if (!s)
        s = copy_list(m, &o->batch_sizes, sizeof(int64_t), &m->o.batch_sizes, err);
    if (!s)
        s = copy_faults(m, &o->faults, err);
    if (o->delay_ms > 0)
        m->o.delay_ms = o->delay_ms;
    if (o->row_delay_ms > 0)
        m->o.row_delay_ms = o->row_delay_ms;
    if (o->load_delay_ms > 0)
        m->o.load_delay_ms = o->load_delay_ms;
    m->o.spin = m->o.spin || o->spin;
    if (o->weights_bytes)
        m->o.weights_bytes = o->weights_bytes;
    if (o->work_bytes)
        m->o.work_bytes = o->work_bytes;
    return s;
}

static weft_status describe_tensors(weft_fake_model *m, const weft_list *from, bool output, weft_tensor_desc **out,
                                    weft_error *err)
{
    weft_tensor_desc *d = weft_arena_array(m->arena, from->n ? from->n : 1, sizeof *d);

    if (!d)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a fake model");
    *out = d;
    for (size_t i = 0; i < from->n; i++) {
        const weft_fake_tensor *t = (const weft_fake_tensor *)from->items + i;

        if (!weft_dtype_bytes((weft_dtype)t->dtype) && t->dtype != WEFT_DT_STRING)
            return weft_fail(err, WEFT_E_CONFIG, "\"%s\" of the fake model \"%s\" has the unknown element type %d", t->name,
                             m->name, t->dtype);
        if (t->shape.n > WEFT_MAX_RANK)
            return weft_fail(err, WEFT_E_CONFIG, "\"%s\" of the fake model \"%s\" has %zu dims; at most %d are possible", t->name,
                             m->name, t->shape.n, WEFT_MAX_RANK);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(d[k].name, t->name))
                return weft_fail(err, WEFT_E_CONFIG, "the fake model \"%s\" has the name \"%s\" twice", m->name, t->name);
        d[i].name = t->name;
        d[i].dtype = (weft_dtype)t->dtype;
        d[i].rank = (int)t->shape.n;
        for (size_t k = 0; k < t->shape.n; k++) {
            d[i].shape[k] = ((const int64_t *)t->shape.items)[k];
            if (d[i].shape[k] < -1)
                return weft_fail(err, WEFT_E_CONFIG, "\"%s\" of the fake model \"%s\" has a dim of %lld; -1 or more is possible",
                                 t->name, m->name, (long long)d[i].shape[k]);
        }
        d[i].optional = !output && t->optional;
        d[i].size_kind = output && t->size ? (weft_size_kind)t->size : WEFT_SIZE_FIXED;
        d[i].max_bytes = output ? (size_t)t->max_bytes : 0;
    }
    return WEFT_OK;
}

static weft_status check_copies(const weft_fake_model *m, weft_error *err)
{
    for (size_t i = 0; i < m->n_outputs; i++) {
        const weft_tensor_desc *in, *out = &m->outputs[i];

        if (((const weft_fake_tensor *)m->o.outputs.items)[i].values != WEFT_FAKE_COPY)
            continue;
        if (!m->n_inputs)
            return weft_fail(err, WEFT_E_CONFIG, "output \"%s\" of the fake model \"%s\" copies an input, but there is none",
                             out->name, m->name);
        in = &m->inputs[i < m->n_inputs ? i : m->n_inputs - 1];
        if (in->dtype != out->dtype || in->rank != out->rank || memcmp(in->shape, out->shape, sizeof in->shape) != 0 ||
            in->optional)
            return weft_fail(
                err, WEFT_E_CONFIG,
                "output \"%s\" of the fake model \"%s\" copies input \"%s\", so both must have the same type and shape",
                out->name, m->name, in->name);
    }
    return WEFT_OK;
}

static weft_status check_gears(const weft_fake_model *m, weft_error *err)
{
    const int64_t *b = m->o.batch_sizes.items;

    for (size_t i = 0; i < m->o.batch_sizes.n; i++)
        if (b[i] < 1 || (i && b[i] <= b[i - 1]))
            return weft_fail(err, WEFT_E_CONFIG, "batch_sizes of the fake model \"%s\" must be 1 or more and ascending", m->name);
    if (m->o.batch_sizes.n && m->batched_input == m->n_inputs)
        return weft_fail(err, WEFT_E_CONFIG, "the fake model \"%s\" has batch_sizes, but no input whose first dim is -1",
                         m->name);
    return WEFT_OK;
}

static const int64_t default_shape[] = {-1, 4};
static const weft_fake_tensor default_input = {.name = "x", .dtype = WEFT_DT_F32, .shape = {2, (void *)default_shape}};
static const weft_fake_tensor default_output = {.name = "y", .dtype = WEFT_DT_F32, .shape = {2, (void *)default_shape}};

static weft_status build(weft_fake_model *m, const weft_model_source *src, weft_error *err)
{
    const weft_fake_options *o = src->options;
    weft_status s = WEFT_OK;

    for (size_t i = 0; !s && i < src->n_paths; i++) {
        /* Several files are gears of one model: the same description. The first one counts. */
        s = i ? WEFT_OK : read_text(m, src->paths[i], err);
    }
    if (!s && o)
        s = overlay(m, o, err);
    if (s)
        return s;
    if (!m->o.inputs.n && !m->o.outputs.n)
        m->o.inputs = (weft_list){1, (void *)&default_input};
    if (!m->o.outputs.n)
        m->o.outputs = (weft_list){1, (void *)&default_output};
    m->n_inputs = m->o.inputs.n;
    m->n_outputs = m->o.outputs.n;
    m->fired = weft_arena_array(m->arena, m->o.faults.n ? m->o.faults.n : 1, sizeof *m->fired);
    m->account = weft_fake_account_get(m->name);
    if (!m->fired || !m->account)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the fake model \"%s\"", m->name);
    s = describe_tensors(m, &m->o.inputs, false, &m->inputs, err);
    if (!s)
        s = describe_tensors(m, &m->o.outputs, true, &m->outputs, err);
    if (s)
        return s;
    for (m->batched_input = 0; m->batched_input < m->n_inputs; m->batched_input++)
        if (m->inputs[m->batched_input].rank > 0 && m->inputs[m->batched_input].shape[0] < 0 &&
            !m->inputs[m->batched_input].optional)
            break;
    s = check_copies(m, err);
    if (!s)
        s = check_gears(m, err);
    if (!s && src->memory_limit && m->o.weights_bytes > src->memory_limit)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "model \"%s\" needs %llu bytes for its weights, but its memory_limit is %llu",
                      m->name, (unsigned long long)m->o.weights_bytes, (unsigned long long)src->memory_limit);
    return s;
}

static weft_status fake_load(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_fake_model *m = arena ? weft_arena_zalloc(arena, sizeof *m) : NULL;
    weft_status s;

    *model = NULL;
    memset(desc, 0, sizeof *desc);
    if (!m) {
        weft_arena_destroy(&arena);
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the fake model \"%s\"", src->name);
    }
    m->arena = arena;
    m->self = self;
    m->device_id = src->device_id;
    m->name = weft_arena_strdup(arena, src->name);
    s = m->name ? build(m, src, err) : weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the fake model \"%s\"", src->name);
    if (!s)
        s = weft_fake_begin_load(m, err);
    if (s) {
        weft_arena_destroy(&arena);
        return s;
    }
    *desc = (weft_model_desc){
        .inputs = m->inputs,
        .outputs = m->outputs,
        .n_inputs = m->n_inputs,
        .n_outputs = m->n_outputs,
        .batch_sizes = m->o.batch_sizes.n ? m->o.batch_sizes.items : NULL,
        .n_batch_sizes = m->o.batch_sizes.n,
        .weights_bytes = m->o.weights_bytes,
        .producer = "weft fake",
    };
    *model = m;
    return WEFT_OK;
}

static void fake_unload(void *self, void *model)
{
    weft_fake_model *m = model;
    weft_arena *arena;

    if (!m)
        return;
    weft_fake_end_load(m);
    arena = m->arena;
    weft_arena_destroy(&arena);
}

static weft_status fake_instance_create(void *self, void *model, void **instance, weft_error *err)
{
    weft_fake_instance *i = calloc(1, sizeof *i);
    weft_status s;

    *instance = NULL;
    if (!i)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for an instance of the fake model \"%s\"",
                         ((weft_fake_model *)model)->name);
    i->model = model;
    s = weft_fake_begin_instance(i->model, err);
    if (s) {
        free(i);
        return s;
    }
    *instance = i;
    return WEFT_OK;
}

static void fake_instance_destroy(void *self, void *instance)
{
    if (!instance)
        return;
    weft_fake_end_instance(instance);
    free(instance);
}

/* ---- run
 * -----------------------------------------------------------------------------------------------------------------------------
 */

static weft_status check_run(const weft_fake_model *m, const weft_run *run, weft_error *err)
{
    weft_status s = weft_tensors_match(m->inputs, m->n_inputs, run->inputs, run->n_inputs, err);
    int64_t n_rows;
    bool compiled = false;

    if (s)
        return s;
    if (run->n_outputs != m->n_outputs)
        return weft_fail(err, WEFT_E_INVALID, "the model has %zu outputs, but %zu were given", m->n_outputs, run->n_outputs);
    n_rows = weft_fake_rows(m, run);
    for (size_t i = 0; i < m->n_inputs; i++)
        if (m->inputs[i].rank > 0 && m->inputs[i].shape[0] < 0 && !weft_tensor_absent(&run->inputs[i]) &&
            run->inputs[i].shape[0] != n_rows)
            return weft_fail(err, WEFT_E_INVALID, "input \"%s\" has %lld rows, but input \"%s\" has %lld", m->inputs[i].name,
                             (long long)run->inputs[i].shape[0], m->inputs[m->batched_input].name, (long long)n_rows);
    for (size_t i = 0; i < m->o.batch_sizes.n; i++)
        compiled = compiled || ((const int64_t *)m->o.batch_sizes.items)[i] == n_rows;
    if (m->o.batch_sizes.n && !compiled)
        return weft_fail(err, WEFT_E_INVALID, "the model is not compiled for %lld rows", (long long)n_rows);
    return WEFT_OK;
}

static weft_status fail_run(const weft_fake_model *m, const weft_fake_order *order, weft_fault *fault, weft_error *err)
{
    static const struct {
        weft_fake_kind kind;
        weft_fault fault;
        weft_status status;
        const char *text;
    } table[] = {
        {WEFT_FAKE_REQUEST, WEFT_FAULT_REQUEST, WEFT_E_INVALID, "these inputs were told to be wrong"},
        {WEFT_FAKE_UNKNOWN, WEFT_FAULT_UNKNOWN, WEFT_E_RUN_FAILED, "the run was told to fail"},
        {WEFT_FAKE_MEMORY, WEFT_FAULT_MEMORY, WEFT_E_NO_MEMORY, "the run was told to be out of memory"},
        {WEFT_FAKE_TIMEOUT, WEFT_FAULT_TIMEOUT, WEFT_E_DEADLINE, "the run was told to time out"},
        {WEFT_FAKE_STREAM, WEFT_FAULT_STREAM, WEFT_E_DEVICE, "the stream is broken"},
        {WEFT_FAKE_DEVICE, WEFT_FAULT_DEVICE, WEFT_E_DEVICE, "the device is broken"},
    };

    if (order->kind == WEFT_FAKE_ABORT)
        abort();
    if (order->kind == WEFT_FAKE_SEGV) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == order->kind) {
            *fault = table[i].fault;
            if (order->fault && order->fault->message)
                return weft_fail(err, table[i].status, "%s", order->fault->message);
            return weft_fail(err, table[i].status, "%s (run %lld of the fake model \"%s\")", table[i].text, (long long)order->run,
                             m->name);
        }
    return WEFT_OK;
}

static weft_status compute(const weft_fake_model *m, weft_run *run, const weft_fake_order *order, weft_error *err)
{
    int64_t n_rows = weft_fake_rows(m, run);
    double few[ROWS_ON_STACK], *sums = few, total;
    weft_status s = WEFT_OK;

    if (n_rows > ROWS_ON_STACK)
        sums = calloc((size_t)n_rows, sizeof *sums);
    if (!sums)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %lld rows", (long long)n_rows);
    total = weft_fake_sums(m, run, sums, n_rows);
    for (size_t i = 0; i < m->n_outputs && !s; i++) {
        if (!run->wanted || run->wanted[i]) {
            s = weft_fake_output(m, run, i, sums, total, n_rows, order, err);
        } else {
            run->outputs[i].data = NULL;
            run->outputs[i].n_bytes = 0;
        }
    }
    if (sums != few)
        free(sums);
    return s;
}

static weft_status fake_run(void *self, void *instance, weft_run *run, weft_error *err)
{
    weft_fake_instance *i = instance;
    weft_fake_order order;
    weft_status s = check_run(i->model, run, err);

    run->fault = WEFT_FAULT_NONE;
    if (s) {
        run->fault = WEFT_FAULT_REQUEST;
        return s;
    }
    if (!weft_fake_begin_run(i, run, &order)) {
        run->fault = WEFT_FAULT_TIMEOUT;
        s = weft_fail(err, WEFT_E_DEADLINE, "the run was terminated");
    } else {
        s = fail_run(i->model, &order, &run->fault, err);
        if (!s && (s = compute(i->model, run, &order, err)))
            run->fault = WEFT_FAULT_MEMORY;
    }
    weft_fake_end_run(i, &order, run->fault);
    return s;
}

static void fake_terminate(void *self, void *instance)
{
    weft_fake_terminate(instance);
}

static void fake_memory(void *self, void *model, weft_backend_memory *out)
{
    const weft_fake_model *m = model;

    *out = (weft_backend_memory){.weights_bytes = m->o.weights_bytes, .peak_work_bytes = m->o.work_bytes};
}

/* Memory of the card's "pinned" kind is counted apart only by its address: any aligned memory will do. */
static void *card_alloc(void *self, size_t n_bytes)
{
    void *p = NULL;

    return posix_memalign(&p, 4096, n_bytes ? n_bytes : 1) == 0 ? p : NULL;
}

static void card_free(void *self, void *p)
{
    free(p);
}

static const char *const extensions[] = {".fake", NULL};
static const char *const card_extensions[] = {NULL};

#define COMMON                                                                                                                   \
    .abi = WEFT_BACKEND_ABI, .options = weft_fake_option_table, .options_size = sizeof(weft_fake_options), .close = fake_close,  \
    .describe = fake_describe, .model_load = fake_load, .model_unload = fake_unload, .instance_create = fake_instance_create,    \
    .instance_destroy = fake_instance_destroy, .run = fake_run, .terminate = fake_terminate, .memory = fake_memory

const weft_backend weft_backend_fake = {
    COMMON,
    .name = "fake",
    .summary = "for tests: computable answers, delays and faults on command",
    .extensions = extensions,
    .on_cpu = true,
    .open = fake_open,
};

const weft_backend weft_backend_fake_card = {
    COMMON,
    .name = "fake_card",
    .summary = "for tests: the fake backend as a card",
    .extensions = card_extensions,
    .needs_block = true,
    .open = card_open,
    .host_alloc = card_alloc,
    .host_free = card_free,
};
