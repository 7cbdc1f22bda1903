#include "vision/ranking.h"

#include <math.h>

float weft_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

void weft_softmax(float *values, size_t n)
{
    float largest = -INFINITY;
    for (size_t i = 0; i < n; i++)
        largest = values[i] > largest ? values[i] : largest;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = expf(values[i] - largest);
        sum += values[i];
    }
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(values[i] / sum);
}

bool weft_is_distribution(const float *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] >= 0.0f && values[i] <= 1.0f))
            return false;
        sum += values[i];
    }
    return n == 1 || fabs(sum - 1.0) <= 0.01;
}

size_t weft_count_broken(const float *values, size_t n)
{
    size_t broken = 0;
    for (size_t i = 0; i < n; i++)
        broken += !(values[i] < INFINITY);
    return broken;
}

static bool better(weft_ranked a, weft_ranked b)
{
    return a.score != b.score ? a.score > b.score : a.index < b.index;
}

/* Heap with the worst on top. */
static void sift_down(weft_ranked *heap, size_t n, size_t i)
{
    for (;;) {
        size_t worst = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (better(heap[worst], heap[child]))
                worst = child;
        if (worst == i)
            return;
        weft_ranked t = heap[i];
        heap[i] = heap[worst];
        heap[worst] = t;
        i = worst;
    }
}

size_t weft_top_k(const float *scores, size_t n, weft_ranked *best, size_t k)
{
    k = k < n ? k : n;
    if (k == 0)
        return 0;
    for (size_t i = 0; i < k; i++)
        best[i] = (weft_ranked){(int32_t)i, scores[i]};
    for (size_t i = k / 2; i-- > 0;)
        sift_down(best, k, i);
    for (size_t i = k; i < n; i++) {
        weft_ranked item = {(int32_t)i, scores[i]};
        if (better(item, best[0])) {
            best[0] = item;
            sift_down(best, k, 0);
        }
    }
    for (size_t left = k; left > 1; left--) {
        weft_ranked worst = best[0];
        best[0] = best[left - 1];
        best[left - 1] = worst;
        sift_down(best, left - 1, 0);
    }
    return k;
}
