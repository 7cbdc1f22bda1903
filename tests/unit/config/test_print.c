/* Property: a random valid configuration, printed and read again, is the same. Every value is made by the declarations' own
 * bounds. */
#include "help_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/option_text.h"

static uint64_t seed;
static weft_arena *arena;

static uint64_t below(uint64_t n)
{
    return test_random(&seed) % n;
}

static const char *random_text(size_t max_bytes)
{
    static const char *const pieces[] = {"a",
                                         "Z",
                                         "9",
                                         "_",
                                         "-",
                                         ".",
                                         " ",
                                         ":",
                                         "#",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\t",
                                         "{",
                                         "[",
                                         "&",
                                         "*",
                                         "true",
                                         "~",
                                         "null",
                                         "\xc3\xa9",
                                         "\xe6\xa8\xa1",
                                         "\xf0\x9f\x98\x80",
                                         "\xe2\x80\xa8",
                                         "\xc2\x85",
                                         "\x01",
                                         "\n",
                                         "\r",
                                         ",",
                                         "%",
                                         "@",
                                         "- ",
                                         "\xef\xbb\xbf",
                                         "\x7f"};
    char text[128] = "";
    size_t len = 0;
    for (uint64_t n = below(10); n-- > 0;) {
        const char *p = pieces[below(sizeof(pieces) / sizeof(*pieces))];
        if (len + strlen(p) > max_bytes || len + strlen(p) >= sizeof(text))
            break;
        len += (size_t)sprintf(text + len, "%s", p);
    }
    return weft_arena_strdup(arena, text);
}

static double random_number(const weft_option *o)
{
    double lo = o->min, hi = o->max;
    if (lo == 0 && hi == 0) {
        lo = -1e6;
        hi = 1e6;
    }
    double v = lo + (hi - lo) * (double)below(1u << 30) / (double)(1u << 30);
    return below(4) ? v : below(2) ? lo : hi;
}

static void random_scalar(const weft_option *o, weft_option_kind kind, void *p)
{
    size_t n = 0;
    switch (kind) {
    case WEFT_OPT_BOOL:
        *(bool *)p = below(2);
        break;
    case WEFT_OPT_INT:
        *(int64_t *)p = (int64_t)random_number(o);
        break;
    case WEFT_OPT_FLOAT:
        *(double *)p = random_number(o);
        break;
    case WEFT_OPT_DURATION_MS:
        *(double *)p = fabs(random_number(o));
        break;
    case WEFT_OPT_BYTES:
        *(uint64_t *)p = (uint64_t)fabs(random_number(o));
        break;
    case WEFT_OPT_ENUM:
        while (o->values[n].name)
            n++;
        *(int *)p = o->values[below(n)].value;
        break;
    case WEFT_OPT_SIZE:
        *(weft_size *)p = (weft_size){1 + (int32_t)below(4000), 1 + (int32_t)below(4000)};
        break;
    default:
        *(const char **)p = o->is_path ? weft_arena_printf(arena, "/x%s", random_text(20))
                                       : random_text(o->kind == WEFT_OPT_STRING && o->max_count ? o->max_count : 40);
        break;
    }
}

static void random_struct(const weft_option *table, void *base);

static void random_list(const weft_option *o, weft_list *list)
{
    size_t n = below(5), bytes = o->kind == WEFT_OPT_LIST          ? weft_option_storage_bytes(o, o->item)
                                 : o->kind == WEFT_OPT_PASSTHROUGH ? sizeof(weft_key_value)
                                                                   : o->item_size;
    char *items = weft_arena_array(arena, n + 1, bytes);
    for (size_t i = 0; i < n; i++) {
        char *p = items + i * bytes;
        const char *key = weft_arena_printf(arena, "%zu%s", i, random_text(20));
        if (o->kind == WEFT_OPT_LIST) {
            random_scalar(o, o->item, p);
        } else if (o->kind == WEFT_OPT_PASSTHROUGH) {
            *(weft_key_value *)(void *)p = (weft_key_value){key, random_text(40)};
        } else {
            random_struct(o->fields, p);
            if (o->kind == WEFT_OPT_STRUCT_MAP)
                memcpy(p, &key, sizeof(key));
        }
    }
    *list = (weft_list){.n = n, .items = items};
}

/* Some fields keep their default. */
static void random_struct(const weft_option *table, void *base)
{
    assert_int_equal(weft_options_defaults(table, base, arena, NULL), WEFT_OK);
    for (const weft_option *o = table; o->kind != WEFT_OPT_END; o++) {
        char *p = (char *)base + o->offset;
        if (o->kind == WEFT_OPT_STRUCT)
            random_struct(o->fields, p);
        else if (below(3) == 0)
            continue;
        else if (weft_option_is_scalar(o->kind))
            random_scalar(o, o->kind, p);
        else
            random_list(o, (weft_list *)(void *)p);
    }
}

static void random_model(weft_config_model *m, size_t i)
{
    char where[200];
    snprintf(where, sizeof(where), "m%zu.%x-_", i, (unsigned)below(1000));
    m->executor = help_executors[below(2)];
    m->backend = help_backends[0];
    random_struct(weft_model_option_table, &m->config);
    const char **paths = weft_arena_array(arena, 1, sizeof(*paths));
    paths[0] = weft_arena_printf(arena, "/d/%zu.onnx", i);
    m->config.name = weft_arena_strdup(arena, where);
    m->config.type = m->executor->name;
    m->config.backend = "onnxruntime";
    m->config.paths = (weft_list){1, paths};
    help_backend_options *b = weft_arena_zalloc(arena, sizeof(*b));
    random_struct(m->backend->options, b);
    m->config.backend_options = b;
    if (m->executor->options) {
        void *x = weft_arena_zalloc(arena, m->executor->options_size);
        random_struct(m->executor->options, x);
        m->config.executor_options = x;
    }
}

static void compare(const weft_config *a, const weft_config *b, const char *text)
{
    char where[100] = "";
    bool same = help_equal(weft_config_root_table, a, b, where, sizeof(where));
    assert_int_equal(a->n_models, b->n_models);
    for (size_t i = 0; same && i < a->n_models; i++) {
        /* By name: a sub-model in place may come earlier or later, always before its user. */
        const weft_config_model *m = &a->models[i], *n = weft_config_find(b, m->config.name);
        assert_non_null(n);
        assert_ptr_equal(m->executor, n->executor);
        assert_ptr_equal(m->backend, n->backend);
        same = help_equal(weft_model_option_table, &m->config, &n->config, where, sizeof(where)) &&
               (!m->executor->options ||
                help_equal(m->executor->options, m->config.executor_options, n->config.executor_options, where, sizeof(where))) &&
               (!m->backend ||
                help_equal(m->backend->options, m->config.backend_options, n->config.backend_options, where, sizeof(where)));
        assert_int_equal(m->n_slots, n->n_slots);
        for (size_t k = 0; k < m->n_slots; k++)
            assert_string_equal(a->models[m->slots[k].model].config.name, b->models[n->slots[k].model].config.name);
    }
    if (!same)
        fail_msg("%s differs in\n%s", where, text);
}

static void print_and_read(const weft_config *c)
{
    weft_buffer b;
    weft_config *again;
    weft_error err;
    weft_buffer_init(&b, 0);
    weft_config_print(c, &b);
    assert_false(b.failed);
    if (weft_config_load_text((const char *)b.data, b.n_bytes, "", help_executors, help_backends, &again, NULL, &err))
        fail_msg("%s\n%s", err.text, (const char *)b.data);
    compare(c, again, (const char *)b.data);
    weft_config_destroy(&again);
    weft_buffer_fini(&b);
}

static void test_random_configurations(void **state)
{
    for (uint64_t round = 1; round <= 400; round++) {
        weft_config c = {.file = "", .directory = ""};
        weft_config_model models[4];
        seed = round;
        arena = weft_arena_create(NULL, 0);
        memset(models, 0, sizeof(models));
        random_struct(weft_config_root_table, &c);
        c.n_models = below(5);
        c.models = models;
        for (size_t i = 0; i < c.n_models; i++)
            random_model(&models[i], i);
        print_and_read(&c);
        weft_arena_destroy(&arena);
    }
}

static void test_sub_models(void **state)
{
    weft_config *c = help_load(
        "models:\n"
        "- {name: page, type: ocr, priority: 4, detect: det.onnx, recognise: {path: rec.onnx, max_batch: 8}, orient: shared}\n"
        "- {name: shared, path: cls.onnx}\n"
        "- {name: other, type: ocr, path: o.om, detect: page.detect}\n");
    print_and_read(c);
    weft_config_destroy(&c);
}

static void test_none(void **state)
{
    weft_config *c;
    assert_int_equal(weft_config_default(help_executors, help_backends, &c, NULL), WEFT_OK);
    print_and_read(c);
    weft_config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_configurations), cmocka_unit_test(test_sub_models),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
