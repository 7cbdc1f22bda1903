/* Every case of tests/data/image/cases.txt: what OpenCV 4.6, Pillow 9.4 and numpy made of the golden pictures, within one grey
 * level. */
#include "image/decode.h"
#include "image/geometry.h"
#include "image/preprocess.h"
#include "unit/image/help_golden.h"

#include <math.h>
#include <stdio.h>

static int n_cases, n_exact;

static weft_interpolation interpolation_of(const char *name)
{
    static const char *const names[] = {"auto", "nearest", "bilinear", "area", "bicubic"};
    for (int i = 0; i < 5; i++)
        if (strcmp(names[i], name) == 0)
            return (weft_interpolation)i;
    fail_msg("interpolation %s", name);
    return WEFT_INTERPOLATION_AUTO;
}

static void expect_near(const char *line, const weft_picture *got, const char *expected_name, int tolerance)
{
    weft_picture expected = help_golden(expected_name);
    int d = help_difference(got, &expected);
    if (d > tolerance)
        fail_msg("differs by %d grey levels (1000 = another size): %s", d, line);
    n_exact += d == 0;
    n_cases++;
    weft_picture_destroy(&expected);
}

static void resize_case(const char *line)
{
    char how[16], source[128], expected[128];
    int w, h;
    assert_int_equal(sscanf(line, "resize %15s %127s %d %d %127s", how, source, &w, &h, expected), 5);
    weft_picture src = help_golden(source), dst = {0};
    assert_int_equal(weft_picture_resize(&src, w, h, interpolation_of(how), &dst, NULL), WEFT_OK);
    expect_near(line, &dst, expected, 1);
    weft_picture_destroy(&src);
    weft_picture_destroy(&dst);
}

static void warp_case(const char *line)
{
    char how[16], source[128], expected[128];
    int w, h;
    float q[4][2];
    assert_int_equal(sscanf(line, "warp %15s %127s %d %d %f %f %f %f %f %f %f %f %127s", how, source, &w, &h, &q[0][0], &q[0][1],
                            &q[1][0], &q[1][1], &q[2][0], &q[2][1], &q[3][0], &q[3][1], expected),
                     13);
    weft_picture src = help_golden(source), dst = {0};
    assert_int_equal(weft_picture_warp_quad(&src, (const float(*)[2])q, w, h, interpolation_of(how), &dst, NULL), WEFT_OK);
    expect_near(line, &dst, expected, 1);
    weft_picture_destroy(&src);
    weft_picture_destroy(&dst);
}

static void turn_case(const char *line)
{
    char kind[16], source[128], expected[128];
    assert_int_equal(sscanf(line, "turn %15s %127s %127s", kind, source, expected), 3);
    weft_picture src = help_golden(source), dst = {0};
    weft_status s = strncmp(kind, "rot", 3) == 0 ? weft_picture_rotate(&src, kind[3] - '0', &dst, NULL)
                                                 : weft_picture_flip(&src, kind[4] == 'h', kind[4] == 'v', &dst, NULL);
    assert_int_equal(s, WEFT_OK);
    expect_near(line, &dst, expected, 0);
    weft_picture_destroy(&src);
    weft_picture_destroy(&dst);
}

static void decode_case(const char *line)
{
    char file[128], expected[128], path[512];
    int channels, w, h, tolerance;
    size_t n;
    weft_error err;
    weft_picture_info info;
    weft_picture p = {0};
    assert_int_equal(sscanf(line, "decode %127s %d %d %d %d %127s", file, &channels, &w, &h, &tolerance, expected), 6);
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, file);
    uint8_t *bytes = help_read_file(path, &n);
    assert_int_equal(weft_picture_probe(bytes, n, NULL, &info, &err), WEFT_OK);
    assert_int_equal(info.width, w);
    assert_int_equal(info.height, h);
    if (weft_picture_decode(bytes, n, NULL, channels, &p, &err) != WEFT_OK)
        fail_msg("%s: %s", line, err.text);
    expect_near(line, &p, expected, tolerance);
    weft_picture_destroy(&p);
    free(bytes);
}

static size_t numbers_of(const char *line, const char *name, double *out)
{
    char key[32];
    snprintf(key, sizeof(key), " %s=", name);
    const char *at = strstr(line, key);
    size_t n = 0;
    if (!at)
        return 0;
    at += strlen(key);
    for (char *end; n < 4; at = end + 1) {
        out[n++] = strtod(at, &end);
        if (*end != ',')
            break;
    }
    return n;
}

static void tensor_case(const char *line)
{
    char mode[16], how[16], source[128], order[8], layout[8], expected[128], path[512];
    int w, h, pad;
    double mean[4], std[4], scale = 0, resize = 0;
    assert_int_equal(
        sscanf(line, "tensor %15s %15s %127s %d %d %7s %7s %d %127s", mode, how, source, &w, &h, order, layout, &pad, expected),
        9);
    weft_picture src = help_golden(source);
    weft_preprocess_options o = {.input_size = {w, h}, .interpolation = interpolation_of(how), .pad_value = pad};
    o.resize_mode = mode[0] == 's' ? WEFT_RESIZE_STRETCH : mode[0] == 'l' ? WEFT_RESIZE_LETTERBOX : WEFT_RESIZE_CROP;
    o.channel_order = order[0] == 'r' ? WEFT_CHANNELS_RGB : WEFT_CHANNELS_BGR;
    o.mean = (weft_list){numbers_of(line, "mean", mean), mean};
    o.std = (weft_list){numbers_of(line, "std", std), std};
    numbers_of(line, "scale", &scale);
    o.scale = scale;
    if (numbers_of(line, "resize", &resize))
        o.crop_fraction = w / resize;
    bool planes = strcmp(layout, "nchw") == 0;
    weft_tensor_desc desc = {
        .name = "x", .dtype = WEFT_DT_F32, .rank = 4, .shape = {-1, planes ? src.channels : -1, -1, planes ? -1 : src.channels}};
    weft_preprocess_plan plan;
    weft_error err;
    if (weft_preprocess_open(&o, NULL, &desc, &plan, &err) != WEFT_OK)
        fail_msg("%s: %s", line, err.text);
    size_t n_bytes = weft_preprocess_row_bytes(&plan), n_file;
    float *got = malloc(n_bytes);
    assert_int_equal(weft_preprocess_run_picture(&plan, &src, got, NULL, &err), WEFT_OK);
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, expected);
    float *want = (float *)(void *)help_read_file(path, &n_file);
    assert_int_equal(n_file, n_bytes);
    float level = (float)(plan.scale / plan.std[0]) * 1.001f; /* one grey level */
    for (int c = 1; c < src.channels; c++)
        level = fmaxf(level, (float)(plan.scale / plan.std[c]) * 1.001f);
    bool exact = true;
    for (size_t i = 0; i < n_bytes / 4; i++)
        if (fabsf(got[i] - want[i]) > level)
            fail_msg("element %zu is %g, not %g: %s", i, (double)got[i], (double)want[i], line);
    for (size_t i = 0; i < n_bytes / 4; i++)
        exact = exact && fabsf(got[i] - want[i]) <= 1e-6f * fmaxf(1, fabsf(want[i]));
    n_exact += exact;
    n_cases++;
    free(got);
    free(want);
    weft_picture_destroy(&src);
}

static void run_kind(const char *kind, void (*f)(const char *))
{
    char line[1024];
    FILE *file = fopen(WEFT_TEST_DATA "/image/cases.txt", "r");
    assert_non_null(file);
    n_cases = n_exact = 0;
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, kind, strlen(kind)) == 0)
            f(line);
    }
    fclose(file);
    printf("%s: %d cases, %d of them equal in every sample\n", kind, n_cases, n_exact);
    assert_true(n_cases >= 5);
}

static void test_resize(void **state)
{
    run_kind("resize ", resize_case);
}

static void test_warp(void **state)
{
    run_kind("warp ", warp_case);
}

static void test_turn(void **state)
{
    run_kind("turn ", turn_case);
}

static void test_decode(void **state)
{
    run_kind("decode ", decode_case);
}

static void test_tensor(void **state)
{
    run_kind("tensor ", tensor_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resize), cmocka_unit_test(test_warp), cmocka_unit_test(test_turn),
                                       cmocka_unit_test(test_decode), cmocka_unit_test(test_tensor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
