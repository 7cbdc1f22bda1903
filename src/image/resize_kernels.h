/* The two inner loops of resizing that compilers do not vectorise well: portable C, and the same with SSE2 or NEON. Every set
 * gives bit for bit the same numbers (tests/unit/image/test_resize_kernels.c). Not for other parts. */
#ifndef WEFT_IMAGE_RESIZE_KERNELS_H
#define WEFT_IMAGE_RESIZE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Elements behind the last one of `d` that a kernel may overwrite with anything. */
#define WEFT_RESIZE_SLACK 8

typedef struct weft_resize_kernels {
    const char *name;
    /* d[x * channels + c] = (s[at[2x] + c] * w[2x] + s[at[2x+1] + c] * w[2x+1]) >> 4 for n_pixels pixels. at: byte positions,
     * each pair rising, inside a row of n_bytes; weights 0..2048, each pair sums to 2048. */
    void (*linear_row)(const uint8_t *s, size_t n_bytes, const int32_t *at, const int16_t *w, int32_t n_pixels, int channels,
                       int16_t *d);
    /* d[x * channels + c] = sum over k in first[x] .. first[x+1]-1 of s[at[k] * channels + c] * weight[k], added in rising order
     * from 0. at: pixel positions, rising. */
    void (*area_row)(const uint8_t *s, size_t n_bytes, const int32_t *first, const int32_t *at, const float *weight,
                     int32_t n_pixels, int channels, float *d);
} weft_resize_kernels;

/* All sets that this machine can run, best last; NULL ends the list. The first is portable C. */
const weft_resize_kernels *const *weft_resize_kernel_sets(void);
const weft_resize_kernels *weft_resize_kernels_best(void);

#endif
