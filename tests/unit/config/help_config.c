#include "help_config.h"

#include <stdio.h>
#include <string.h>

#include "base/option_text.h"

#define KIND(member) offsetof(help_kinds, member)

static const weft_enum_value words[] = {{"slow", 1, "careful"}, {"fast", 2, "careless"}, {"letterbox", 3, NULL}, {NULL, 0, NULL}};
static const weft_enum_value tri[] = {{"auto", 0, NULL}, {"true", 1, NULL}, {"false", 2, NULL}, {NULL, 0, NULL}};

static const weft_option inner_table[] = {
    {.name = "count",
     .kind = WEFT_OPT_INT,
     .offset = offsetof(help_inner, count),
     .def = "7",
     .min = 0,
     .max = 1e15,
     .help = "h"},
    {.name = "ratio", .kind = WEFT_OPT_FLOAT, .offset = offsetof(help_inner, ratio), .def = "0.25", .help = "h"},
    {.name = "label", .kind = WEFT_OPT_STRING, .offset = offsetof(help_inner, label), .def = "none", .help = "h"},
    {.kind = WEFT_OPT_END},
};
static const weft_option named_table[] = {
    {.name = "level", .kind = WEFT_OPT_INT, .offset = offsetof(help_named, level), .def = "1", .min = -5, .max = 5, .help = "h"},
    {.name = "active", .kind = WEFT_OPT_BOOL, .offset = offsetof(help_named, active), .def = "yes", .help = "h"},
    {.kind = WEFT_OPT_END},
};
const weft_option help_kinds_table[] = {
    {.name = "flag", .kind = WEFT_OPT_BOOL, .offset = KIND(flag), .def = "true", .help = "h"},
    {.name = "whole",
     .alias = "int integer",
     .kind = WEFT_OPT_INT,
     .offset = KIND(whole),
     .def = "5",
     .min = -10,
     .max = 1e6,
     .unit = "rows",
     .help = "h"},
    {.name = "real", .kind = WEFT_OPT_FLOAT, .offset = KIND(real), .def = "0.5", .min = 0, .max = 1, .help = "h"},
    {.name = "text", .kind = WEFT_OPT_STRING, .offset = KIND(text), .max_count = 40, .help = "h"},
    {.name = "word", .kind = WEFT_OPT_ENUM, .offset = KIND(word), .def = "fast", .values = words, .help = "h"},
    {.name = "tri", .kind = WEFT_OPT_ENUM, .offset = KIND(tri), .values = tri, .help = "h"},
    {.name = "wait_ms",
     .kind = WEFT_OPT_DURATION_MS,
     .offset = KIND(wait_ms),
     .def = "2s",
     .min = 0,
     .max = 86400000,
     .help = "h"},
    {.name = "room_bytes", .kind = WEFT_OPT_BYTES, .offset = KIND(room_bytes), .def = "64MB", .min = 0, .max = 1e15, .help = "h"},
    {.name = "area", .kind = WEFT_OPT_SIZE, .offset = KIND(area), .def = "640x480", .min = 1, .max = 8192, .help = "h"},
    {.name = "numbers",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_FLOAT,
     .offset = KIND(numbers),
     .def = "[0.5, 1]",
     .min = 0,
     .max = 255,
     .max_count = 4,
     .help = "h"},
    {.name = "texts", .kind = WEFT_OPT_LIST, .item = WEFT_OPT_STRING, .offset = KIND(texts), .help = "h"},
    {.name = "areas",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_SIZE,
     .offset = KIND(areas),
     .def = "[576x576, [768, 576]]",
     .help = "h"},
    {.name = "files", .kind = WEFT_OPT_LIST, .item = WEFT_OPT_STRING, .offset = KIND(files), .is_path = true, .help = "h"},
    {.name = "file", .kind = WEFT_OPT_STRING, .offset = KIND(file), .is_path = true, .help = "h"},
    {.name = "inner",
     .kind = WEFT_OPT_STRUCT,
     .offset = KIND(inner),
     .fields = inner_table,
     .item_size = sizeof(help_inner),
     .help = "h"},
    {.name = "blocks",
     .kind = WEFT_OPT_STRUCT_LIST,
     .offset = KIND(blocks),
     .fields = inner_table,
     .item_size = sizeof(help_inner),
     .help = "h"},
    {.name = "named",
     .kind = WEFT_OPT_STRUCT_MAP,
     .offset = KIND(named),
     .fields = named_table,
     .item_size = sizeof(help_named),
     .help = "h"},
    {.name = "pass", .kind = WEFT_OPT_PASSTHROUGH, .offset = KIND(pass), .max_count = 8, .help = "h"},
    {.kind = WEFT_OPT_END},
};

static const weft_enum_value modes[] = {{"stretch", 1, NULL}, {"letterbox", 2, NULL}, {"crop", 3, NULL}, {NULL, 0, NULL}};
static const weft_option preprocess_table[] = {
    {.name = "input_size",
     .kind = WEFT_OPT_SIZE,
     .offset = offsetof(help_preprocess, input_size),
     .min = 1,
     .max = 16384,
     .help = "h"},
    {.name = "resize_mode",
     .kind = WEFT_OPT_ENUM,
     .offset = offsetof(help_preprocess, resize_mode),
     .values = modes,
     .help = "h"},
    {.name = "normalize", .kind = WEFT_OPT_ENUM, .offset = offsetof(help_preprocess, normalize), .values = tri, .help = "h"},
    {.name = "mean",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_FLOAT,
     .offset = offsetof(help_preprocess, mean),
     .max_count = 4,
     .help = "h"},
    {.name = "std",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_FLOAT,
     .offset = offsetof(help_preprocess, std),
     .max_count = 4,
     .help = "h"},
    {.kind = WEFT_OPT_END},
};
static const weft_option postprocess_table[] = {
    {.name = "min_confidence", .kind = WEFT_OPT_FLOAT, .offset = 0, .def = "0.3", .min = 0, .max = 1, .help = "h"},
    {.name = "max_texts", .kind = WEFT_OPT_INT, .offset = sizeof(double), .def = "1000", .min = 1, .max = 100000, .help = "h"},
    {.kind = WEFT_OPT_END},
};
static const weft_option picture_table[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(help_picture, preprocess),
     .fields = preprocess_table,
     .item_size = sizeof(help_preprocess),
     .help = "h"},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = offsetof(help_picture, postprocess),
     .fields = postprocess_table,
     .item_size = 16,
     .help = "h"},
    {.kind = WEFT_OPT_END},
};

help_counts help_count;

static weft_status run_nothing(void *state, weft_pipe *p, const weft_call *call, weft_builder *b, weft_error *err)
{
    return WEFT_OK;
}

/* Refuses a name with "bad" in it; reads a file when the model is called "reader". */
static weft_status open_executor(const weft_open *o, void **state, weft_error *err)
{
    if (strstr(o->name, "bad"))
        return weft_fail(err, WEFT_E_CONFIG, "the options do not fit the model");
    if (!strcmp(o->name, "reader")) {
        const char *text;
        size_t n;
        weft_status s = o->read_file(o, WEFT_TEST_DATA "/config/small.txt", 8, &text, &n, err);
        if (s)
            return s;
    }
    *state = o->alloc(o, 16);
    if (!*state)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    help_count.executor_opens++;
    return WEFT_OK;
}

static void close_executor(void *state)
{
    help_count.executor_closes++;
}

static const char *const ocr_aliases[] = {"OcrExecutor", NULL}, *const face_aliases[] = {"FaceDetectExecutor", NULL},
                         *const classify_aliases[] = {"ImageClsExecutor", NULL};
static const weft_submodel_decl slots[] = {{"detect", false, "finds"},
                                           {"recognise", false, "reads"},
                                           {"orient", false, "turns"},
                                           {"model", false, "own file"},
                                           {NULL, false, NULL}};
static const weft_field_decl fields[] = {{"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, "what is read"},
                                         {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 6, "where, px"}};

static const weft_executor tensor = {.name = "tensor", .summary = "any model", .open = open_executor, .close = close_executor};
static const weft_executor kinds = {.name = "kinds",
                                    .summary = "every kind of option",
                                    .options = help_kinds_table,
                                    .options_size = sizeof(help_kinds),
                                    .open = open_executor,
                                    .close = close_executor};
static const weft_executor ocr = {.name = "ocr",
                                  .aliases = ocr_aliases,
                                  .summary = "reads",
                                  .details = "A paragraph.",
                                  .options = picture_table,
                                  .options_size = sizeof(help_picture),
                                  .fields = fields,
                                  .n_fields = 2,
                                  .picture_input = "image",
                                  .submodels = slots,
                                  .open = open_executor,
                                  .close = close_executor,
                                  .run = run_nothing};
static const weft_submodel_decl pure_slots[] = {{"part", true, "does it"}, {NULL, false, NULL}};
static const weft_executor pure = {
    .name = "pure", .submodels = pure_slots, .open = open_executor, .close = close_executor, .run = run_nothing};
static const weft_executor face = {.name = "face",
                                   .aliases = face_aliases,
                                   .options = picture_table,
                                   .options_size = sizeof(help_picture),
                                   .open = open_executor,
                                   .close = close_executor};
static const weft_executor classify = {.name = "classify",
                                       .aliases = classify_aliases,
                                       .options = picture_table,
                                       .options_size = sizeof(help_picture),
                                       .open = open_executor,
                                       .close = close_executor};
const weft_executor *const help_executors[] = {&tensor, &kinds, &ocr, &face, &classify, &pure, NULL};

/* ---- a backend that reads the first word of a file -------------------------------------------------------------------- */
static weft_status backend_open(const weft_backend_env *env, void **self, weft_error *err)
{
    help_count.opens++;
    *self = &help_count;
    return WEFT_OK;
}

static void backend_close(void *self)
{
    help_count.closes++;
}

static const weft_tensor_desc
    free_in = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {-1, 4}, .size_kind = WEFT_SIZE_FIXED},
    free_out = {.name = "y", .dtype = WEFT_DT_F32, .rank = 2, .shape = {-1, 2}, .size_kind = WEFT_SIZE_FIXED},
    fixed_out = {.name = "y", .dtype = WEFT_DT_F32, .rank = 2, .shape = {1, 2}, .size_kind = WEFT_SIZE_FIXED};

static weft_status backend_load(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err)
{
    FILE *f = fopen(src->paths[0], "r");
    char word[16] = "";
    if (!f || fscanf(f, "%15s", word) != 1 || !strcmp(word, "broken")) {
        if (f)
            fclose(f);
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "%s is not a model", src->paths[0]);
    }
    fclose(f);
    *desc = (weft_model_desc){.inputs = &free_in,
                              .n_inputs = 1,
                              .outputs = strcmp(word, "fixed") ? &free_out : &fixed_out,
                              .n_outputs = 1,
                              .weights_bytes = 2048};
    *model = &help_count;
    help_count.loads++;
    return WEFT_OK;
}

static void backend_unload(void *self, void *model)
{
    help_count.unloads++;
}

static const char *const onnx[] = {".onnx", NULL}, *const toy[] = {".toy", NULL};
static const weft_option backend_table[] = {
    {.name = "spin_us",
     .kind = WEFT_OPT_INT,
     .offset = offsetof(help_backend_options, spin_us),
     .def = "3",
     .min = 0,
     .max = 100,
     .help = "h"},
    {.name = "arena", .kind = WEFT_OPT_BOOL, .offset = offsetof(help_backend_options, arena), .help = "h"},
    {.kind = WEFT_OPT_END},
};
static const weft_backend ort = {.abi = WEFT_BACKEND_ABI,
                                 .name = "onnxruntime",
                                 .summary = "runs .onnx",
                                 .extensions = onnx,
                                 .options = backend_table,
                                 .options_size = sizeof(help_backend_options),
                                 .on_cpu = true,
                                 .open = backend_open,
                                 .close = backend_close,
                                 .model_load = backend_load,
                                 .model_unload = backend_unload};
static const weft_backend toys = {.abi = WEFT_BACKEND_ABI,
                                  .name = "toy",
                                  .extensions = toy,
                                  .open = backend_open,
                                  .close = backend_close,
                                  .model_load = backend_load,
                                  .model_unload = backend_unload};
const weft_backend *const help_backends[] = {&ort, &toys, NULL};

/* ---- shorthands ------------------------------------------------------------------------------------------------------- */
weft_config *help_load(const char *text)
{
    weft_config *c;
    weft_error err = {0};
    weft_status s = weft_config_load_text(text, strlen(text), "conf/weft.yaml", help_executors, help_backends, &c, NULL, &err);
    if (s)
        fail_msg("%s\nin\n%s", err.text, text);
    assert_non_null(c);
    return c;
}

const char *help_mistakes(const char *text)
{
    static char all[65536];
    size_t len = 0;
    weft_config *c;
    weft_diagnostics *d = weft_diagnostics_create();
    weft_status s = weft_config_load_text(text, strlen(text), "weft.yaml", help_executors, help_backends, &c, d, NULL);
    assert_int_equal(!s, c != NULL);
    assert_int_equal(s, weft_diagnostics_errors(d) ? WEFT_E_CONFIG : WEFT_OK);
    all[0] = 0;
    for (size_t i = 0; i < weft_diagnostics_count(d); i++) {
        const weft_diagnostic *x = weft_diagnostics_at(d, i);
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%d:%d %s%s%s%s%s%s%s\n", x->place.line, x->place.column,
                                x->severity == WEFT_SEVERITY_ERROR ? "" : "warning ", x->key, *x->key ? ": " : "", x->text,
                                x->suggestion ? "; did you mean \"" : "", x->suggestion ? x->suggestion : "",
                                x->suggestion ? "\"?" : "");
    }
    weft_config_destroy(&c);
    weft_diagnostics_destroy(&d);
    return all;
}

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool values_equal(const weft_option *o, weft_option_kind kind, const void *a, const void *b)
{
    if (kind != WEFT_OPT_STRING)
        return !memcmp(a, b, weft_option_storage_bytes(o, kind));
    const char *s, *t;
    memcpy(&s, a, sizeof(s));
    memcpy(&t, b, sizeof(t));
    return texts_equal(s, t);
}

static bool lists_equal(const weft_option *o, const weft_list *a, const weft_list *b, char *where, size_t n)
{
    size_t bytes = o->kind == WEFT_OPT_LIST          ? weft_option_storage_bytes(o, o->item)
                   : o->kind == WEFT_OPT_PASSTHROUGH ? sizeof(weft_key_value)
                                                     : o->item_size;
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const char *x = (const char *)a->items + i * bytes, *y = (const char *)b->items + i * bytes;
        if (o->kind == WEFT_OPT_LIST) {
            if (!values_equal(o, o->item, x, y))
                return false;
        } else if (o->kind == WEFT_OPT_PASSTHROUGH) {
            const weft_key_value *p = (const weft_key_value *)(const void *)x, *q = (const weft_key_value *)(const void *)y;
            if (strcmp(p->key, q->key) || strcmp(p->value, q->value))
                return false;
        } else {
            const char *p, *q;
            memcpy(&p, x, sizeof(p));
            memcpy(&q, y, sizeof(q));
            if ((o->kind == WEFT_OPT_STRUCT_MAP && !texts_equal(p, q)) || !help_equal(o->fields, x, y, where, n))
                return false;
        }
    }
    return true;
}

bool help_equal(const weft_option *table, const void *a, const void *b, char *where, size_t n)
{
    for (const weft_option *o = table; o->kind != WEFT_OPT_END; o++) {
        const char *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
        bool same = o->kind == WEFT_OPT_STRUCT ? help_equal(o->fields, x, y, where, n)
                    : weft_option_is_scalar(o->kind)
                        ? values_equal(o, o->kind, x, y)
                        : lists_equal(o, (const weft_list *)(const void *)x, (const weft_list *)(const void *)y, where, n);
        if (!same) {
            snprintf(where, n, "%s", o->name);
            return false;
        }
    }
    return true;
}
