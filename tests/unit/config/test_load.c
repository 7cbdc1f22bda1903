/* Files that are right: every kind lands in its member, paths, aliases, merges, sub-models, order, inheritance. */
#include "help_config.h"

#include <stdio.h>
#include <string.h>

#include "base/option_text.h"

static const help_kinds *kinds_of(const weft_config *c)
{
    assert_true(c->n_models > 0);
    return c->models[c->n_models - 1].config.executor_options;
}

static void test_every_kind(void **state)
{
    weft_config *c = help_load("models:\n"
                               "  - name: m\n"
                               "    type: kinds\n"
                               "    path: m.onnx\n"
                               "    flag: no\n"
                               "    integer: 0x20\n"
                               "    real: 0.75\n"
                               "    text: \"a: b # c\"\n"
                               "    word: slow\n"
                               "    tri: true\n"
                               "    wait_ms: 1.5s\n"
                               "    room_bytes: 1GiB\n"
                               "    area: [320, 200]\n"
                               "    numbers: [0.485, 2, 255]\n"
                               "    texts:\n"
                               "      - one\n"
                               "      - 2\n"
                               "      - 'it''s'\n"
                               "    areas: [[576, 576], 768x576, 64]\n"
                               "    files: [a.txt, /abs/b.txt]\n"
                               "    file: ./sub/c.txt\n"
                               "    inner: {count: 3, label: in}\n"
                               "    blocks:\n"
                               "      - count: 1\n"
                               "      - {ratio: -2.5, label: \"\"}\n"
                               "    named:\n"
                               "      first: {level: -5}\n"
                               "      second: {active: off}\n"
                               "      third:\n"
                               "    pass:\n"
                               "      session.flag: 1\n"
                               "      other: on\n");
    const help_kinds *k = kinds_of(c);
    assert_false(k->flag);
    assert_int_equal(k->whole, 32);
    assert_true(k->real == 0.75);
    assert_string_equal(k->text, "a: b # c");
    assert_int_equal(k->word, 1);
    assert_int_equal(k->tri, 1);
    assert_true(k->wait_ms == 1500);
    assert_int_equal(k->room_bytes, 1073741824);
    assert_int_equal(k->area.width, 320);
    assert_int_equal(k->area.height, 200);
    assert_int_equal(k->numbers.n, 3);
    assert_true(((double *)k->numbers.items)[0] == 0.485 && ((double *)k->numbers.items)[2] == 255);
    assert_int_equal(k->texts.n, 3);
    assert_string_equal(((const char **)k->texts.items)[1], "2");
    assert_string_equal(((const char **)k->texts.items)[2], "it's");
    assert_int_equal(k->areas.n, 3);
    assert_int_equal(((weft_size *)k->areas.items)[1].height, 576);
    assert_int_equal(((weft_size *)k->areas.items)[2].width, 64);
    assert_int_equal(k->files.n, 2);
    assert_string_equal(((const char **)k->files.items)[0], "conf/a.txt");
    assert_string_equal(((const char **)k->files.items)[1], "/abs/b.txt");
    assert_string_equal(k->file, "conf/sub/c.txt");
    assert_int_equal(k->inner.count, 3);
    assert_true(k->inner.ratio == 0.25); /* its default */
    assert_string_equal(k->inner.label, "in");
    const help_inner *blocks = k->blocks.items;
    assert_int_equal(k->blocks.n, 2);
    assert_int_equal(blocks[0].count, 1);
    assert_string_equal(blocks[0].label, "none");
    assert_int_equal(blocks[1].count, 7);
    assert_true(blocks[1].ratio == -2.5);
    assert_string_equal(blocks[1].label, "");
    const help_named *named = k->named.items;
    assert_int_equal(k->named.n, 3);
    assert_string_equal(named[0].key, "first");
    assert_int_equal(named[0].level, -5);
    assert_true(named[0].active && !named[1].active && named[2].active);
    assert_string_equal(named[2].key, "third");
    const weft_key_value *pass = k->pass.items;
    assert_int_equal(k->pass.n, 2);
    assert_string_equal(pass[0].key, "session.flag");
    assert_string_equal(pass[0].value, "1");
    assert_string_equal(pass[1].value, "on");
    weft_config_destroy(&c);
}

static void test_a_list_of_one_and_one_size(void **state)
{
    weft_config *c =
        help_load("models:\n- {name: m, type: kinds, path: m.onnx, numbers: 3, texts: x, areas: [640, 480], files: f}\n");
    const help_kinds *k = kinds_of(c);
    assert_int_equal(k->numbers.n, 1);
    assert_true(*(double *)k->numbers.items == 3);
    assert_string_equal(*(const char **)k->texts.items, "x");
    assert_int_equal(k->areas.n, 1);
    assert_int_equal(((weft_size *)k->areas.items)[0].width, 640);
    assert_string_equal(*(const char **)k->files.items, "conf/f");
    weft_config_destroy(&c);
}

static void test_empty_equals_init(void **state)
{
    char where[64] = "";
    weft_config *c = help_load("models:\n- {name: m, path: m.onnx}\n"), *d;
    weft_model_config want;
    weft_engine_options engine;
    weft_model_config_init(&want);
    weft_engine_options_init(&engine);
    const char *path = "conf/m.onnx";
    want.name = "m";
    want.backend = "onnxruntime";
    want.paths = (weft_list){.n = 1, .items = &path};
    if (!help_equal(weft_model_option_table, &want, &c->models[0].config, where, sizeof(where)))
        fail_msg("%s differs", where);
    if (!help_equal(weft_engine_option_table, &engine, &c->engine, where, sizeof(where)))
        fail_msg("%s differs", where);
    assert_int_equal(c->server.port, 8000);
    assert_string_equal(c->server.host, "127.0.0.1");
    assert_null(c->log.directory);
    assert_int_equal(weft_config_default(help_executors, help_backends, &d, NULL), WEFT_OK);
    assert_int_equal(d->n_models, 0);
    if (!help_equal(weft_config_root_table, c, d, where, sizeof(where)))
        fail_msg("%s differs", where);
    const help_backend_options *b = c->models[0].config.backend_options;
    assert_int_equal(b->spin_us, 3);
    weft_config_destroy(&c);
    weft_config_destroy(&d);
}

/* The file of REQUIREMENTS.md, as it stands. */
static const char author[] = "device_id: 0\n"
                             "models:\n"
                             "  - name: ocr\n"
                             "    type: OcrExecutor\n"
                             "    om_path: /data/models/ocr_hw.om\n"
                             "    max_batch: 2\n"
                             "    queue_size: 128\n"
                             "    preprocess:\n"
                             "      input_size: [640, 640]\n"
                             "      normalize: true\n"
                             "      mean: [0.485, 0.456, 0.406]\n"
                             "      std: [0.229, 0.224, 0.225]\n"
                             "    postprocess:\n"
                             "      min_confidence: 0.5\n"
                             "      max_texts: 20\n"
                             "  - name: face_detect\n"
                             "    type: FaceDetectExecutor\n"
                             "    om_path: /data/models/face_detect_hw.om\n"
                             "    max_batch: 4\n"
                             "    queue_size: 256\n"
                             "    preprocess:\n"
                             "      input_size: [416, 416]\n"
                             "      resize_mode: letterbox\n"
                             "  - name: image_cls\n"
                             "    type: ImageClsExecutor\n"
                             "    om_path: /data/models/resnet50_hw.om\n"
                             "    max_batch: 8\n"
                             "    queue_size: 256\n"
                             "    preprocess:\n"
                             "      input_size: [224, 224]\n"
                             "      normalize: true\n";

static void test_authors_file(void **state)
{
    static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    weft_config *c = help_load(author);
    assert_int_equal(c->n_models, 4); /* the file of the pipeline is a model of its own */
    const weft_config_model *file = weft_config_find(c, "ocr.model"), *m = weft_config_find(c, "ocr");
    const help_picture *p = m->config.executor_options;
    assert_ptr_equal(file, &c->models[0]);
    assert_ptr_equal(m, &c->models[1]);
    assert_string_equal(m->config.type, "ocr");
    assert_int_equal(m->config.paths.n, 0);
    assert_null(m->config.backend);
    assert_string_equal(file->config.type, "tensor");
    assert_string_equal(file->config.backend, "acl"); /* not in this build, known by its extension */
    assert_null(file->backend);
    assert_int_equal(file->config.paths.n, 1);
    assert_string_equal(*(const char **)file->config.paths.items, "/data/models/ocr_hw.om");
    assert_int_equal(file->config.max_batch, 2);
    assert_int_equal(m->config.max_batch, 2);
    assert_int_equal(m->config.queue_size, 128);
    assert_int_equal(m->config.device_id, 0);
    assert_int_equal(p->preprocess.input_size.width, 640);
    assert_int_equal(p->preprocess.input_size.height, 640);
    assert_int_equal(p->preprocess.normalize, 1);
    assert_int_equal(p->preprocess.mean.n, 3);
    assert_int_equal(p->preprocess.std.n, 3);
    assert_memory_equal(p->preprocess.mean.items, mean, sizeof(mean));
    assert_memory_equal(p->preprocess.std.items, std, sizeof(std));
    assert_true(p->postprocess.min_confidence == 0.5);
    assert_int_equal(p->postprocess.max_texts, 20);
    m = weft_config_find(c, "face_detect");
    p = m->config.executor_options;
    assert_string_equal(m->config.type, "face");
    assert_int_equal(m->config.max_batch, 4);
    assert_int_equal(m->config.queue_size, 256);
    assert_int_equal(p->preprocess.input_size.width, 416);
    assert_int_equal(p->preprocess.resize_mode, 2);
    assert_int_equal(p->preprocess.normalize, 0);
    m = weft_config_find(c, "image_cls");
    p = m->config.executor_options;
    assert_string_equal(m->config.type, "classify");
    assert_string_equal(*(const char **)m->config.paths.items, "/data/models/resnet50_hw.om");
    assert_int_equal(m->config.max_batch, 8);
    assert_int_equal(m->config.queue_size, 256);
    assert_int_equal(p->preprocess.input_size.height, 224);
    assert_int_equal(p->preprocess.normalize, 1);
    assert_null(weft_config_find(c, "ocr2"));
    assert_string_equal(help_mistakes(author), "");
    weft_config_destroy(&c);
}

static void test_root_blocks(void **state)
{
    weft_config *c = help_load("device_id: 3\n"
                               "engine: {cores: 2, max_run_ms: 50ms, onnxruntime_library: lib/ort.so}\n"
                               "server:\n  port: 9000\n  max_body_bytes: 32MB\n"
                               "log:\n  dir: logs\n  level: debug\n  format: json\n"
                               "models:\n- {name: a, path: a.onnx}\n- {name: b, path: b.onnx, device_id: 1}\n");
    assert_int_equal(c->device_id, 3);
    assert_int_equal(c->engine.cores, 2);
    assert_true(c->engine.max_run_ms == 50);
    assert_string_equal(c->engine.onnxruntime_library, "conf/lib/ort.so");
    assert_int_equal(c->server.port, 9000);
    assert_int_equal(c->server.max_body_bytes, 32000000);
    assert_string_equal(c->log.directory, "conf/logs");
    assert_int_equal(c->log.level, WEFT_LOG_DEBUG);
    assert_int_equal(c->models[0].config.device_id, 3);
    assert_int_equal(c->models[1].config.device_id, 1);
    assert_string_equal(c->directory, "conf");
    assert_string_equal(c->file, "conf/weft.yaml");
    assert_ptr_equal(c->engine.executors, help_executors);
    weft_config_destroy(&c);
}

static void test_models_before_root_keys(void **state)
{
    weft_config *c = help_load("models:\n- {name: a, path: a.onnx}\ndevice_id: 2\n");
    assert_int_equal(c->models[0].config.device_id, 2);
    weft_config_destroy(&c);
}

static void test_backend_block_and_choice(void **state)
{
    weft_config *c = help_load("models:\n"
                               "- name: a\n"
                               "  path: A.ONNX\n"
                               "  onnxruntime:\n"
                               "    spin_us: 9\n"
                               "    arena: yes\n"
                               "- {name: b, path: [x.toy, y.toy]}\n"
                               "- {name: c, path: odd.bin, backend: toy}\n"
                               "- {name: d, path: odd.om, backend: onnxruntime}\n");
    const help_backend_options *o = c->models[0].config.backend_options;
    assert_int_equal(o->spin_us, 9);
    assert_true(o->arena);
    assert_string_equal(c->models[0].backend->name, "onnxruntime");
    assert_string_equal(c->models[1].config.backend, "toy");
    assert_int_equal(c->models[1].config.paths.n, 2);
    assert_int_equal(c->models[1].path_places[1].line, 7);
    assert_int_equal(c->models[1].path_places[1].column, 27);
    assert_string_equal(c->models[2].backend->name, "toy");
    assert_string_equal(c->models[3].backend->name, "onnxruntime");
    weft_config_destroy(&c);
}

static const weft_config_model *at(const weft_config *c, size_t i, const char *name)
{
    assert_true(i < c->n_models);
    assert_string_equal(c->models[i].config.name, name);
    return &c->models[i];
}

static void test_sub_models(void **state)
{
    weft_config *c = help_load("models:\n"
                               "- name: page\n"
                               "  type: ocr\n"
                               "  priority: 4\n"
                               "  device_id: 2\n"
                               "  required: false\n"
                               "  detect: det.onnx\n"
                               "  recognise:\n"
                               "    path: rec.onnx\n"
                               "    max_batch: 8\n"
                               "    priority: 5\n"
                               "    onnxruntime: {spin_us: 1}\n"
                               "  orient: shared\n"
                               "- {name: shared, path: cls.onnx}\n");
    assert_int_equal(c->n_models, 4);
    const weft_config_model *d = at(c, 0, "page.detect"), *r = at(c, 1, "page.recognise"), *s = at(c, 2, "shared"),
                            *p = at(c, 3, "page");
    assert_true(d->is_inline && r->is_inline && !s->is_inline && !p->is_inline);
    assert_true(d->config.hidden && r->config.hidden && !s->config.hidden && !p->config.hidden);
    assert_string_equal(d->config.type, "tensor");
    assert_string_equal(*(const char **)d->config.paths.items, "conf/det.onnx");
    assert_int_equal(d->config.priority, 4);
    assert_int_equal(d->config.device_id, 2);
    assert_false(d->config.required);
    assert_string_equal(d->config.backend, "onnxruntime");
    assert_int_equal(((const help_backend_options *)d->config.backend_options)->spin_us, 3);
    assert_int_equal(r->config.max_batch, 8);
    assert_int_equal(r->config.priority, 5);
    assert_int_equal(r->config.device_id, 2);
    assert_int_equal(((const help_backend_options *)r->config.backend_options)->spin_us, 1);
    assert_int_equal(s->config.priority, 0);
    assert_true(s->config.required);
    const weft_submodel_config *subs = p->config.submodels.items;
    assert_int_equal(p->config.submodels.n, 3);
    assert_string_equal(subs[0].slot, "detect");
    assert_string_equal(subs[0].model, "page.detect");
    assert_string_equal(subs[1].model, "page.recognise");
    assert_string_equal(subs[2].slot, "orient");
    assert_string_equal(subs[2].model, "shared");
    assert_int_equal(p->n_slots, 3);
    assert_int_equal(p->slots[2].index, 2);
    assert_int_equal(p->slots[2].model, 2);
    assert_int_equal(p->slots[2].place.line, 13);
    assert_null(p->config.backend);
    assert_int_equal(p->config.paths.n, 0);
    weft_config_destroy(&c);
}

static void test_order_follows_use(void **state)
{
    weft_config *c = help_load("models:\n"
                               "- {name: z, type: ocr, detect: b, recognise: a}\n"
                               "- {name: y, type: ocr, path: y.onnx, detect: b, orient: x}\n"
                               "- {name: x, path: x.onnx}\n"
                               "- {name: a, path: a.onnx}\n"
                               "- {name: b, path: b.onnx}\n");
    at(c, 0, "b");
    at(c, 1, "a");
    at(c, 2, "z");
    at(c, 3, "x");
    at(c, 4, "y.model");
    at(c, 5, "y");
    for (size_t i = 0; i < c->n_models; i++)
        for (size_t k = 0; k < c->models[i].n_slots; k++)
            assert_true(c->models[i].slots[k].model < i);
    weft_config_destroy(&c);
}

/* The path of a pipeline is the sub-model in its slot "model", with everything that the block says about running it. */
static void test_own_file_of_a_pipeline(void **state)
{
    weft_config *c = help_load("models:\n- {name: p, type: ocr, path: [a.onnx, b.onnx], version: '3', max_batch: 6, threads: 2, "
                               "priority: -2, orient: o.onnx, "
                               "onnxruntime: {spin_us: 8}, preprocess: {normalize: on}}\n");
    const weft_config_model *o = at(c, 0, "p.orient"), *m = at(c, 1, "p.model"), *p = at(c, 2, "p");
    assert_int_equal(c->n_models, 3);
    assert_true(m->is_inline && m->config.hidden && !p->config.hidden);
    assert_string_equal(m->executor->name, "tensor");
    assert_string_equal(m->backend->name, "onnxruntime");
    assert_int_equal(m->config.paths.n, 2);
    assert_int_equal(m->path_places[1].column, 39);
    assert_int_equal(m->config.max_batch, 6);
    assert_int_equal(m->config.threads, 2);
    assert_int_equal(m->config.priority, -2);
    assert_string_equal(m->config.version, "3");
    assert_int_equal(((const help_backend_options *)m->config.backend_options)->spin_us, 8);
    assert_null(m->config.executor_options);
    assert_int_equal(o->config.max_batch, 1);
    assert_int_equal(p->config.paths.n, 0);
    assert_null(p->config.backend);
    assert_null(p->config.backend_options);
    assert_int_equal(((const help_picture *)p->config.executor_options)->preprocess.normalize, 1);
    assert_int_equal(p->n_slots, 2);
    assert_int_equal(p->slots[1].index, 3);
    assert_string_equal(((const weft_submodel_config *)p->config.submodels.items)[1].slot, "model");
    assert_string_equal(((const weft_submodel_config *)p->config.submodels.items)[1].model, "p.model");
    weft_config_destroy(&c);
}

static void test_a_name_wins_over_a_file(void **state)
{
    weft_config *c =
        help_load("models:\n- {name: p, type: ocr, detect: det.onnx, recognise: r.onnx}\n- {name: det.onnx, path: other.onnx}\n");
    assert_int_equal(c->n_models, 3);
    assert_string_equal(((const weft_submodel_config *)weft_config_find(c, "p")->config.submodels.items)[0].model, "det.onnx");
    weft_config_destroy(&c);
}

static void test_anchors_and_merges(void **state)
{
    weft_config *c = help_load("models:\n"
                               "  - &base\n"
                               "    name: a\n"
                               "    path: a.onnx\n"
                               "    max_batch: 8\n"
                               "    queue_size: 10\n"
                               "  - <<: *base\n"
                               "    name: b\n"
                               "    max_batch: 2\n"
                               "  - <<: [{name: lost, version: '7'}, *base]\n"
                               "    name: c\n"
                               "    path: &p [x.onnx]\n"
                               "  - {name: d, path: *p}\n");
    const weft_model_config *b = &at(c, 1, "b")->config, *d = &at(c, 2, "c")->config;
    assert_int_equal(b->max_batch, 2);
    assert_int_equal(b->queue_size, 10);
    assert_string_equal(*(const char **)b->paths.items, "conf/a.onnx");
    assert_string_equal(d->version, "7");
    assert_int_equal(d->max_batch, 8);
    assert_string_equal(*(const char **)d->paths.items, "conf/x.onnx");
    assert_string_equal(*(const char **)at(c, 3, "d")->config.paths.items, "conf/x.onnx");
    weft_config_destroy(&c);
}

static void test_null_is_the_default(void **state)
{
    weft_config *c = help_load(
        "engine:\nserver: ~\nlog: null\nmodels:\n- {name: m, type: kinds, path: m.onnx, whole: ~, numbers: null, inner: }\n");
    assert_int_equal(kinds_of(c)->whole, 5);
    assert_int_equal(kinds_of(c)->numbers.n, 2);
    assert_int_equal(c->server.port, 8000);
    weft_config_destroy(&c);
    c = help_load("models:\n");
    assert_int_equal(c->n_models, 0);
    weft_config_destroy(&c);
}

static void test_other_shapes_of_text(void **state)
{
    weft_config *c = help_load("\xef\xbb\xbf# with a byte order mark\r\n%YAML 1.1\r\n---\r\nmodels:\r\n- name: m\r\n  path: "
                               "\"\\u6a21.onnx\"\r\n...\r\n");
    assert_string_equal(*(const char **)c->models[0].config.paths.items, "conf/\xe6\xa8\xa1.onnx");
    weft_config_destroy(&c);
    c = help_load(
        "{\"models\": [{\"name\": \"json\", \"path\": \"m.onnx\", \"max_batch\": 4, \"warmup\": false}]}"); /* JSON is YAML */
    assert_int_equal(c->models[0].config.max_batch, 4);
    assert_false(c->models[0].config.warmup);
    weft_config_destroy(&c);
    c = help_load("models: !!seq\n- !!map {name: !!str 12, path: ! m.onnx, max_batch: !!int 3}\n");
    assert_string_equal(c->models[0].config.name, "12");
    weft_config_destroy(&c);
}

static void test_files(void **state)
{
    weft_config *c;
    weft_error err;
    char path[512];
    snprintf(path, sizeof(path), "%s/config/good.yaml", WEFT_TEST_DATA);
    assert_int_equal(weft_config_load_file(path, help_executors, help_backends, &c, NULL, &err), WEFT_OK);
    snprintf(path, sizeof(path), "%s/config/m.onnx", WEFT_TEST_DATA);
    assert_string_equal(*(const char **)c->models[0].config.paths.items, path);
    weft_config_destroy(&c);
    weft_config_destroy(&c);
    weft_config_destroy(NULL);
    assert_int_equal(weft_config_load_file("/nowhere/weft.yaml", help_executors, help_backends, &c, NULL, &err),
                     WEFT_E_NOT_FOUND);
    assert_string_equal(err.text, "the configuration /nowhere/weft.yaml cannot be opened: No such file or directory");
    assert_null(c);
    assert_int_equal(weft_config_load_file("/", help_executors, help_backends, &c, NULL, &err), WEFT_E_IO);
    assert_null(c);
    assert_int_equal(weft_config_load_file("/dev/zero", help_executors, help_backends, &c, NULL, &err), WEFT_E_TOO_LARGE);
    assert_null(c);
}

static void test_directory_of_a_file(void **state)
{
    static const char *const cases[][3] = {{"weft.yaml", "", "m.onnx"},
                                           {"/weft.yaml", "/", "/m.onnx"},
                                           {"./weft.yaml", ".", "./m.onnx"},
                                           {"a/b/w.yaml", "a/b", "a/b/m.onnx"},
                                           {"", "", "m.onnx"}};
    static const char text[] = "models:\n- {name: m, path: ./m.onnx}\n";
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        weft_config *c;
        assert_int_equal(
            weft_config_load_text(text, sizeof(text) - 1, cases[i][0], help_executors, help_backends, &c, NULL, NULL), WEFT_OK);
        assert_string_equal(c->directory, cases[i][1]);
        if (*cases[i][1])
            assert_string_equal(*(const char **)c->models[0].config.paths.items, cases[i][2]);
        weft_config_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_a_list_of_one_and_one_size),
        cmocka_unit_test(test_empty_equals_init),
        cmocka_unit_test(test_authors_file),
        cmocka_unit_test(test_root_blocks),
        cmocka_unit_test(test_models_before_root_keys),
        cmocka_unit_test(test_backend_block_and_choice),
        cmocka_unit_test(test_sub_models),
        cmocka_unit_test(test_order_follows_use),
        cmocka_unit_test(test_own_file_of_a_pipeline),
        cmocka_unit_test(test_a_name_wins_over_a_file),
        cmocka_unit_test(test_anchors_and_merges),
        cmocka_unit_test(test_null_is_the_default),
        cmocka_unit_test(test_other_shapes_of_text),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_directory_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
