/* Lines that stand on their head.
 *
 * PP-OCR's direction model sees one line and gives [upright, upside down]. Alone it misfires: with its customary threshold of 0.9
 * upright lines are turned (seen at 0.898, 0.913, 0.942) and the character error rate of good pages rises ninefold, while truly
 * reversed lines reach 0.975 and more. So the surest lines of the whole page vote, and a single line is believed only above a
 * high threshold. */
#include "executor/ocr/ocr_state.h"

#include <inttypes.h>

#include "base/fp.h"

#define MAX_VOTES 32 /* lines asked about a page: enough for any majority, and bounded */

typedef struct votes {
    double threshold;
    size_t upright, turned;
    bool *flip; /* by box, or NULL when only the counts matter */
} votes;

static bool read_pair(const weft_tensor *t, double p[2])
{
    size_t n_bytes;
    int64_t n;
    if (!weft_shape_elements(t->shape, t->rank, &n) || n != 2 ||
        !weft_tensor_dense_bytes(t->dtype, t->shape, t->rank, &n_bytes) || n_bytes != t->n_bytes || !t->data)
        return false;
    for (int i = 0; i < 2; i++) {
        if (t->dtype == WEFT_DT_F32)
            p[i] = (double)((const float *)t->data)[i];
        else if (t->dtype == WEFT_DT_F16)
            p[i] = (double)weft_f16_to_f32(((const uint16_t *)t->data)[i]);
        else if (t->dtype == WEFT_DT_BF16)
            p[i] = (double)weft_bf16_to_f32(((const uint16_t *)t->data)[i]);
        else
            return false;
    }
    return p[0] == p[0] && p[1] == p[1];
}

static weft_status count_vote(weft_ocr_page *page, void *cookie, size_t box, const weft_tensor *output, weft_error *err)
{
    votes *v = cookie;
    double p[2];
    char shape[128];
    if (!read_pair(output, p))
        return weft_fail(err, WEFT_E_RUN_FAILED,
                         "the orientation model %s gave %s %s; two probabilities, upright and upside down, were expected",
                         page->state->orient.model->name, weft_dtype_name(output->dtype),
                         weft_shape_print(output->shape, output->rank, shape, sizeof shape));
    v->upright += p[0] >= v->threshold && p[0] > p[1];
    v->turned += p[1] >= v->threshold && p[1] > p[0];
    if (v->flip)
        v->flip[box] = p[1] >= v->threshold && p[1] > p[0];
    return WEFT_OK;
}

static weft_status ask(weft_ocr_page *page, votes *v, const size_t *boxes, size_t n, weft_error *err)
{
    const weft_ocr_stream job = {.part = &page->state->orient,
                                 .input = &page->state->orient_input,
                                 .doing = "orienting",
                                 .boxes = boxes,
                                 .n = n,
                                 .upright = true,
                                 .finish = count_vote,
                                 .cookie = v};
    v->threshold = page->state->options->orientation_threshold;
    return weft_ocr_stream_run(page, &job, err);
}

weft_status weft_ocr_orient_page(weft_ocr_page *page, weft_error *err)
{
    size_t boxes[MAX_VOTES], n = page->n_boxes < MAX_VOTES ? page->n_boxes : MAX_VOTES;
    votes v = {0};
    for (size_t i = 0; i < n; i++) /* spread over the page */
        boxes[i] = i * page->n_boxes / n;
    weft_status s = ask(page, &v, boxes, n, err);
    if (s != WEFT_OK || v.turned <= v.upright)
        return s;
    weft_ocr_page_sort(page, true);
    for (size_t i = 0; i < page->n_boxes; i++)
        page->flipped[i] = true;
    return WEFT_OK;
}

weft_status weft_ocr_orient_lines(weft_ocr_page *page, size_t first, size_t n, weft_error *err)
{
    votes v = {.flip = page->flipped};
    size_t *boxes = weft_pipe_alloc(page->pipe, n * sizeof *boxes);
    if (!boxes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu lines", n);
    for (size_t i = 0; i < n; i++)
        boxes[i] = first + i;
    return ask(page, &v, boxes, n, err);
}
