/* Results with any numbers and texts, drawn on a small picture. */
#include "base/arena.h"
#include "image/draw_result.h"
#include "weft/builder.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct input {
    const uint8_t *data;
    size_t n;
} input;

static uint8_t take(input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->data++;
}

/* Half of the numbers lie near the picture, the others are any bits at all. */
static void take_floats(input *in, float *out, size_t n)
{
    bool raw = take(in) & 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t b[4] = {take(in), take(in), take(in), take(in)};
        if (raw)
            memcpy(&out[i], b, 4);
        else
            out[i] = (float)(b[0] | b[1] << 8) / 256 - 20;
    }
}

static void add(weft_builder *b, weft_field_kind kind, const char *name, input *in, const int64_t shape[3], int rank)
{
    int64_t n;
    weft_tensor t = {.name = name, .dtype = WEFT_DT_F32, .rank = rank, .shape = {shape[0], shape[1], shape[2]}};
    if (!weft_shape_elements(t.shape, rank, &n) || n > 4000)
        return;
    float *values = calloc((size_t)n + 1, sizeof(float));
    if (!values)
        return;
    take_floats(in, values, (size_t)n);
    t.data = values;
    t.n_bytes = (size_t)n * sizeof(float);
    weft_builder_tensor(b, kind, true, &t, true, NULL);
    free(values);
}

static void add_texts(weft_builder *b, const char *name, input *in, size_t n_items)
{
    const char *texts[8];
    size_t lengths[8];
    for (size_t i = 0; i < n_items; i++) {
        lengths[i] = take(in) % 24;
        lengths[i] = lengths[i] < in->n ? lengths[i] : in->n;
        texts[i] = (const char *)in->data;
        in->data += lengths[i];
        in->n -= lengths[i];
    }
    weft_builder_strings(b, name, texts, lengths, n_items, NULL);
}

static void fill(weft_builder *b, input *in, uint8_t which)
{
    int64_t n_items = 1 + take(in) % 7;
    weft_builder_items(b, (size_t)n_items);
    if (which & 1)
        add(b, WEFT_FIELD_BOX, "box", in, (const int64_t[3]){n_items, 4, 0}, 2);
    if (which & 2)
        add(b, WEFT_FIELD_QUAD, "quad", in, (const int64_t[3]){n_items, 4, 2}, 3);
    if (which & 4)
        add(b, WEFT_FIELD_POINTS, "points", in, (const int64_t[3]){n_items, 1 + take(in) % 9, 2}, 3);
    if (which & 8)
        add(b, WEFT_FIELD_SCORE, "score", in, (const int64_t[3]){n_items, 0, 0}, 1);
    if (which & 16)
        add_texts(b, "text", in, (size_t)n_items);
    if (which & 32)
        add_texts(b, "label", in, (size_t)n_items);
}

static const weft_field_decl fields[] = {
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, "px"},        {"quad", WEFT_FIELD_QUAD, WEFT_DT_F32, true, 0, "px"},
    {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 0, "px"},  {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1"},
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, "text"}, {"label", WEFT_FIELD_LABEL, WEFT_DT_STRING, true, 0, "label"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    input in = {data, n};
    weft_picture p = {0};
    weft_builder *b = NULL;
    uint8_t which = take(&in);
    weft_arena *arena = weft_arena_create(NULL, 0);
    if (arena && weft_builder_create(arena, fields, sizeof(fields) / sizeof(fields[0]), NULL, NULL, &b, NULL) == WEFT_OK &&
        weft_picture_create(&p, 1 + take(&in) % 120, 1 + take(&in) % 90, 3, NULL) == WEFT_OK) {
        memset(p.data, 90, p.stride_bytes * (size_t)p.height);
        fill(b, &in, which);
        weft_result *r = weft_builder_finish(b, "", "m", "1", NULL, NULL);
        weft_draw_result(&p, r, NULL, NULL);
        weft_result_unref(r);
    }
    weft_picture_destroy(&p);
    weft_arena_destroy(&arena);
    return 0;
}
