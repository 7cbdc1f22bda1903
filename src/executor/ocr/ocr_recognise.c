/* Lines -> text. */
#include "executor/ocr/ocr_state.h"

#include <inttypes.h>

#include "vision/outputs.h"

static weft_status open_scratch(weft_ocr_page *page, int64_t n_classes, int64_t n_steps, weft_error *err)
{
    if (!page->class_row)
        page->class_row = weft_pipe_alloc(page->pipe, (size_t)n_classes * sizeof *page->class_row);
    if (!page->classes || page->classes_room < (size_t)n_steps) {
        page->classes_room = 2 * (size_t)n_steps + 1;
        page->classes = weft_pipe_alloc(page->pipe, page->classes_room * sizeof *page->classes);
    }
    if (page->class_row && page->classes)
        return WEFT_OK;
    page->classes_room = 0;
    return weft_fail(err, WEFT_E_NO_MEMORY, "no memory to decode a line of %" PRId64 " steps", n_steps);
}

/* [1,T,C] or [T,C]. */
static weft_status check_answer(const weft_ocr_page *page, const weft_tensor *t, int64_t *n_steps, int64_t *n_classes,
                                weft_error *err)
{
    char shape[128];
    size_t n_bytes;
    bool fits = (t->rank == 2 || (t->rank == 3 && t->shape[0] == 1)) && weft_is_float(t->dtype) && t->data &&
                weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &n_bytes) && n_bytes == t->n_bytes &&
                t->shape[t->rank - 2] <= WEFT_OCR_MAX_LINE_WIDTH;
    if (!fits)
        return weft_fail(err, WEFT_E_RUN_FAILED, "the recogniser %s gave %s %s; scores [1, steps, classes] were expected",
                         page->state->recognise.model->name, weft_dtype_name(t->dtype),
                         weft_shape_print(t->shape, t->rank, shape, sizeof shape));
    *n_steps = t->shape[t->rank - 2];
    *n_classes = t->shape[t->rank - 1];
    return weft_ocr_dictionary_check(&page->state->dictionary, *n_classes, err);
}

static weft_status decode(weft_ocr_page *page, void *cookie, size_t box, const weft_tensor *output, weft_error *err)
{
    const weft_ocr_dictionary *d = &page->state->dictionary;
    int64_t n_steps = 0, n_classes = 0;
    weft_status s = check_answer(page, output, &n_steps, &n_classes, err);
    if (s == WEFT_OK)
        s = open_scratch(page, n_classes, n_steps, err);
    if (s != WEFT_OK)
        return s;
    weft_ocr_path path = {.classes = page->classes};
    s = weft_ocr_ctc(output->data, output->dtype, n_steps, n_classes, page->class_row, &path, err);
    if (s != WEFT_OK || path.n == 0)
        return s;
    size_t n_bytes = weft_ocr_path_bytes(d, &path);
    char *text = weft_pipe_alloc(page->pipe, n_bytes + 1);
    if (!text)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a text of %zu bytes", n_bytes);
    weft_ocr_path_write(d, &path, page->state->options->postprocess.direction == WEFT_OCR_RIGHT_TO_LEFT, text);
    page->lines[box] = (weft_ocr_line){text, n_bytes, path.score};
    return WEFT_OK;
}

/* Widest first: lines of one width become neighbours, which lets them share runs, and the last runs of a page are short ones. */
static void sort_by_width(const weft_ocr_page *page, size_t *boxes, int32_t *widths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t box = boxes[i], k = i;
        int32_t w, h;
        weft_ocr_line_size(page->boxes[box].quad, &w, &h);
        w = weft_ocr_line_width(&page->state->recognise_input, w, h);
        for (; k > 0 && widths[k - 1] < w; k--) {
            widths[k] = widths[k - 1];
            boxes[k] = boxes[k - 1];
        }
        widths[k] = w;
        boxes[k] = box;
    }
}

weft_status weft_ocr_recognise(weft_ocr_page *page, size_t first, size_t n, weft_error *err)
{
    size_t *boxes = weft_pipe_alloc(page->pipe, n * sizeof *boxes);
    int32_t *widths = weft_pipe_alloc(page->pipe, n * sizeof *widths);
    if (!boxes || !widths)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu lines", n);
    for (size_t i = 0; i < n; i++)
        boxes[i] = first + i;
    sort_by_width(page, boxes, widths, n);
    const weft_ocr_stream job = {.part = &page->state->recognise,
                                 .input = &page->state->recognise_input,
                                 .doing = "reading",
                                 .boxes = boxes,
                                 .n = n,
                                 .finish = decode};
    return weft_ocr_stream_run(page, &job, err);
}
