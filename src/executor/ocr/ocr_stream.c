/* Lines of one page through one model.
 *
 * Each line is a call of its own with one row, so that the engine forms batches from the lines of all pages that are waiting and
 * a line's answer does not depend on its neighbours. While a run is on its way the next lines are cut. */
#include "executor/ocr/ocr_state.h"

#include <inttypes.h>

typedef struct slot {
    size_t box;
    bool busy;
} slot;

typedef struct stream {
    weft_ocr_page *page;
    const weft_ocr_stream *job;
    slot slots[WEFT_OCR_MAX_IN_FLIGHT];
    size_t n_slots, n_busy;
} stream;

weft_status weft_ocr_still_wanted(const weft_ocr_page *page, weft_error *err)
{
    if (!weft_pipe_over(page->pipe))
        return WEFT_OK;
    if (weft_pipe_remaining_ns(page->pipe) <= 0)
        return weft_fail(err, WEFT_E_DEADLINE, "the deadline passed before the page was read");
    return weft_fail(err, WEFT_E_CANCELLED, "the request was cancelled before the page was read");
}

static size_t line_bytes(const weft_ocr_page *page, const weft_ocr_line_input *in, size_t box)
{
    int32_t w, h;
    weft_ocr_line_size(page->boxes[box].quad, &w, &h);
    return weft_to_tensor_bytes(&in->to_tensor, weft_ocr_line_width(in, w, h), in->height);
}

/* Memory for the inputs in flight, once for the page: the widest line for each. */
static weft_status open_slots(weft_ocr_page *page, weft_error *err)
{
    const weft_ocr_state *st = page->state;
    size_t widest = st->orient.model ? st->orient_input.max_bytes : 0;
    size_t n = page->n_boxes < page->in_flight ? page->n_boxes : page->in_flight;
    for (size_t i = 0; st->recognise.model && i < page->n_boxes; i++) {
        size_t bytes = line_bytes(page, &st->recognise_input, i);
        widest = bytes > widest ? bytes : widest;
    }
    for (size_t i = 0; i < n && !page->slots[i]; i++) {
        page->slots[i] = weft_pipe_alloc(page->pipe, widest);
        if (!page->slots[i])
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu lines of %zu bytes", n, widest);
    }
    return WEFT_OK;
}

static weft_status submit(stream *st, size_t box, weft_error *err)
{
    weft_ocr_page *page = st->page;
    const weft_ocr_stream *job = st->job;
    size_t k = 0;
    while (st->slots[k].busy)
        k++;
    weft_status s = weft_ocr_still_wanted(page, err);
    const weft_picture *line;
    if (s == WEFT_OK)
        s = weft_ocr_line_cut(&page->cutter, &page->picture, page->whole ? NULL : page->boxes[box].quad,
                              !job->upright && page->flipped[box], &line, err);
    if (s != WEFT_OK)
        return s;
    int32_t width = weft_ocr_line_width(job->input, line->width, line->height);
    s = weft_ocr_line_write(job->input, line, width, page->slots[k], err);
    if (s != WEFT_OK)
        return s;
    weft_tensor t = {.name = job->part->model->inputs[0].name};
    weft_ocr_line_tensor(job->input, width, page->slots[k], &t);
    weft_sub_call call = {.submodel = job->part->slot, .inputs = &t, .n_inputs = 1, .n_rows = 1, .tag = k};
    s = weft_group_submit(page->group, &call, err);
    if (s == WEFT_OK) {
        st->slots[k].box = box;
        st->slots[k].busy = true;
        st->n_busy++;
    }
    return s;
}

static weft_status take(stream *st, weft_error *err)
{
    weft_ocr_page *page = st->page;
    const weft_ocr_part *part = st->job->part;
    weft_sub_result r;
    weft_status s = weft_group_wait_any(page->group, &r, err);
    if (s != WEFT_OK)
        return s;
    slot *k = &st->slots[r.tag];
    k->busy = false;
    st->n_busy--;
    if (r.status != WEFT_OK) {
        if (err)
            *err = r.error;
        s = weft_fail_prefix(err, r.status, "%s line %zu", st->job->doing, k->box + 1);
    } else if (part->output >= r.n_outputs) {
        s = weft_fail(err, WEFT_E_RUN_FAILED, "the model %s gave %zu outputs, output %zu was expected", part->model->name,
                      r.n_outputs, part->output + 1);
    } else {
        s = st->job->finish(page, st->job->cookie, k->box, &r.outputs[part->output], err);
    }
    weft_group_release(page->group, r.slot);
    return s;
}

weft_status weft_ocr_stream_run(weft_ocr_page *page, const weft_ocr_stream *job, weft_error *err)
{
    stream st = {.page = page, .job = job};
    if (job->n == 0)
        return WEFT_OK;
    weft_status s = page->slots[0] ? WEFT_OK : open_slots(page, err);
    st.n_slots = page->n_boxes < page->in_flight ? page->n_boxes : page->in_flight;
    size_t next = 0;
    while (s == WEFT_OK && (next < job->n || st.n_busy > 0)) {
        if (next < job->n && st.n_busy < st.n_slots)
            s = submit(&st, job->boxes[next++], err);
        else
            s = take(&st, err);
    }
    return s; /* after a failure what is left ends with the group */
}
