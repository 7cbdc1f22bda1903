/* Log lines, files, rotation, loss. */
#include "harness/cmocka_all.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/log_file.h"
#include "log/log_line.h"
#include "log/log_sink.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/weft-log-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    return rmdir(dir);
}

/* Number of files whose name starts with prefix; the content of the last one in name order goes to text. */
static int files(const char *prefix, char *text, size_t n_text)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort), found = 0;
    char path[512] = "";
    for (int i = 0; i < n; i++) {
        if (strncmp(list[i]->d_name, prefix, strlen(prefix)) == 0) {
            found++;
            snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
        }
        free(list[i]);
    }
    free(list);
    if (text) {
        text[0] = 0;
        int fd = open(path, O_RDONLY);
        if (fd >= 0) {
            ssize_t got = read(fd, text, n_text - 1);
            text[got > 0 ? got : 0] = 0;
            close(fd);
        }
    }
    return found;
}

static void lines_are_well_formed(void **state)
{
    (void)state;
    char buf[512];
    weft_log_line l;
    weft_log_line_begin(&l, buf, sizeof(buf), WEFT_LOG_FORMAT_TEXT, WEFT_LOG_WARN, "model_unhealthy", "ocr");
    weft_log_line_text(&l, "cause", "3 runs failed: \"x\"\n");
    weft_log_line_ms(&l, "wait_ms", 1234567);
    buf[weft_log_line_end(&l)] = 0;
    assert_string_equal(strchr(buf, 'Z'),
                        "Z WARN  model_unhealthy model=ocr cause=\"3 runs failed: \\\"x\\\"\\u000a\" wait_ms=1.235\n");
    weft_log_line_begin(&l, buf, sizeof(buf), WEFT_LOG_FORMAT_JSON, WEFT_LOG_INFO, "e", "");
    weft_log_line_text(&l, "k", "a\xff\tb");
    weft_log_line_int(&l, "n", -5);
    buf[weft_log_line_end(&l)] = 0;
    assert_string_equal(strchr(buf, 'Z'), "Z\",\"level\":\"INFO\",\"event\":\"e\",\"k\":\"a\xef\xbf\xbd\\u0009b\",\"n\":-5}\n");
}

static void a_long_value_is_cut_and_stays_well_formed(void **state)
{
    (void)state;
    char buf[256], value[1000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = 0;
    weft_log_line l;
    weft_log_line_begin(&l, buf, sizeof(buf), WEFT_LOG_FORMAT_JSON, WEFT_LOG_INFO, "e", "");
    weft_log_line_text(&l, "k", value);
    weft_log_line_text(&l, "gone", "y");
    size_t n = weft_log_line_end(&l);
    assert_true(n <= sizeof(buf));
    assert_memory_equal(buf + n - 4, "x\"}\n", 4);
}

static void files_rotate_and_old_ones_go(void **state)
{
    (void)state;
    weft_log_file f;
    weft_error err;
    weft_log_file_init(&f, dir, "a", 100, 0, 3);
    char line[60];
    memset(line, 'l', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 20; i++)
        assert_int_equal(weft_log_file_write(&f, line, sizeof(line), &err), WEFT_OK);
    weft_log_file_fini(&f);
    assert_int_equal(files("a-", NULL, 0), 3);
    /* a neighbour whose name starts the same keeps its files */
    weft_log_file_init(&f, dir, "a-b", 100, 0, 1);
    assert_int_equal(weft_log_file_write(&f, line, sizeof(line), &err), WEFT_OK);
    weft_log_file_fini(&f);
    weft_log_file_init(&f, dir, "a", 100, 0, 1);
    assert_int_equal(weft_log_file_write(&f, line, sizeof(line), &err), WEFT_OK);
    weft_log_file_fini(&f);
    assert_int_equal(files("a-b-", NULL, 0), 1);
    assert_int_equal(files("a-", NULL, 0), 2);
}

static weft_log_options options_for(int format)
{
    return (weft_log_options){
        .directory = dir, .level = WEFT_LOG_INFO, .format = format, .per_model = true, .rotate_bytes = 1 << 20, .keep_files = 5};
}

static void a_request_has_its_line_in_its_models_log(void **state)
{
    (void)state;
    weft_log_sink *s;
    weft_error err;
    weft_log_options o = options_for(WEFT_LOG_FORMAT_TEXT);
    o.slow_ms = 5;
    assert_int_equal(weft_log_sink_create(&o, &s, &err), WEFT_OK);
    weft_result r = {.id = "req-1",
                     .model = "face",
                     .version = "1",
                     .n_items = 2,
                     .timing = {.arrived_unix_ns = 5000000,
                                .queue_ns = 1000000,
                                .preprocess_ns = 2000000,
                                .run_ns = 3000000,
                                .postprocess_ns = 500000,
                                .total_ns = 6500000,
                                .batch_rows = 4}};
    weft_log_sink_observe(s, &r, "00-abc");
    weft_log_sink_write(s, WEFT_LOG_DEBUG, "hidden", "", "below the level");
    weft_log_sink_write(s, WEFT_LOG_INFO, "shown", "", "hello world");
    weft_log_sink_flush(s);
    char text[4096];
    assert_int_equal(files("face-", text, sizeof(text)), 1);
    assert_non_null(
        strstr(text, "request model=face id=req-1 status=OK arrived_unix_ms=5 queue_ms=1.000 preprocess_ms=2.000 run_ms=3.000 "
                     "postprocess_ms=0.500 total_ms=6.500 batch=4 items=2 bytes=0 trace=00-abc\n"));
    assert_int_equal(files("weft-", text, sizeof(text)), 1);
    assert_non_null(strstr(text, "shown message=\"hello world\"\n"));
    assert_non_null(strstr(text, "id=req-1")); /* slow: also here */
    assert_null(strstr(text, "hidden"));
    weft_log_sink_destroy(&s);
}

static void access_lines_go_to_their_own_file(void **state)
{
    (void)state;
    weft_log_sink *s;
    weft_error err;
    char text[4096];
    weft_log_options o = options_for(WEFT_LOG_FORMAT_TEXT);
    assert_int_equal(weft_log_sink_create(&o, &s, &err), WEFT_OK);
    weft_access a = {.method = "POST",
                     .path = "/v1/models/a/predict?x=\"1 2\"",
                     .peer = "127.0.0.1:40000",
                     .id = "r-1",
                     .trace = "00-abc",
                     .status = 200,
                     .n_received_bytes = 10,
                     .n_sent_bytes = 20,
                     .total_ns = 1234567};
    weft_log_sink_access(s, &a);
    a = (weft_access){.method = "", .path = "", .peer = "unix", .id = "", .trace = "", .status = 400};
    weft_log_sink_access(s, &a);
    weft_log_sink_flush(s);
    assert_int_equal(files("weft-", NULL, 0), 0);
    assert_int_equal(files("access-", text, sizeof(text)), 1);
    assert_string_equal(strchr(strchr(text, '\n') + 1, 'Z'),
                        "Z INFO  access method=- path=- status=400 ms=0.000 received=0 sent=0 peer=unix\n");
    *(strchr(text, '\n') + 1) = 0;
    assert_string_equal(strchr(text, 'Z'),
                        "Z INFO  access method=POST path=\"/v1/models/a/predict?x=\\\"1 2\\\"\" status=200 ms=1.235 "
                        "received=10 sent=20 peer=127.0.0.1:40000 id=r-1 trace=00-abc\n");
    weft_log_sink_destroy(&s);
}

static void lost_lines_are_counted_and_told(void **state)
{
    (void)state;
    weft_log_sink *s;
    weft_error err;
    weft_log_options o = options_for(WEFT_LOG_FORMAT_TEXT);
    assert_int_equal(weft_log_sink_create(&o, &s, &err), WEFT_OK);
    char long_line[1500];
    memset(long_line, 'z', sizeof(long_line) - 1);
    long_line[sizeof(long_line) - 1] = 0;
    for (int i = 0; i < 200000 && weft_log_sink_dropped(s) == 0; i++)
        weft_log_sink_write(s, WEFT_LOG_INFO, "flood", "", long_line);
    uint64_t dropped = weft_log_sink_dropped(s);
    weft_log_sink_write(s, WEFT_LOG_INFO, "after", "", "still alive");
    weft_log_sink_flush(s);
    weft_log_sink_destroy(&s);
    if (dropped == 0) /* a disk faster than the flood: nothing was lost, nothing to tell */
        return;
    char cmd[256];
    snprintf(cmd, sizeof(cmd), "grep -q 'log_dropped lines=' %s/weft-*.log", dir);
    assert_int_equal(system(cmd), 0);
}

static void a_folder_that_cannot_be_made_is_refused(void **state)
{
    (void)state;
    weft_log_sink *s;
    weft_error err;
    weft_log_options o = options_for(WEFT_LOG_FORMAT_TEXT);
    o.directory = "/dev/null/logs";
    assert_int_equal(weft_log_sink_create(&o, &s, &err), WEFT_E_IO);
    assert_null(s);
    assert_non_null(strstr(err.text, "/dev/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_well_formed),
        cmocka_unit_test(a_long_value_is_cut_and_stays_well_formed),
        cmocka_unit_test_setup_teardown(files_rotate_and_old_ones_go, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_request_has_its_line_in_its_models_log, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(access_lines_go_to_their_own_file, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(lost_lines_are_counted_and_told, make_dir, remove_dir),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
