/* Perspective crop, equal to cv2.warpPerspective: positions in 1/32 pixel, weights from a table with 15 fractional bits.
 * The map is solved forward (quad -> rectangle) and then inverted, in the order OpenCV does it, because a last-bit difference can
 * move a position by 1/32 pixel. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "image/geometry.h"

enum { STEPS = 32, STEP_BITS = 5, COEF_BITS = 15, COEF_ONE = 1 << COEF_BITS };

/* ---- the map ------------------------------------------------------------------------------------------------------------- */
static bool eliminate(double a[8][8], double b[8])
{
    for (int i = 0; i < 8; i++) {
        int k = i;
        for (int j = i + 1; j < 8; j++)
            if (fabs(a[j][i]) > fabs(a[k][i]))
                k = j;
        if (!(fabs(a[k][i]) >= 2.3e-14))
            return false;
        for (int j = i; k != i && j < 8; j++) {
            double t = a[i][j];
            a[i][j] = a[k][j];
            a[k][j] = t;
        }
        double t = b[i];
        b[i] = b[k];
        b[k] = t;
        double d = -1 / a[i][i];
        for (int j = i + 1; j < 8; j++) {
            double alpha = a[j][i] * d;
            for (k = i + 1; k < 8; k++)
                a[j][k] += alpha * a[i][k];
            b[j] += alpha * b[i];
        }
    }
    for (int i = 7; i >= 0; i--) {
        double s = b[i];
        for (int k = i + 1; k < 8; k++)
            s -= a[i][k] * b[k];
        b[i] = s / a[i][i];
    }
    return true;
}

static bool invert(const double m[9], double out[9])
{
    double det = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    if (!(fabs(det) > 0) || !isfinite(det))
        return false;
    double d = 1. / det;
    out[0] = (m[4] * m[8] - m[5] * m[7]) * d;
    out[1] = (m[2] * m[7] - m[1] * m[8]) * d;
    out[2] = (m[1] * m[5] - m[2] * m[4]) * d;
    out[3] = (m[5] * m[6] - m[3] * m[8]) * d;
    out[4] = (m[0] * m[8] - m[2] * m[6]) * d;
    out[5] = (m[2] * m[3] - m[0] * m[5]) * d;
    out[6] = (m[3] * m[7] - m[4] * m[6]) * d;
    out[7] = (m[1] * m[6] - m[0] * m[7]) * d;
    out[8] = (m[0] * m[4] - m[1] * m[3]) * d;
    return true;
}

/* Target -> source, as 3x3 matrix. */
static bool map_of(const float quad[4][2], int32_t width, int32_t height, double out[9])
{
    const double to[4][2] = {{0, 0}, {width, 0}, {width, height}, {0, height}};
    double a[8][8] = {{0}}, b[8], m[9];
    for (int i = 0; i < 4; i++) {
        double x = (double)quad[i][0], y = (double)quad[i][1];
        if (!isfinite(x) || !isfinite(y) || fabs(x) > 1e6 || fabs(y) > 1e6)
            return false;
        a[i][0] = a[i + 4][3] = x;
        a[i][1] = a[i + 4][4] = y;
        a[i][2] = a[i + 4][5] = 1;
        a[i][6] = -x * to[i][0];
        a[i][7] = -y * to[i][0];
        a[i + 4][6] = -x * to[i][1];
        a[i + 4][7] = -y * to[i][1];
        b[i] = to[i][0];
        b[i + 4] = to[i][1];
    }
    if (!eliminate(a, b))
        return false;
    memcpy(m, b, sizeof(b));
    m[8] = 1;
    return invert(m, out);
}

/* ---- weights: for each 1/32 x 1/32 position, taps x taps weights that sum to COEF_ONE ------------------------------------ */
static int16_t linear_table[STEPS * STEPS][4];
static int16_t cubic_table[STEPS * STEPS][16];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void taps_at(int step, int n_taps, float w[4])
{
    const float a = -0.75f, f = (float)step / STEPS;
    if (n_taps == 2) {
        w[0] = 1.f - f;
        w[1] = f;
        return;
    }
    w[0] = ((a * (f + 1) - 5 * a) * (f + 1) + 8 * a) * (f + 1) - 4 * a;
    w[1] = ((a + 2) * f - (a + 3)) * f * f + 1;
    w[2] = ((a + 2) * (1 - f) - (a + 3)) * (1 - f) * (1 - f) + 1;
    w[3] = 1.f - w[0] - w[1] - w[2];
}

/* What rounding left over goes to the largest or smallest of the lower right middle weights. */
static void settle(int16_t *w, int n_taps, int sum)
{
    int diff = sum - COEF_ONE, middle = n_taps / 2, low = middle * n_taps + middle, high = low;
    for (int i = middle; i < middle + 2 && i < n_taps; i++)
        for (int j = middle; j < middle + 2 && j < n_taps; j++) {
            int k = i * n_taps + j;
            if (w[k] < w[low])
                low = k;
            else if (w[k] > w[high])
                high = k;
        }
    if (diff < 0)
        w[high] = (int16_t)(w[high] - diff);
    else if (diff > 0)
        w[low] = (int16_t)(w[low] - diff);
}

static void fill_table(int16_t *table, int n_taps)
{
    for (int i = 0; i < STEPS * STEPS; i++, table += n_taps * n_taps) {
        float wy[4], wx[4];
        int sum = 0;
        taps_at(i / STEPS, n_taps, wy);
        taps_at(i % STEPS, n_taps, wx);
        for (int k = 0; k < n_taps * n_taps; k++) {
            float v = wy[k / n_taps] * wx[k % n_taps] * COEF_ONE;
            table[k] = (int16_t)(v >= 32767 ? 32767 : lrintf(v));
            sum += table[k];
        }
        settle(table, n_taps, sum);
    }
}

static void fill_tables(void)
{
    fill_table(&linear_table[0][0], 2);
    fill_table(&cubic_table[0][0], 4);
}

/* ---- pixels -------------------------------------------------------------------------------------------------------------- */
static int32_t clamp_index(int32_t i, int32_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int32_t fixed(double v)
{
    return !(v > INT32_MIN) ? INT32_MIN : v >= INT32_MAX ? INT32_MAX : (int32_t)lrint(v);
}

static uint8_t clip8(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static void sample(const weft_picture *src, int32_t x, int32_t y, int n_taps, const int16_t *w, uint8_t *d)
{
    int cn = src->channels, back = n_taps / 2 - 1;
    int32_t sum[4] = {0}, xs[4];
    for (int j = 0; j < n_taps; j++) /* x and y are 27-bit numbers: no overflow */
        xs[j] = clamp_index(x - back + j, src->width) * cn;
    for (int i = 0; i < n_taps; i++) {
        const uint8_t *row = src->data + (size_t)clamp_index(y - back + i, src->height) * src->stride_bytes;
        for (int j = 0; j < n_taps; j++, w++)
            for (int c = 0; c < cn; c++)
                sum[c] += row[xs[j] + c] * *w;
    }
    for (int c = 0; c < cn; c++)
        d[c] = clip8((sum[c] + (1 << (COEF_BITS - 1))) >> COEF_BITS);
}

static void warp_rows(const weft_picture *src, const double m[9], int n_taps, weft_picture *dst)
{
    enum { BLOCK = 32 }; /* positions are computed from the start of each block of 32 columns, as the reference does */
    const int16_t *table = n_taps == 2 ? &linear_table[0][0] : &cubic_table[0][0];
    for (int32_t y = 0; y < dst->height; y++) {
        uint8_t *d = dst->data + (size_t)y * dst->stride_bytes;
        for (int32_t x = 0; x < dst->width; x++, d += dst->channels) {
            int32_t x0 = x & ~(BLOCK - 1), dx = x - x0;
            double u = m[0] * x0 + m[1] * y + m[2] + m[0] * dx;
            double v = m[3] * x0 + m[4] * y + m[5] + m[3] * dx;
            double w = m[6] * x0 + m[7] * y + m[8] + m[6] * dx;
            w = w != 0 ? STEPS / w : 0;
            int32_t fx = fixed(u * w), fy = fixed(v * w);
            int step = (fy & (STEPS - 1)) * STEPS + (fx & (STEPS - 1));
            sample(src, fx >> STEP_BITS, fy >> STEP_BITS, n_taps, table + step * n_taps * n_taps, d);
        }
    }
}

weft_status weft_picture_warp_quad(const weft_picture *src, const float quad[4][2], int32_t width, int32_t height,
                                   weft_interpolation how, weft_picture *dst, weft_error *err)
{
    double m[9];
    if (how != WEFT_INTERPOLATION_BILINEAR && how != WEFT_INTERPOLATION_BICUBIC)
        return weft_fail(err, WEFT_E_INVALID, "a perspective crop is bilinear or bicubic; interpolation %d came", (int)how);
    if (src->width < 1 || src->height < 1)
        return weft_fail(err, WEFT_E_INVALID, "the picture to crop from has no pixels");
    if (width < 1 || height < 1 || !map_of(quad, width, height, m))
        return weft_fail(err, WEFT_E_INVALID,
                         "four corners that span an area and a size of at least 1x1 are needed for a perspective crop");
    weft_status s = weft_picture_create(dst, width, height, src->channels, err);
    if (s != WEFT_OK)
        return s;
    pthread_once(&tables_once, fill_tables);
    warp_rows(src, m, how == WEFT_INTERPOLATION_BILINEAR ? 2 : 4, dst);
    return WEFT_OK;
}
