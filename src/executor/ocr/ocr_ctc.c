#include "executor/ocr/ocr_text.h"

#include <math.h>
#include <string.h>

#include "base/fp.h"

/* One step as floats; FP32 is read where it lies. */
static const float *step_floats(const void *scores, weft_dtype dtype, size_t step, size_t n, float *row)
{
    size_t at = step * n;
    switch (dtype) {
    case WEFT_DT_F16:
        for (size_t i = 0; i < n; i++)
            row[i] = weft_f16_to_f32(((const uint16_t *)scores)[at + i]);
        return row;
    case WEFT_DT_BF16:
        for (size_t i = 0; i < n; i++)
            row[i] = weft_bf16_to_f32(((const uint16_t *)scores)[at + i]);
        return row;
    case WEFT_DT_F64:
        for (size_t i = 0; i < n; i++)
            row[i] = (float)((const double *)scores)[at + i];
        return row;
    default:
        return (const float *)scores + at;
    }
}

/* First index of the largest value; n when no value is above -inf (all NaN, say). Sixteen running maxima let the compiler use
 * wide registers without being allowed to reorder floats. */
static size_t arg_max(const float *v, size_t n, float *best)
{
    enum { LANES = 16 };
    float lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = v[i + (size_t)k] > lane[k] ? v[i + (size_t)k] : lane[k];
    float m = -INFINITY;
    for (int k = 0; k < LANES; k++)
        m = lane[k] > m ? lane[k] : m;
    for (; i < n; i++)
        m = v[i] > m ? v[i] : m;
    *best = m;
    if (m == -INFINITY)
        return n;
    for (i = 0; v[i] != m; i++)
        ;
    return i;
}

/* Probabilities lie in 0..1 and sum to 1; five percent leave room for half precision. */
static bool is_probability(const float *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i] >= 0 && v[i] <= 1.001f))
            return false;
        sum += (double)v[i];
    }
    return fabs(sum - 1) < 0.05;
}

static float softmax_of_best(const float *v, size_t n, float best)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > -INFINITY)
            sum += exp((double)v[i] - (double)best);
    return (float)(1 / sum);
}

weft_status weft_ocr_ctc(const void *scores, weft_dtype dtype, int64_t n_steps, int64_t n_classes, float *row,
                         weft_ocr_path *path, weft_error *err)
{
    size_t n = (size_t)n_classes, previous = 0;
    double sum = 0;
    bool logits = false;
    path->n = 0;
    path->score = 0;
    for (size_t step = 0; step < (size_t)n_steps; step++) {
        const float *v = step_floats(scores, dtype, step, n, row);
        float best;
        size_t k = arg_max(v, n, &best);
        if (k == n || best == INFINITY)
            return weft_fail(err, WEFT_E_RUN_FAILED,
                             "the recogniser's answer holds values that are not finite numbers; the model overflowed, try it "
                             "with higher precision");
        if (step == 0)
            logits = !is_probability(v, n);
        if (k != 0 && k != previous) {
            path->classes[path->n++] = (uint32_t)k;
            sum += (double)(logits ? softmax_of_best(v, n, best) : best > 1 ? 1 : best);
        }
        previous = k;
    }
    if (path->n > 0)
        path->score = (float)(sum / (double)path->n);
    return WEFT_OK;
}

size_t weft_ocr_path_bytes(const weft_ocr_dictionary *d, const weft_ocr_path *path)
{
    size_t n = 0;
    for (size_t i = 0; i < path->n; i++)
        n += d->words[path->classes[i]].n_bytes;
    return n;
}

void weft_ocr_path_write(const weft_ocr_dictionary *d, const weft_ocr_path *path, bool backwards, char *text)
{
    for (size_t i = 0; i < path->n; i++) {
        const weft_ocr_word *w = &d->words[path->classes[backwards ? path->n - 1 - i : i]];
        memcpy(text, w->text, w->n_bytes);
        text += w->n_bytes;
    }
}
