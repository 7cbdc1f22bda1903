/* The OCR pipeline: its table, what `open` checks, and the way of one page.
 *
 *   decode -> detect -> boxes in reading order -> (orientation votes) -> lines cut, read, in waves -> result
 *
 * A page holds at most `in_flight` calls at once, stops between steps when nobody waits for it any more, and takes memory in
 * proportion to the picture, the detector's size, boxes.max_boxes and lines.max_width only. */
#include "executor/ocr/ocr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "executor/ocr/ocr_state.h"
#include "image/decode.h"
#include "vision/outputs.h"
#include "vision/picture_input.h"

static const weft_submodel_decl submodels[] = {
    [WEFT_OCR_SLOT_DETECT] = {"detect", false, "text detector (DB): picture [N,3,H,W] to a map [N,1,H,W]"},
    [WEFT_OCR_SLOT_RECOGNISE] = {"recognise", false,
                                 "text recogniser (CTC): line [N,3,48,W] to scores [N,T,classes]; needs `dictionary`"},
    [WEFT_OCR_SLOT_ORIENT] = {"orient", false, "direction of a line: [N,3,48,192] to [N,2], upright and upside down"},
    [WEFT_OCR_SLOT_MODEL] = {"model", false, "the file of the block itself: a detector or a recogniser, as its output says"},
    {0},
};

static const weft_field_decl fields[] = {
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, "one line of text, UTF-8, in reading order; empty without a recogniser"},
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1, mean over the characters; of the box without a recogniser"},
    {"quad", WEFT_FIELD_QUAD, WEFT_DT_F32, true, 0, "corners of the line in pixels of the upright picture: tl, tr, br, bl"},
};

/* As PP-OCR trains its detectors; mean[0] is blue's, a habit of theirs that the weights expect. The size counts only when neither
 * file nor model fixes it. */
static const weft_preprocess_defaults detector_defaults = {
    .input_size = {960, 960},
    .resize_mode = WEFT_RESIZE_TOP_LEFT,
    .interpolation = WEFT_INTERPOLATION_BILINEAR,
    .channel_order = WEFT_CHANNELS_BGR,
    .has_numbers = true,
    .scale = 1.0 / 255.0,
    .mean = {0.485, 0.456, 0.406},
    .std = {0.229, 0.224, 0.225},
};

/* ---- open
 * ---------------------------------------------------------------------------------------------------------------------- */

static void say(const weft_open *o, weft_log_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(const weft_open *o, weft_log_level level, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    if (!o->log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    o->log(o->log_cookie, level, "ocr", o->name, line);
}

/* First floating output of this rank, or of one rank less (models without a batch axis); n_outputs if there is none. */
static size_t output_of_rank(const weft_model_view *m, int rank)
{
    for (int r = rank; r >= rank - 1; r--)
        for (size_t i = 0; i < m->n_outputs; i++)
            if (m->outputs[i].rank == r && weft_is_float(m->outputs[i].dtype))
                return i;
    return m->n_outputs;
}

static weft_status play(weft_ocr_part *part, const char *what, const weft_model_view *m, size_t slot, int rank,
                        const char *expected, weft_error *err)
{
    char seen[400];
    *part = (weft_ocr_part){m, slot, output_of_rank(m, rank)};
    if (part->output < m->n_outputs)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_CONFIG, "the %s (model %s) has outputs %s; %s was expected", what, m->name,
                     weft_outputs_print(m, seen, sizeof seen), expected);
}

/* Who plays which part. The file of the block itself follows its output: a map of rank 4 finds text, scores of rank 3 read it. */
static weft_status cast(weft_ocr_state *st, const weft_open *o, weft_error *err)
{
    const weft_model_view *const *m = o->submodels;
    size_t detect = WEFT_OCR_SLOT_DETECT, recognise = WEFT_OCR_SLOT_RECOGNISE;
    const weft_model_view *own = m[WEFT_OCR_SLOT_MODEL];
    char seen[400];
    if (own) {
        bool map = false, scores = false;
        for (size_t i = 0; i < own->n_outputs; i++) {
            map = map || own->outputs[i].rank == 4;
            scores = scores || own->outputs[i].rank == 3;
        }
        if (!map && !scores)
            return weft_fail(err, WEFT_E_CONFIG,
                             "the file of %s has outputs %s; a text map [N,1,H,W] (detector) or scores [N,T,classes] "
                             "(recogniser) was expected",
                             o->name, weft_outputs_print(own, seen, sizeof seen));
        size_t taken = map ? detect : recognise;
        if (m[taken])
            return weft_fail(err, WEFT_E_CONFIG,
                             "%s has a file of its own that is a %s, and the slot %s is filled too; leave one of them out",
                             o->name, map ? "detector" : "recogniser", submodels[taken].slot);
        *(map ? &detect : &recognise) = WEFT_OCR_SLOT_MODEL;
    }
    weft_status s = WEFT_OK;
    if (m[detect])
        s = play(&st->detect, "detector", m[detect], detect, 4, "a text map [N,1,H,W]", err);
    if (s == WEFT_OK && m[recognise])
        s = play(&st->recognise, "recogniser", m[recognise], recognise, 3, "scores [N,T,classes]", err);
    if (s == WEFT_OK && m[WEFT_OCR_SLOT_ORIENT])
        s = play(&st->orient, "orientation model", m[WEFT_OCR_SLOT_ORIENT], WEFT_OCR_SLOT_ORIENT, 2, "two scores [N,2]", err);
    if (s == WEFT_OK && !st->detect.model && !st->recognise.model)
        s = weft_fail(
            err, WEFT_E_CONFIG,
            "%s has no model; give `detect` and `recognise` (and `orient` if pages may stand on their head), or one file",
            o->name);
    return s;
}

static weft_status open_detector(weft_ocr_state *st, weft_error *err)
{
    const weft_model_view *m = st->detect.model;
    const weft_preprocess_options *p = &st->options->preprocess;
    if (m->n_inputs != 1)
        return weft_fail(err, WEFT_E_CONFIG, "the detector (model %s) takes %zu inputs; one picture was expected", m->name,
                         m->n_inputs);
    if (p->resize_mode == WEFT_RESIZE_CROP)
        return weft_fail(
            err, WEFT_E_CONFIG,
            "preprocess.resize_mode is crop, which would cut text away; letterbox, top_left or stretch was expected");
    const weft_tensor_desc *d = &m->inputs[0];
    if (d->rank == 4 && !m->batched && d->shape[0] > 1)
        return weft_fail(err, WEFT_E_CONFIG,
                         "the detector (model %s) takes exactly %" PRId64 " pictures at once; a batch of 1 was expected", m->name,
                         d->shape[0]);
    weft_status s = weft_preprocess_open(p, &detector_defaults, d, &st->detect_input, err);
    if (s != WEFT_OK)
        return weft_fail_prefix(err, s, "the detector (model %s)", m->name);
    int first = d->rank - (st->detect_input.to_tensor.layout == WEFT_LAYOUT_NCHW ? 2 : 3);
    st->any_size = p->input_size.width == 0 && d->shape[first] < 0 && d->shape[first + 1] < 0;
    return WEFT_OK;
}

static weft_status open_recogniser(weft_ocr_state *st, const weft_open *o, weft_error *err)
{
    const weft_model_view *m = st->recognise.model;
    const weft_tensor_desc *out = &m->outputs[st->recognise.output];
    weft_status s = weft_ocr_line_input_open(&st->recognise_input, "the recogniser", m, &st->options->lines, 0, err);
    if (s != WEFT_OK)
        return s;
    if (!st->options->dictionary)
        return weft_fail(err, WEFT_E_CONFIG,
                         "%s has a recogniser (model %s) but no `dictionary`; give the text file with its characters", o->name,
                         m->name);
    return weft_ocr_dictionary_open(o, st->options->dictionary, out->shape[out->rank - 1], &st->dictionary, err);
}

static weft_status open_orientation(weft_ocr_state *st, const weft_open *o, weft_error *err)
{
    st->orientation = (weft_ocr_orientation)st->options->orientation;
    if (st->orientation == WEFT_OCR_ORIENTATION_AUTO)
        st->orientation = st->orient.model ? WEFT_OCR_ORIENTATION_PAGE : WEFT_OCR_ORIENTATION_OFF;
    if (st->orientation == WEFT_OCR_ORIENTATION_OFF)
        return WEFT_OK;
    if (!st->orient.model)
        return weft_fail(err, WEFT_E_CONFIG, "orientation of %s needs a model in the slot orient; fill it, or say off", o->name);
    return weft_ocr_line_input_open(&st->orient_input, "the orientation model", st->orient.model, NULL, 192, err);
}

static void describe(const weft_ocr_state *st, const weft_open *o)
{
    if (!st->recognise.model)
        say(o, WEFT_LOG_WARN,
            "%s finds text (its output is a map) and there is no recogniser: answers hold boxes without text; fill `recognise` "
            "for text",
            st->detect.model->name);
    else if (!st->detect.model)
        say(o, WEFT_LOG_WARN,
            "%s reads one line and there is no detector: each picture is taken as a single line; fill `detect` for pages",
            st->recognise.model->name);
    else
        say(o, WEFT_LOG_INFO, "detect %s, recognise %s (%" PRId64 " classes), orientation %s", st->detect.model->name,
            st->recognise.model->name, st->dictionary.n_classes,
            st->orientation == WEFT_OCR_ORIENTATION_OFF    ? "off"
            : st->orientation == WEFT_OCR_ORIENTATION_PAGE ? "by page"
                                                           : "by line");
}

static weft_status ocr_open(const weft_open *o, void **state, weft_error *err)
{
    weft_ocr_state *st = o->alloc(o, sizeof *st);
    *state = NULL;
    if (!st)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the OCR pipeline");
    st->options = o->options;
    weft_status s = cast(st, o, err);
    if (s == WEFT_OK && st->detect.model)
        s = open_detector(st, err);
    if (s == WEFT_OK && st->recognise.model)
        s = open_recogniser(st, o, err);
    if (s == WEFT_OK)
        s = open_orientation(st, o, err);
    if (s != WEFT_OK)
        return s;
    describe(st, o);
    *state = st;
    return WEFT_OK;
}

/* ---- one page
 * -------------------------------------------------------------------------------------------------------------------- */

static size_t calls_in_flight(const weft_ocr_state *st)
{
    const weft_model_view *m = st->recognise.model ? st->recognise.model : st->detect.model;
    int64_t n = st->options->lines.in_flight;
    if (n == 0)
        n = m->batched && m->max_batch > 2 ? 2 * m->max_batch : 4;
    return (size_t)(n > WEFT_OCR_MAX_IN_FLIGHT ? WEFT_OCR_MAX_IN_FLIGHT : n);
}

static weft_status whole_page(weft_ocr_page *page, weft_error *err)
{
    float w = (float)page->picture.width, h = (float)page->picture.height;
    page->boxes = weft_pipe_alloc(page->pipe, sizeof *page->boxes);
    if (!page->boxes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a line");
    *page->boxes = (weft_ocr_box){.quad = {{0, 0}, {w, 0}, {w, h}, {0, h}}, .score = 1};
    page->n_boxes = 1;
    page->whole = true;
    return WEFT_OK;
}

static bool accepted(const weft_ocr_page *page, size_t box)
{
    if (!page->state->recognise.model)
        return (double)page->boxes[box].score >= page->min_confidence;
    return page->lines[box].text && (double)page->lines[box].score >= page->min_confidence;
}

/* Reads in waves, so that a page with more boxes than wanted lines is not read to its end; keep[] are the accepted boxes in
 * reading order. */
static weft_status read_lines(weft_ocr_page *page, size_t *keep, size_t *n_keep, weft_error *err)
{
    size_t at = 0, wanted = (size_t)page->max_texts;
    weft_status s = WEFT_OK;
    while (s == WEFT_OK && at < page->n_boxes && *n_keep < wanted) {
        size_t n = wanted - *n_keep > page->in_flight ? wanted - *n_keep : page->in_flight;
        n = n > page->n_boxes - at ? page->n_boxes - at : n;
        if (page->state->recognise.model && page->state->orientation == WEFT_OCR_ORIENTATION_LINE)
            s = weft_ocr_orient_lines(page, at, n, err);
        if (s == WEFT_OK && page->state->recognise.model)
            s = weft_ocr_recognise(page, at, n, err);
        for (size_t i = at; s == WEFT_OK && i < at + n && *n_keep < wanted; i++)
            if (accepted(page, i))
                keep[(*n_keep)++] = i;
        at += n;
    }
    return s;
}

static weft_status write_result(const weft_ocr_page *page, const size_t *keep, size_t n, weft_error *err)
{
    weft_builder *b = page->builder;
    const int64_t shape[] = {(int64_t)n, 4, 2};
    void *score = NULL, *quad = NULL;
    const char **texts = weft_pipe_alloc(page->pipe, n * sizeof *texts + 1);
    size_t *n_bytes = weft_pipe_alloc(page->pipe, n * sizeof *n_bytes + 1);
    if (!texts || !n_bytes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a result of %zu lines", n);
    for (size_t i = 0; i < n; i++) {
        const weft_ocr_line *line = &page->lines[keep[i]];
        texts[i] = line->text ? line->text : "";
        n_bytes[i] = line->n_bytes;
    }
    weft_builder_items(b, n);
    weft_status s = weft_builder_strings(b, "text", texts, n_bytes, n, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "score", shape, 1, &score, err);
    if (s == WEFT_OK)
        s = weft_builder_column(b, "quad", shape, 3, &quad, err);
    for (size_t i = 0; s == WEFT_OK && i < n; i++) {
        const weft_ocr_box *box = &page->boxes[keep[i]];
        ((float *)score)[i] = page->state->recognise.model ? page->lines[keep[i]].score : box->score;
        for (int k = 0; k < 8; k++)
            ((float *)quad)[i * 8 + (size_t)k] = box->quad[k / 2][k % 2];
    }
    return s;
}

enum { STEP_FOUND = 1, STEP_ORIENTED, STEP_READ, N_STEPS = STEP_READ };

static weft_status read_page(weft_ocr_page *page, weft_error *err)
{
    const weft_ocr_state *st = page->state;
    size_t n_keep = 0;
    weft_status s = st->detect.model ? weft_ocr_detect(page, err) : whole_page(page, err);
    if (s != WEFT_OK)
        return s;
    weft_pipe_progress(page->pipe, STEP_FOUND, N_STEPS);
    page->flipped = weft_pipe_alloc(page->pipe, page->n_boxes * sizeof *page->flipped + 1);
    page->lines = weft_pipe_alloc(page->pipe, page->n_boxes * sizeof *page->lines + 1);
    size_t *keep = weft_pipe_alloc(page->pipe, page->n_boxes * sizeof *keep + 1);
    if (!page->flipped || !page->lines || !keep)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu lines", page->n_boxes);
    if (st->orientation == WEFT_OCR_ORIENTATION_PAGE && page->n_boxes > 0)
        s = weft_ocr_orient_page(page, err);
    if (s != WEFT_OK)
        return s;
    weft_pipe_progress(page->pipe, STEP_ORIENTED, N_STEPS);
    s = read_lines(page, keep, &n_keep, err);
    if (s != WEFT_OK)
        return s;
    weft_pipe_progress(page->pipe, STEP_READ, N_STEPS);
    return write_result(page, keep, n_keep, err);
}

static weft_status ocr_run(void *state, weft_pipe *pipe, const weft_call *call, weft_builder *b, weft_error *err)
{
    const weft_ocr_state *st = state;
    const weft_ocr_postprocess *o = &st->options->postprocess;
    weft_ocr_page page = {.state = st,
                          .pipe = pipe,
                          .builder = b,
                          .in_flight = calls_in_flight(st),
                          .min_confidence = o->min_confidence,
                          .max_texts = o->max_texts};
    const weft_picture_limits *limits = st->detect.model ? &st->detect_input.limits : NULL;
    const void *bytes;
    size_t n_bytes;
    weft_status s = weft_param_float(call, "min_confidence", 0, 1, &page.min_confidence, err);
    if (s == WEFT_OK)
        s = weft_param_int(call, "max_texts", 1, WEFT_OCR_MAX_TEXTS, &page.max_texts, err);
    if (s == WEFT_OK)
        s = weft_call_picture(call, WEFT_PICTURE_INPUT, &bytes, &n_bytes, err);
    if (s == WEFT_OK)
        s = weft_picture_decode(bytes, n_bytes, limits, 3, &page.picture, err);
    if (s == WEFT_OK)
        s = weft_ocr_still_wanted(&page, err);
    if (s == WEFT_OK)
        s = weft_group_open(pipe, page.in_flight, &page.group, err);
    if (s == WEFT_OK)
        s = read_page(&page, err);
    weft_group_close(&page.group);
    weft_ocr_cutter_destroy(&page.cutter);
    weft_picture_destroy(&page.picture);
    return s;
}

static const char *const aliases[] = {"OcrExecutor", NULL};
static const char *const params[] = {"min_confidence", "max_texts", NULL};

const weft_executor weft_executor_ocr = {
    .name = "ocr",
    .aliases = aliases,
    .summary = "text in pictures: lines with their characters, score and corners",
    .details = "A detector of the DB family finds the lines, a CTC recogniser reads them, and an orientation model, when there "
               "is one, sees whether the page stands on its head "
               "(PP-OCR v2 to v5 are such models). With a detector alone answers hold boxes without text; with a recogniser "
               "alone the picture is one line. Lines of one page "
               "and of several pages share runs where the model batches; the text of a line never depends on the others.",
    .options = weft_ocr_option_table,
    .options_size = sizeof(weft_ocr_options),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .picture_input = WEFT_PICTURE_INPUT,
    .params = params,
    .submodels = submodels,
    .open = ocr_open,
    .run = ocr_run,
};
