/* The declarations of everything that is built in, and the example files, read with them. */
#include "harness/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend_list.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/option_text.h"
#include "config/check.h"
#include "executor/executor_list.h"
#include "image/preprocess.h"

static void lint(const weft_option *table, const char *of)
{
    weft_error err;
    if (weft_options_lint(table, &err))
        fail_msg("%s: %s", of, err.text);
}

static void test_tables_are_sound(void **state)
{
    lint(weft_config_root_table, "root");
    lint(weft_model_option_table, "model");
    for (size_t i = 0; weft_builtin_executors[i]; i++)
        lint(weft_builtin_executors[i]->options, weft_builtin_executors[i]->name);
    for (size_t i = 0; weft_builtin_backends[i]; i++)
        lint(weft_builtin_backends[i]->options, weft_builtin_backends[i]->name);
}

/* All keys of a model's block live side by side. */
static void test_keys_of_a_model_do_not_collide(void **state)
{
    for (size_t i = 0; weft_builtin_executors[i]; i++) {
        const weft_executor *x = weft_builtin_executors[i];
        for (const weft_option *o = x->options; o && o->kind != WEFT_OPT_END; o++)
            if (weft_option_find(weft_model_option_table, o->name, strlen(o->name)))
                fail_msg("%s.%s is a common key of models", x->name, o->name);
        for (const weft_option *o = weft_model_option_table; o->kind != WEFT_OPT_END; o++)
            if (weft_option_find(x->options, o->name, strlen(o->name)))
                fail_msg("an alias of %s is the common key %s", x->name, o->name);
        for (size_t k = 0; x->submodels && x->submodels[k].slot; k++) {
            const char *slot = x->submodels[k].slot;
            assert_null(weft_option_find(weft_model_option_table, slot, strlen(slot)));
            assert_null(weft_option_find(x->options, slot, strlen(slot)));
            assert_null(weft_backend_by_name(weft_builtin_backends, slot));
        }
        for (size_t b = 0; weft_builtin_backends[b]; b++) {
            const char *name = weft_builtin_backends[b]->name;
            assert_null(weft_option_find(weft_model_option_table, name, strlen(name)));
            assert_null(weft_option_find(x->options, name, strlen(name)));
        }
    }
}

static void test_names_are_unique(void **state)
{
    for (size_t i = 0; weft_builtin_executors[i]; i++) {
        const weft_executor *x = weft_builtin_executors[i];
        assert_ptr_equal(weft_executor_by_name(weft_builtin_executors, x->name), x);
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(weft_builtin_executors[k], x); /* was listed twice once */
        for (const char *const *a = x->aliases; a && *a; a++)
            assert_ptr_equal(weft_executor_by_name(weft_builtin_executors, *a), x);
        assert_true(x->options == NULL || x->options_size > 0);
    }
    for (size_t i = 0; weft_builtin_backends[i]; i++)
        assert_ptr_equal(weft_backend_by_name(weft_builtin_backends, weft_builtin_backends[i]->name), weft_builtin_backends[i]);
    assert_non_null(weft_executor_by_name(weft_builtin_executors, "OcrExecutor"));
    assert_non_null(weft_executor_by_name(weft_builtin_executors, "FaceDetectExecutor"));
    assert_non_null(weft_executor_by_name(weft_builtin_executors, "ImageClsExecutor"));
}

/* Defaults, then the checks that a struct from C must pass. */
static void test_defaults_pass_the_checks(void **state)
{
    for (size_t i = 0; weft_builtin_executors[i]; i++) {
        const weft_executor *x = weft_builtin_executors[i];
        weft_error err;
        weft_arena *arena = weft_arena_create(NULL, 0);
        void *o = weft_arena_zalloc(arena, x->options_size + 1);
        if (weft_options_defaults(x->options, o, arena, &err) || weft_options_check(x->options, o, &err))
            fail_msg("%s: %s", x->name, err.text);
        weft_arena_destroy(&arena);
    }
}

static weft_config *load(const char *name)
{
    char path[512];
    weft_config *c;
    weft_error err;
    snprintf(path, sizeof(path), "%s/examples/%s", WEFT_SOURCE_DIR, name);
    if (weft_config_load_file(path, weft_builtin_executors, weft_builtin_backends, &c, NULL, &err))
        fail_msg("%s", err.text);
    return c;
}

/* Every executor of pictures starts its options with the shared block. */
static const weft_preprocess_options *preprocess_of(const weft_config_model *m)
{
    const weft_option *o = weft_option_find(m->executor->options, "preprocess", 10);
    assert_non_null(o);
    assert_ptr_equal(o->fields, weft_preprocess_option_table);
    return (const void *)((const char *)m->config.executor_options + o->offset);
}

static double inner_number(const weft_config_model *m, const char *block, const char *name)
{
    const weft_option *o = weft_option_find(m->executor->options, block, strlen(block));
    const weft_option *f = o ? weft_option_find(o->fields, name, strlen(name)) : NULL;
    assert_non_null(f);
    const char *p = (const char *)m->config.executor_options + o->offset + f->offset;
    return f->kind == WEFT_OPT_INT ? (double)*(const int64_t *)(const void *)p : *(const double *)(const void *)p;
}

static void test_authors_file(void **state)
{
    static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    weft_config *c = load("author.yaml");
    assert_int_equal(c->n_models, 4); /* the file of the OCR pipeline is a model of its own */
    const weft_config_model *ocr = weft_config_find(c, "ocr"), *face = weft_config_find(c, "face_detect"),
                            *cls = weft_config_find(c, "image_cls");
    const weft_preprocess_options *p = preprocess_of(ocr);
    assert_string_equal(ocr->executor->name, "ocr");
    assert_string_equal(face->executor->name, "face");
    assert_string_equal(cls->executor->name, "classify");
    const weft_config_model *file = weft_config_find(c, "ocr.model");
    assert_string_equal(*(const char **)file->config.paths.items, "/data/models/ocr_hw.om");
    assert_string_equal(file->config.backend, "acl");
    assert_int_equal(file->config.max_batch, 2);
    assert_int_equal(ocr->config.paths.n, 0);
    assert_int_equal(ocr->config.queue_size, 128);
    assert_int_equal(p->input_size.width, 640);
    assert_int_equal(p->input_size.height, 640);
    assert_int_equal(p->normalize, WEFT_TRI_TRUE);
    assert_int_equal(p->mean.n, 3);
    assert_memory_equal(p->mean.items, mean, sizeof(mean));
    assert_int_equal(p->std.n, 3);
    assert_memory_equal(p->std.items, std, sizeof(std));
    assert_true(inner_number(ocr, "postprocess", "min_confidence") == 0.5);
    assert_true(inner_number(ocr, "postprocess", "max_texts") == 20);
    p = preprocess_of(face);
    assert_int_equal(face->config.max_batch, 4);
    assert_int_equal(face->config.queue_size, 256);
    assert_int_equal(p->input_size.width, 416);
    assert_int_equal(p->resize_mode, WEFT_RESIZE_LETTERBOX);
    p = preprocess_of(cls);
    assert_int_equal(cls->config.max_batch, 8);
    assert_int_equal(cls->config.queue_size, 256);
    assert_int_equal(p->input_size.height, 224);
    assert_int_equal(p->normalize, WEFT_TRI_TRUE);
    weft_config_destroy(&c);
}

/* Without the backend for cards the dry run says so, once for each model and with its line. */
static void test_authors_file_dry(void **state)
{
    if (weft_backend_by_name(weft_builtin_backends, "acl"))
        skip();
    weft_error err;
    weft_config *c = load("author.yaml");
    weft_diagnostics *d = weft_diagnostics_create();
    assert_int_equal(weft_config_check(c, NULL, NULL, d, &err), WEFT_E_CONFIG);
    int said = 0;
    for (size_t i = 0; i < weft_diagnostics_count(d); i++) {
        const weft_diagnostic *x = weft_diagnostics_at(d, i);
        if (strstr(x->text, "the file needs the backend acl, which is not in this build")) {
            static const int lines[] = {5, 18, 26};
            assert_true(said < 3);
            assert_int_equal(x->place.line, lines[said++]);
        }
    }
    assert_int_equal(said, 3);
    weft_diagnostics_destroy(&d);
    weft_config_destroy(&c);
}

static bool fetched(void)
{
    static const char *const files[] = {"runtime/onnxruntime/libonnxruntime.so.1", "models/ocr/ch_PP-OCRv4_det_infer.onnx",
                                        "models/detect/centernet.onnx", "models/classify/labels.txt"};
    char path[512];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "%s/%s", WEFT_CACHE_DIR, files[i]);
        if (access(path, R_OK))
            return false;
    }
    return true;
}

static void test_demo_dry(void **state)
{
    weft_error err;
    char library[512];
    if (!fetched())
        skip();
    weft_config *c = load("demo.yaml");
    snprintf(library, sizeof(library), "%s/runtime/onnxruntime/libonnxruntime.so.1", WEFT_CACHE_DIR);
    c->engine.onnxruntime_library = library;
    weft_diagnostics *d = weft_diagnostics_create();
    weft_status s = weft_config_check(c, NULL, NULL, d, &err);
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_diagnostics_print(d, &out, false);
    printf("%s", out.data ? (const char *)out.data : "");
    weft_buffer_fini(&out);
    assert_int_equal(s, WEFT_OK);
    assert_int_equal(weft_diagnostics_warnings(d), 0);
    assert_int_equal(weft_diagnostics_count(d), 6); /* what each model with a file is */
    weft_diagnostics_destroy(&d);
    weft_config_destroy(&c);
}

static void test_demo_models(void **state)
{
    static const char *const want[] = {"ocr.detect", "ocr.recognise", "ocr.orient", "ocr", "face", "classify", "detect"};
    weft_config *c = load("demo.yaml");
    assert_int_equal(c->n_models, 7);
    for (size_t i = 0; i < 7; i++)
        assert_non_null(weft_config_find(c, want[i]));
    weft_config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_sound), cmocka_unit_test(test_keys_of_a_model_do_not_collide),
        cmocka_unit_test(test_names_are_unique), cmocka_unit_test(test_defaults_pass_the_checks),
        cmocka_unit_test(test_authors_file),     cmocka_unit_test(test_authors_file_dry),
        cmocka_unit_test(test_demo_models),      cmocka_unit_test(test_demo_dry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
