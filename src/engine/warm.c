/* Warm-up: may rows share a run, and what does a run cost? Deterministic pseudo-random rows in the shapes that the executor
 * names, or the model's own if they are fixed, or shapes that the model accepts when its dims are free.
 *
 * A model batches only if two rows in one run equal two single runs bit for bit; a larger gear is used only as far as its rows
 * stay equal, too. */
#include <stdlib.h>
#include <string.h>

#include "base/fp.h"
#include "engine_internal.h"

#define MAX_WARM_BUCKETS 16
#define MEASURE_RUNS 3
#define MEASURE_NS (300 * WEFT_MS) /* no further measuring of a gear after this */
#define LIMIT_NS (300 * WEFT_S)    /* a first run may compile for minutes */

/* ---- rows of numbers ---- */
static uint64_t scramble(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

/* Floats in [0,1), integers and booleans 0 or 1: values that nearly every model takes. seed 0: all zero. */
static void fill(void *data, weft_dtype t, size_t n_bytes, uint64_t seed)
{
    size_t size = weft_dtype_bytes(t), n = size ? n_bytes / size : 0;
    memset(data, 0, n_bytes);
    for (size_t i = 0; seed && i < n; i++) {
        uint64_t h = scramble(seed * 0x9e3779b97f4a7c15ULL + i);
        float f = (float)(h >> 40) / 16777216.0f;
        switch (t) {
        case WEFT_DT_F32:
            ((float *)data)[i] = f;
            break;
        case WEFT_DT_F64:
            ((double *)data)[i] = (double)f;
            break;
        case WEFT_DT_F16:
            ((uint16_t *)data)[i] = weft_f32_to_f16(f);
            break;
        case WEFT_DT_BF16:
            ((uint16_t *)data)[i] = weft_f32_to_bf16(f);
            break;
        default:
            memset((char *)data + i * size, 0, size);
            ((uint8_t *)data)[i * size] = h & 1; /* little endian */
        }
    }
}

/* ---- one probe ---- */
static void *probe_alloc(void *cookie, size_t output, size_t n_bytes)
{
    weft_probe *p = cookie;
    return weft_arena_alloc(p->arena, n_bytes < 64 ? 64 : n_bytes);
}

static bool shared(const weft_model *m, size_t i)
{
    return !m->view.batched || m->view.shared_input[i];
}

static bool probe_input(const weft_model *m, weft_probe *p, weft_tensor *t, size_t i, const weft_tensor *row, int64_t gear_rows,
                        const uint64_t *seeds, int64_t n_rows)
{
    size_t one = 0;
    *t = *row;
    t->name = m->desc.inputs[i].name;
    if (row->dtype == WEFT_DT_NONE) {
        *t = (weft_tensor){.name = m->desc.inputs[i].name, .dtype = m->desc.inputs[i].dtype};
        return true;
    }
    if (!weft_tensor_dense_bytes(row->dtype, row->shape, row->rank, &one))
        return false;
    t->n_bytes = shared(m, i) ? one : one * (size_t)gear_rows;
    if (!(t->data = weft_arena_zalloc(p->arena, t->n_bytes < 64 ? 64 : t->n_bytes)))
        return false;
    if (shared(m, i)) {
        fill(t->data, t->dtype, one, seeds[0] ? 1 + i : 0); /* the same for every row */
        return true;
    }
    memmove(t->shape + 1, t->shape, (size_t)t->rank * sizeof(t->shape[0]));
    t->rank++;
    t->shape[0] = gear_rows;
    for (int64_t r = 0; r < n_rows; r++)
        fill((char *)t->data + (size_t)r * one, t->dtype, one, seeds[r] ? seeds[r] * 64 + i : 0);
    return true;
}

/* A run of n_rows rows (gear_rows with zeros behind them) whose values follow from their seeds. */
static weft_status probe_make(const weft_model *m, const weft_tensor *rows, const uint64_t *seeds, int64_t n_rows,
                              weft_probe **out, weft_error *err)
{
    weft_arena *a = weft_arena_create(NULL, 8192);
    weft_probe *p = a ? weft_arena_zalloc(a, sizeof(*p)) : NULL;
    int64_t gear_rows = m->view.batched ? weft_gears_fit(&m->gears, n_rows) : 1;
    size_t n = m->desc.n_inputs;
    *out = NULL;
    weft_tensor *inputs = p ? weft_arena_array(a, n, sizeof(*inputs)) : NULL;
    weft_tensor *outputs = p ? weft_arena_array(a, m->desc.n_outputs, sizeof(*outputs)) : NULL;
    bool *wanted = p ? weft_arena_array(a, m->desc.n_outputs, sizeof(*wanted)) : NULL;
    bool ok = inputs && outputs && wanted;
    if (ok)
        p->arena = a;
    for (size_t i = 0; ok && i < n; i++)
        ok = probe_input(m, p, &inputs[i], i, &rows[i], gear_rows, seeds, n_rows);
    if (!ok) {
        weft_arena_destroy(&a);
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the warm-up of the model \"%s\"", m->config.name);
    }
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        outputs[k].name = m->desc.outputs[k].name;
        wanted[k] = true;
    }
    atomic_init(&p->refs, 1);
    p->run = (weft_run){.inputs = inputs,
                        .n_inputs = n,
                        .outputs = outputs,
                        .n_outputs = m->desc.n_outputs,
                        .wanted = wanted,
                        .alloc = probe_alloc,
                        .cookie = p,
                        .n_rows = gear_rows};
    *out = p;
    return WEFT_OK;
}

static weft_status probe_run(weft_model *m, const weft_tensor *rows, const uint64_t *seeds, int64_t n_rows, weft_probe **out,
                             weft_error *err)
{
    weft_status s = probe_make(m, rows, seeds, n_rows, out, err);
    if (!s)
        s = weft_instance_probe(m->instances[0], *out, LIMIT_NS, err);
    if (s && *out) {
        weft_probe_unref(*out);
        *out = NULL;
    }
    return s;
}

/* Row `row` of every output of `many` equals row 0 of `one`. */
static bool rows_equal(const weft_model *m, const weft_probe *many, int64_t row, const weft_probe *one)
{
    for (size_t k = 0; k < m->desc.n_outputs; k++) {
        const weft_tensor *a = &many->run.outputs[k], *b = &one->run.outputs[k];
        if (a->dtype != b->dtype || a->rank != b->rank || a->rank < 1 || b->shape[0] < 1 || a->shape[0] <= row)
            return false;
        if (memcmp(a->shape + 1, b->shape + 1, (size_t)(a->rank - 1) * sizeof(a->shape[0])))
            return false;
        size_t one_bytes = b->n_bytes / (size_t)b->shape[0];
        if (a->n_bytes / (size_t)a->shape[0] != one_bytes)
            return false;
        if (one_bytes && memcmp((const char *)a->data + (size_t)row * one_bytes, b->data, one_bytes))
            return false;
    }
    return true;
}

/* ---- the batching check ---- */
typedef struct bucket {
    weft_tensor rows[WEFT_MAX_MODEL_INPUTS];
    weft_probe *single[2]; /* outputs of the two kinds of rows, each run alone */
} bucket;

static void bucket_clear(bucket *b)
{
    for (int i = 0; i < 2; i++) {
        if (b->single[i])
            weft_probe_unref(b->single[i]);
        b->single[i] = NULL;
    }
}

static const uint64_t row_seed[2] = {1, 2};

/* n rows of alternating kinds in one run, each equal to its single run? Fastest time of a few runs. A failure of the run is
 * `false`. */
static bool gear_works(weft_model *m, bucket *b, int64_t n_rows, double *cost_ns)
{
    uint64_t *seeds = calloc((size_t)n_rows, sizeof(*seeds));
    bool equal = seeds != NULL;
    int64_t spent = 0;
    *cost_ns = 0;
    for (int64_t r = 0; equal && r < n_rows; r++)
        seeds[r] = row_seed[r & 1];
    for (int k = 0; equal && k < MEASURE_RUNS && spent < MEASURE_NS; k++) {
        weft_probe *p;
        if (probe_run(m, b->rows, seeds, n_rows, &p, NULL)) {
            equal = false;
            break;
        }
        for (int64_t r = 0; equal && b->single[0] && b->single[1] && r < n_rows; r++)
            equal = rows_equal(m, p, r, b->single[r & 1]);
        if (!*cost_ns || (double)p->run_ns < *cost_ns)
            *cost_ns = (double)p->run_ns;
        spent += p->run_ns;
        weft_probe_unref(p);
    }
    free(seeds);
    return equal;
}

static size_t row_bytes(const weft_model *m, const bucket *b)
{
    size_t n = 0, one;
    for (size_t i = 0; i < m->desc.n_inputs; i++)
        if (b->rows[i].dtype != WEFT_DT_NONE &&
            weft_tensor_dense_bytes(b->rows[i].dtype, b->rows[i].shape, b->rows[i].rank, &one))
            n += one;
    return n;
}

/* Runs every gear of a bucket: proves that its rows stay equal and measures it. *equal: two rows in one run equal two runs. */
static void measure(weft_model *m, bucket *b, bool *equal)
{
    double cost[WEFT_MAX_GEARS] = {0};
    *equal = true;
    for (size_t g = 0; g < m->gears.n; g++) {
        if (!gear_works(m, b, m->gears.rows[g], &cost[g])) {
            cost[g] = 0;
            if (m->gears.rows[g] > 1 && g < 2)
                *equal = false;
            else if (g > 0 && m->gears.rows[g - 1] < m->max_rows)
                m->max_rows = m->gears.rows[g - 1]; /* a later gear that fails or differs is not used */
            break;
        }
        if (!m->config.warmup && m->gears.rows[g] >= 2)
            break; /* the proof is needed, the rest of the costs comes in service */
    }
    if (m->gears.rows[0] > 1 && !cost[0])
        *equal = false;
    weft_lock_take(&m->engine->sched);
    weft_gear_costs *c =
        weft_gear_table_get(&m->costs, &m->gears, weft_rows_shape_key(b->rows, m->desc.n_inputs), (double)row_bytes(m, b));
    memcpy(c->cost_ns, cost, sizeof(cost));
    weft_gears_judge(&m->gears, c);
    if (!(m->row_ns > 0))
        m->row_ns = cost[0] / (double)m->gears.rows[0];
    weft_lock_drop(&m->engine->sched);
}

/* Both kinds of rows alone. Tried with zeros when the numbers are refused. */
static weft_status run_singles(weft_model *m, bucket *b, weft_error *err)
{
    weft_status s = WEFT_OK;
    for (int i = 0; i < 2 && !s; i++) {
        s = probe_run(m, b->rows, &row_seed[i], 1, &b->single[i], err);
        if (s && i == 0) {
            static const uint64_t zero = 0;
            weft_probe *p;
            if (s == WEFT_E_DEADLINE || probe_run(m, b->rows, &zero, 1, &p, NULL))
                return s;
            weft_probe_unref(p);
            return WEFT_E_UNSUPPORTED; /* runs, but only the caller knows with what */
        }
    }
    return s;
}

/* ---- shapes ---- */
/* One row of every input with every free dim = dim (0: there must be none). */
static bool own_rows(const weft_model *m, int64_t dim, weft_tensor *rows)
{
    for (size_t i = 0; i < m->desc.n_inputs; i++) {
        const weft_tensor_desc *d = &m->desc.inputs[i];
        int skip = shared(m, i) ? 0 : 1;
        rows[i] = (weft_tensor){.name = d->name};
        if (d->optional)
            continue;
        if (d->rank < 0 || d->dtype == WEFT_DT_STRING)
            return false;
        rows[i].dtype = d->dtype;
        for (int k = skip; k < d->rank; k++) {
            int64_t n = d->shape[k];
            if (n < 0 && k == 0)
                n = 1; /* an unbatched model's batch axis */
            if (n < 0 && !(n = dim))
                return false;
            rows[i].shape[rows[i].rank++] = n;
        }
    }
    return true;
}

static bool planned_rows(const weft_model *m, size_t i, weft_tensor *rows)
{
    weft_plan *p = calloc(1, sizeof(*p));
    bool ok = p && m->executor->warm(m->state, i, p);
    if (ok)
        for (size_t k = 0; k < m->desc.n_inputs; k++)
            rows[k] = k < p->n_inputs ? p->rows[k] : (weft_tensor){0};
    free(p);
    return ok;
}

static void remember_rows(weft_model *m, const bucket *b)
{
    if (m->probe_rows)
        return;
    weft_tensor *rows = weft_arena_array(m->arena, m->desc.n_inputs, sizeof(*rows));
    if (rows)
        memcpy(rows, b->rows, m->desc.n_inputs * sizeof(*rows));
    m->probe_rows = rows;
}

/* The i-th bucket to warm. *sure: the shapes were given, so a failure is one of the model. */
static bool next_bucket(weft_model *m, size_t i, bucket *b, bool *sure)
{
    static const int64_t guesses[] = {64, 32, 224, 320, 128, 640, 16, 8, 4, 2, 1};
    *sure = true;
    if (m->executor->warm)
        return i < MAX_WARM_BUCKETS && planned_rows(m, i, b->rows);
    if (own_rows(m, 0, b->rows))
        return i == 0;
    *sure = false;
    return i < sizeof(guesses) / sizeof(guesses[0]) && own_rows(m, guesses[i], b->rows);
}

/* *proved: the batching check has passed (or is not needed); *found: some bucket ran. */
static weft_status warm_buckets(weft_model *m, bool *proved, bool *found, weft_error *err)
{
    bucket *b = calloc(1, sizeof(*b));
    weft_status s =
        b ? WEFT_OK : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the warm-up of the model \"%s\"", m->config.name);
    bool sure, equal;
    *proved = *found = false;
    for (size_t i = 0; !s && next_bucket(m, i, b, &sure); i++) {
        weft_error local;
        weft_error_clear(&local);
        s = run_singles(m, b, &local);
        if (s == WEFT_E_UNSUPPORTED || (s && !sure && s != WEFT_E_NO_MEMORY && s != WEFT_E_DEADLINE)) {
            s = WEFT_OK;
            bucket_clear(b);
            continue;
        }
        if (s && err)
            *err = local;
        if (s)
            break;
        remember_rows(m, b);
        measure(m, b, &equal);
        *proved = (*proved || !*found) && equal;
        *found = true;
        bucket_clear(b);
        if (!sure)
            break; /* one shape that works is enough */
    }
    if (b)
        bucket_clear(b);
    free(b);
    return s;
}

/* The blocks for the largest batch that pays, once and for all. */
static weft_status reserve_blocks(weft_model *m, weft_error *err)
{
    int64_t rows = 1;
    if (!m->view.batched || !m->probe_rows)
        return WEFT_OK;
    for (size_t i = 0; i < m->costs.n; i++)
        if (m->costs.buckets[i].useful_rows > rows)
            rows = m->costs.buckets[i].useful_rows;
    for (size_t k = 0; rows > 1 && k < m->n_instances; k++)
        if (!weft_instance_reserve(m->instances[k], rows))
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the batches of the model \"%s\"", m->config.name);
    return WEFT_OK;
}

weft_status weft_model_warm(weft_model *m, weft_error *err)
{
    bool proved, found;
    weft_engine *e = m->engine;
    if (!m->config.warmup && !m->view.batched)
        return WEFT_OK;
    weft_status s = warm_buckets(m, &proved, &found, err);
    if (s == WEFT_E_NO_MEMORY)
        return s;
    if (s && m->config.warmup)
        return weft_fail_prefix(err, s, "the warm-up of the model \"%s\" failed (warmup: false loads it without)",
                                m->config.name);
    if (!m->view.batched || (!s && proved))
        return reserve_blocks(m, err);
    weft_engine_log(
        e, WEFT_LOG_WARN, "model.unbatched", m->config.name, "%s, so max_batch %lld is not used: every request runs alone",
        found ? "two rows in one run do not equal two runs bit for bit" : "no shape is known with which rows could be compared",
        (long long)m->config.max_batch);
    /* The shapes of an unbatched model have the batch axis: another plan, other buckets. */
    weft_lock_take(&e->sched);
    memset(&m->costs, 0, sizeof(m->costs));
    weft_lock_drop(&e->sched);
    m->probe_rows = NULL;
    s = weft_model_unbatch(m, err);
    if (s || !m->config.warmup)
        return s;
    s = warm_buckets(m, &proved, &found, err);
    return s ? weft_fail_prefix(err, s, "the warm-up of the model \"%s\" failed (warmup: false loads it without)", m->config.name)
             : WEFT_OK;
}

weft_status weft_model_probe(weft_model *m, weft_instance *i, weft_error *err)
{
    weft_probe *p;
    if (!m->probe_rows)
        return WEFT_OK;
    weft_status s = probe_make(m, m->probe_rows, &row_seed[0], 1, &p, err);
    if (s)
        return s;
    s = weft_instance_probe(i, p, m->run_timeout_ns, err);
    weft_probe_unref(p);
    return s;
}
