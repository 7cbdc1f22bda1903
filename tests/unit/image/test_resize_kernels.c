/* Every set of resize kernels against portable C: the same bits on random and extreme input, no byte touched behind the slack, no
 * byte read behind the row. */
#include "harness/check.h"
#include "image/resize_kernels.h"

#include <stdio.h>

enum { MAX_SRC = 90, MAX_DST = 120 };

typedef struct problem {
    uint8_t *row; /* exactly n_bytes long, so that a sanitizer sees a byte too much */
    size_t n_bytes;
    int channels, n_src, n_dst;
    int32_t at[2 * MAX_DST], first[MAX_DST + 1], area_at[MAX_DST * 8];
    int16_t w[2 * MAX_DST];
    float weight[MAX_DST * 8];
} problem;

static int32_t by_position(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static void make(problem *p, uint64_t *seed, int kind)
{
    static const int channels[3] = {1, 3, 4};
    p->channels = channels[test_random(seed) % 3];
    p->n_src = 1 + (int)(test_random(seed) % MAX_SRC);
    p->n_dst = 1 + (int)(test_random(seed) % MAX_DST);
    p->n_bytes = (size_t)(p->n_src * p->channels);
    p->row = malloc(p->n_bytes);
    for (size_t i = 0; i < p->n_bytes; i++)
        p->row[i] = kind == 0 ? 0 : kind == 1 ? 255 : (uint8_t)test_random(seed);
    int32_t positions[MAX_DST];
    for (int x = 0; x < p->n_dst; x++)
        positions[x] = (int32_t)(test_random(seed) % (uint64_t)p->n_src);
    qsort(positions, (size_t)p->n_dst, sizeof(positions[0]), by_position);
    int32_t n = 0;
    for (int x = 0; x < p->n_dst; x++) {
        int32_t next = positions[x] + 1 < p->n_src ? positions[x] + 1 : positions[x];
        int f = kind == 1 ? (x & 1) * 2048 : (int)(test_random(seed) % 2049);
        p->at[2 * x] = positions[x] * p->channels;
        p->at[2 * x + 1] = next * p->channels;
        p->w[2 * x] = (int16_t)(2048 - f);
        p->w[2 * x + 1] = (int16_t)f;
        p->first[x] = n;
        for (int k = 0; k < 1 + (int)(test_random(seed) % 7) && positions[x] + k < p->n_src; k++) {
            p->area_at[n] = positions[x] + k;
            p->weight[n++] = (float)(test_random(seed) % 1000) / 1000.f;
        }
    }
    p->first[p->n_dst] = n;
}

static void test_pairs(void **state)
{
    uint64_t seed = 11;
    static problem p;
    static int16_t want16[MAX_DST * 4 + WEFT_RESIZE_SLACK + 1], got16[MAX_DST * 4 + WEFT_RESIZE_SLACK + 1];
    static float want32[MAX_DST * 4 + WEFT_RESIZE_SLACK + 1], got32[MAX_DST * 4 + WEFT_RESIZE_SLACK + 1];
    const weft_resize_kernels *const *sets = weft_resize_kernel_sets();
    assert_string_equal(sets[0]->name, "c");
    for (int i = 0; sets[i]; i++)
        printf("%s%s", sets[i]->name, sets[i + 1] ? ", " : "\n");
    for (int i = 0; i < 3000; i++) {
        make(&p, &seed, i % 20);
        size_t n = (size_t)(p.n_dst * p.channels), end = n + WEFT_RESIZE_SLACK;
        sets[0]->linear_row(p.row, p.n_bytes, p.at, p.w, p.n_dst, p.channels, want16);
        sets[0]->area_row(p.row, p.n_bytes, p.first, p.area_at, p.weight, p.n_dst, p.channels, want32);
        for (int k = 1; sets[k]; k++) {
            got16[end] = 12345;
            got32[end] = 12345;
            sets[k]->linear_row(p.row, p.n_bytes, p.at, p.w, p.n_dst, p.channels, got16);
            sets[k]->area_row(p.row, p.n_bytes, p.first, p.area_at, p.weight, p.n_dst, p.channels, got32);
            assert_memory_equal(got16, want16, n * sizeof(got16[0]));
            assert_memory_equal(got32, want32, n * sizeof(got32[0]));
            assert_int_equal(got16[end], 12345);
            assert_true(got32[end] == 12345);
        }
        free(p.row);
    }
}

/* Numbers by hand for the portable code. */
static void test_portable(void **state)
{
    const uint8_t row[6] = {10, 20, 30, 110, 220, 130};
    const int32_t at[4] = {0, 3, 3, 3}, first[3] = {0, 2, 3}, pixels[3] = {0, 1, 1};
    const int16_t w[4] = {1024, 1024, 2048, 0};
    const float weight[3] = {0.5f, 0.25f, 1};
    int16_t d16[6 + WEFT_RESIZE_SLACK];
    float d32[6 + WEFT_RESIZE_SLACK];
    const weft_resize_kernels *c = weft_resize_kernel_sets()[0];
    c->linear_row(row, 6, at, w, 2, 3, d16);
    assert_memory_equal(d16, ((int16_t[]){60 * 128, 120 * 128, 80 * 128, 110 * 128, 220 * 128, 130 * 128}), 12);
    c->area_row(row, 6, first, pixels, weight, 2, 3, d32);
    assert_memory_equal(d32, ((float[]){32.5f, 65, 47.5f, 110, 220, 130}), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_portable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
