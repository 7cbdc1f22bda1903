/* Values of each kind from text, the bounds, the defaults. Right values by hand. */
#include "help_config.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/option_text.h"

static weft_status parse(const weft_option *o, const char *text, void *dst, weft_error *err)
{
    return weft_option_parse(o, o->kind, text, strlen(text), NULL, dst, err);
}

static void test_bool(void **state)
{
    const weft_option o = {.name = "b", .kind = WEFT_OPT_BOOL};
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "on", "On"}, *const no[] = {"false", "no", "OFF"},
                             *const bad[] = {"", "1", "0", "y", "truee", " true", "t"};
    bool b;
    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
        b = false;
        assert_int_equal(parse(&o, yes[i], &b, NULL), WEFT_OK);
        assert_true(b);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
        b = true;
        assert_int_equal(parse(&o, no[i], &b, NULL), WEFT_OK);
        assert_false(b);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(parse(&o, bad[i], &b, NULL), WEFT_E_CONFIG);
}

static void test_int(void **state)
{
    const weft_option o = {.name = "i", .kind = WEFT_OPT_INT},
                      bounded = {.name = "i", .kind = WEFT_OPT_INT, .min = -10, .max = 4096, .unit = "rows"};
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"123", 123},
                {"0x1F", 31},
                {"-0x10", -16},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"0x7fffffffffffffff", INT64_MAX}};
    static const char *const bad[] = {"",
                                      "-",
                                      "0x",
                                      "010",
                                      "1.0",
                                      "1e3",
                                      "1_000",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "0xg",
                                      "12 ",
                                      "--1",
                                      "0x10000000000000000"};
    int64_t v;
    weft_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        v = 99;
        assert_int_equal(parse(&o, good[i].text, &v, NULL), WEFT_OK);
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        v = 99;
        if (parse(&o, bad[i], &v, &err) != WEFT_E_CONFIG)
            fail_msg("%s", bad[i]);
        assert_true(v == 99);
    }
    assert_int_equal(parse(&bounded, "4097", &v, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "expected a whole number from -10 to 4096 rows, got \"4097\"");
    assert_int_equal(parse(&bounded, "4096", &v, &err), WEFT_OK);
    assert_int_equal(parse(&bounded, "-11", &v, &err), WEFT_E_CONFIG);
}

static void test_float(void **state)
{
    const weft_option o = {.name = "f", .kind = WEFT_OPT_FLOAT}, unit = {.name = "f", .kind = WEFT_OPT_FLOAT, .min = 0, .max = 1};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0}, {"0.485", 0.485}, {"-1.5e3", -1500}, {".5", 0.5}, {"5.", 5}, {"1E-2", 0.01}, {"+2", 2}};
    static const char *const bad[] = {"", ".", "nan", "inf", ".inf", "1e999", "0x1p3", "1,5", "1.5.2", "1e", "e5", "1 "};
    double v;
    weft_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(parse(&o, good[i].text, &v, NULL), WEFT_OK);
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(&o, bad[i], &v, &err) != WEFT_E_CONFIG)
            fail_msg("%s", bad[i]);
    assert_int_equal(parse(&unit, "1.01", &v, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "expected a number from 0 to 1, got \"1.01\"");
}

static void test_duration(void **state)
{
    const weft_option o = {.name = "d", .kind = WEFT_OPT_DURATION_MS, .min = 0, .max = 3600000};
    static const struct {
        const char *text;
        double ms;
    } good[] = {{"250ms", 250}, {"5s", 5000}, {"2m", 120000}, {"2min", 120000}, {"1h", 3600000}, {"1.5s", 1500},
                {"500us", 0.5}, {"12", 12},   {"0", 0},       {"3 s", 3000},    {"0.25", 0.25}};
    static const char *const bad[] = {"", "-1s", "5 seconds", "1H", "ms", "2h", "1d", "5ss", "1e400s"};
    double v;
    weft_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(parse(&o, good[i].text, &v, NULL), WEFT_OK);
        assert_true(fabs(v - good[i].ms) < 1e-9);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(&o, bad[i], &v, &err) != WEFT_E_CONFIG)
            fail_msg("%s", bad[i]);
    parse(&o, "2h", &v, &err);
    assert_string_equal(err.text, "expected a duration from 0 to 1h, like 250ms or 5s, got \"2h\"");
}

static void test_bytes(void **state)
{
    const weft_option o = {.name = "b", .kind = WEFT_OPT_BYTES};
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"64MB", 64000000},
                {"64MiB", 67108864},
                {"1GiB", 1073741824},
                {"1kB", 1000},
                {"1k", 1024},
                {"10 b", 10},
                {"1.5GiB", 1610612736},
                {"2tb", 2000000000000},
                {"18446744073709551615", UINT64_MAX},
                {"1e6", 1000000},
                {"3T", 3298534883328}};
    static const char *const bad[] = {
        "", "-1", "1.0001KiB", "64 megabytes", "MB", "18446744073709551616", "18446744073709551615kB", "1e300", "0.1", "1PB"};
    uint64_t v;
    weft_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        if (parse(&o, good[i].text, &v, NULL) || v != good[i].value)
            fail_msg("%s gives %llu", good[i].text, (unsigned long long)v);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(&o, bad[i], &v, &err) != WEFT_E_CONFIG)
            fail_msg("%s", bad[i]);
    const weft_option bounded = {.name = "b", .kind = WEFT_OPT_BYTES, .min = 1024, .max = 1048576},
                      pixels = {.name = "p", .kind = WEFT_OPT_BYTES, .min = 1, .max = 5e7, .unit = "pixels"};
    parse(&bounded, "2M", &v, &err);
    assert_string_equal(err.text, "expected a number of bytes from 1KiB to 1MiB, like 64MB, got \"2M\"");
    parse(&pixels, "many", &v, &err);
    assert_string_equal(err.text, "expected a number of pixels from 1 to 50000000, got \"many\"");
}

static void test_size(void **state)
{
    const weft_option o = {.name = "s", .kind = WEFT_OPT_SIZE, .min = 1, .max = 8192};
    static const struct {
        const char *text;
        int w, h;
    } good[] = {{"640x480", 640, 480}, {"[640, 480]", 640, 480}, {"[ 640 ,480 ]", 640, 480},
                {"640", 640, 640},     {"640 x 480", 640, 480},  {"1X8192", 1, 8192}};
    static const char *const bad[] = {"",          "0x10",          "640x",          "x480",       "[640]",
                                      "[640, 480", "640,480",       "[640, 480, 3]", "8193x1",     "-5x5",
                                      "640x480x3", "99999999999x1", "1.5x2",         "[640; 480]", "[640 480]"};
    weft_size v;
    weft_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        if (parse(&o, good[i].text, &v, &err) || v.width != good[i].w || v.height != good[i].h)
            fail_msg("%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(&o, bad[i], &v, &err) != WEFT_E_CONFIG)
            fail_msg("%s", bad[i]);
    parse(&o, "8193x1", &v, &err);
    assert_string_equal(err.text, "expected a size with sides from 1 to 8192, like [640, 480], got \"8193x1\"");
}

static void test_text_and_words(void **state)
{
    const weft_option o = {.name = "t", .kind = WEFT_OPT_STRING, .max_count = 4};
    const weft_option *word = weft_option_find(help_kinds_table, "word", 4),
                      *three = weft_option_find(help_kinds_table, "tri", 3);
    const char *s = NULL;
    int e = 0;
    weft_error err;
    assert_int_equal(parse(&o, "abcd", &s, NULL), WEFT_OK);
    assert_string_equal(s, "abcd");
    assert_int_equal(parse(&o, "", &s, NULL), WEFT_OK);
    assert_string_equal(s, "");
    assert_int_equal(parse(&o, "abcde", &s, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "expected text of at most 4 bytes, got 5");
    assert_int_equal(parse(&o, "\xff", &s, &err), WEFT_E_CONFIG);
    assert_int_equal(weft_option_parse(&o, WEFT_OPT_STRING, "a\0b", 3, NULL, &s, &err), WEFT_E_CONFIG);
    assert_int_equal(parse(word, "slow", &e, NULL), WEFT_OK);
    assert_int_equal(e, 1);
    assert_int_equal(parse(word, "Slow", &e, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "expected one of slow, fast, letterbox, got \"Slow\"");
    assert_int_equal(parse(three, "on", &e, NULL), WEFT_OK); /* an enum with true and false takes any spelling of them */
    assert_int_equal(e, 1);
    assert_int_equal(parse(three, "No", &e, NULL), WEFT_OK);
    assert_int_equal(e, 2);
    assert_int_equal(parse(word, "on", &e, NULL), WEFT_E_CONFIG);
    weft_arena *a = weft_arena_create(NULL, 0);
    char local[] = "xy";
    assert_int_equal(weft_option_parse(&o, WEFT_OPT_STRING, local, 2, a, &s, NULL), WEFT_OK);
    local[0] = '!';
    assert_string_equal(s, "xy"); /* a copy */
    weft_arena_destroy(&a);
}

static void test_long_text_in_a_message_is_cut(void **state)
{
    const weft_option o = {.name = "i", .kind = WEFT_OPT_INT};
    char text[500];
    weft_error err;
    int64_t v;
    memset(text, 'x', sizeof(text));
    memcpy(text, "a\nb\x1b", 4);
    assert_int_equal(weft_option_parse(&o, WEFT_OPT_INT, text, sizeof(text), NULL, &v, &err), WEFT_E_CONFIG);
    assert_true(strlen(err.text) < 150);
    assert_null(strchr(err.text, '\n'));
    assert_null(strchr(err.text, '\x1b'));
    assert_non_null(strstr(err.text, "..."));
}

static void test_defaults(void **state)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    help_kinds k;
    weft_error err;
    memset(&k, 0xa5, sizeof(k));
    assert_int_equal(weft_options_defaults(help_kinds_table, &k, a, &err), WEFT_OK);
    assert_true(k.flag);
    assert_int_equal(k.whole, 5);
    assert_true(k.real == 0.5);
    assert_null(k.text);
    assert_int_equal(k.word, 2);
    assert_int_equal(k.tri, 0);
    assert_true(k.wait_ms == 2000);
    assert_int_equal(k.room_bytes, 64000000);
    assert_int_equal(k.area.width, 640);
    assert_int_equal(k.area.height, 480);
    assert_int_equal(k.numbers.n, 2);
    assert_true(((double *)k.numbers.items)[0] == 0.5 && ((double *)k.numbers.items)[1] == 1);
    assert_int_equal(k.texts.n, 0);
    assert_int_equal(k.areas.n, 2);
    assert_int_equal(((weft_size *)k.areas.items)[1].width, 768);
    assert_int_equal(((weft_size *)k.areas.items)[1].height, 576);
    assert_int_equal(k.inner.count, 7);
    assert_string_equal(k.inner.label, "none");
    assert_int_equal(k.blocks.n, 0);
    assert_int_equal(weft_options_check(help_kinds_table, &k, &err), WEFT_OK);
    assert_int_equal(weft_options_defaults(help_kinds_table, &k, NULL, &err), WEFT_E_INTERNAL); /* a list needs memory */
    weft_arena_destroy(&a);
}

static void test_check_of_a_struct_from_c(void **state)
{
    weft_model_config c;
    weft_error err;
    weft_model_config_init(&c);
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "name: expected text, got nothing");
    c.name = "m";
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_OK);
    c.max_batch = 0;
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "max_batch: expected a whole number from 1 to 4096 rows, got \"0\"");
    c.max_batch = 1;
    c.weight = NAN;
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    c.weight = 1;
    c.paths = (weft_list){.n = 65};
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "path: expected at most 64 entries, got 65");
    c.paths = (weft_list){.n = 1};
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    char long_name[80];
    memset(long_name, 'a', sizeof(long_name));
    long_name[79] = 0;
    c.paths.n = 0;
    c.name = long_name;
    assert_int_equal(weft_options_check(weft_model_option_table, &c, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "name: expected text of at most 64 bytes, got more");
}

static void test_check_of_inner_structs(void **state)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    help_kinds k = {0};
    weft_error err;
    help_inner blocks[2] = {{.count = 1}, {.count = -1}};
    assert_int_equal(weft_options_defaults(help_kinds_table, &k, a, &err), WEFT_OK);
    k.blocks = (weft_list){.n = 2, .items = blocks};
    assert_int_equal(weft_options_check(help_kinds_table, &k, &err), WEFT_E_CONFIG);
    assert_string_equal(err.text, "blocks: entry 2: count: expected a whole number from 0 to 1000000000000000, got \"-1\"");
    k.blocks.n = 1;
    k.word = 77;
    assert_int_equal(weft_options_check(help_kinds_table, &k, &err), WEFT_E_CONFIG);
    k.word = 1;
    k.inner.ratio = INFINITY;
    assert_int_equal(weft_options_check(help_kinds_table, &k, &err), WEFT_E_CONFIG);
    assert_memory_equal(err.text, "inner: ratio: expected a number", 31);
    weft_arena_destroy(&a);
}

static void test_zero_without_a_default_is_absent(void **state)
{
    const weft_option table[] = {{.name = "scale", .kind = WEFT_OPT_FLOAT, .offset = 0, .min = 0.001, .max = 10, .help = "h"},
                                 {.kind = WEFT_OPT_END}};
    double v = 0;
    weft_error err;
    assert_int_equal(weft_options_check(table, &v, &err), WEFT_OK);
    v = 11;
    assert_int_equal(weft_options_check(table, &v, &err), WEFT_E_CONFIG);
    assert_int_equal(parse(&table[0], "0", &v, &err), WEFT_E_CONFIG); /* in a file zero was given */
}

static void test_lint(void **state)
{
    weft_error err;
    assert_int_equal(weft_options_lint(help_kinds_table, &err), WEFT_OK);
    assert_int_equal(weft_options_lint(weft_model_option_table, &err), WEFT_OK);
    assert_int_equal(weft_options_lint(weft_engine_option_table, &err), WEFT_OK);
    assert_int_equal(weft_options_lint(weft_config_root_table, &err), WEFT_OK);
    static const weft_enum_value none[] = {{NULL, 0, NULL}};
    const weft_option bad[][3] = {
        {{.name = "", .kind = WEFT_OPT_INT, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_INT}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h"}, {.name = "a", .kind = WEFT_OPT_INT, .help = "h"}},
        {{.name = "a", .alias = "x b", .kind = WEFT_OPT_INT, .help = "h"}, {.name = "b", .kind = WEFT_OPT_INT, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h"}, {.name = "b", .alias = "a", .kind = WEFT_OPT_INT, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h", .def = "x"}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h", .def = "9", .max = 8}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h", .min = 2, .max = 1}},
        {{.name = "a", .kind = WEFT_OPT_INT, .help = "h", .def = "1", .required = true}},
        {{.name = "a", .kind = WEFT_OPT_ENUM, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_ENUM, .help = "h", .values = none}},
        {{.name = "a", .kind = WEFT_OPT_LIST, .item = WEFT_OPT_LIST, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_STRUCT, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_INT, .is_path = true, .help = "h"}},
        {{.name = "a", .kind = WEFT_OPT_PASSTHROUGH, .def = "x", .help = "h"}},
        {{.name = "a", .kind = (weft_option_kind)99, .help = "h"}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (weft_options_lint(bad[i], &err) != WEFT_E_INTERNAL)
            fail_msg("table %zu was accepted", i);
}

static void test_print_reads_back(void **state)
{
    uint64_t seed = 11;
    const weft_option f = {.name = "f", .kind = WEFT_OPT_FLOAT}, i = {.name = "i", .kind = WEFT_OPT_INT},
                      b = {.name = "b", .kind = WEFT_OPT_BYTES};
    char text[64];
    for (int k = 0; k < 20000; k++) {
        uint64_t bits = test_random(&seed), bytes = bits, bytes_back = 0;
        double x, back = 0;
        int64_t n = (int64_t)bits, n_back = 0;
        memcpy(&x, &bits, sizeof(x));
        if (isfinite(x) && x != 0) {
            weft_option_print(&f, f.kind, &x, text, sizeof(text));
            if (parse(&f, text, &back, NULL) || back != x)
                fail_msg("%a printed as %s", x, text);
        }
        weft_option_print(&i, i.kind, &n, text, sizeof(text));
        assert_int_equal(parse(&i, text, &n_back, NULL), WEFT_OK);
        assert_true(n_back == n);
        weft_option_print(&b, b.kind, &bytes, text, sizeof(text));
        assert_int_equal(parse(&b, text, &bytes_back, NULL), WEFT_OK);
        assert_true(bytes_back == bytes);
    }
}

static void test_decimal_point_in_any_locale(void **state)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const weft_option f = {.name = "f", .kind = WEFT_OPT_FLOAT};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && !set; i++)
        set = setlocale(LC_ALL, commas[i]);
    if (!set)
        skip();
    double v = 0;
    char text[32];
    assert_int_equal(parse(&f, "0.5", &v, NULL), WEFT_OK);
    assert_true(v == 0.5);
    weft_option_print(&f, f.kind, &v, text, sizeof(text));
    assert_string_equal(text, "0.5");
    setlocale(LC_ALL, "C");
}

static void test_init_functions(void **state)
{
    weft_model_config c;
    weft_engine_options o;
    memset(&c, 0xff, sizeof(c));
    memset(&o, 0xff, sizeof(o));
    weft_model_config_init(&c);
    weft_engine_options_init(&o);
    assert_string_equal(c.type, "tensor");
    assert_string_equal(c.version, "1");
    assert_null(c.name);
    assert_int_equal(c.max_batch, 1);
    assert_int_equal(c.queue_size, 128);
    assert_int_equal(c.queue_bytes, 268435456);
    assert_true(c.weight == 1 && c.cohort_wait_ms == 3 && c.run_timeout_ms == 60000 && c.timeout_ms == 0 &&
                c.batch_window_ms == 0);
    assert_true(c.required && c.warmup && !c.hidden);
    assert_null(c.executor_options);
    assert_int_equal(c.paths.n, 0);
    assert_int_equal(o.cores, 0);
    assert_int_equal(o.max_lost_runs, 2);
    assert_true(o.max_starve_ms == 1000 && o.max_run_ms == 100);
    assert_null(o.log);
    assert_null(o.executors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bool),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_float),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_text_and_words),
        cmocka_unit_test(test_long_text_in_a_message_is_cut),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_check_of_a_struct_from_c),
        cmocka_unit_test(test_check_of_inner_structs),
        cmocka_unit_test(test_zero_without_a_default_is_absent),
        cmocka_unit_test(test_lint),
        cmocka_unit_test(test_print_reads_back),
        cmocka_unit_test(test_decimal_point_in_any_locale),
        cmocka_unit_test(test_init_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
