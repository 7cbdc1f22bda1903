/* Instances and runs.
 *
 *   idle --weft_ort_run--> running --(done)--> idle
 * terminate: running -> the flag of the run options is set, and ORT leaves after the current node; idle -> nothing. The flag is
 * cleared when the next run begins. One run at a time; terminate from any thread.
 *
 * Outputs whose shape is known before the run are computed straight into the caller's buffer. Known means: fixed in the file, or
 * equal to dims of the inputs by name, or seen twice for the same input shapes. The last two are guesses; ORT checks them before
 * it writes. When one was wrong the run is repeated without, and that output is never guessed again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/onnxruntime/ort_internal.h"
#include "base/hash.h"
#include "base/tensor_match.h"

#define INSTANCE_LOCK_RANK 850
#define SEEN_ENOUGH 2

/* An OrtValue over memory of ours, kept while place and shape stay the same. */
typedef struct kept_value {
    ort_value *value;
    const void *data;
    size_t n_bytes;
    int rank;
    int64_t shape[WEFT_MAX_RANK];
} kept_value;

typedef struct seen_shape {
    int times, rank;
    int64_t shape[WEFT_MAX_RANK];
} seen_shape;

/* Output shapes that came for one set of input shapes. */
typedef struct lesson {
    uint64_t hash;
    seen_shape *outputs;
} lesson;

typedef struct weft_ort_instance {
    weft_ort_model *model;
    weft_arena *arena; /* holds all of this */
    weft_lock lock;
    bool running, stop_set; /* guarded by lock */
    ort_run_options *options;
    kept_value *inputs, *outputs;
    const ort_value **in;
    ort_value **temporary; /* string inputs of this run */
    /* The wanted outputs of this run, close together: */
    ort_value **out;
    const char **out_names;
    size_t *out_index;
    size_t n_out;
    bool *bound;   /* per model output */
    void **copies; /* inputs that were not aligned for their type, copied */
    size_t *copy_bytes;
    lesson lessons[WEFT_ORT_LEARNED];
} weft_ort_instance;

static char no_bytes[64]; /* where a tensor without elements is said to be */

/* ---- life
 * ----------------------------------------------------------------------------------------------------------------------------------
 */

static bool allocate(weft_ort_instance *i, const weft_ort_model *m)
{
    size_t n_in = m->n_inputs ? m->n_inputs : 1, n_out = m->n_outputs ? m->n_outputs : 1;
    weft_arena *a = i->arena;
    bool ok = (i->inputs = weft_arena_array(a, n_in, sizeof *i->inputs)) && (i->in = weft_arena_array(a, n_in, sizeof *i->in)) &&
              (i->temporary = weft_arena_array(a, n_in, sizeof *i->temporary)) &&
              (i->copies = weft_arena_array(a, n_in, sizeof *i->copies)) &&
              (i->copy_bytes = weft_arena_array(a, n_in, sizeof *i->copy_bytes)) &&
              (i->outputs = weft_arena_array(a, n_out, sizeof *i->outputs)) &&
              (i->out = weft_arena_array(a, n_out, sizeof *i->out)) &&
              (i->out_names = weft_arena_array(a, n_out, sizeof *i->out_names)) &&
              (i->out_index = weft_arena_array(a, n_out, sizeof *i->out_index)) &&
              (i->bound = weft_arena_array(a, n_out, sizeof *i->bound));

    for (int k = 0; ok && k < WEFT_ORT_LEARNED; k++)
        ok = (i->lessons[k].outputs = weft_arena_array(a, n_out, sizeof(seen_shape))) != NULL;
    return ok;
}

weft_status weft_ort_instance_create(void *self, void *model, void **instance, weft_error *err)
{
    weft_ort_model *m = model;
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_ort_instance *i = arena ? weft_arena_zalloc(arena, sizeof *i) : NULL;
    weft_status s = WEFT_OK;

    *instance = NULL;
    if (!i) {
        weft_arena_destroy(&arena);
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for an instance of the model \"%s\"", m->name);
    }
    i->arena = arena;
    i->model = m;
    weft_lock_init(&i->lock, "ort-instance", INSTANCE_LOCK_RANK);
    if (!allocate(i, m))
        s = weft_fail(err, WEFT_E_NO_MEMORY, "no memory for an instance of the model \"%s\"", m->name);
    if (!s)
        s = weft_ort_check(ORT(run_options_create)(&i->options), "no run options", err);
    /* A failed run comes back as an error; it need not be in the log as well. */
    if (!s)
        s = weft_ort_check(ORT(run_options_log_level)(i->options, ORT_LOG_FATAL), "log level", err);
    if (s) {
        weft_ort_instance_destroy(self, i);
        return s;
    }
    *instance = i;
    return WEFT_OK;
}

static void forget(kept_value *v)
{
    if (v->value)
        ORT(value_release)(v->value);
    v->value = NULL;
}

void weft_ort_instance_destroy(void *self, void *instance)
{
    weft_ort_instance *i = instance;
    weft_arena *arena;

    if (!i)
        return;
    for (size_t k = 0; k < i->model->n_inputs && i->inputs; k++)
        forget(&i->inputs[k]);
    for (size_t k = 0; k < i->model->n_inputs && i->copies; k++)
        free(i->copies[k]);
    for (size_t k = 0; k < i->model->n_outputs && i->outputs; k++)
        forget(&i->outputs[k]);
    if (i->options)
        ORT(run_options_release)(i->options);
    weft_lock_fini(&i->lock);
    arena = i->arena;
    weft_arena_destroy(&arena);
}

void weft_ort_terminate(void *self, void *instance)
{
    weft_ort_instance *i = instance;

    weft_lock_take(&i->lock);
    if (i->running && !i->stop_set) {
        weft_ort_ignore(ORT(run_options_stop)(i->options));
        i->stop_set = true;
    }
    weft_lock_drop(&i->lock);
}

static void begin(weft_ort_instance *i)
{
    weft_lock_take(&i->lock);
    weft_assert(!i->running); /* one run at a time is the caller's promise */
    if (i->stop_set)
        weft_ort_ignore(ORT(run_options_go)(i->options));
    i->stop_set = false;
    i->running = true;
    weft_lock_drop(&i->lock);
}

static void end(weft_ort_instance *i)
{
    weft_lock_take(&i->lock);
    i->running = false;
    weft_lock_drop(&i->lock);
}

/* ---- inputs
 * ----------------------------------------------------------------------------------------------------------------------------------
 */

/* A C++ bool with another value than 0 and 1 is undefined behaviour in a kernel. */
static weft_status check_bools(const weft_tensor_desc *d, const weft_tensor *t, weft_error *err)
{
    const uint8_t *p = t->data;

    for (size_t k = 0; k < t->n_bytes; k++)
        if (p[k] > 1)
            return weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" is BOOL, but its element %zu is %u; 0 or 1 is possible",
                             d->name, k, p[k]);
    return WEFT_OK;
}

static weft_status check_run(const weft_ort_model *m, const weft_run *run, weft_error *err)
{
    weft_status s = weft_tensors_match(m->inputs, m->n_inputs, run->inputs, run->n_inputs, err);

    for (size_t k = 0; k < m->n_inputs && !s; k++)
        if (m->inputs[k].dtype == WEFT_DT_BOOL)
            s = check_bools(&m->inputs[k], &run->inputs[k], err);
    if (!s && run->n_outputs != m->n_outputs)
        s = weft_fail(err, WEFT_E_INVALID, "the model has %zu outputs, but %zu were given", m->n_outputs, run->n_outputs);
    return s;
}

static bool fits(const weft_ort_model *m, const weft_ort_file *f, const weft_tensor *inputs)
{
    for (size_t i = 0; i < m->n_inputs; i++)
        for (int k = 0; k < f->inputs[i].rank; k++)
            if (f->inputs[i].shape[k] >= 0 && f->inputs[i].shape[k] != inputs[i].shape[k])
                return false;
    return true;
}

/* The file that is compiled for these shapes. */
static weft_status pick_file(const weft_ort_model *m, const weft_run *run, weft_ort_file **out, weft_error *err)
{
    char came[160], list[400] = "";
    size_t at = 0, which = 0;

    for (size_t i = 0; i < m->n_files; i++)
        if (fits(m, &m->files[i], run->inputs)) {
            *out = &m->files[i];
            return WEFT_OK;
        }
    /* Name the first input that differs between the files. */
    for (size_t i = 0; i < m->n_inputs; i++)
        if (memcmp(m->files[0].inputs[i].shape, m->inputs[i].shape, sizeof m->inputs[i].shape) != 0) {
            which = i;
            break;
        }
    for (size_t i = 0; i < m->n_files && at < sizeof list - 100; i++) {
        char shape[96];

        at += (size_t)snprintf(
            list + at, sizeof list - at, "%s%s", i ? ", " : "",
            weft_shape_print(m->files[i].inputs[which].shape, m->files[i].inputs[which].rank, shape, sizeof shape));
    }
    return weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" has the shape %s; the model is compiled for %s", m->inputs[which].name,
                     weft_shape_print(run->inputs[which].shape, run->inputs[which].rank, came, sizeof came), list);
}

static bool same(const kept_value *v, const void *data, size_t n_bytes, const int64_t *shape, int rank)
{
    return v->value && v->data == data && v->n_bytes == n_bytes && v->rank == rank &&
           memcmp(v->shape, shape, (size_t)rank * sizeof *shape) == 0;
}

static weft_status value_over(kept_value *v, weft_dtype dtype, const void *data, size_t n_bytes, const int64_t *shape, int rank,
                              weft_error *err)
{
    weft_status s;

    if (same(v, data, n_bytes, shape, rank))
        return WEFT_OK;
    forget(v);
    s = weft_ort_check(ORT(value_over)(weft_ort_cpu_memory, (void *)(uintptr_t)(n_bytes ? data : no_bytes), n_bytes, shape,
                                       (size_t)rank, weft_ort_element(dtype), &v->value),
                       "cannot describe a tensor", err);
    v->data = data;
    v->n_bytes = n_bytes;
    v->rank = rank;
    memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
    return s;
}

/* The data of an input at an address that suits its type: its own, or a copy. */
static const void *aligned(weft_ort_instance *i, size_t k, const weft_tensor *t)
{
    size_t unit = weft_dtype_bytes(t->dtype);

    if (!t->n_bytes || (uintptr_t)t->data % unit == 0)
        return t->data;
    if (i->copy_bytes[k] < t->n_bytes) {
        free(i->copies[k]);
        i->copies[k] = malloc(t->n_bytes);
        i->copy_bytes[k] = i->copies[k] ? t->n_bytes : 0;
    }
    if (i->copies[k])
        memcpy(i->copies[k], t->data, t->n_bytes);
    return i->copies[k];
}

static weft_status bind_inputs(weft_ort_instance *i, const weft_run *run, weft_error *err)
{
    const weft_ort_model *m = i->model;

    for (size_t k = 0; k < m->n_inputs; k++) {
        const weft_tensor *t = &run->inputs[k];
        const void *data;
        weft_status s;

        if (t->dtype == WEFT_DT_STRING) {
            s = weft_ort_string_value(t, &i->temporary[k], err);
            i->in[k] = i->temporary[k];
        } else {
            data = aligned(i, k, t);
            if (t->n_bytes && !data)
                return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to align input \"%.64s\"", m->inputs[k].name);
            s = value_over(&i->inputs[k], t->dtype, data, t->n_bytes, t->shape, t->rank, err);
            i->in[k] = i->inputs[k].value;
        }
        if (s)
            return s;
    }
    return WEFT_OK;
}

static void drop_temporary(weft_ort_instance *i)
{
    for (size_t k = 0; k < i->model->n_inputs; k++)
        if (i->temporary[k]) {
            ORT(value_release)(i->temporary[k]);
            i->temporary[k] = NULL;
        }
}

/* ---- outputs
 * -----------------------------------------------------------------------------------------------------------------------------------
 */

static lesson *lesson_for(weft_ort_instance *i, const weft_run *run)
{
    const weft_ort_model *m = i->model;
    uint64_t hash = WEFT_HASH_SEED;
    lesson *l;

    for (size_t k = 0; k < m->n_inputs; k++)
        hash = weft_hash(hash, run->inputs[k].shape, (size_t)run->inputs[k].rank * sizeof run->inputs[k].shape[0]);
    l = &i->lessons[(hash ^ hash >> 32) % WEFT_ORT_LEARNED];
    if (l->hash != hash) {
        for (size_t o = 0; o < m->n_outputs; o++)
            l->outputs[o].times = 0;
        l->hash = hash;
    }
    return l;
}

static bool shape_before_run(const weft_ort_model *m, const weft_ort_file *f, const weft_run *run, const lesson *l, size_t o,
                             weft_tensor *t)
{
    const weft_tensor_desc *d = &f->outputs[o];

    if (d->dtype == WEFT_DT_STRING || atomic_load_explicit(&m->unbound[o], memory_order_relaxed))
        return false;
    t->rank = d->rank;
    for (int k = 0; k < d->rank; k++) {
        weft_ort_dim from = m->output_dims[o][k];

        if (d->shape[k] >= 0)
            t->shape[k] = d->shape[k];
        else if (from.input >= 0)
            t->shape[k] = run->inputs[from.input].shape[from.axis];
        else
            t->rank = -1;
        if (t->rank < 0)
            break;
    }
    if (t->rank >= 0)
        return true;
    if (l->outputs[o].times < SEEN_ENOUGH)
        return false;
    t->rank = l->outputs[o].rank;
    memcpy(t->shape, l->outputs[o].shape, sizeof t->shape);
    return true;
}

/* Prepares output o: over the caller's memory when its shape is known, else for ORT to allocate. */
static weft_status bind_output(weft_ort_instance *i, const weft_ort_file *f, weft_run *run, const lesson *l, size_t o, bool guess,
                               weft_error *err)
{
    const weft_ort_model *m = i->model;
    weft_tensor *t = &run->outputs[o], known = {.name = m->outputs[o].name, .dtype = m->outputs[o].dtype};
    size_t n_bytes, n = i->n_out;
    weft_status s;
    void *room;

    i->out_index[n] = o;
    i->out_names[n] = m->output_names[o];
    i->out[n] = NULL;
    i->n_out = n + 1;
    i->bound[o] = false;
    if (!guess || !shape_before_run(m, f, run, l, o, &known) ||
        !weft_tensor_dense_bytes(known.dtype, known.shape, known.rank, &n_bytes))
        return WEFT_OK;
    room = weft_ort_room(run, o, n_bytes);
    if (!room)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the %zu bytes of output \"%.64s\"", n_bytes, known.name);
    if (!t->data || t->n_bytes < n_bytes) { /* it is the caller's now, whatever comes */
        t->data = room;
        t->n_bytes = n_bytes;
    }
    if ((uintptr_t)room % weft_dtype_bytes(known.dtype) != 0)
        return WEFT_OK;
    s = value_over(&i->outputs[o], known.dtype, room, n_bytes, known.shape, known.rank, err);
    i->out[n] = i->outputs[o].value;
    i->bound[o] = !s;
    return s;
}

static weft_status bind_outputs(weft_ort_instance *i, const weft_ort_file *f, weft_run *run, const lesson *l, bool guess,
                                weft_error *err)
{
    weft_status s = WEFT_OK;

    i->n_out = 0;
    for (size_t o = 0; o < i->model->n_outputs && !s; o++)
        if (!run->wanted || run->wanted[o])
            s = bind_output(i, f, run, l, o, guess, err);
    return s;
}

static void learn(lesson *l, size_t o, const int64_t *shape, int rank)
{
    seen_shape *seen = &l->outputs[o];

    if (seen->times && seen->rank == rank && memcmp(seen->shape, shape, (size_t)rank * sizeof *shape) == 0) {
        seen->times += seen->times < SEEN_ENOUGH;
        return;
    }
    seen->times = 1;
    seen->rank = rank;
    memcpy(seen->shape, shape, (size_t)rank * sizeof *shape);
}

static weft_status read_shape(const weft_ort_model *m, ort_value *v, size_t o, weft_tensor *t, weft_error *err)
{
    ort_tensor_info *info = NULL;
    size_t rank = 0;
    int kind = 0, element = 0;
    weft_status s = weft_ort_check(ORT(value_kind)(v, &kind), "kind of an output", err);

    if (!s && kind != ORT_KIND_TENSOR)
        return weft_fail(err, WEFT_E_RUN_FAILED, "output \"%.64s\" came back as something else than a tensor",
                         m->outputs[o].name);
    if (!s)
        s = weft_ort_check(ORT(value_tensor)(v, &info), "shape of an output", err);
    if (!s)
        s = weft_ort_check(ORT(tensor_element)(info, &element), "type of an output", err);
    if (!s)
        s = weft_ort_check(ORT(tensor_rank)(info, &rank), "rank of an output", err);
    if (!s && (rank > WEFT_MAX_RANK || weft_ort_dtype(element) != m->outputs[o].dtype))
        s = weft_fail(err, WEFT_E_RUN_FAILED, "output \"%.64s\" came back as %s of %zu dimensions; expected %s of at most %d",
                      m->outputs[o].name, weft_ort_element_name(element), rank, weft_dtype_name(m->outputs[o].dtype),
                      WEFT_MAX_RANK);
    if (!s)
        s = weft_ort_check(ORT(tensor_dims)(info, t->shape, rank), "dims of an output", err);
    t->rank = (int)rank;
    if (info)
        ORT(tensor_release)(info);
    return s;
}

/* Copies an output that ORT allocated into the caller's memory. */
static weft_status copy_out(const weft_ort_model *m, ort_value *v, weft_run *run, size_t o, weft_error *err)
{
    weft_tensor *t = &run->outputs[o];
    int64_t n_elements;
    size_t n_bytes;
    void *from = NULL, *to;
    weft_status s = read_shape(m, v, o, t, err);

    t->name = m->outputs[o].name;
    t->dtype = m->outputs[o].dtype;
    if (s)
        return s;
    if (!weft_shape_elements(t->shape, t->rank, &n_elements))
        return weft_fail(err, WEFT_E_RUN_FAILED, "output \"%.64s\" came back with an impossible shape", t->name);
    if (t->dtype == WEFT_DT_STRING)
        return weft_ort_string_output(v, run, o, n_elements, err);
    if (!weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &n_bytes))
        return weft_fail(err, WEFT_E_RUN_FAILED, "output \"%.64s\" came back with an impossible shape", t->name);
    to = weft_ort_room(run, o, n_bytes);
    if (!to)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the %zu bytes of output \"%.64s\"", n_bytes, t->name);
    s = weft_ort_check(ORT(value_data)(v, &from), "data of an output", err);
    if (!s && n_bytes)
        memcpy(to, from, n_bytes);
    t->data = to;
    t->n_bytes = n_bytes;
    return s;
}

static weft_status collect(weft_ort_instance *i, weft_run *run, lesson *l, weft_error *err)
{
    const weft_ort_model *m = i->model;
    weft_status s = WEFT_OK;

    for (size_t n = 0; n < i->n_out; n++) {
        size_t o = i->out_index[n];
        weft_tensor *t = &run->outputs[o];

        if (i->bound[o]) {
            const kept_value *v = &i->outputs[o];

            t->name = m->outputs[o].name;
            t->dtype = m->outputs[o].dtype;
            t->rank = v->rank;
            memcpy(t->shape, v->shape, sizeof t->shape);
            t->n_bytes = v->n_bytes;
            continue;
        }
        if (!s)
            s = copy_out(m, i->out[n], run, o, err);
        if (!s)
            learn(l, o, t->shape, t->rank);
    }
    for (size_t o = 0; o < m->n_outputs; o++)
        if (run->wanted && !run->wanted[o]) {
            run->outputs[o].data = NULL;
            run->outputs[o].n_bytes = 0;
        }
    return s;
}

static void release_outputs(weft_ort_instance *i)
{
    for (size_t n = 0; n < i->n_out; n++)
        if (!i->bound[i->out_index[n]] && i->out[n]) {
            ORT(value_release)(i->out[n]);
            i->out[n] = NULL;
        }
}

/* ---- the run
 * -----------------------------------------------------------------------------------------------------------------------------------
 */

static ort_status *execute(weft_ort_instance *i, const weft_ort_file *f)
{
    const weft_ort_model *m = i->model;

    return ORT(run)(f->session, i->options, m->input_names, i->in, m->n_inputs, i->out_names, i->n_out, i->out);
}

/* ORT found another shape than that of a buffer it was given. Two wordings: releases until 1.2x and newer ones. */
static bool guessed_wrong(const weft_ort_instance *i, ort_status *s)
{
    const char *text = ORT(status_text)(s);
    bool any = false;

    for (size_t n = 0; n < i->n_out; n++)
        any = any || i->bound[i->out_index[n]];
    return any && (strstr(text, "pre-allocated output") || strstr(text, "shape verification failed") ||
                   strstr(text, "OrtValue provided for output"));
}

/* After a wrong guess: which outputs had another shape than they were bound with is known now. */
static void unlearn(weft_ort_instance *i, const kept_value *before, const weft_run *run, const bool *was_bound)
{
    weft_ort_model *m = i->model;

    for (size_t n = 0; n < i->n_out; n++) {
        size_t o = i->out_index[n];
        const weft_tensor *t = &run->outputs[o];

        if (was_bound[o] &&
            (before[o].rank != t->rank || memcmp(before[o].shape, t->shape, (size_t)t->rank * sizeof *t->shape) != 0))
            atomic_store(&m->unbound[o], true);
    }
}

static weft_status execute_all(weft_ort_instance *i, const weft_ort_file *f, weft_run *run, weft_error *err)
{
    weft_ort_model *m = i->model;
    lesson *l = lesson_for(i, run);
    bool again = false, was_bound[WEFT_ORT_MAX_TENSORS];
    weft_status s = bind_outputs(i, f, run, l, true, err);
    ort_status *st;

    if (s) {
        run->fault = s == WEFT_E_NO_MEMORY ? WEFT_FAULT_MEMORY : WEFT_FAULT_UNKNOWN;
        return s;
    }
    st = i->n_out ? execute(i, f) : NULL; /* nothing asked for: nothing to do */
    if (st && guessed_wrong(i, st)) {
        ORT(status_release)(st);
        release_outputs(i);
        memcpy(was_bound, i->bound, m->n_outputs * sizeof *was_bound);
        bind_outputs(i, f, run, l, false, NULL);
        again = true;
        st = execute(i, f);
    }
    if (st) {
        bool out_of_memory = weft_ort_here.out_of_memory;

        release_outputs(i);
        return weft_ort_run_failed(st, out_of_memory, &run->fault, err);
    }
    s = collect(i, run, l, err);
    if (s)
        run->fault = s == WEFT_E_NO_MEMORY ? WEFT_FAULT_MEMORY : WEFT_FAULT_UNKNOWN;
    if (!s && again)
        unlearn(i, i->outputs, run, was_bound);
    release_outputs(i);
    return s;
}

weft_status weft_ort_run(void *self, void *instance, weft_run *run, weft_error *err)
{
    weft_ort_instance *i = instance;
    weft_ort_model *m = i->model;
    weft_ort_file *f = NULL;
    weft_status s = check_run(m, run, err);

    run->fault = WEFT_FAULT_NONE;
    if (!s)
        s = pick_file(m, run, &f, err);
    if (s) {
        run->fault = WEFT_FAULT_REQUEST;
        return s;
    }
    begin(i);
    weft_ort_scratch_enter(&m->account);
    weft_ort_here.self = m->self;
    s = bind_inputs(i, run, err);
    if (s)
        run->fault = s == WEFT_E_NO_MEMORY ? WEFT_FAULT_MEMORY : WEFT_FAULT_UNKNOWN;
    else
        s = execute_all(i, f, run, err);
    drop_temporary(i);
    weft_ort_here.self = NULL;
    weft_ort_scratch_leave(m->release_memory);
    end(i);
    return s;
}
