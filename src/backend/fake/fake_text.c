#include "backend/fake/fake_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define MAX_WORD_BYTES 256

typedef struct reader {
    const char *p, *end;
    int line;
    weft_arena *arena;
    weft_error *err;
} reader;

/* The next word of the line, "" at its end. A word in brackets may hold blanks. */
static weft_status next_word(reader *r, char *word)
{
    size_t n = 0;
    int depth = 0;

    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
    while (r->p < r->end && *r->p != '\n' && *r->p != '#') {
        char c = *r->p;

        if (!depth && (c == ' ' || c == '\t' || c == '\r'))
            break;
        if (n + 1 == MAX_WORD_BYTES)
            return weft_fail(r->err, WEFT_E_CONFIG, "line %d: a word has more than %d bytes", r->line, MAX_WORD_BYTES - 1);
        if (c == 0)
            return weft_fail(r->err, WEFT_E_CONFIG, "line %d: a byte 0; this is not a text file", r->line);
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        word[n++] = c;
        r->p++;
    }
    word[n] = 0;
    return WEFT_OK;
}

static weft_status number(reader *r, const char *word, double max, double *out)
{
    char *end;

    *out = strtod(word, &end);
    if (!*word || *end || !(*out >= 0) || *out > max)
        return weft_fail(r->err, WEFT_E_CONFIG, "line %d: expected a number from 0 to %.0f, got \"%.64s\"", r->line, max, word);
    return WEFT_OK;
}

static weft_status parse_shape(reader *r, const char *word, weft_list *shape)
{
    int64_t dims[WEFT_MAX_RANK];
    const char *p = word;
    size_t n = 0;

    if (*p++ != '[')
        goto bad;
    while (*p == ' ')
        p++;
    while (*p != ']') {
        char *end;
        long long v = strtoll(p, &end, 10);

        if (end == p || v < -1 || n == WEFT_MAX_RANK)
            goto bad;
        dims[n++] = v;
        p = end;
        while (*p == ' ')
            p++;
        if (*p == ',')
            p++;
        else if (*p != ']')
            goto bad;
    }
    if (p[1])
        goto bad;
    shape->n = n;
    shape->items = weft_arena_array(r->arena, n ? n : 1, sizeof *dims);
    if (!shape->items)
        return weft_fail(r->err, WEFT_E_NO_MEMORY, "no memory to read a fake model");
    memcpy(shape->items, dims, n * sizeof *dims);
    return WEFT_OK;
bad:
    return weft_fail(r->err, WEFT_E_CONFIG,
                     "line %d: expected a shape such as [-1,3,224,224] with at most %d dims of -1 or more, got \"%.64s\"",
                     r->line, WEFT_MAX_RANK, word);
}

static weft_status parse_extra(reader *r, const char *word, bool input, weft_fake_tensor *t)
{
    static const char *const values[] = {"sum", "copy", "rows", "mix", "run"};
    double n;
    weft_status s;

    if (input && !strcmp(word, "optional")) {
        t->optional = true;
        return WEFT_OK;
    }
    for (int i = 0; !input && i < 5; i++)
        if (!strcmp(word, values[i])) {
            t->values = i;
            return WEFT_OK;
        }
    if (!input && !strcmp(word, "fixed")) {
        t->size = WEFT_SIZE_FIXED;
    } else if (!input && !strcmp(word, "runtime")) {
        t->size = WEFT_SIZE_RUNTIME;
    } else if (!input && !strncmp(word, "bounded=", 8)) {
        s = number(r, word + 8, 1e15, &n);
        if (s)
            return s;
        t->size = WEFT_SIZE_BOUNDED;
        t->max_bytes = (uint64_t)n;
    } else {
        return weft_fail(r->err, WEFT_E_CONFIG, "line %d: expected %s, got \"%.64s\"", r->line,
                         input ? "optional" : "sum, copy, rows, mix, run, fixed, runtime or bounded=BYTES", word);
    }
    return WEFT_OK;
}

/* Appends to a list whose storage was taken for WEFT_FAKE_MAX_TENSORS at its first entry. */
static weft_status parse_tensor(reader *r, bool input, weft_list *list)
{
    char word[MAX_WORD_BYTES];
    weft_fake_tensor *t;
    weft_status s;

    if (list->n == WEFT_FAKE_MAX_TENSORS)
        return weft_fail(r->err, WEFT_E_CONFIG, "line %d: more than %d tensors", r->line, WEFT_FAKE_MAX_TENSORS);
    if (!list->n)
        list->items = weft_arena_array(r->arena, WEFT_FAKE_MAX_TENSORS, sizeof *t);
    if (!list->items)
        return weft_fail(r->err, WEFT_E_NO_MEMORY, "no memory to read a fake model");
    t = (weft_fake_tensor *)list->items + list->n;
    s = next_word(r, word);
    if (s)
        return s;
    if (!*word)
        return weft_fail(r->err, WEFT_E_CONFIG, "line %d: expected NAME TYPE [SHAPE]", r->line);
    t->name = weft_arena_strdup(r->arena, word);
    if (!t->name)
        return weft_fail(r->err, WEFT_E_NO_MEMORY, "no memory to read a fake model");
    s = next_word(r, word);
    if (s)
        return s;
    t->dtype = (int)weft_dtype_from_name(word);
    if (!t->dtype)
        return weft_fail(r->err, WEFT_E_CONFIG, "line %d: expected an element type such as FP32, got \"%.64s\"", r->line, word);
    s = next_word(r, word);
    if (!s)
        s = parse_shape(r, word, &t->shape);
    while (!s && !(s = next_word(r, word)) && *word)
        s = parse_extra(r, word, input, t);
    if (!s)
        list->n++;
    return s;
}

static weft_status parse_batch(reader *r, weft_list *list)
{
    char word[MAX_WORD_BYTES];
    int64_t *sizes = weft_arena_array(r->arena, WEFT_FAKE_MAX_GEARS, sizeof *sizes);
    double v;
    weft_status s;

    if (!sizes)
        return weft_fail(r->err, WEFT_E_NO_MEMORY, "no memory to read a fake model");
    list->n = 0;
    list->items = sizes;
    while (!(s = next_word(r, word)) && *word) {
        s = number(r, word, 4096, &v);
        if (s)
            return s;
        if (list->n == WEFT_FAKE_MAX_GEARS)
            return weft_fail(r->err, WEFT_E_CONFIG, "line %d: more than %d batch sizes", r->line, WEFT_FAKE_MAX_GEARS);
        sizes[list->n++] = (int64_t)v;
    }
    return s;
}

static weft_status parse_number(reader *r, const char *key, weft_fake_options *o)
{
    char word[MAX_WORD_BYTES];
    double v;
    weft_status s = next_word(r, word);

    if (!s)
        s = number(r, word, 1e15, &v);
    if (s)
        return s;
    if (!strcmp(key, "delay"))
        o->delay_ms = v;
    else if (!strcmp(key, "row_delay"))
        o->row_delay_ms = v;
    else if (!strcmp(key, "load_delay"))
        o->load_delay_ms = v;
    else if (!strcmp(key, "weights"))
        o->weights_bytes = (uint64_t)v;
    else
        o->work_bytes = (uint64_t)v;
    return WEFT_OK;
}

static weft_status parse_line(reader *r, weft_fake_options *o)
{
    static const char *const numbers[] = {"delay", "row_delay", "load_delay", "weights", "work"};
    char word[MAX_WORD_BYTES], extra[MAX_WORD_BYTES];
    weft_status s = next_word(r, word);
    bool known = true;

    if (s || !*word)
        return s;
    if (!strcmp(word, "input")) {
        s = parse_tensor(r, true, &o->inputs);
    } else if (!strcmp(word, "output")) {
        s = parse_tensor(r, false, &o->outputs);
    } else if (!strcmp(word, "batch")) {
        s = parse_batch(r, &o->batch_sizes);
    } else if (!strcmp(word, "spin")) {
        o->spin = true;
    } else {
        known = false;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !known; i++)
            if (!strcmp(word, numbers[i])) {
                s = parse_number(r, numbers[i], o);
                known = true;
            }
    }
    if (!known)
        return weft_fail(
            r->err, WEFT_E_CONFIG,
            "line %d: expected input, output, batch, delay, row_delay, load_delay, weights, work or spin, got \"%.64s\"", r->line,
            word);
    if (s)
        return s;
    s = next_word(r, extra);
    if (!s && *extra)
        s = weft_fail(r->err, WEFT_E_CONFIG, "line %d: \"%.64s\" after the end of the statement", r->line, extra);
    return s;
}

weft_status weft_fake_text_parse(const char *text, size_t n_bytes, weft_arena *arena, weft_fake_options *o, weft_error *err)
{
    reader r = {.p = text, .end = text + n_bytes, .line = 1, .arena = arena, .err = err};

    if (n_bytes > WEFT_FAKE_TEXT_MAX_BYTES)
        return weft_fail(err, WEFT_E_CONFIG, "a fake model has at most %d bytes, this one has %zu", WEFT_FAKE_TEXT_MAX_BYTES,
                         n_bytes);
    while (r.p < r.end) {
        weft_status s = parse_line(&r, o);

        if (s)
            return s;
        while (r.p < r.end && *r.p != '\n')
            r.p++;
        r.p += r.p < r.end;
        r.line++;
    }
    return WEFT_OK;
}
