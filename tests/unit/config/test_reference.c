/* The manual holds every declared key, result field and backend; rows as written here by hand. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

#include "base/option_text.h"
#include "config/reference.h"

static char *page(void)
{
    weft_buffer b;
    weft_buffer_init(&b, 0);
    weft_config_reference(help_executors, help_backends, &b);
    assert_false(b.failed);
    char *s = strdup((const char *)b.data);
    weft_buffer_fini(&b);
    return s;
}

static void has(const char *text, const char *piece)
{
    if (!strstr(text, piece))
        fail_msg("missing: %s", piece);
}

static void test_rows(void **state)
{
    char *s = page();
    has(s, "\n### type: kinds\n\nevery kind of option\n");
    has(s, "| `whole`, `int`, `integer` | a whole number from -10 to 1000000 rows | `5` | h |\n");
    has(s, "| `text` | text of at most 40 bytes |  | h |\n");
    has(s, "| `word` | `slow`, `fast`, `letterbox` | `fast` | h |\n");
    has(s, "| `wait_ms` | a duration from 0 to 1d | `2s` | h |\n");
    has(s, "| `numbers` | list, each a number from 0 to 255; at most 4 | `[0.5, 1]` | h |\n");
    has(s, "| `file` | path |  | h |\n");
    has(s, "| `inner.count` | a whole number from 0 to 1000000000000000 | `7` | h |\n");
    has(s, "| `blocks[].label` | text | `none` | h |\n");
    has(s, "| `named.KEY.level` | a whole number from -5 to 5 | `1` | h |\n");
    has(s, "\n**`word`**\n\n- `slow`: careful\n- `fast`: careless\n- `letterbox`: \n");
    has(s, "\n### type: ocr\n\nreads\n\nAlso called `OcrExecutor`.\n\nA paragraph.\n\nInput: one encoded picture, `image`.\n");
    has(s, "| `part` | required | does it |\n");
    has(s, "| `orient` | optional | turns |\n");
    has(s, "| `points` | points (6) | FP32 | yes | where, px |\n");
    has(s, "\n### backend: onnxruntime\n\nruns .onnx\n\nFiles: `.onnx`\n");
    has(s, "| `spin_us` | a whole number from 0 to 100 | `3` | h |\n");
    has(s, "\n### backend: toy\n\n\n\nFiles: `.toy`\n\nNo options of its own.\n");
    has(s, "Result: the outputs of the model, one tensor each.\n");
    has(s, "| `name` | text of at most 64 bytes | required | ");
    has(s, "| `path`, `om_path`, `paths` | ");
    free(s);
}

/* No key is left out, whatever is added later. */
static void every_key(const char *text, const weft_option *table, const char *prefix)
{
    char row[300], inner[200];
    for (const weft_option *o = table; o->kind != WEFT_OPT_END; o++) {
        snprintf(row, sizeof(row), "\n| `%s%s`", prefix, o->name);
        has(text, row);
        if (o->kind == WEFT_OPT_STRUCT) {
            snprintf(inner, sizeof(inner), "%s%s.", prefix, o->name);
            every_key(text, o->fields, inner);
        }
    }
}

static void test_every_key(void **state)
{
    char *s = page();
    every_key(s, weft_model_option_table, "");
    every_key(s, weft_engine_option_table, "");
    every_key(s, weft_server_option_table, "");
    every_key(s, weft_log_option_table, "");
    for (size_t i = 0; help_executors[i]; i++)
        if (help_executors[i]->options)
            every_key(s, help_executors[i]->options, "");
    free(s);
}

/* A bar in a cell would end it. */
static void test_cells_are_whole(void **state)
{
    char *s = page();
    for (char *line = s; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int bars = 0;
        for (char *p = line; *p && *p != '\n'; p++)
            bars += *p == '|' && (p == line || p[-1] != '\\');
        if (line[0] == '|')
            assert_true(bars == 3 || bars == 4 || bars == 5 || bars == 6);
        else
            assert_int_equal(bars, 0);
    }
    free(s);
}

static void test_same_bytes_each_time(void **state)
{
    char *a = page(), *b = page();
    assert_string_equal(a, b);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_cells_are_whole),
        cmocka_unit_test(test_same_bytes_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
