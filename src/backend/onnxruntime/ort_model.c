/* Loading a model: one session per file, its inputs and outputs described, what weft cannot serve refused. */
#include <stdlib.h>
#include <string.h>

#include "backend/onnxruntime/ort_internal.h"

/* ---- element types
 * ---------------------------------------------------------------------------------------------------------------------- */

static const struct {
    weft_dtype dtype;
    int element;
} elements[] = {
    {WEFT_DT_BOOL, ORT_ELEMENT_BOOL}, {WEFT_DT_U8, ORT_ELEMENT_U8},         {WEFT_DT_U16, ORT_ELEMENT_U16},
    {WEFT_DT_U32, ORT_ELEMENT_U32},   {WEFT_DT_U64, ORT_ELEMENT_U64},       {WEFT_DT_I8, ORT_ELEMENT_I8},
    {WEFT_DT_I16, ORT_ELEMENT_I16},   {WEFT_DT_I32, ORT_ELEMENT_I32},       {WEFT_DT_I64, ORT_ELEMENT_I64},
    {WEFT_DT_F16, ORT_ELEMENT_F16},   {WEFT_DT_BF16, ORT_ELEMENT_BF16},     {WEFT_DT_F32, ORT_ELEMENT_F32},
    {WEFT_DT_F64, ORT_ELEMENT_F64},   {WEFT_DT_STRING, ORT_ELEMENT_STRING},
};

weft_dtype weft_ort_dtype(int element)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].element == element)
            return elements[i].dtype;
    return WEFT_DT_NONE;
}

int weft_ort_element(weft_dtype t)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].dtype == t)
            return elements[i].element;
    return 0;
}

const char *weft_ort_element_name(int element)
{
    /* Those that weft has no type for, by their numbers in onnx.proto and the vendor's header. */
    static const char *const names[] = {
        [14] = "COMPLEX64",      [15] = "COMPLEX128", [17] = "FLOAT8E4M3FN", [18] = "FLOAT8E4M3FNUZ", [19] = "FLOAT8E5M2",
        [20] = "FLOAT8E5M2FNUZ", [21] = "UINT4",      [22] = "INT4",         [23] = "FLOAT4E2M1"};

    if (weft_ort_dtype(element))
        return weft_dtype_name(weft_ort_dtype(element));
    if (element > 0 && (size_t)element < sizeof names / sizeof *names && names[element])
        return names[element];
    return "unknown";
}

/* ---- descriptions
 * -------------------------------------------------------------------------------------------------------------------------- */

static weft_status refuse_kind(const weft_ort_model *m, bool output, const char *name, int kind, weft_error *err)
{
    static const char *const kinds[] = {"of an unknown kind", "a tensor", "a sequence", "a map", "opaque",
                                        "a sparse tensor",    "optional"};

    return weft_fail(err, WEFT_E_UNSUPPORTED,
                     "model \"%s\": %s \"%.64s\" is %s; weft serves models whose inputs and outputs are all tensors", m->name,
                     output ? "output" : "input", name, kind >= 0 && kind <= 6 ? kinds[kind] : kinds[0]);
}

static weft_status describe_tensor(weft_ort_model *m, const ort_tensor_info *info, bool output, weft_tensor_desc *d,
                                   weft_error *err)
{
    const char *dim_names[WEFT_MAX_RANK];
    size_t rank = 0;
    int element = 0;
    weft_status s = weft_ort_check(ORT(tensor_element)(info, &element), "element type", err);

    if (!s)
        s = weft_ort_check(ORT(tensor_rank)(info, &rank), "rank", err);
    if (s)
        return s;
    d->dtype = weft_ort_dtype(element);
    d->size_kind = WEFT_SIZE_FIXED;
    if (!d->dtype)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "model \"%s\": %s \"%.64s\" has the element type %s, which weft does not serve",
                         m->name, output ? "output" : "input", d->name, weft_ort_element_name(element));
    if (rank > WEFT_MAX_RANK)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "model \"%s\": %s \"%.64s\" has %zu dimensions; weft serves at most %d",
                         m->name, output ? "output" : "input", d->name, rank, WEFT_MAX_RANK);
    d->rank = (int)rank;
    /* A tensor without shape looks like a scalar; only newer libraries tell the two apart. Neither can be batched, so with an
     * older one both count as unknown. */
    if (rank == 0 && (!weft_ort.call.tensor_has_shape || !ORT(tensor_has_shape)(info)))
        d->rank = -1;
    s = weft_ort_check(ORT(tensor_dims)(info, d->shape, rank), "dims", err);
    if (!s && rank)
        s = weft_ort_check(ORT(tensor_dim_names)(info, dim_names, rank), "names of dims", err);
    for (size_t k = 0; k < rank && !s; k++) {
        if (d->shape[k] >= 0)
            continue;
        d->shape[k] = -1;
        if (dim_names[k] && *dim_names[k] && !(d->dim_names[k] = weft_arena_strdup(m->arena, dim_names[k])))
            s = weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
    }
    return s;
}

static weft_status describe_one(weft_ort_model *m, ort_session *session, bool output, size_t i, weft_tensor_desc *d,
                                weft_error *err)
{
    const ort_tensor_info *info = NULL;
    ort_type_info *type = NULL;
    ort_allocator *a = NULL;
    char *name = NULL;
    int kind = 0;
    weft_status s = weft_ort_check(ORT(default_allocator)(&a), "no default allocator", err);

    if (!s)
        s = weft_ort_check(output ? ORT(session_output_name)(session, i, a, &name)
                                  : ORT(session_input_name)(session, i, a, &name),
                           "no name", err);
    if (s)
        return s;
    d->name = weft_arena_strdup(m->arena, name);
    weft_ort_ignore(ORT(allocator_free)(a, name));
    if (!d->name)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
    s = weft_ort_check(output ? ORT(session_output_type)(session, i, &type) : ORT(session_input_type)(session, i, &type),
                       "no type", err);
    if (!s)
        s = weft_ort_check(ORT(type_kind)(type, &kind), "no kind", err);
    if (!s && kind != ORT_KIND_TENSOR)
        s = refuse_kind(m, output, d->name, kind, err);
    if (!s)
        s = weft_ort_check(ORT(type_tensor)(type, &info), "no tensor", err);
    if (!s)
        s = describe_tensor(m, info, output, d, err);
    if (type)
        ORT(type_release)(type);
    return s;
}

/* Initialisers that the file also lists as inputs are not among these: ORT counts them apart, and they have their values. */
static weft_status describe_all(weft_ort_model *m, weft_ort_file *f, bool output, size_t *n, weft_tensor_desc **out,
                                weft_error *err)
{
    weft_status s =
        weft_ort_check(output ? ORT(session_outputs)(f->session, n) : ORT(session_inputs)(f->session, n), "cannot count", err);

    if (s)
        return s;
    if (*n > WEFT_ORT_MAX_TENSORS)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "model \"%s\": %zu %s; weft serves at most %d", m->name, *n,
                         output ? "outputs" : "inputs", WEFT_ORT_MAX_TENSORS);
    *out = weft_arena_array(m->arena, *n ? *n : 1, sizeof **out);
    if (!*out)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
    for (size_t i = 0; i < *n && !s; i++)
        s = describe_one(m, f->session, output, i, &(*out)[i], err);
    return s;
}

/* ---- several files
 * -------------------------------------------------------------------------------------------------------------------------- */

static weft_status files_differ(const weft_ort_model *m, const weft_ort_file *f, const char *how, const char *name,
                                weft_error *err)
{
    return weft_fail(err, WEFT_E_CONFIG, "model \"%s\": %s and %s are not two sizes of one model: %s \"%.64s\" differs", m->name,
                     m->files[0].path, f->path, how, name);
}

/* Adds the tensors of a further file to the description: same names, types and ranks; where dims differ they become -1. */
static weft_status merge(const weft_ort_model *m, const weft_ort_file *f, weft_tensor_desc *all, const weft_tensor_desc *one,
                         size_t n, weft_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, one[i].name) != 0)
            return files_differ(m, f, "the name", one[i].name, err);
        if (all[i].dtype != one[i].dtype)
            return files_differ(m, f, "the element type of", one[i].name, err);
        if (all[i].rank != one[i].rank)
            return files_differ(m, f, "the number of dimensions of", one[i].name, err);
        for (int k = 0; k < one[i].rank; k++)
            if (all[i].shape[k] != one[i].shape[k]) {
                all[i].shape[k] = -1;
                all[i].dim_names[k] = NULL;
            }
    }
    return WEFT_OK;
}

static bool same_shapes(const weft_ort_model *m, const weft_ort_file *a, const weft_ort_file *b)
{
    for (size_t i = 0; i < m->n_inputs; i++)
        if (memcmp(a->inputs[i].shape, b->inputs[i].shape, sizeof a->inputs[i].shape) != 0)
            return false;
    return true;
}

static weft_status check_files(const weft_ort_model *m, weft_error *err)
{
    for (size_t i = 0; i < m->n_files; i++)
        for (size_t k = 0; k < i; k++)
            if (same_shapes(m, &m->files[i], &m->files[k]))
                return weft_fail(err, WEFT_E_CONFIG,
                                 "model \"%s\": %s and %s take the same shapes, so one of them would never run", m->name,
                                 m->files[k].path, m->files[i].path);
    return WEFT_OK;
}

/* The one size of dim 0 of all inputs and outputs of a file, or -1. */
static int64_t fixed_batch(const weft_ort_model *m, const weft_ort_file *f)
{
    int64_t size = -1;

    for (size_t i = 0; i < m->n_inputs + m->n_outputs; i++) {
        const weft_tensor_desc *d = i < m->n_inputs ? &f->inputs[i] : &f->outputs[i - m->n_inputs];

        if (d->rank < 1 || d->shape[0] < 1 || (size >= 0 && d->shape[0] != size))
            return -1;
        size = d->shape[0];
    }
    return size;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Files that are compiled for a batch size each: the sizes become gears and dim 0 the batch axis. A single file counts only when
 * it is for more than one row and the model may batch. */
static weft_status find_batch_sizes(weft_ort_model *m, int64_t max_batch, weft_error *err)
{
    bool any_above_one = false;
    size_t n = 0;

    if (max_batch <= 1 || !m->n_inputs)
        return WEFT_OK;
    m->batch_sizes = weft_arena_array(m->arena, m->n_files, sizeof *m->batch_sizes);
    if (!m->batch_sizes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
    for (size_t i = 0; i < m->n_files; i++) {
        m->batch_sizes[i] = fixed_batch(m, &m->files[i]);
        if (m->batch_sizes[i] < 1)
            return WEFT_OK;
        any_above_one = any_above_one || m->batch_sizes[i] > 1;
    }
    if (!any_above_one)
        return WEFT_OK;
    qsort(m->batch_sizes, m->n_files, sizeof *m->batch_sizes, ascending);
    for (size_t i = 0; i < m->n_files; i++)
        if (!n || m->batch_sizes[n - 1] != m->batch_sizes[i])
            m->batch_sizes[n++] = m->batch_sizes[i];
    m->n_batch_sizes = n;
    for (size_t i = 0; i < m->n_inputs; i++)
        m->inputs[i].shape[0] = -1;
    for (size_t i = 0; i < m->n_outputs; i++)
        m->outputs[i].shape[0] = -1;
    return WEFT_OK;
}

/* ---- sizes of outputs
 * ------------------------------------------------------------------------------------------------------------------------ */

static weft_ort_dim find_dim(const weft_ort_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_inputs && name; i++)
        for (int k = 0; k < m->inputs[i].rank; k++)
            if (m->inputs[i].dim_names[k] && !strcmp(m->inputs[i].dim_names[k], name))
                return (weft_ort_dim){(int16_t)i, (int16_t)k};
    return (weft_ort_dim){-1, 0};
}

/* Which dims of the outputs follow from the inputs, and what may be said about their sizes before a run (see weft_size_kind). */
static void size_outputs(weft_ort_model *m)
{
    bool batch_axis = m->n_inputs > 0 && m->inputs[0].rank > 0 && m->inputs[0].shape[0] < 0;

    for (size_t o = 0; o < m->n_outputs; o++) {
        weft_tensor_desc *d = &m->outputs[o];
        bool fixed = d->rank >= 0 && d->dtype != WEFT_DT_STRING, known = fixed;

        for (int k = 0; k < d->rank; k++) {
            weft_ort_dim *from = &m->output_dims[o][k];

            *from = find_dim(m, d->dim_names[k]);
            if (m->n_batch_sizes && k == 0)
                *from = (weft_ort_dim){0, 0};
            if (d->shape[k] >= 0)
                continue;
            known = known && from->input >= 0;
            fixed = fixed && k == 0 && from->input >= 0 && from->axis == 0 && batch_axis;
        }
        d->size_kind = fixed                                                      ? WEFT_SIZE_FIXED
                       : known || (d->rank >= 0 && !m->facts.sizes_follow_values) ? WEFT_SIZE_BOUNDED
                                                                                  : WEFT_SIZE_RUNTIME;
    }
}

/* ---- the whole
 * ---------------------------------------------------------------------------------------------------------------------------------
 */

static weft_status open_file(weft_ort_model *m, const weft_model_source *src, size_t i, weft_error *err)
{
    const weft_ort_options *o = src->options ? src->options : &weft_ort_default_options;
    weft_ort_file *f = &m->files[i];
    ort_session_options *so = NULL;
    size_t n_inputs, n_outputs;
    weft_status s = weft_ort_session_options(m, src, &so, err);

    if (!s)
        s = weft_ort_session_create(m, f, so, o->optimized_model, err);
    if (so)
        ORT(options_release)(so);
    if (!s)
        s = describe_all(m, f, false, &n_inputs, &f->inputs, err);
    if (!s)
        s = describe_all(m, f, true, &n_outputs, &f->outputs, err);
    if (s)
        return s;
    if (i == 0) {
        m->n_inputs = n_inputs;
        m->n_outputs = n_outputs;
        m->inputs = weft_arena_array(m->arena, n_inputs ? n_inputs : 1, sizeof *m->inputs);
        m->outputs = weft_arena_array(m->arena, n_outputs ? n_outputs : 1, sizeof *m->outputs);
        if (!m->inputs || !m->outputs)
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
        memcpy(m->inputs, f->inputs, n_inputs * sizeof *m->inputs);
        memcpy(m->outputs, f->outputs, n_outputs * sizeof *m->outputs);
        return WEFT_OK;
    }
    if (n_inputs != m->n_inputs || n_outputs != m->n_outputs)
        return files_differ(m, f, "the number of", n_inputs != m->n_inputs ? "inputs" : "outputs", err);
    s = merge(m, f, m->inputs, f->inputs, n_inputs, err);
    return s ? s : merge(m, f, m->outputs, f->outputs, n_outputs, err);
}

static weft_status prepare(weft_ort_model *m, const weft_model_source *src, weft_error *err)
{
    weft_status s = check_files(m, err);

    if (!s)
        s = find_batch_sizes(m, src->max_batch, err);
    if (s)
        return s;
    m->output_dims = weft_arena_array(m->arena, m->n_outputs ? m->n_outputs : 1, sizeof *m->output_dims);
    m->unbound = weft_arena_array(m->arena, m->n_outputs ? m->n_outputs : 1, sizeof *m->unbound);
    m->input_names = weft_arena_array(m->arena, m->n_inputs ? m->n_inputs : 1, sizeof *m->input_names);
    m->output_names = weft_arena_array(m->arena, m->n_outputs ? m->n_outputs : 1, sizeof *m->output_names);
    if (!m->output_dims || !m->unbound || !m->input_names || !m->output_names)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to describe the model \"%s\"", m->name);
    for (size_t i = 0; i < m->n_inputs; i++)
        m->input_names[i] = m->inputs[i].name;
    for (size_t i = 0; i < m->n_outputs; i++)
        m->output_names[i] = m->outputs[i].name;
    size_outputs(m);
    return WEFT_OK;
}

/* Sessions, measured: what the heap grew by is what the model keeps. */
static weft_status load_files(weft_ort_model *m, const weft_model_source *src, weft_error *err)
{
    uint64_t before, after, file_bytes = 0, through_us;
    weft_ort_thread outside = weft_ort_here;
    weft_status s = WEFT_OK;

    for (size_t i = 0; i < m->n_files && !s; i++)
        s = weft_ort_check_file(m->name, m->files[i].path, &file_bytes, err);
    if (s)
        return s;
    weft_onnx_read_facts(m->files[0].path, &m->facts);
    weft_ort_load_begin();
    before = weft_ort_heap_bytes();
    atomic_store(&m->account.loading, true);
    weft_ort_here = (weft_ort_thread){.self = m->self, .account = &m->account, .model = m->name};
    for (size_t i = 0; i < m->n_files && !s; i++)
        s = open_file(m, src, i, err);
    weft_ort_here = outside;
    atomic_store(&m->account.loading, false);
    after = weft_ort_heap_bytes();
    weft_ort_load_end();
    through_us = (uint64_t)atomic_load(&m->account.weights_bytes);
    m->weights_bytes = after > before ? after - before : file_bytes;
    /* Other threads allocate too; what is far beyond the files is theirs. */
    if (m->weights_bytes > through_us + 4 * file_bytes + ((uint64_t)16 << 20))
        m->weights_bytes = through_us + file_bytes;
    if (m->weights_bytes < through_us)
        m->weights_bytes = through_us;
    atomic_store(&m->account.base_bytes, (int64_t)m->weights_bytes);
    if (!s && src->memory_limit && m->weights_bytes > src->memory_limit)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "model \"%s\" needs %llu bytes for its weights, but its memory_limit is %llu",
                      m->name, (unsigned long long)m->weights_bytes, (unsigned long long)src->memory_limit);
    return s;
}

static void destroy(weft_ort_model *m)
{
    weft_arena *arena;

    if (!m)
        return;
    for (size_t i = 0; i < m->n_files && m->files; i++)
        if (m->files[i].session)
            ORT(session_release)(m->files[i].session);
    weft_assert(atomic_load(&m->account.n_blocks) == 0);
    arena = m->arena;
    weft_arena_destroy(&arena);
}

weft_status weft_ort_model_load(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err)
{
    const weft_ort_options *o = src->options ? src->options : &weft_ort_default_options;
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_ort_model *m = arena ? weft_arena_zalloc(arena, sizeof *m) : NULL;
    weft_status s = WEFT_OK;

    *model = NULL;
    memset(desc, 0, sizeof *desc);
    if (!m) {
        weft_arena_destroy(&arena);
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to load the model \"%s\"", src->name);
    }
    m->arena = arena;
    m->self = self;
    m->name = weft_arena_strdup(arena, src->name);
    m->release_memory = o->release_memory;
    m->account.model = m->name;
    m->account.limit_bytes = src->memory_limit;
    m->files = weft_arena_array(arena, src->n_paths ? src->n_paths : 1, sizeof *m->files);
    if (src->n_paths < 1 || src->n_paths > WEFT_ORT_MAX_FILES)
        s = weft_fail(err, WEFT_E_CONFIG, "model \"%s\" has %zu files; 1 to %d are possible", src->name, src->n_paths,
                      WEFT_ORT_MAX_FILES);
    else if (o->optimized_model && src->n_paths > 1)
        s = weft_fail(err, WEFT_E_CONFIG, "model \"%s\": optimized_model is for models of one file; this one has %zu", src->name,
                      src->n_paths);
    for (size_t i = 0; i < src->n_paths && m->files && !s; i++)
        if (!(m->files[i].path = weft_arena_strdup(arena, src->paths[i])))
            s = weft_fail(err, WEFT_E_NO_MEMORY, "no memory to load the model \"%s\"", src->name);
    if (!s && (!m->name || !m->files))
        s = weft_fail(err, WEFT_E_NO_MEMORY, "no memory to load the model \"%s\"", src->name);
    if (!s) {
        m->n_files = src->n_paths;
        s = load_files(m, src, err);
    }
    if (!s)
        s = prepare(m, src, err);
    if (s) {
        destroy(m);
        return s;
    }
    *desc = (weft_model_desc){
        .inputs = m->inputs,
        .outputs = m->outputs,
        .n_inputs = m->n_inputs,
        .n_outputs = m->n_outputs,
        .batch_sizes = m->n_batch_sizes ? m->batch_sizes : NULL,
        .n_batch_sizes = m->n_batch_sizes,
        .weights_bytes = m->weights_bytes,
        .producer = m->facts.producer,
        .opset = m->facts.opset,
    };
    *model = m;
    return WEFT_OK;
}

void weft_ort_model_unload(void *self, void *model)
{
    destroy(model);
    weft_ort_scratch_trim(false);
}
