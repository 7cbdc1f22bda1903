/* How mistakes are shown: text with the line and a caret, JSON, bounds, order. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "models:\n  - name: m\n    max_batch: many\n\t- tab\n\xe6\xa8\xa1\xe5\x9e\x8b: \"x\" # wide\r\n";

static weft_place place(int line, int column, int n)
{
    return (weft_place){.line = line, .column = column, .n_chars = n};
}

static const char *printed(const weft_diagnostics *d, bool colour)
{
    static char text[65536];
    weft_buffer b;
    weft_buffer_init(&b, 0);
    weft_diagnostics_print(d, &b, colour);
    assert_false(b.failed);
    snprintf(text, sizeof(text), "%s", b.data ? (const char *)b.data : "");
    weft_buffer_fini(&b);
    return text;
}

static void test_text(void **state)
{
    weft_diagnostics *d = weft_diagnostics_create();
    assert_string_equal(printed(d, false), "");
    weft_diagnostics_source(d, "w.yaml", source, sizeof(source) - 1);
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(3, 16, 4), "models[0].max_batch", "may", "got %s", "\"many\"");
    weft_diagnostics_add(d, WEFT_SEVERITY_WARNING, place(4, 2, 0), NULL, NULL, "tab");
    weft_diagnostics_add(d, WEFT_SEVERITY_NOTE, place(5, 5, 3), "", NULL, "wide");
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(5, 1, 2), "", NULL, "wide mark");
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(2, 12, 0), "", NULL, "behind the end");
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(99, 1, 0), "", NULL, "no such line");
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(0, 0, 0), "", NULL, "no place");
    assert_string_equal(printed(d, false), "w.yaml:3:16: error: models[0].max_batch: got \"many\"; did you mean \"may\"?\n"
                                           "    3 |     max_batch: many\n"
                                           "      |                ^~~~\n"
                                           "w.yaml:4:2: warning: tab\n"
                                           "    4 | \t- tab\n"
                                           "      | \t^\n"
                                           "w.yaml:5:5: note: wide\n"
                                           "    5 | \xe6\xa8\xa1\xe5\x9e\x8b: \"x\" # wide\n"
                                           "      |       ^~~\n"
                                           "w.yaml:5:1: error: wide mark\n"
                                           "    5 | \xe6\xa8\xa1\xe5\x9e\x8b: \"x\" # wide\n"
                                           "      | ^~~~\n"
                                           "w.yaml:2:12: error: behind the end\n"
                                           "    2 |   - name: m\n"
                                           "      |            ^\n"
                                           "w.yaml:99:1: error: no such line\n"
                                           "w.yaml: error: no place\n"
                                           "5 errors, 1 warning\n");
    assert_int_equal(weft_diagnostics_errors(d), 5);
    assert_int_equal(weft_diagnostics_warnings(d), 1);
    assert_non_null(strstr(printed(d, true), "\033[1;31merror:\033[0m "));
    weft_diagnostics_sort(d);
    static const int lines[] = {0, 2, 3, 4, 5, 5, 99};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(weft_diagnostics_at(d, i)->place.line, lines[i]);
    assert_int_equal(weft_diagnostics_at(d, 4)->place.column, 1);
    assert_null(weft_diagnostics_at(d, 7));
    weft_diagnostics_destroy(&d);
    weft_diagnostics_destroy(&d);
    weft_diagnostics_destroy(NULL);
}

static void test_a_long_line_is_cut_around_the_place(void **state)
{
    char line[1001];
    memset(line, 'x', sizeof(line));
    line[500] = 'O';
    line[1000] = 0;
    weft_diagnostics *d = weft_diagnostics_create();
    weft_diagnostics_source(d, "w", line, 1000);
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(1, 501, 0), NULL, NULL, "here");
    const char *quoted = strchr(printed(d, false), '\n') + 1, *under = strchr(quoted, '\n') + 1;
    assert_true(under - quoted < 160);
    assert_int_equal(strchr(quoted, 'O') - quoted, strchr(under, '^') - under);
    assert_memory_equal(quoted, "    1 | ...x", 12);
    weft_diagnostics_destroy(&d);
}

static void test_control_characters_of_the_file_are_not_printed(void **state)
{
    weft_diagnostics *d = weft_diagnostics_create();
    weft_diagnostics_source(d, "w", "a\x1b[31m\xff:", 8);
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(1, 1, 0), NULL, NULL, "x");
    assert_non_null(strstr(printed(d, false), "    1 | a?[31m?:\n"));
    weft_diagnostics_destroy(&d);
}

static void test_json(void **state)
{
    weft_buffer b;
    weft_diagnostics *d = weft_diagnostics_create();
    weft_buffer_init(&b, 0);
    weft_diagnostics_source(d, "a\"b\\.yaml", "", 0);
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(3, 16, 4), "k", "may", "a \"q\"\n\x01 \xe6\xa8\xa1");
    weft_diagnostics_add(d, WEFT_SEVERITY_NOTE, place(0, 0, 0), NULL, NULL, "n");
    weft_diagnostics_json(d, &b);
    assert_string_equal(
        (const char *)b.data,
        "{\"file\":\"a\\\"b\\\\.yaml\",\"errors\":1,\"warnings\":0,\"diagnostics\":["
        "{\"severity\":\"error\",\"line\":3,\"column\":16,\"length\":4,\"key\":\"k\",\"message\":\"a \\\"q\\\"\\u000a\\u0001 "
        "\xe6\xa8\xa1\",\"suggestion\":\"may\"},"
        "{\"severity\":\"note\",\"line\":0,\"column\":0,\"length\":0,\"key\":\"\",\"message\":\"n\",\"suggestion\":null}]}\n");
    weft_buffer_fini(&b);
    weft_diagnostics_destroy(&d);
}

static void test_bounds_and_status(void **state)
{
    weft_error err;
    weft_diagnostics *d = weft_diagnostics_create();
    assert_int_equal(weft_diagnostics_status(d, &err), WEFT_OK);
    assert_int_equal(weft_diagnostics_status(NULL, &err), WEFT_OK);
    weft_diagnostics_add(d, WEFT_SEVERITY_WARNING, place(1, 1, 0), NULL, NULL, "only a warning");
    assert_int_equal(weft_diagnostics_status(d, &err), WEFT_OK);
    for (int i = 1; i <= 150; i++)
        weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(i, 1, 0), "key", NULL, "mistake %d", i);
    assert_int_equal(weft_diagnostics_count(d), 100);
    assert_int_equal(weft_diagnostics_errors(d), 150);
    assert_int_equal(weft_diagnostics_status(d, &err), WEFT_E_CONFIG);
    assert_memory_equal(err.text, "1:1: key: mistake 1\n2:1: key: mistake 2\n", 40);
    const char *end = strstr(err.text, "\nand ");
    assert_non_null(end);
    int said = 0, more = 0;
    for (const char *s = err.text; (s = strstr(s, "mistake")); s++)
        said++;
    assert_int_equal(sscanf(end, "\nand %d more", &more), 1);
    assert_int_equal(said + more, 150);
    assert_int_equal(weft_diagnostics_status(d, NULL), WEFT_E_CONFIG);
    assert_non_null(strstr(printed(d, false), "and 51 more\n150 errors, 1 warning\n"));
    weft_diagnostics_add(NULL, WEFT_SEVERITY_ERROR, place(1, 1, 0), NULL, NULL, "nobody listens");
    weft_diagnostics_destroy(&d);
}

static void test_a_huge_message_is_cut_at_a_character(void **state)
{
    char text[6001] = "";
    for (int i = 0; i < 2000; i++)
        memcpy(text + 3 * i, "\xe6\xa8\xa1", 4);
    weft_diagnostics *d = weft_diagnostics_create();
    weft_diagnostics_add(d, WEFT_SEVERITY_ERROR, place(1, 1, 0), NULL, NULL, "%s", text);
    size_t n = strlen(weft_diagnostics_at(d, 0)->text);
    assert_true(n > 1000 && n < 2048 && n % 3 == 0);
    weft_diagnostics_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_a_long_line_is_cut_around_the_place),
        cmocka_unit_test(test_control_characters_of_the_file_are_not_printed),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_bounds_and_status),
        cmocka_unit_test(test_a_huge_message_is_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
