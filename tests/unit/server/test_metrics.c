/* /metrics: the text of both formats, and that the table and the document hold the same. Expected texts are written by hand from
 * the exposition format 0.0.4 and OpenMetrics 1.0. */
#include "harness/cmocka_all.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/metrics_http.h"
#include "server/metrics_text.h"
#include "server/process_stats.h"
#include "tbl/metrics.h"

static const weft_label none = {NULL, NULL};

/* ---- the text ------------------------------------------------------------------------------------------------------------- */

static void writes_both_formats(void **state)
{
    (void)state;
    static const weft_metric_decl counter = {"a_seconds_total", WEFT_METRIC_COUNTER, "seconds", "m", "a \"b\" \\ c\nd", NULL};
    static const weft_metric_decl info = {"x_info", WEFT_METRIC_GAUGE, "", "", "h", NULL};
    static const weft_metric_decl histogram = {"h_rows", WEFT_METRIC_HISTOGRAM, "rows", "", "h", NULL};
    static const double bounds[] = {0.5, 2};
    static const uint64_t counts[] = {3, 0, 4};
    static const char plain[] = "# HELP a_seconds_total a \"b\" \\\\ c\\nd\n# TYPE a_seconds_total counter\n"
                                "a_seconds_total{m=\"1\"} 0.25\n"
                                "# HELP x_info h\n# TYPE x_info gauge\nx_info 1\n"
                                "# HELP h_rows h\n# TYPE h_rows histogram\n"
                                "h_rows_bucket{s=\"t\",le=\"0.5\"} 3\nh_rows_bucket{s=\"t\",le=\"2.0\"} 3\n"
                                "h_rows_bucket{s=\"t\",le=\"+Inf\"} 7\nh_rows_sum{s=\"t\"} 9.5\nh_rows_count{s=\"t\"} 7\n";
    static const char open[] = "# HELP a_seconds a \\\"b\\\" \\\\ c\\nd\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
                               "a_seconds_total{m=\"1\"} 0.25\n"
                               "# HELP x h\n# TYPE x info\nx_info 1\n"
                               "# HELP h_rows h\n# TYPE h_rows histogram\n# UNIT h_rows rows\n"
                               "h_rows_bucket{s=\"t\",le=\"0.5\"} 3\nh_rows_bucket{s=\"t\",le=\"2.0\"} 3\n"
                               "h_rows_bucket{s=\"t\",le=\"+Inf\"} 7\nh_rows_sum{s=\"t\"} 9.5\nh_rows_count{s=\"t\"} 7\n# EOF\n";
    for (int i = 0; i < 2; i++) {
        weft_buffer out;
        weft_buffer_init(&out, 0);
        weft_metrics_text t = {.out = &out, .open_metrics = i == 1};
        weft_metrics_family(&t, &counter);
        weft_metrics_double(&t, "m=\"1\"", none, 0.25);
        weft_metrics_family(&t, &info);
        weft_metrics_uint(&t, "", none, 1);
        weft_metrics_family(&t, &histogram);
        weft_metrics_histogram(&t, "", (weft_label){"s", "t"}, bounds, counts, 2, 9.5);
        weft_metrics_end(&t);
        assert_false(out.failed);
        assert_string_equal(out.data, i ? open : plain);
        weft_buffer_fini(&out);
    }
}

static void writes_numbers_that_are_none(void **state)
{
    (void)state;
    static const weft_metric_decl gauge = {"g", WEFT_METRIC_GAUGE, "", "", "h", NULL};
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_metrics_text t = {.out = &out};
    weft_metrics_family(&t, &gauge);
    weft_buffer_clear(&out);
    weft_metrics_double(&t, "", none, (double)NAN);
    weft_metrics_double(&t, "", none, HUGE_VAL);
    weft_metrics_double(&t, "", none, -HUGE_VAL);
    static const double exact[] = {0, 3, 0.25, 64e-6, 1e-9, 5e-10, 1234567.000000001, 1e300, -0.5, 1796083063.46, 1.0 / 3};
    weft_metrics_uint(&t, "", (weft_label){"k", "a\"b\\c\nd"}, UINT64_MAX);
    size_t at = out.n_bytes;
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++, at = out.n_bytes) {
        weft_metrics_double(&t, "", none, exact[i]);
        assert_true(strtod((char *)out.data + at + 2, NULL) == exact[i]); /* "g 0.25" */
    }
    weft_metrics_double(&t, "", none, 64e-6);
    assert_string_equal(out.data + at, "g 0.000064\n");
    weft_metrics_double(&t, "", none, 12.5);
    assert_string_equal(out.data + at, "g 0.000064\ng 12.5\n");
    static const char begin[] = "g NaN\ng +Inf\ng -Inf\ng{k=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n";
    assert_memory_equal(out.data, begin, sizeof(begin) - 1);
    weft_buffer_fini(&out);
}

static void labels_are_escaped_and_cut_whole(void **state)
{
    (void)state;
    char text[32] = "";
    weft_label_text(text, sizeof(text), "a", "x\"\\\n");
    weft_label_text(text, sizeof(text), "b", "y");
    assert_string_equal(text, "a=\"x\\\"\\\\\\n\",b=\"y\"");
    char small[12] = "";
    weft_label_text(small, sizeof(small), "a", "1234567\"9"); /* 12 bytes: 3 + 7 + quote + NUL; the escape does not fit */
    assert_string_equal(small, "a=\"1234567\"");
    char utf8[8] = "";
    weft_label_text(utf8, sizeof(utf8), "a", "\xe4\xb8\xad\xe4\xb8\xad");
    assert_string_equal(utf8, "a=\"\xe4\xb8\xad\"");
}

static bool wants(const char *accept)
{
    weft_http_slice s = {accept, strlen(accept)};
    return weft_metrics_wants_openmetrics(&s);
}

static void accept_decides(void **state)
{
    (void)state;
    assert_false(weft_metrics_wants_openmetrics(NULL));
    assert_false(wants(""));
    assert_false(wants("*/*"));
    assert_false(wants("text/html,application/xhtml+xml,*/*;q=0.8"));
    assert_true(wants("application/openmetrics-text"));
    assert_true(wants("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    /* what Prometheus 2 sends */
    assert_true(wants("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
    assert_false(wants("application/openmetrics-text;q=0.2, text/plain;q=0.9"));
    assert_false(wants("application/openmetrics-text;q=0"));
    assert_false(wants(",;,;q=,q=1;;"));
}

/* ---- the process ---------------------------------------------------------------------------------------------------------- */

static void counts_descriptors(void **state)
{
    (void)state;
    weft_process_stats before, after;
    weft_process_stats_read(&before);
    int fds[7];
    for (int i = 0; i < 7; i++)
        assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    weft_process_stats_read(&after);
    for (int i = 0; i < 7; i++)
        close(fds[i]);
    assert_int_equal(after.n_fds, before.n_fds + 7);
    assert_true(before.n_fds >= 1 && before.max_fds >= before.n_fds);
    assert_true(before.n_threads >= 1 && before.resident_bytes > 100000 && before.virtual_bytes >= before.resident_bytes);
    assert_true(before.start_unix_seconds > 1.7e9 && before.cpu_seconds >= 0);
}

/* ---- the document against the table --------------------------------------------------------------------------------------- */

static const char config[] = "server: {port: 0}\n"
                             "log: {level: error}\n"
                             "models:\n"
                             "  - name: a\n"
                             "    path: m.fake\n"
                             "    backend: fake\n"
                             "    max_batch: 4\n"
                             "    fake:\n"
                             "      inputs: [{name: x, dtype: FP32, shape: [-1, 2]}]\n"
                             "      outputs: [{name: y, dtype: FP32, shape: [-1, 2]}]\n"
                             "  - name: b\n"
                             "    version: 'v\"2'\n"
                             "    path: m.fake\n"
                             "    backend: fake\n"
                             "    fake:\n"
                             "      inputs: [{name: x, dtype: FP32, shape: [-1, 2]}]\n"
                             "      outputs: [{name: y, dtype: FP32, shape: [-1, 2]}]\n";

static weft_engine *engine;
static weft_server *server;
static weft_server_options options;

static void write_file(const char *dir, const char *name, const char *text, char *path, size_t n_path)
{
    snprintf(path, n_path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static uint64_t dropped(void *cookie)
{
    (void)cookie;
    return 5;
}
static const weft_server_hooks hooks = {.dropped_lines = dropped};

static int start(void **state)
{
    (void)state;
    char dir[] = "/tmp/weft-metrics-XXXXXX", yaml[64], fake[64];
    weft_error err = {0};
    if (!mkdtemp(dir))
        return -1;
    write_file(dir, "m.fake", "# described by the options\n", fake, sizeof(fake));
    write_file(dir, "weft.yaml", config, yaml, sizeof(yaml));
    weft_status st = weft_engine_open(yaml, &engine, &err);
    unlink(fake);
    unlink(yaml);
    rmdir(dir);
    options = (weft_server_options){.host = "127.0.0.1",
                                    .loops = 2,
                                    .max_connections = 10,
                                    .max_head_bytes = 16384,
                                    .max_body_bytes = 1 << 20,
                                    .head_timeout_ms = 1000,
                                    .idle_timeout_ms = 1000,
                                    .write_timeout_ms = 1000,
                                    .body_timeout_ms = 1000,
                                    .min_body_rate = 1000};
    if (!st)
        st = weft_server_create(engine, &options, NULL, NULL, &server, &err);
    if (st)
        fprintf(stderr, "%s\n", err.text);
    else
        weft_server_set_hooks(server, &hooks);
    return st ? -1 : 0;
}

static int stop(void **state)
{
    (void)state;
    weft_server_stop(server);
    weft_engine_destroy(&engine);
    weft_server_destroy(&server);
    return 0;
}

static char *scrape(bool open_metrics)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_metrics_write(server, open_metrics, &out);
    assert_false(out.failed);
    return (char *)out.data;
}

/* The value behind the sample that begins with the text; fails when there is none. */
static double value(const char *doc, const char *sample)
{
    size_t n = strlen(sample);
    for (const char *p = doc; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, sample, n) == 0 && p[n] == ' ')
            return strtod(p + n + 1, NULL);
    fail_msg("no sample %s", sample);
    return 0;
}

static void infer(const char *model, int n)
{
    float data[2] = {1, 2};
    weft_input in = {.name = "x",
                     .tensor = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {1, 2}, .data = data, .n_bytes = 8}};
    weft_call call = {.model = model, .inputs = &in, .n_inputs = 1, .timeout_ms = 20000};
    for (int i = 0; i < n; i++) {
        weft_result *r = NULL;
        weft_error err;
        if (weft_infer(engine, &call, &r, &err))
            fail_msg("%s", err.text);
        weft_result_unref(r);
    }
}

/* The names of the labels of a sample, joined by commas, without `le`. The values hold escapes. */
static const char *label_names(const char *p, char *names, size_t n_names)
{
    size_t n = 0;
    names[0] = 0;
    if (*p != '{')
        return p;
    for (p++; *p != '}'; p += *p == ',') {
        const char *eq = strchr(p, '=');
        assert_non_null(eq);
        if (!(eq - p == 2 && memcmp(p, "le", 2) == 0))
            n += (size_t)snprintf(names + n, n_names - n, "%s%.*s", n ? "," : "", (int)(eq - p), p);
        assert_int_equal(eq[1], '"');
        for (p = eq + 2; *p != '"'; p++)
            p += *p == '\\';
        p++;
    }
    return p + 1;
}

/* Every sample belongs to a declared metric and has exactly its labels; every declared metric has a sample. */
static void the_table_and_the_document_agree(void **state)
{
    (void)state;
    infer("a", 1);
    weft_http_count_answer(&server->loops[0].counters, 0, 200, 1000);
    weft_http_count_answer(&server->loops[1].counters, WEFT_ROUTE_NONE, 404, 1000);
    weft_http_count_answer(&server->loops[1].counters, WEFT_ROUTE_OTHER, 777, 1000);
    size_t n;
    const weft_metric_decl *decls = weft_metrics(&n);
    for (int format = 0; format < 2; format++) {
        bool seen[WEFT_N_METRICS] = {false};
        char *doc = scrape(format == 1);
        for (char *line = doc; *line; line = strchr(line, '\n') + 1) {
            if (*line == '#')
                continue;
            char name[128], labels[128];
            size_t length = strcspn(line, "{ ");
            snprintf(name, sizeof(name), "%.*s", (int)length, line);
            const weft_metric_decl *d = weft_metric_find(name);
            static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
            for (int i = 0; i < 3 && !d; i++) {
                size_t k = strlen(suffixes[i]);
                if (length > k && strcmp(name + length - k, suffixes[i]) == 0) {
                    name[length - k] = 0;
                    d = weft_metric_find(name);
                    assert_true(!d || d->kind == WEFT_METRIC_HISTOGRAM);
                }
            }
            if (!d)
                fail_msg("not declared: %.80s", line);
            assert_int_equal(*label_names(line + length, labels, sizeof(labels)), ' ');
            if (strcmp(labels, d->labels) != 0)
                fail_msg("%s has the labels %s, declared are %s", name, labels, d->labels);
            seen[d - decls] = true;
        }
        for (size_t i = 0; i < n; i++)
            if (!seen[i])
                fail_msg("declared, and no sample: %s", decls[i].name);
        if (format)
            assert_string_equal(doc + strlen(doc) - 6, "# EOF\n");
        free(doc);
    }
}

static void values_are_true(void **state)
{
    (void)state;
    char *before = scrape(false);
    infer("a", 7);
    weft_error err;
    weft_result *r = NULL;
    weft_call wrong = {.model = "a"};
    assert_int_not_equal(weft_infer(engine, &wrong, &r, &err), WEFT_OK); /* refused before it is accepted: counted nowhere */
    char *doc = scrape(false);
    const char *ok = "weft_requests_total{model=\"a\",version=\"1\",outcome=\"succeeded\"}";
    assert_true(value(doc, ok) == value(before, ok) + 7);
    assert_true(value(doc, "weft_request_duration_seconds_count{model=\"a\",version=\"1\"}") == value(doc, ok));
    assert_true(value(doc, "weft_request_duration_seconds_bucket{model=\"a\",version=\"1\",le=\"+Inf\"}") == value(doc, ok));
    assert_true(value(doc, "weft_stage_duration_seconds_count{model=\"a\",version=\"1\",stage=\"run\"}") == value(doc, ok));
    assert_true(value(doc, "weft_stage_duration_seconds_count{model=\"a\",version=\"1\",stage=\"queue\"}") == value(doc, ok));
    double whole = value(doc, "weft_request_duration_seconds_sum{model=\"a\",version=\"1\"}");
    double parts = 0;
    static const char *const stages[] = {"queue", "preprocess", "run", "postprocess"};
    for (int i = 0; i < 4; i++) {
        char sample[128];
        snprintf(sample, sizeof(sample), "weft_stage_duration_seconds_sum{model=\"a\",version=\"1\",stage=\"%s\"}", stages[i]);
        parts += value(doc, sample);
    }
    assert_true(fabs(whole - parts) < 1e-6); /* of a simple model: every moment belongs to one stage */
    assert_true(value(doc, "weft_batch_rows_count{model=\"a\",version=\"1\"}") ==
                value(doc, "weft_runs_total{model=\"a\",version=\"1\"}"));
    assert_true(value(doc, "weft_model_state{model=\"a\",version=\"1\",state=\"ready\"}") == 1);
    assert_true(value(doc, "weft_model_state{model=\"a\",version=\"1\",state=\"failed\"}") == 0);
    assert_true(value(doc, "weft_requests_accepted_total{model=\"b\",version=\"v\\\"2\"}") == 0);
    assert_true(value(doc, "weft_log_dropped_lines_total") == 5);
    assert_true(value(doc, "weft_ready") == 1);
    assert_true(value(doc, "weft_cores_busy") <= value(doc, "weft_cores")); /* a token goes back a moment after the answer */
    free(before);
    free(doc);
}

static void answers_fall_into_their_columns(void **state)
{
    (void)state;
    weft_http_counters *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    weft_http_count_answer(c, 3, 429, 100000);      /* exactly the first bound: in it */
    weft_http_count_answer(c, 3, 429, 100001);      /* past it */
    weft_http_count_answer(c, 3, 200, 61000000000); /* over the last */
    size_t code = 0;
    while (weft_http_counted_code(code) != 429)
        code++;
    assert_int_equal(c->answers[3][code], 2);
    assert_int_equal(c->times[3][0], 1);
    assert_int_equal(c->times[3][1], 1);
    assert_int_equal(c->times[3][WEFT_COUNTED_TIMES - 1], 1);
    assert_int_equal(c->time_ns[3], 61000200001);
    for (size_t i = 1; i < WEFT_COUNTED_TIMES - 1; i++)
        assert_true(weft_http_time_bounds[i] > weft_http_time_bounds[i - 1]);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_both_formats),
        cmocka_unit_test(writes_numbers_that_are_none),
        cmocka_unit_test(labels_are_escaped_and_cut_whole),
        cmocka_unit_test(accept_decides),
        cmocka_unit_test(counts_descriptors),
        cmocka_unit_test(the_table_and_the_document_agree),
        cmocka_unit_test(values_are_true),
        cmocka_unit_test(answers_fall_into_their_columns),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
