/* Picture operations against straightforward code and against libjpeg alone; prints ratios (above 1 = ours is faster). Each pair
 * runs interleaved and the best of several rounds counts, so that other work on the machine disturbs little.
 *
 *     bench_image_ops [ROUNDS] */
#include "base/buffer.h"
#include "image/decode.h"
#include "image/encode.h"
#include "image/geometry.h"
#include "image/preprocess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

static int n_rounds = 9;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef void (*job)(void *arg);

static double best_of(job f, void *arg, double best)
{
    double start = now_ms();
    f(arg);
    double t = now_ms() - start;
    return t < best ? t : best;
}

static void compare(const char *what, job ours, job plain, void *arg)
{
    double a = 1e9, b = 1e9;
    for (int i = 0; i < n_rounds; i++) {
        a = best_of(ours, arg, a);
        b = best_of(plain, arg, b);
    }
    printf("%-62s %8.3f ms %8.3f ms   %5.2f\n", what, a, b, b / a);
}

static void die(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* ---- material ------------------------------------------------------------------------------------------------------------ */
typedef struct material {
    weft_picture photo; /* 2000 x 1500 */
    weft_picture out;
    weft_buffer jpeg;
    int32_t width, height; /* target */
    weft_interpolation how;
    weft_preprocess_plan plan;
    float *tensor;
} material;

static void make_photo(material *m)
{
    uint32_t noise = 1;
    if (weft_picture_create(&m->photo, 2000, 1500, 3, NULL) != WEFT_OK)
        die("memory");
    for (int32_t y = 0; y < 1500; y++)
        for (int32_t x = 0; x < 2000; x++)
            for (int c = 0; c < 3; c++) {
                noise = noise * 1664525 + 1013904223;
                double v = 128 + 60 * sin(x / (20.0 + c)) + 50 * cos(y / 31.0) + (noise >> 28);
                m->photo.data[(size_t)y * m->photo.stride_bytes + 3 * (size_t)x + (size_t)c] = (uint8_t)v;
            }
    weft_buffer_init(&m->jpeg, 0);
    if (weft_picture_encode_jpeg(&m->photo, 90, WEFT_CHROMA_420, &m->jpeg, NULL) != WEFT_OK)
        die("encoding");
}

/* ---- straightforward code ------------------------------------------------------------------------------------------------ */
static void libjpeg_alone(void *arg)
{
    material *m = arg;
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, m->jpeg.data, (unsigned long)m->jpeg.n_bytes);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_RGB;
    jpeg_start_decompress(&c);
    if (weft_picture_create(&m->out, (int32_t)c.output_width, (int32_t)c.output_height, 3, NULL) != WEFT_OK)
        die("memory");
    while (c.output_scanline < c.output_height) {
        JSAMPROW row = m->out.data + (size_t)c.output_scanline * m->out.stride_bytes;
        jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
}

static void our_decode(void *arg)
{
    material *m = arg;
    if (weft_picture_decode(m->jpeg.data, m->jpeg.n_bytes, NULL, 3, &m->out, NULL) != WEFT_OK)
        die("decoding");
}

static const uint8_t *pixel(const weft_picture *p, int32_t x, int32_t y)
{
    x = x < 0 ? 0 : x >= p->width ? p->width - 1 : x;
    y = y < 0 ? 0 : y >= p->height ? p->height - 1 : y;
    return p->data + (size_t)y * p->stride_bytes + (size_t)x * 3;
}

static void bilinear_pixel(const weft_picture *p, float u, float v, float out[3])
{
    int32_t x = (int32_t)floorf(u), y = (int32_t)floorf(v);
    float fx = u - (float)x, fy = v - (float)y;
    const uint8_t *a = pixel(p, x, y), *b = pixel(p, x + 1, y), *c = pixel(p, x, y + 1), *d = pixel(p, x + 1, y + 1);
    for (int i = 0; i < 3; i++)
        out[i] = (a[i] * (1 - fx) + b[i] * fx) * (1 - fy) + (c[i] * (1 - fx) + d[i] * fx) * fy;
}

static void area_pixel(const weft_picture *p, float x1, float y1, float x2, float y2, float out[3])
{
    float sum[3] = {0}, total = 0;
    for (int32_t y = (int32_t)y1; (float)y < y2; y++)
        for (int32_t x = (int32_t)x1; (float)x < x2; x++) {
            float w = (fminf(x2, (float)x + 1) - fmaxf(x1, (float)x)) * (fminf(y2, (float)y + 1) - fmaxf(y1, (float)y));
            for (int i = 0; i < 3; i++)
                sum[i] += w * pixel(p, x, y)[i];
            total += w;
        }
    for (int i = 0; i < 3; i++)
        out[i] = sum[i] / total;
}

static void plain_resize(void *arg)
{
    material *m = arg;
    float sx = (float)m->photo.width / (float)m->width, sy = (float)m->photo.height / (float)m->height, v[3];
    if (weft_picture_create(&m->out, m->width, m->height, 3, NULL) != WEFT_OK)
        die("memory");
    for (int32_t y = 0; y < m->height; y++)
        for (int32_t x = 0; x < m->width; x++) {
            if (m->how == WEFT_INTERPOLATION_AREA)
                area_pixel(&m->photo, (float)x * sx, (float)y * sy, (float)(x + 1) * sx, (float)(y + 1) * sy, v);
            else
                bilinear_pixel(&m->photo, ((float)x + 0.5f) * sx - 0.5f, ((float)y + 0.5f) * sy - 0.5f, v);
            for (int i = 0; i < 3; i++)
                m->out.data[(size_t)y * m->out.stride_bytes + 3 * (size_t)x + (size_t)i] = (uint8_t)lrintf(v[i]);
        }
}

static void our_resize(void *arg)
{
    material *m = arg;
    if (weft_picture_resize(&m->photo, m->width, m->height, m->how, &m->out, NULL) != WEFT_OK)
        die("resizing");
}

static void plain_tensor(void *arg)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    material *m = arg;
    const weft_picture *p = &m->out;
    for (int c = 0; c < 3; c++)
        for (int32_t y = 0; y < p->height; y++)
            for (int32_t x = 0; x < p->width; x++)
                m->tensor[((size_t)c * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x] =
                    (pixel(p, x, y)[c] / 255.f - mean[c]) / std[c];
}

static void our_tensor(void *arg)
{
    material *m = arg;
    weft_to_tensor_put(&m->plan.to_tensor, &m->out, m->tensor, m->out.width, m->out.height, 0, 0);
}

static void plain_all(void *arg)
{
    libjpeg_alone(arg);
    material *m = arg;
    weft_picture decoded = m->out, kept = m->photo;
    m->out = (weft_picture){0};
    m->photo = decoded;
    plain_resize(m);
    m->photo = kept;
    plain_tensor(m);
    weft_picture_destroy(&m->out);
    m->out = decoded;
}

static void our_all(void *arg)
{
    material *m = arg;
    if (weft_preprocess_run(&m->plan, m->jpeg.data, m->jpeg.n_bytes, m->tensor, NULL, NULL) != WEFT_OK)
        die("preprocessing");
}

static void plan_for(material *m, int32_t width, int32_t height, weft_interpolation how)
{
    const weft_preprocess_options o = {.normalize = WEFT_TRI_TRUE, .interpolation = how};
    const weft_tensor_desc d = {.name = "x", .dtype = WEFT_DT_F32, .rank = 4, .shape = {1, 3, height, width}};
    m->width = width;
    m->height = height;
    m->how = how;
    if (weft_preprocess_open(&o, NULL, &d, &m->plan, NULL) != WEFT_OK)
        die("plan");
    free(m->tensor);
    m->tensor = malloc(weft_preprocess_row_bytes(&m->plan));
    if (!m->tensor)
        die("memory");
}

int main(int argc, char **argv)
{
    static material m;
    if (argc > 1)
        n_rounds = atoi(argv[1]);
    make_photo(&m);
    printf("photo 2000x1500, JPEG %zu bytes; CPU time, best of %d\n%-62s %11s %11s   %s\n", m.jpeg.n_bytes, n_rounds, "", "weft",
           "plain", "ratio");
    compare("decode JPEG, against libjpeg alone", our_decode, libjpeg_alone, &m);
    plan_for(&m, 224, 224, WEFT_INTERPOLATION_BILINEAR);
    compare("resize to 224x224, bilinear", our_resize, plain_resize, &m);
    plan_for(&m, 960, 736, WEFT_INTERPOLATION_BILINEAR);
    compare("resize to 960x736, bilinear", our_resize, plain_resize, &m);
    plan_for(&m, 224, 224, WEFT_INTERPOLATION_AREA);
    compare("resize to 224x224, area", our_resize, plain_resize, &m);
    plan_for(&m, 200, 150, WEFT_INTERPOLATION_AREA);
    compare("resize to 200x150, area (whole ratio)", our_resize, plain_resize, &m);
    plan_for(&m, 960, 736, WEFT_INTERPOLATION_BILINEAR);
    our_resize(&m);
    compare("960x736 to a normalised FP32 NCHW tensor", our_tensor, plain_tensor, &m);
    plan_for(&m, 224, 224, WEFT_INTERPOLATION_AREA);
    compare("JPEG to a 224x224 tensor, everything", our_all, plain_all, &m);
    plan_for(&m, 960, 736, WEFT_INTERPOLATION_BILINEAR);
    compare("JPEG to a 960x736 tensor, everything", our_all, plain_all, &m);
    weft_picture_destroy(&m.photo);
    weft_picture_destroy(&m.out);
    weft_buffer_fini(&m.jpeg);
    free(m.tensor);
    return 0;
}
