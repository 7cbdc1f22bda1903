/* What a loaded model says about itself, and what is refused at load. Right values: tests/data/make_models.py. */
#include "ort_models.h"

#include <stdio.h>

#include <sys/stat.h>

static backend_rig r;

static int open_backend(void **state)
{
    return rig_open(&r, &weft_backend_onnxruntime, NULL) ? -1 : 0;
}

static int close_backend(void **state)
{
    rig_close(&r);
    return 0;
}

static void load(const char *path)
{
    if (rig_load_path(&r, path, NULL))
        fail_msg("%s", r.err.text);
}

static void refused(const char *path, weft_status status, const char *text)
{
    assert_int_equal(rig_load_path(&r, path, NULL), status);
    if (!strstr(r.err.text, text))
        fail_msg("\"%s\" should have said \"%s\"", r.err.text, text);
    assert_null(r.model);
}

static void test_describe(void **state)
{
    char text[200];

    assert_int_equal(r.backend->describe(r.self, text, sizeof text), WEFT_OK);
    assert_int_equal(strncmp(text, "ONNX Runtime 1.", 15), 0);
    assert_non_null(strstr(text, "libonnxruntime"));
}

static void test_dynamic(void **state)
{
    const weft_tensor_desc *d;

    load(MODEL("dynamic"));
    assert_int_equal(r.desc.opset, 13);
    assert_string_equal(r.desc.producer, "weft-tests 1.0");
    assert_int_equal(r.desc.n_inputs, 1);
    assert_int_equal(r.desc.n_outputs, 1);
    d = r.desc.inputs;
    assert_string_equal(d->name, "x");
    assert_int_equal(d->dtype, WEFT_DT_F32);
    assert_int_equal(d->rank, 4);
    assert_int_equal(d->shape[0], -1);
    assert_int_equal(d->shape[1], 3);
    assert_string_equal(d->dim_names[0], "N");
    assert_null(d->dim_names[1]);
    assert_string_equal(d->dim_names[3], "W");
    assert_false(d->optional);
    assert_int_equal(r.desc.outputs->size_kind, WEFT_SIZE_BOUNDED); /* follows from H and W of the input */
    assert_int_equal(r.desc.outputs->max_bytes, 0);
    rig_unload(&r);
}

static void test_size_kinds(void **state)
{
    static const struct {
        const char *path;
        weft_size_kind kind;
        int rank;
    } cases[] = {
        {MODEL("add"), WEFT_SIZE_FIXED, 2},
        {MODEL("scalar"), WEFT_SIZE_FIXED, 0},
        {MODEL("batch2"), WEFT_SIZE_FIXED, 2},
        {MODEL("renamed"), WEFT_SIZE_BOUNDED, 2},
        {MODEL("nonzero"), WEFT_SIZE_RUNTIME, 2},
        {MODEL("strings"), WEFT_SIZE_BOUNDED, 1},
        {MODEL("unknown_rank"), WEFT_SIZE_RUNTIME, -1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 1 && !weft_ort.call.tensor_has_shape)
            continue; /* an older library: a scalar may be anything */
        load(cases[i].path);
        assert_int_equal(r.desc.outputs->size_kind, cases[i].kind);
        assert_int_equal(r.desc.outputs->rank, cases[i].rank);
        rig_unload(&r);
    }
}

static void test_every_dtype(void **state)
{
    static const struct {
        const char *path;
        weft_dtype dtype;
    } cases[] = {
        {MODEL("identity_bool"), WEFT_DT_BOOL}, {MODEL("identity_u8"), WEFT_DT_U8},         {MODEL("identity_u16"), WEFT_DT_U16},
        {MODEL("identity_u32"), WEFT_DT_U32},   {MODEL("identity_u64"), WEFT_DT_U64},       {MODEL("identity_i8"), WEFT_DT_I8},
        {MODEL("identity_i16"), WEFT_DT_I16},   {MODEL("identity_i32"), WEFT_DT_I32},       {MODEL("identity_i64"), WEFT_DT_I64},
        {MODEL("identity_f16"), WEFT_DT_F16},   {MODEL("identity_bf16"), WEFT_DT_BF16},     {MODEL("identity_f32"), WEFT_DT_F32},
        {MODEL("identity_f64"), WEFT_DT_F64},   {MODEL("identity_string"), WEFT_DT_STRING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load(cases[i].path);
        assert_int_equal(r.desc.inputs->dtype, cases[i].dtype);
        assert_int_equal(r.desc.outputs->dtype, cases[i].dtype);
        rig_unload(&r);
    }
}

static void test_hidden_and_none(void **state)
{
    load(MODEL("listed_weights"));
    assert_int_equal(r.desc.n_inputs, 1); /* its weights are listed as an input too */
    assert_int_equal(r.desc.opset, 8);
    rig_unload(&r);
    load(MODEL("no_inputs"));
    assert_int_equal(r.desc.n_inputs, 0);
    rig_unload(&r);
    load(MODEL("rank8"));
    assert_int_equal(r.desc.inputs->rank, 8);
    rig_unload(&r);
}

static void test_refused(void **state)
{
    refused(MODEL("nothing"), WEFT_E_NOT_FOUND, "nothing.onnx");
    refused(WEFT_TEST_DATA, WEFT_E_CONFIG, "is not a file");
    refused(__FILE__, WEFT_E_CONFIG, "does not load");
    refused("/dev/null", WEFT_E_CONFIG, "is not a file");
    refused(MODEL("rank9"), WEFT_E_UNSUPPORTED, "input \"x\" has 9 dimensions; weft serves at most 8");
    refused(MODEL("sequence_in"), WEFT_E_UNSUPPORTED, "input \"x\" is a sequence");
    refused(MODEL("sequence_out"), WEFT_E_UNSUPPORTED, "output \"y\" is a sequence");
    refused(MODEL("optional_in"), WEFT_E_UNSUPPORTED, "input \"x\" is optional");
    refused(MODEL("side8_f64"), WEFT_E_UNSUPPORTED, "GlobalAveragePool");
    refused(NULL, WEFT_E_CONFIG, "has 0 files; 1 to 64 are possible");
}

/* Every cut of a file is refused or loads, and nothing else happens. */
static void test_cut_files(void **state)
{
    char path[] = "/tmp/weft-cut-XXXXXX", all[8192];
    FILE *f = fopen(MODEL("loop"), "rb");
    size_t n = f ? fread(all, 1, sizeof all, f) : 0;
    int fd = mkstemp(path);

    assert_true(n > 500 && fd >= 0);
    fclose(f);
    for (size_t cut = 0; cut < n; cut += 1 + n / 60) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, all, cut, 0), cut);
        if (rig_load_path(&r, path, NULL) == WEFT_OK)
            rig_unload(&r);
        else
            assert_true(r.err.text[0]);
    }
    close(fd);
    unlink(path);
}

static weft_status load_several(const char *const *paths, size_t n, int64_t max_batch)
{
    weft_model_source src = {.name = "several", .paths = paths, .n_paths = n, .threads = 1, .max_batch = max_batch};

    return rig_load(&r, &src);
}

static void test_batch_files(void **state)
{
    static const char *const paths[] = {MODEL("batch4"), MODEL("batch1"), MODEL("batch2")};
    static const char *const twice[] = {MODEL("batch4"), MODEL("batch4")};
    static const char *const single[] = {MODEL("batch4")};

    assert_int_equal(load_several(paths, 3, 8), WEFT_OK);
    assert_int_equal(r.desc.n_batch_sizes, 3);
    assert_int_equal(r.desc.batch_sizes[0], 1);
    assert_int_equal(r.desc.batch_sizes[1], 2);
    assert_int_equal(r.desc.batch_sizes[2], 4);
    assert_int_equal(r.desc.inputs->shape[0], -1);
    assert_int_equal(r.desc.inputs->shape[1], 3);
    assert_int_equal(r.desc.outputs->shape[0], -1);
    assert_int_equal(r.desc.outputs->size_kind, WEFT_SIZE_FIXED);
    rig_unload(&r);
    assert_int_equal(load_several(twice, 2, 8), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "take the same shapes"));
    assert_int_equal(load_several(single, 1, 8), WEFT_OK);
    assert_int_equal(r.desc.n_batch_sizes, 1);
    rig_unload(&r);
    assert_int_equal(load_several(single, 1, 1), WEFT_OK);
    assert_int_equal(r.desc.n_batch_sizes, 0);
    assert_int_equal(r.desc.inputs->shape[0], 4); /* a model of its own shape */
    rig_unload(&r);
}

static void test_size_files(void **state)
{
    static const char *const sizes[] = {MODEL("side8"), MODEL("side16")};
    static const char *const other_name[] = {MODEL("side8"), MODEL("side8_other")};
    static const char *const other_model[] = {MODEL("side8"), MODEL("add")};

    assert_int_equal(load_several(sizes, 2, 1), WEFT_OK);
    assert_int_equal(r.desc.inputs->shape[0], 1);
    assert_int_equal(r.desc.inputs->shape[2], -1);
    assert_int_equal(r.desc.inputs->shape[3], -1);
    assert_int_equal(r.desc.n_batch_sizes, 0);
    rig_unload(&r);
    assert_int_equal(load_several(other_name, 2, 1), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "the name \"z\" differs"));
    assert_int_equal(load_several(other_model, 2, 1), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "the number of \"inputs\" differs"));
}

static void test_options(void **state)
{
    weft_key_value ours = {"session.use_env_allocators", "0"}, fine = {"session.set_denormal_as_zero", "1"}, dim = {"N", "5"},
                   bad_dim = {"N", "five"};
    const char *cuda = "NoSuchProvider", *cpu = "cpu";
    weft_ort_options o = {.graph_optimization = ORT_OPTIMIZE_BASIC, .log_level = ORT_LOG_ERROR, .session_config = {1, &ours}};
    weft_error err;

    assert_int_equal(weft_options_lint(weft_ort_option_table, &err), WEFT_OK);
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "session_config cannot set session.use_env_allocators"));
    o.session_config.items = &fine;
    o.providers = (weft_list){1, &cuda};
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_E_CONFIG);
    assert_non_null(strstr(r.err.text, "the provider \"NoSuchProvider\" is not in ONNX Runtime"));
    assert_non_null(strstr(r.err.text, "CPUExecutionProvider"));
    o.providers.items = &cpu;
    o.fix_dims = (weft_list){1, &bad_dim};
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_E_CONFIG);
    o.fix_dims.items = &dim;
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_OK);
    assert_int_equal(r.desc.inputs->shape[0], 5);
    rig_unload(&r);
}

static void test_defaults_of_the_table(void **state)
{
    weft_ort_options o;

    memset(&o, 0xff, sizeof o);
    assert_int_equal(weft_options_defaults(weft_ort_option_table, &o, NULL, NULL), WEFT_OK);
    assert_int_equal(o.graph_optimization, ORT_OPTIMIZE_ALL);
    assert_int_equal(o.log_level, ORT_LOG_WARNING);
    assert_null(o.optimized_model);
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_OK);
    rig_unload(&r);
}

static void test_optimized_model(void **state)
{
    char folder[] = "/tmp/weft-optimized-XXXXXX", path[200];
    weft_ort_options o = {.graph_optimization = ORT_OPTIMIZE_EXTENDED, .log_level = ORT_LOG_WARNING, .optimized_model = path};
    struct stat first, second;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/add.onnx", folder);
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_OK);
    rig_unload(&r);
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_OK);
    assert_int_equal(r.desc.n_inputs, 2);
    rig_unload(&r);
    assert_int_equal(stat(path, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino); /* read, not written again */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    /* A place that cannot be written costs the cache, not the model. */
    snprintf(path, sizeof path, "/nonexistent/add.onnx");
    assert_int_equal(rig_load_path(&r, MODEL("add"), &o), WEFT_OK);
    rig_unload(&r);
}

static void test_memory(void **state)
{
    const char *path = WEFT_CACHE_DIR "/models/ocr/ch_PP-OCRv4_det_infer.onnx";
    weft_model_source src = {.name = "det", .paths = &path, .n_paths = 1, .threads = 1, .max_batch = 1};
    weft_backend_memory m;

    if (access(path, R_OK) != 0)
        skip();
    load(MODEL("add")); /* what the first load of a process leaves in tables of the library is not counted below */
    rig_unload(&r);
    assert_int_equal(rig_load(&r, &src), WEFT_OK);
    r.backend->memory(r.self, r.model, &m);
    assert_in_range(m.weights_bytes, 4 << 20, 16 << 20); /* the file has 4.75 MB */
    assert_int_equal(m.weights_bytes, r.desc.weights_bytes);
    assert_int_equal(m.work_bytes, 0);
    rig_unload(&r);
    src.memory_limit = 1 << 20;
    assert_int_equal(rig_load(&r, &src), WEFT_E_NO_MEMORY);
    assert_non_null(strstr(r.err.text, "det"));
    assert_null(r.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_size_kinds),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_hidden_and_none),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_batch_files),
        cmocka_unit_test(test_size_files),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_defaults_of_the_table),
        cmocka_unit_test(test_optimized_model),
        cmocka_unit_test(test_memory),
    };

    skip_without_library();
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
