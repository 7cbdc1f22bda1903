/* Files that are wrong: every diagnostic with its place, what was expected, what came, and the nearest key. Read by eye, line by
 * line. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text, *want;
} cases[] = {
    {"an unknown key, near a known one and not",
     "models:\n"
     "- name: m\n"
     "  path: m.onnx\n"
     "  max_bach: 4\n"
     "  preproces: {}",
     "4:3 models[0]: unknown key \"max_bach\"; did you mean \"max_batch\"?\n"
     "5:3 models[0]: unknown key \"preproces\"; known here: name, type, path, backend, version, device_id, max_batch, "
     "batch_window_ms, queue_size, queue_bytes, ready_rows, instances, threads, priority, weight, max_cores, timeout_ms, "
     "run_timeout_ms, "
     "cohort_wait_ms, concurrency, memory_limit, required, warmup, hidden, onnxruntime, toy, acl\n"},
    {"every kind of value",
     "models:\n"
     "- name: m\n"
     "  type: kinds\n"
     "  path: m.onnx\n"
     "  whole: many\n"
     "  real: 2\n"
     "  flag: 3\n"
     "  word: fst\n"
     "  wait_ms: 5 minutes\n"
     "  room_bytes: -1\n"
     "  area: [640]\n"
     "  numbers: [1, 2, 3, 4, 5]\n"
     "  texts: {a: 1}\n"
     "  files: \"\"\n"
     "  inner: [1]\n"
     "  blocks: {count: 1}\n"
     "  named: [1]\n"
     "  pass: {a: [1]}",
     "5:10 models[0].whole: expected a whole number from -10 to 1000000 rows, got \"many\"\n"
     "6:9 models[0].real: expected a number from 0 to 1, got \"2\"\n"
     "7:9 models[0].flag: expected true or false, got \"3\"\n"
     "8:9 models[0].word: expected one of slow, fast, letterbox, got \"fst\"; did you mean \"fast\"?\n"
     "9:12 models[0].wait_ms: expected a duration from 0 to 1d, like 250ms or 5s, got \"5 minutes\"\n"
     "10:15 models[0].room_bytes: expected a number of bytes from 0 to 1000TB, like 64MB, got \"-1\"\n"
     "11:9 models[0].area: expected a size with sides from 1 to 8192, like [640, 480], got a list of 1\n"
     "12:12 models[0].numbers: expected at most 4 entries, got 5\n"
     "13:10 models[0].texts: expected a list (each text), got a block of keys\n"
     "14:10 models[0].files: expected a path, got an empty text\n"
     "15:10 models[0].inner: expected a block of settings, got a list\n"
     "16:11 models[0].blocks: expected a list of blocks, got a block of keys\n"
     "17:10 models[0].named: expected named blocks, got a list\n"
     "18:13 models[0].pass.a: expected one value that is handed on as text, got a list\n"},
    {"blocks inside of blocks",
     "models:\n"
     "- name: m\n"
     "  type: kinds\n"
     "  path: m.onnx\n"
     "  inner:\n"
     "    cuont: 1\n"
     "    whole: 3\n"
     "  count: 5\n"
     "  blocks:\n"
     "  - count: x\n"
     "  - whole: 1\n"
     "  named:\n"
     "    one: {level: 9, lvl: 1}\n"
     "  numbers: [1, x, 999]",
     "6:5 models[0].inner: unknown key \"cuont\"; did you mean \"count\"?\n"
     "7:5 models[0].inner: unknown key \"whole\": it belongs further out, not into this block\n"
     "8:3 models[0]: unknown key \"count\"; did you mean \"inner.count\"?\n"
     "10:12 models[0].blocks[0].count: expected a whole number from 0 to 1000000000000000, got \"x\"\n"
     "11:5 models[0].blocks[1]: unknown key \"whole\": it belongs further out, not into this block\n"
     "13:18 models[0].named.one.level: expected a whole number from -5 to 5, got \"9\"\n"
     "13:21 models[0].named.one: unknown key \"lvl\"; known here: level, active\n"
     "14:16 models[0].numbers[1]: expected a number from 0 to 255, got \"x\"\n"
     "14:19 models[0].numbers[2]: expected a number from 0 to 255, got \"999\"\n"},
    {"names",
     "models:\n"
     "- name: m\n"
     "  path: m.onnx\n"
     "  name: n\n"
     "- name: 'a b'\n"
     "  path: m.onnx\n"
     "- path: x.onnx\n"
     "- name: m\n"
     "  path: y.onnx",
     "4:3 models[0]: the key \"name\" is given twice, first in line 2\n"
     "5:9 models[1].name: expected letters, digits, \".\", \"_\", \"-\" (at most 64, no dot first), got \"a b\"\n"
     "7:3 models[2]: \"name\" is missing: expected text of at most 64 bytes\n"
     "8:9 models[3]: the name \"m\" is taken by the model in line 2\n"},
    {"types, and one option twice",
     "models:\n"
     "- name: m\n"
     "  path: a.onnx\n"
     "  om_path: b.onnx\n"
     "- name: x\n"
     "  type: Clasify\n"
     "  path: m.onnx\n"
     "  labels: l.txt\n"
     "- name: y\n"
     "  type: ocrexecutor\n"
     "  path: m.onnx",
     "4:3 models[0]: \"om_path\" and \"path\" (line 3) are the same option: give one of them\n"
     "6:9 models[1].type: expected an executor (tensor, kinds, ocr, face, classify, pure), got \"Clasify\"; did you mean "
     "\"classify\"?\n"
     "10:9 models[2].type: expected an executor (tensor, kinds, ocr, face, classify, pure), got \"ocrexecutor\"; did you mean "
     "\"OcrExecutor\"?\n"},
    {"no models", "models: []", "1:9 warning models: the list is empty: nothing would be served\n"},
    {"a forgotten type",
     "models:\n"
     "- name: a\n"
     "  path: m.onnx\n"
     "  postprocess: {}\n"
     "- name: b\n"
     "  part: m.onnx\n"
     "  path: m.onnx\n"
     "- {name: c, path: m.onnx, preprocess: {scale: 1}}",
     "4:3 models[0]: \"postprocess\" is not a key of type tensor (which applies because \"type\" is not given); did you forget "
     "\"type: ocr\", \"type: face\" or \"type: classify\"?\n"
     "6:3 models[1]: \"part\" is not a key of type tensor (which applies because \"type\" is not given); did you forget \"type: "
     "pure\"?\n"
     "8:27 models[2]: unknown key \"preprocess\"; known here: name, type, path, backend, version, device_id, max_batch, "
     "batch_window_ms, queue_size, queue_bytes, ready_rows, instances, threads, priority, weight, max_cores, timeout_ms, "
     "run_timeout_ms, cohort_wait_ms, concurrency, memory_limit, required, warmup, hidden, onnxruntime, toy, acl\n"},
    {"backends",
     "models:\n"
     "- {name: a, path: m.bin}\n"
     "- {name: b, path: m.onnx, backend: onxruntime}\n"
     "- {name: c, path: [m.onnx, m.toy]}\n"
     "- {name: d, path: m.onnx, toy: {}}\n"
     "- {name: e, path: m.toy, toy: {}}\n"
     "- {name: f, path: m.om, acl: {x: 1}}\n"
     "- {name: g, type: ocr, detect: a.onnx, recognise: b.onnx, onnxruntime: {spin_us: 1}}\n"
     "- {name: h, path: m.onnx, onnxruntime: {spinus: 101, spin_us: 101}}",
     "2:19 models[0].path: no backend goes with the file name \"m.bin\"; known: .onnx (onnxruntime), .toy (toy), .om (acl); "
     "another name needs \"backend:\"\n"
     "3:36 models[1].backend: expected a backend (onnxruntime, toy, acl), got \"onxruntime\"; did you mean \"onnxruntime\"?\n"
     "4:28 models[2].path: the files of one model must be of one kind: \"m.toy\" runs on toy, the first one on onnxruntime\n"
     "5:27 models[3].toy: these are options of the backend toy, but the model runs on onnxruntime\n"
     "6:26 models[4].toy: the backend toy has no options\n"
     "7:25 warning models[5].acl: the backend acl is not in this build: its options were not read\n"
     "8:59 models[6].onnxruntime: the model has no file of its own that a backend could run: set this in the block of the "
     "sub-model\n"
     "9:41 models[7].onnxruntime: unknown key \"spinus\"; did you mean \"spin_us\"?\n"
     "9:63 models[7].onnxruntime.spin_us: expected a whole number from 0 to 100, got \"101\"\n"},
    {"sub-models",
     "models:\n"
     "- {name: a, type: ocr}\n"
     "- {name: b, type: ocr, detect: d.onnx}\n"
     "- {name: c, type: classify}\n"
     "- {name: d, type: ocr, orient: o.onnx, detect: nowhere, recognise: [1]}\n"
     "- {name: e, type: ocr, recognise: {path: r.onnx, type: kinds, hidden: true, name: x}, detect: {max_batch: 2}}\n"
     "- {name: f, type: ocr, recognise: r.onnx, detect: e}\n"
     "- {name: g, type: ocr, recognise: {path: r.onnx, type: tensor, detect: x}, detect: ee}",
     "2:10 models[0]: \"path\" is missing: the type ocr runs a model file, or the sub-models \"detect\", \"recognise\", "
     "\"orient\"\n"
     "4:10 models[2]: \"path\" is missing: the type classify runs a model file\n"
     "5:48 models[3].detect: expected the name of a model of this file or a model file, got \"nowhere\"\n"
     "5:68 models[3].recognise: expected the name of a model, a model file, or a block with the options of a model, got a list\n"
     "6:56 models[4].recognise.type: a sub-model written in place is always of the type tensor: for another, list the model by "
     "itself and name it here\n"
     "6:63 models[4].recognise: the key \"hidden\" cannot be given here: a sub-model written in place is always hidden\n"
     "6:77 models[4].recognise: the key \"name\" cannot be given here: a sub-model written in place is called MODEL.SLOT\n"
     "6:87 models[4].detect: \"path\" is missing: the type tensor runs a model file\n"
     "7:51 models[5].detect: the model \"e\" works through sub-models itself: a sub-model must be one that runs a file\n"
     "8:64 models[6].recognise: unknown key \"detect\"; known here: type, path, backend, version, device_id, max_batch, "
     "batch_window_ms, queue_size, queue_bytes, ready_rows, instances, threads, priority, weight, max_cores, timeout_ms, "
     "run_timeout_ms, "
     "cohort_wait_ms, concurrency, memory_limit, warmup, onnxruntime, toy, acl\n"
     "8:84 models[6].detect: expected the name of a model of this file or a model file, got \"ee\"; did you mean \"e\"?\n"},
    {"circles",
     "models:\n"
     "- {name: a, type: ocr, path: a.onnx, detect: b}\n"
     "- {name: b, type: ocr, path: b.onnx, detect: c}\n"
     "- {name: c, type: ocr, path: c.onnx, detect: a, recognise: c}",
     "2:46 models[0].detect: the model \"b\" works through sub-models itself: a sub-model must be one that runs a file\n"
     "3:46 models[1].detect: the model \"c\" works through sub-models itself: a sub-model must be one that runs a file\n"
     "4:46 models[2].detect: the model \"a\" works through sub-models itself: a sub-model must be one that runs a file\n"
     "4:60 models[2].recognise: the model \"c\" works through sub-models itself: a sub-model must be one that runs a file\n"},
    {"a pipeline and its own file",
     "models:\n"
     "- {name: a, type: pure, path: a.onnx, part: b.onnx}\n"
     "- {name: b, type: ocr, path: a.onnx, model: b.onnx}\n"
     "- {name: c, type: pure}\n",
     "2:31 models[0].path: the type pure works through its sub-models and has no file of its own\n"
     "3:45 models[1].model: \"path\" and \"model\" are the same sub-model: give one of them\n"
     "4:10 models[2]: the sub-model \"part\" is missing (does it): expected a model's name, a file or a block\n"},
    {"names of sub-models",
     "models:\n"
     "- {name: p, type: ocr, path: a.onnx, detect: d.onnx}\n"
     "- {name: p.detect, path: x.onnx}\n"
     "- {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, type: ocr, path: a.onnx, recognise: d.onnx}",
     "2:46 models[0].detect: the name \"p.detect\" is taken by the model in line 3\n"
     "4:93 models[2]: the sub-model would be called "
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.model\", longer than 64: shorten the model's name\n"
     "4:112 models[2].recognise: the sub-model would be called "
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.recognise\", longer than 64: shorten the model's "
     "name\n"},
    {"root keys",
     "device: 0\n"
     "model: []",
     "1:1 unknown key \"device\"; did you mean \"device_id\"?\n"
     "1:1 \"models\" is missing: expected a list of models (\"models: []\" for none)\n"
     "2:1 unknown key \"model\"; did you mean \"models\"?\n"},
    {"the file is a list", "[1, 2]", "1:1 expected a block of keys with at least \"models:\", got a list\n"},
    {"the file is a word", "hello", "1:1 expected a block of keys with at least \"models:\", got \"hello\"\n"},
    {"an empty file", "", "1:1 the file is empty: expected at least \"models:\" with a list of models\n"},
    {"comments only", "# only a comment", "1:1 the file is empty: expected at least \"models:\" with a list of models\n"},
    {"an empty document", "---", "1:1 the file is empty: expected at least \"models:\" with a list of models\n"},
    {"models is not a list", "models: 3", "1:9 models: expected a list of models (each \"- name: ...\"), got \"3\"\n"},
    {"a model is not a block",
     "models:\n"
     "- hello\n"
     "- [x]",
     "2:3 models[0]: expected a model (a block that starts with \"name:\"), got \"hello\"\n"
     "3:3 models[1]: expected a model (a block that starts with \"name:\"), got a list\n"},
    {"keys without values",
     "models:\n"
     "- name:\n"
     "  path: m.onnx\n"
     "  max_batch:\n"
     "  version: ~",
     "2:3 models[0].name: has no value: expected text of at most 64 bytes\n"
     "4:3 models[0].max_batch: has no value: expected a whole number from 1 to 4096 rows; or leave the line out\n"},
    {"two documents",
     "models: []\n"
     "---\n"
     "models: []",
     "2:1 a second document starts here: a configuration file is one document\n"},
    {"a tab",
     "models:\n"
     "- name: m\n"
     "\tpath: m.onnx",
     "3:1 a tab stands in the indentation: YAML indents with spaces only\n"},
    {"a tab before a list",
     "models:\n"
     "\t- name: m",
     "2:1 a tab stands in the indentation: YAML indents with spaces only\n"},
    {"a colon in a value",
     "models:\n"
     "- name: m\n"
     "  path: m.onnx: x",
     "3:15 not valid YAML: mapping values are not allowed in this context: check the indentation; a text that contains \": \" "
     "needs quotes\n"},
    {"an open quote",
     "models:\n"
     "- name: \"m\n"
     "  path: m.onnx",
     "3:15 not valid YAML while scanning a quoted scalar that starts in line 2: found unexpected end of stream: a quote or "
     "bracket is left open\n"},
    {"an open list", "models: [",
     "2:1 not valid YAML while parsing a flow node: did not find expected node content: a list or block is left open, or a value "
     "is missing\n"},
    {"indentation",
     "models:\n"
     "- name: m\n"
     "   path: x",
     "3:8 not valid YAML: mapping values are not allowed in this context: check the indentation; a text that contains \": \" "
     "needs quotes\n"},
    {"a character that needs quotes",
     "models:\n"
     "- name: @m",
     "2:9 not valid YAML while scanning for the next token: found character that cannot start any token: a text that starts with "
     "this character needs quotes\n"},
    {"an unknown anchor", "models: *nope", "1:9 *nope names no anchor: write &nope before the value that it should repeat\n"},
    {"an anchor in itself", "models: &a [*a]", "1:13 *a stands inside of its own anchor: a value cannot contain itself\n"},
    {"a tag", "models: !foo []", "1:9 the YAML tag !foo is not used here: write the value without it\n"},
    {"a list as key",
     "? [a]\n"
     ": 1\n"
     "models: []",
     "1:3 expected a name as key, got a list\n"
     "3:9 warning models: the list is empty: nothing would be served\n"},
    {"merge of something else",
     "models:\n"
     "- <<: 3\n"
     "  name: m\n"
     "  path: m.onnx\n"
     "- <<: [3]\n"
     "  name: n\n"
     "  path: m.onnx",
     "2:7 models[0]: expected a block or a list of blocks to merge after <<, got \"3\"\n"
     "5:8 models[1]: expected a block to merge after <<, got \"3\"\n"},
    {"root blocks",
     "engine: {cores: -1, core: 2}\n"
     "server: {prot: 8000, port: 99999}\n"
     "log: {level: verbose}\n"
     "models: []\n"
     "extra: 1\n"
     "max_batch: 3",
     "1:17 engine.cores: expected a whole number from 0 to 4096 cores, got \"-1\"\n"
     "1:21 engine: unknown key \"core\"; did you mean \"cores\"?\n"
     "2:10 server: unknown key \"prot\"; did you mean \"port\"?\n"
     "2:28 server.port: expected a whole number from 0 to 65535, got \"99999\"\n"
     "3:14 log.level: expected one of error, warn, info, debug, got \"verbose\"\n"
     "4:9 warning models: the list is empty: nothing would be served\n"
     "5:1 unknown key \"extra\"; known here: device_id, engine, server, log, models\n"
     "6:1 unknown key \"max_batch\"; did you mean \"models[].max_batch\"?\n"},
    {"bounds of a model",
     "models:\n"
     "- {name: m, path: m.onnx, server: {port: 1}, device_id: 5000, priority: 11, weight: 0, required: maybe}",
     "2:27 models[0]: unknown key \"server\": it belongs further out, not into this block\n"
     "2:57 models[0].device_id: expected a whole number from 0 to 1023, got \"5000\"\n"
     "2:73 models[0].priority: expected a whole number from -10 to 10, got \"11\"\n"
     "2:85 models[0].weight: expected a number from 0.01 to 1000, got \"0\"\n"
     "2:98 models[0].required: expected true or false, got \"maybe\"\n"},
    {"NUL characters",
     "models:\n"
     "- {name: m, path: \"a\\0b.onnx\", \"x\\0y\": 1, version: \"\\0\"}\n",
     "2:19 models[0].path: expected UTF-8 text without NUL characters\n"
     "2:32 models[0]: expected a name as key, got text with a NUL character\n"
     "2:52 models[0].version: expected UTF-8 text without NUL characters\n"},
    {"NUL characters where text is not the kind",
     "models:\n"
     "- {name: m, type: kinds, path: m.onnx, whole: \"1\\00000000000000000000000000000\", area: [1, \"2\\0\"], flag: \"\\0\"}\n"
     "- {name: n, type: ocr, path: m.onnx, detect: \"a.onnx\\0b\"}\n",
     "2:47 models[0].whole: expected a whole number from -10 to 1000000 rows, got \"1 0000000000000000000000000000\"\n"
     "2:88 models[0].area: expected a size with sides from 1 to 8192, like [640, 480], got a list of 2\n"
     "2:106 models[0].flag: expected true or false, got \" \"\n"
     "3:46 models[1].detect: expected the name of a model, a model file, or a block with the options of a model, got text with a "
     "NUL character\n"},
};

static void test_table(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *got = help_mistakes(cases[i].text);
        if (strcmp(got, cases[i].want))
            fail_msg("%s:\n%s\nexpected\n%s\ngot\n%s", cases[i].name, cases[i].text, cases[i].want, got);
    }
}

/* Repeats `piece` n times behind head; the caller frees. */
static char *repeat(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t len = strlen(piece), total = strlen(head) + len * n + strlen(tail) + 1;
    char *s = malloc(total), *p = s;
    p += sprintf(p, "%s", head);
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s", piece);
    sprintf(p, "%s", tail);
    return s;
}

static void test_not_text(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *want;
    } bad[] = {
        {"a: 1\nb: \xff\n", 10, "2:4: the byte 0xff is not UTF-8: save the file as UTF-8"},
        {"\xff\xfem\0", 4, "1:1: the file is UTF-16: save it as UTF-8"},
        {"\xe6\xa8\xa1: \x01", 6, "1:4: a control character (0x01) stands here: the file must be plain text"},
        {"ab\0c", 4, "1:3: a control character (0x00) stands here: the file must be plain text"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        weft_config *c;
        weft_error err;
        assert_int_equal(weft_config_load_text(bad[i].text, bad[i].n, "", help_executors, help_backends, &c, NULL, &err),
                         WEFT_E_CONFIG);
        assert_string_equal(err.text, bad[i].want);
    }
}

static void test_nesting_is_bounded(void **state)
{
    char *deep = repeat("models: ", "[", 5000, ""), *blocks = repeat("models: ", "{a: ", 40, "");
    assert_string_equal(help_mistakes(deep), "1:40 nested too deeply: at most 32 levels are read\n");
    assert_non_null(strstr(help_mistakes(blocks), "nested too deeply"));
    free(deep);
    free(blocks);
}

static void test_size_is_bounded(void **state)
{
    char *large = repeat("models: []\n", "# 3456789 123456789 123456789 1\n", 1 << 15, "");
    weft_config *c;
    weft_error err;
    assert_int_equal(weft_config_load_text(large, strlen(large), "x", help_executors, help_backends, &c, NULL, &err),
                     WEFT_E_TOO_LARGE);
    assert_string_equal(err.text, "the configuration has more than 1048576 bytes: is it the right file?");
    free(large);
}

/* Ten names for ten of the level below, seven levels: 10 million values if they were written out. */
static void test_aliases_are_bounded(void **state)
{
    char text[4096];
    size_t n = (size_t)sprintf(text, "models:\n- name: m\n  type: kinds\n  path: m.onnx\n  blocks:\n");
    n += (size_t)sprintf(text + n, "  - &a0 {count: 1}\n");
    for (int level = 1; level < 7; level++)
        n += (size_t)sprintf(text + n, "  - &a%d {<<: [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]}\n", level, level - 1,
                             level - 1, level - 1, level - 1, level - 1, level - 1, level - 1, level - 1, level - 1, level - 1);
    const char *got = help_mistakes(text);
    assert_non_null(strstr(got, "the file has too many values when its aliases are counted: at most 100000 are read"));
}

static void test_many_aliased_texts_cost_no_memory_each(void **state)
{
    char *head = repeat("models:\n- name: m\n  type: kinds\n  path: m.onnx\n  texts: [&t \"", "x", 4000, "\"");
    char *text = repeat(head, ",*t", 1000, "]\n");
    weft_config *c = help_load(text);
    const help_kinds *k = c->models[0].config.executor_options;
    const char *const *items = k->texts.items;
    assert_int_equal(k->texts.n, 1001);
    assert_ptr_equal(items[0], items[1000]);
    weft_config_destroy(&c);
    free(text);
    free(head);
}

static void test_models_are_bounded(void **state)
{
    char *text = repeat("models:\n", "- {path: x.onnx}\n", 1100, "");
    weft_diagnostics *d = weft_diagnostics_create();
    weft_config *c;
    assert_int_equal(weft_config_load_text(text, strlen(text), "", help_executors, help_backends, &c, d, NULL), WEFT_E_CONFIG);
    assert_int_equal(weft_diagnostics_count(d), WEFT_DIAGNOSTICS_MAX);
    assert_int_equal(weft_diagnostics_errors(d), 1025); /* 1024 without a name, and one too many */
    weft_diagnostics_destroy(&d);
    free(text);
}

static void test_keys_are_bounded(void **state)
{
    char text[40000];
    size_t n = 0;
    for (int i = 0; i < 1100; i++)
        n += (size_t)sprintf(text + n, "key%d: 1\n", i);
    weft_diagnostics *d = weft_diagnostics_create();
    weft_config *c;
    assert_int_equal(weft_config_load_text(text, n, "", help_executors, help_backends, &c, d, NULL), WEFT_E_CONFIG);
    assert_int_equal(weft_diagnostics_errors(d), 1024 + 2); /* each unknown, too many, models missing */
    weft_diagnostics_destroy(&d);
}

static void test_anchors_are_bounded(void **state)
{
    char text[40000];
    size_t n = (size_t)sprintf(text, "models:\n");
    for (int i = 0; i < 1100; i++)
        n += (size_t)sprintf(text + n, "- &a%d x\n", i);
    assert_non_null(strstr(help_mistakes(text), "too many anchors: at most 1024 are read"));
}

/* A chain of merges as long as there are anchors: recursion of that depth. */
static void test_long_chain_of_merges(void **state)
{
    char *text = malloc(200000);
    size_t n = (size_t)sprintf(text, "models:\n- &a0 {name: m0, path: a.onnx, max_batch: 3}\n");
    for (int i = 1; i < 150; i++)
        n += (size_t)sprintf(text + n, "- &a%d {<<: *a%d, name: m%d}\n", i, i - 1, i);
    weft_config *c = help_load(text);
    assert_int_equal(c->n_models, 150);
    assert_int_equal(c->models[149].config.max_batch, 3);
    weft_config_destroy(&c);
    free(text);
}

static void test_messages_are_joined(void **state)
{
    static const char text[] = "models:\n- {name: m, path: m.onnx, max_batch: x, weight: y}\n";
    weft_config *c;
    weft_error err;
    assert_int_equal(weft_config_load_text(text, strlen(text), "w.yaml", help_executors, help_backends, &c, NULL, &err),
                     WEFT_E_CONFIG);
    assert_string_equal(err.text, "w.yaml:2:38: models[0].max_batch: expected a whole number from 1 to 4096 rows, got \"x\"\n"
                                  "w.yaml:2:49: models[0].weight: expected a number from 0.01 to 1000, got \"y\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_aliases_are_bounded),
        cmocka_unit_test(test_many_aliased_texts_cost_no_memory_each),
        cmocka_unit_test(test_models_are_bounded),
        cmocka_unit_test(test_keys_are_bounded),
        cmocka_unit_test(test_anchors_are_bounded),
        cmocka_unit_test(test_long_chain_of_merges),
        cmocka_unit_test(test_messages_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
