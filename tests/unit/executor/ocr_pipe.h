/* A pipeline without an engine: the call group answered by the test, at once, and handed out in the reverse order of submission.
 * Included by the OCR tests only, in place of the engine's own functions. */
#ifndef WEFT_TESTS_OCR_PIPE_H
#define WEFT_TESTS_OCR_PIPE_H

#include "harness/check.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/option_text.h"
#include "executor/ocr/ocr.h"
#include "executor/ocr/ocr_options.h"
#include "image/encode.h"
#include "image/picture.h"
#include "weft/executor.h"

#define PIPE_SLOTS 4
#define PIPE_CALLS 64

/* Answers one call: fills dtype, rank, shape of *out and gives its malloc'ed data; or returns a status with a sentence. */
typedef weft_status (*pipe_answer)(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err);

struct weft_pipe {
    weft_arena *arena;
    const weft_model_view *views[PIPE_SLOTS];
    pipe_answer answers[PIPE_SLOTS];
    void *cookie;
    size_t n_calls[PIPE_SLOTS];
    size_t most_in_flight;
    int last_step, n_steps;
    long over_after;      /* over after so many questions and waits; -1 = never */
    int64_t remaining_ns; /* when over */
    long fail_alloc_at;   /* the n-th weft_pipe_alloc fails; 0 = none */
    long n_allocs;
    size_t open_groups;
};

struct weft_group {
    weft_pipe *pipe;
    size_t max_calls, n_busy;
    struct {
        bool busy, taken;
        weft_sub_result result;
        weft_tensor out;
    } calls[PIPE_CALLS];
};

bool weft_pipe_over(const weft_pipe *p)
{
    weft_pipe *w = (weft_pipe *)(uintptr_t)p;
    if (w->over_after > 0)
        w->over_after--;
    return w->over_after == 0;
}

int64_t weft_pipe_remaining_ns(const weft_pipe *p)
{
    return p->over_after == 0 ? p->remaining_ns : INT64_MAX;
}

const weft_model_view *weft_pipe_submodel(const weft_pipe *p, size_t i)
{
    return p->views[i];
}

void *weft_pipe_alloc(weft_pipe *p, size_t n_bytes)
{
    if (++p->n_allocs == p->fail_alloc_at)
        return NULL;
    return weft_arena_zalloc(p->arena, n_bytes);
}

void weft_pipe_progress(weft_pipe *p, int step, int n_steps)
{
    assert_true(step > p->last_step && step <= n_steps);
    p->last_step = step;
    p->n_steps = n_steps;
}

weft_status weft_group_open(weft_pipe *p, size_t max_calls, weft_group **out, weft_error *err)
{
    assert_true(max_calls >= 1 && max_calls <= PIPE_CALLS);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a group");
    (*out)->pipe = p;
    (*out)->max_calls = max_calls;
    p->open_groups++;
    return WEFT_OK;
}

weft_status weft_group_submit(weft_group *g, const weft_sub_call *c, weft_error *err)
{
    weft_pipe *p = g->pipe;
    size_t i = 0;
    if (g->n_busy == g->max_calls)
        return weft_fail(err, WEFT_E_BUSY, "%zu calls are out", g->n_busy);
    while (g->calls[i].busy)
        i++;
    assert_non_null(p->views[c->submodel]);
    assert_int_equal(c->n_inputs, 1);
    assert_int_equal(c->n_rows, 1);
    assert_int_equal(c->inputs->shape[0], 1);
    assert_int_equal(weft_tensor_check(c->inputs, NULL), WEFT_OK);
    assert_string_equal(c->inputs->name, p->views[c->submodel]->inputs[0].name);
    p->n_calls[c->submodel]++;
    g->calls[i].busy = true;
    g->calls[i].taken = false;
    g->calls[i].out = (weft_tensor){.name = "out", .dtype = WEFT_DT_F32};
    weft_sub_result *r = &g->calls[i].result;
    *r = (weft_sub_result){.tag = c->tag, .outputs = &g->calls[i].out, .n_outputs = 1, .slot = i};
    r->status = p->answers[c->submodel](p->cookie, c->inputs, &g->calls[i].out, &r->error);
    if (r->status == WEFT_OK)
        assert_true(weft_tensor_dense_bytes(g->calls[i].out.dtype, g->calls[i].out.shape, g->calls[i].out.rank,
                                            &g->calls[i].out.n_bytes));
    g->n_busy++;
    p->most_in_flight = g->n_busy > p->most_in_flight ? g->n_busy : p->most_in_flight;
    return WEFT_OK;
}

weft_status weft_group_wait_any(weft_group *g, weft_sub_result *out, weft_error *err)
{
    if (weft_pipe_over(g->pipe))
        return weft_fail(err, g->pipe->remaining_ns <= 0 ? WEFT_E_DEADLINE : WEFT_E_CANCELLED, "over");
    for (size_t i = PIPE_CALLS; i-- > 0;)
        if (g->calls[i].busy && !g->calls[i].taken) {
            g->calls[i].taken = true;
            *out = g->calls[i].result;
            return WEFT_OK;
        }
    return weft_fail(err, WEFT_E_NOT_FOUND, "nothing is out");
}

void weft_group_release(weft_group *g, size_t slot)
{
    assert_true(g->calls[slot].busy && g->calls[slot].taken);
    free(g->calls[slot].out.data);
    g->calls[slot].out.data = NULL;
    g->calls[slot].busy = false;
    g->n_busy--;
}

void weft_group_close(weft_group **g)
{
    if (!*g)
        return;
    for (size_t i = 0; i < PIPE_CALLS; i++)
        if ((*g)->calls[i].busy)
            free((*g)->calls[i].out.data);
    (*g)->pipe->open_groups--;
    free(*g);
    *g = NULL;
}

/* ---- models that see rectangles
 * ------------------------------------------------------------------------------------------------
 *
 * On a white page a rectangle without green is a line of text: its blue says which character it holds (20 x class), and its left
 * half is red when it stands upright. */
#define TOY_CLASSES 12 /* blank, a..j, space */
#define TOY_KEYS "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
#define TOY_REVERSED 10 /* what the recogniser makes of a line on its head: j */

static weft_status toy_detect(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err)
{
    int64_t h = in->shape[2], w = in->shape[3];
    const float *green = (const float *)in->data + h * w;
    float *p = malloc((size_t)(h * w) * sizeof *p);
    if (!p)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory");
    for (int64_t i = 0; i < h * w; i++)
        p[i] = green[i] < 0 ? 0.9f : 0.01f;
    out->rank = 4;
    out->shape[0] = out->shape[1] = 1;
    out->shape[2] = h;
    out->shape[3] = w;
    out->data = p;
    return WEFT_OK;
}

/* Colours of a line at its first, middle and last column without green, in the middle row; false when there is none. */
static bool toy_look(const weft_tensor *in, float *first_red, float *last_red, int *class)
{
    int64_t h = in->shape[2], w = in->shape[3], first = -1, last = -1;
    const float *blue = (const float *)in->data + h / 2 * w, *green = blue + h * w, *red = green + h * w;
    for (int64_t x = 0; x < w; x++)
        if (green[x] < -0.5f) {
            first = first < 0 ? x : first;
            last = x;
        }
    if (first < 0)
        return false;
    *first_red = red[first + (last - first) / 4];
    *last_red = red[last - (last - first) / 4];
    *class = (int)((blue[(first + last) / 2] * 0.5f + 0.5f) * 255 / 20 + 0.5f);
    return true;
}

static weft_status toy_read(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err)
{
    enum { STEPS = 4 };
    float first, last, *p = calloc(STEPS * TOY_CLASSES, sizeof *p);
    int class = 0;
    if (!p)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory");
    if (toy_look(in, &first, &last, &class) && first < last)
        class = TOY_REVERSED;
    p[0] = p[3 * TOY_CLASSES] = 1;
    for (int step = 1; step < 3; step++) { /* class 9 is one that it is not sure of */
        p[step * TOY_CLASSES + class] = class == 9 ? 0.4f : 0.8f;
        p[step * TOY_CLASSES + 11] = class == 9 ? 0.3f : 0.2f;
        p[step * TOY_CLASSES] = class == 9 ? 0.3f : 0;
    }
    out->rank = 3;
    out->shape[0] = 1;
    out->shape[1] = STEPS;
    out->shape[2] = TOY_CLASSES;
    out->data = p;
    return WEFT_OK;
}

static weft_status toy_orient(void *cookie, const weft_tensor *in, weft_tensor *out, weft_error *err)
{
    float first = 1, last = 0, *p = malloc(2 * sizeof *p);
    int class;
    if (!p)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory");
    assert_int_equal(in->shape[3], 192);
    toy_look(in, &first, &last, &class);
    p[0] = first >= last ? 0.98f : 0.01f;
    p[1] = first >= last ? 0.02f : 0.99f;
    out->rank = 2;
    out->shape[0] = 1;
    out->shape[1] = 2;
    out->data = p;
    return WEFT_OK;
}

typedef struct toy_line {
    int x, y, class;
    bool reversed;
} toy_line;

#define TOY_WIDTH 80 /* of a line */
#define TOY_HEIGHT 20

/* A white page with lines on it, as PNG. */
static void toy_page(int width, int height, const toy_line *lines, size_t n, weft_buffer *png)
{
    weft_picture p = {0};
    assert_int_equal(weft_picture_create(&p, width, height, 3, NULL), WEFT_OK);
    memset(p.data, 255, p.stride_bytes * (size_t)height);
    for (size_t i = 0; i < n; i++)
        for (int y = lines[i].y; y < lines[i].y + TOY_HEIGHT; y++)
            for (int x = 0; x < TOY_WIDTH; x++) {
                uint8_t *at = p.data + (size_t)y * p.stride_bytes + (size_t)(lines[i].x + x) * 3;
                at[0] = (x < TOY_WIDTH / 2) != lines[i].reversed ? 255 : 0;
                at[1] = 0;
                at[2] = (uint8_t)(20 * lines[i].class);
            }
    weft_buffer_init(png, 0);
    assert_int_equal(weft_picture_encode_png(&p, 1, png, NULL), WEFT_OK);
    weft_picture_destroy(&p);
}

/* ---- the executor on it ------------------------------------------------------------------------------------------------------
 */

typedef struct ocr_rig {
    weft_arena *arena; /* of the state */
    weft_ocr_options options;
    weft_tensor_desc in[PIPE_SLOTS], out[PIPE_SLOTS];
    weft_model_view views[PIPE_SLOTS];
    const weft_model_view *slots[PIPE_SLOTS];
    weft_open open;
    const char *dictionary;
    char logged[512];
    weft_log_level level;
    void *state;
    struct weft_pipe pipe;
    weft_param params[4];
    size_t n_params;
    weft_error err;
} ocr_rig;

static void *rig_alloc(const weft_open *o, size_t n_bytes)
{
    return weft_arena_zalloc(((ocr_rig *)o->internal)->arena, n_bytes);
}

static weft_status rig_read(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                            weft_error *err)
{
    ocr_rig *r = o->internal;
    if (strcmp(path, "keys.txt") != 0)
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no file %s", path);
    *text = r->dictionary;
    *n_bytes = strlen(*text);
    return WEFT_OK;
}

static void rig_log(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    ocr_rig *r = cookie;
    r->level = level;
    snprintf(r->logged, sizeof r->logged, "%s", line);
}

static void rig_init(ocr_rig *r)
{
    memset(r, 0, sizeof *r);
    r->arena = weft_arena_create(NULL, 0);
    assert_int_equal(weft_options_defaults(weft_executor_ocr.options, &r->options, r->arena, NULL), WEFT_OK);
    r->open = (weft_open){.name = "ocr",
                          .options = &r->options,
                          .submodels = r->slots,
                          .log = rig_log,
                          .log_cookie = r,
                          .read_file = rig_read,
                          .alloc = rig_alloc,
                          .internal = r};
    r->pipe.over_after = -1;
    r->pipe.last_step = -1;
}

static void rig_fini(ocr_rig *r)
{
    weft_arena_destroy(&r->arena);
}

/* Fills a slot with a model of one input and one output; shapes end with 0. */
static void rig_model(ocr_rig *r, size_t slot, const char *name, const int64_t *in, const int64_t *out, pipe_answer answer)
{
    r->in[slot] = (weft_tensor_desc){.name = "x", .dtype = WEFT_DT_F32};
    r->out[slot] = (weft_tensor_desc){.name = "y", .dtype = WEFT_DT_F32};
    while (in[r->in[slot].rank]) {
        r->in[slot].shape[r->in[slot].rank] = in[r->in[slot].rank];
        r->in[slot].rank++;
    }
    while (out[r->out[slot].rank]) {
        r->out[slot].shape[r->out[slot].rank] = out[r->out[slot].rank];
        r->out[slot].rank++;
    }
    r->views[slot] = (weft_model_view){.name = name,
                                       .inputs = &r->in[slot],
                                       .outputs = &r->out[slot],
                                       .n_inputs = 1,
                                       .n_outputs = 1,
                                       .max_batch = 1,
                                       .batched = in[0] < 0};
    r->slots[slot] = &r->views[slot];
    r->pipe.views[slot] = &r->views[slot];
    r->pipe.answers[slot] = answer;
}

/* All three toys in their slots. */
static void rig_toys(ocr_rig *r, bool orient)
{
    rig_model(r, 0, "det", (const int64_t[]){-1, 3, -1, -1, 0}, (const int64_t[]){-1, 1, -1, -1, 0}, toy_detect);
    rig_model(r, 1, "rec", (const int64_t[]){-1, 3, 48, -1, 0}, (const int64_t[]){-1, -1, TOY_CLASSES, 0}, toy_read);
    if (orient)
        rig_model(r, 2, "cls", (const int64_t[]){-1, 3, 48, 192, 0}, (const int64_t[]){-1, 2, 0}, toy_orient);
    r->dictionary = TOY_KEYS;
    r->options.dictionary = "keys.txt";
}

static weft_status rig_open(ocr_rig *r)
{
    return weft_executor_ocr.open(&r->open, &r->state, &r->err);
}

/* Runs an encoded picture; *result NULL on failure. The pipe's counters start afresh, its rules stay. */
static weft_status rig_run(ocr_rig *r, const void *bytes, size_t n_bytes, weft_result **result)
{
    struct weft_pipe *p = &r->pipe;
    weft_builder *b = NULL;
    *result = NULL;
    p->arena = weft_arena_create(NULL, 0);
    memset(p->n_calls, 0, sizeof p->n_calls);
    p->most_in_flight = 0;
    p->last_step = 0;
    p->n_allocs = 0;
    weft_error_clear(&r->err);
    weft_status s = p->arena ? WEFT_OK : WEFT_E_NO_MEMORY;
    if (s == WEFT_OK)
        s = weft_builder_create(p->arena, weft_executor_ocr.fields, weft_executor_ocr.n_fields, NULL, NULL, &b, &r->err);
    const weft_input in = weft_input_bytes("image", bytes, n_bytes);
    const weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1, .params = r->params, .n_params = r->n_params};
    if (s == WEFT_OK)
        s = weft_executor_ocr.run(r->state, p, &call, b, &r->err);
    assert_int_equal(p->open_groups, 0);
    if (s == WEFT_OK)
        *result = weft_builder_finish(b, "", "ocr", "1", NULL, NULL);
    else
        weft_arena_destroy(&p->arena);
    return s;
}

/* After rig_run that succeeded. */
static void rig_done(ocr_rig *r, weft_result *result)
{
    weft_result_unref(result);
    weft_arena_destroy(&r->pipe.arena);
}

#endif
