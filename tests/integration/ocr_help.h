/* What the OCR tests on real models share: paths, an engine from text, one picture read. */
#ifndef WEFT_TESTS_OCR_HELP_H
#define WEFT_TESTS_OCR_HELP_H

#include "harness/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft/engine.h"

#define MODELS WEFT_CACHE_DIR "/models/ocr/"
#define PICTURES WEFT_CACHE_DIR "/pictures/"
#define PAGES WEFT_BINARY_DIR "/ocr-pages/"
#define MAX_TEXT 8192

typedef struct file {
    char *bytes; /* NUL-terminated */
    size_t n_bytes;
} file;

static inline file read_file(const char *path)
{
    file out = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing; run script/fetch --test", path);
    fseek(f, 0, SEEK_END);
    out.n_bytes = (size_t)ftell(f);
    rewind(f);
    out.bytes = malloc(out.n_bytes + 1);
    assert_int_equal(fread(out.bytes, 1, out.n_bytes, f), out.n_bytes);
    out.bytes[out.n_bytes] = 0;
    fclose(f);
    return out;
}

static inline bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

/* An engine from a configuration that is written to a file of its own. */
static inline weft_status open_engine(const char *name, const char *yaml, weft_engine **e, weft_error *err)
{
    char path[512];
    snprintf(path, sizeof path, "%s/ocr_%s_%d.yaml", WEFT_BINARY_DIR, name, (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(yaml, f);
    fclose(f);
    weft_status s = weft_engine_open(path, e, err);
    unlink(path);
    return s;
}

static inline weft_engine *must_open(const char *name, const char *yaml)
{
    weft_engine *e;
    weft_error err;
    weft_error_clear(&err);
    if (open_engine(name, yaml, &e, &err) != WEFT_OK)
        fail_msg("%s: %s", name, err.text);
    return e;
}

static inline weft_result *read_with(weft_engine *e, const char *model, const char *path)
{
    file f = read_file(path);
    weft_input in = weft_input_bytes("image", f.bytes, f.n_bytes);
    weft_call call = {.model = model, .inputs = &in, .n_inputs = 1};
    weft_result *r = NULL;
    weft_error err;
    weft_error_clear(&err);
    if (weft_infer(e, &call, &r, &err) != WEFT_OK)
        fail_msg("%s of %s: %s", model, path, err.text);
    free(f.bytes);
    return r;
}

/* All lines without blanks, cut at MAX_TEXT. */
static inline void add_text(char *to, const char *text, size_t n)
{
    size_t at = strlen(to);
    for (size_t i = 0; i < n && at + 1 < MAX_TEXT; i++)
        if (!strchr(" \t\r\n", text[i]))
            to[at++] = text[i];
    to[at] = 0;
}

static inline void text_of(const weft_result *r, char *to)
{
    *to = 0;
    for (size_t i = 0; i < r->n_items; i++) {
        size_t n;
        const char *t = weft_result_text(r, "text", i, &n);
        add_text(to, t, n);
    }
}

/* Puts the engine's options where they are needed; false (and a sentence) when the files of script/fetch --test are not here. */
static inline bool ocr_files_present(void)
{
    static const char *const needed[] = {WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1", MODELS "ppocr_keys_v1.txt",
                                         PICTURES "opencv/text/scenetext01.jpg", PICTURES "skimage/page.png"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!exists(needed[i])) {
            printf("%s is missing; run script/fetch --test\n", needed[i]);
            return false;
        }
    setenv("WEFT_ONNXRUNTIME", needed[0], 0);
    return true;
}

/* All three models, and the page vote. */
#define OCR_BLOCK                                                                                                                \
    "  - name: ocr\n"                                                                                                            \
    "    type: ocr\n"                                                                                                            \
    "    detect: " MODELS "ch_PP-OCRv4_det_infer.onnx\n"                                                                         \
    "    recognise: " MODELS "ch_PP-OCRv4_rec_infer.onnx\n"                                                                      \
    "    orient: " MODELS "ch_ppocr_mobile_v2.0_cls_infer.onnx\n"                                                                \
    "    dictionary: " MODELS "ppocr_keys_v1.txt\n"

#endif
