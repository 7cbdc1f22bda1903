/* Class scores: activations and the k best of n. Nothing here allocates. */
#ifndef WEFT_VISION_RANKING_H
#define WEFT_VISION_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_ranked {
    int32_t index; /* class */
    float score;
} weft_ranked;

float weft_sigmoid(float x);
/* In place; sums in double from the largest down so that no exponent overflows. -inf gives 0. Every value must be a number and at
 * least one finite. */
void weft_softmax(float *values, size_t n);
/* What a trained head most likely gave: values in 0..1 (n = 1), or values in 0..1 that sum to 1 within one percent. */
bool weft_is_distribution(const float *values, size_t n);
/* Numbers of NaN and +inf among n values: neither may come out of a healthy model. */
size_t weft_count_broken(const float *values, size_t n);
/* The best k of n, best first, equal scores by index. `best` has room for k. Returns min(k, n). O(n log k). */
size_t weft_top_k(const float *scores, size_t n, weft_ranked *best, size_t k);

#endif
