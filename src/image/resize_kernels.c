#include "image/resize_kernels.h"

#include <string.h>

/* ---- portable C ---------------------------------------------------------------------------------------------------------- */
static void linear_row_c(const uint8_t *s, size_t n_bytes, const int32_t *at, const int16_t *w, int32_t n_pixels, int channels,
                         int16_t *d)
{
    (void)n_bytes;
    for (int32_t x = 0; x < n_pixels; x++, at += 2, w += 2, d += channels) {
        const uint8_t *a = s + at[0], *b = s + at[1];
        for (int c = 0; c < channels; c++)
            d[c] = (int16_t)((a[c] * w[0] + b[c] * w[1]) >> 4);
    }
}

static void area_row_c(const uint8_t *s, size_t n_bytes, const int32_t *first, const int32_t *at, const float *weight,
                       int32_t n_pixels, int channels, float *d)
{
    (void)n_bytes;
    for (int32_t x = 0; x < n_pixels; x++, d += channels) {
        float v[4] = {0};
        for (int32_t k = first[x]; k < first[x + 1]; k++) {
            const uint8_t *p = s + (size_t)at[k] * (size_t)channels;
            for (int c = 0; c < channels; c++)
                v[c] += (float)p[c] * weight[k];
        }
        memcpy(d, v, (size_t)channels * sizeof(float));
    }
}

static const weft_resize_kernels kernels_c = {"c", linear_row_c, area_row_c};

/* ---- four bytes of a pixel at a time. With 3 channels the fourth lane is rubbish that the next pixel overwrites; pixels whose
 * fourth byte would lie behind the row are left to the portable code.
 * ----------------------------------------------------------------------------------- */
#if defined(__SSE2__)
#define KERNELS_4 "sse2"
#include <emmintrin.h>

typedef __m128 floats;

static __m128i load_4(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm_cvtsi32_si128(v);
}

static void linear_pixel(const uint8_t *a, const uint8_t *b, const int16_t *w, int16_t *d)
{
    int32_t pair;
    memcpy(&pair, w, 4);
    __m128i ab = _mm_unpacklo_epi8(_mm_unpacklo_epi8(load_4(a), load_4(b)), _mm_setzero_si128());
    __m128i sums = _mm_srai_epi32(_mm_madd_epi16(ab, _mm_set1_epi32(pair)), 4);
    _mm_storel_epi64((__m128i *)(void *)d, _mm_packs_epi32(sums, sums));
}

static floats zero_4(void)
{
    return _mm_setzero_ps();
}

static floats add_weighted(floats sum, const uint8_t *p, float weight)
{
    __m128i zero = _mm_setzero_si128();
    __m128i v = _mm_unpacklo_epi16(_mm_unpacklo_epi8(load_4(p), zero), zero);
    return _mm_add_ps(sum, _mm_mul_ps(_mm_cvtepi32_ps(v), _mm_set1_ps(weight)));
}

static void store_4(float *d, floats v)
{
    _mm_storeu_ps(d, v);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)
#define KERNELS_4 "neon"
#include <arm_neon.h>

typedef float32x4_t floats;

static uint16x4_t load_4(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return vget_low_u16(vmovl_u8(vcreate_u8(v)));
}

static void linear_pixel(const uint8_t *a, const uint8_t *b, const int16_t *w, int16_t *d)
{
    int32x4_t sums = vmull_n_s16(vreinterpret_s16_u16(load_4(a)), w[0]);
    sums = vmlal_n_s16(sums, vreinterpret_s16_u16(load_4(b)), w[1]);
    vst1_s16(d, vmovn_s32(vshrq_n_s32(sums, 4)));
}

static floats zero_4(void)
{
    return vdupq_n_f32(0);
}

/* multiplied and added in two steps: one fused step would round differently from the portable code */
static floats add_weighted(floats sum, const uint8_t *p, float weight)
{
    return vaddq_f32(sum, vmulq_n_f32(vcvtq_f32_u32(vmovl_u16(load_4(p))), weight));
}

static void store_4(float *d, floats v)
{
    vst1q_f32(d, v);
}
#endif

#ifdef KERNELS_4
static void linear_row_4(const uint8_t *s, size_t n_bytes, const int32_t *at, const int16_t *w, int32_t n_pixels, int channels,
                         int16_t *d)
{
    int32_t x = 0;
    if (channels >= 3)
        for (; x < n_pixels && (size_t)at[2 * x + 1] + 4 <= n_bytes; x++, d += channels)
            linear_pixel(s + at[2 * x], s + at[2 * x + 1], w + 2 * x, d);
    linear_row_c(s, n_bytes, at + 2 * (size_t)x, w + 2 * (size_t)x, n_pixels - x, channels, d);
}

static void area_row_4(const uint8_t *s, size_t n_bytes, const int32_t *first, const int32_t *at, const float *weight,
                       int32_t n_pixels, int channels, float *d)
{
    int32_t x = 0;
    size_t cn = (size_t)channels;
    if (channels >= 3)
        for (; x < n_pixels && (size_t)at[first[x + 1] - 1] * cn + 4 <= n_bytes; x++, d += channels) {
            floats sum = zero_4();
            for (int32_t k = first[x]; k < first[x + 1]; k++)
                sum = add_weighted(sum, s + (size_t)at[k] * cn, weight[k]);
            store_4(d, sum);
        }
    area_row_c(s, n_bytes, first + x, at, weight, n_pixels - x, channels, d);
}

static const weft_resize_kernels kernels_4 = {KERNELS_4, linear_row_4, area_row_4};
#endif

const weft_resize_kernels *const *weft_resize_kernel_sets(void)
{
    static const weft_resize_kernels *const sets[] = {&kernels_c,
#ifdef KERNELS_4
                                                      &kernels_4,
#endif
                                                      NULL};
    return sets;
}

const weft_resize_kernels *weft_resize_kernels_best(void)
{
#ifdef KERNELS_4
    return &kernels_4;
#else
    return &kernels_c;
#endif
}
