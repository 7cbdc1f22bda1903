/* Every file of the picture packages (tests/data/image/compare_packages.py lists them) through the decoder: must-fail files are
 * refused, damaged ones refused or decoded, twins are equal. What the pixels should be is compared with Pillow and OpenCV by the
 * test image.packages; this one needs no reference program. */
#include "image/decode.h"
#include "unit/image/help_golden.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#define GO "/usr/share/go-1.19/src/image/"
#define XIMAGE "/usr/share/gocode/src/golang.org/x/image/testdata/"
#define PIXBUF "/usr/libexec/installed-tests/gdk-pixbuf/"
#define SUITE "/usr/share/doc/libsixel-examples/examples/images/pngsuite/"
#define IMAGING "/usr/share/gocode/src/github.com/disintegration/imaging/testdata/"

static const char *const folders[] = {
    GO,
    "/usr/share/gocode/src/golang.org/x/image",
    PIXBUF,
    "/usr/share/doc/libsixel-examples/examples/images",
    "/usr/share/libjxl-testdata",
    IMAGING,
    "/usr/share/gocode/src/github.com/rwcarlsen/goexif/exif",
    "/usr/libexec/installed-tests/SDL2_image",
    "/usr/lib/python3/dist-packages/skimage/data",
};

static long n_decoded, n_refused, n_must_fail;

static bool present(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

static uint8_t *read_any(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    *n = 0;
    if (f && fseek(f, 0, SEEK_END) == 0 && ftell(f) > 0) {
        *n = (size_t)ftell(f);
        rewind(f);
        data = malloc(*n); /* exact, so that reading past the end is seen */
        *n = data ? fread(data, 1, *n, f) : 0;
    }
    if (f)
        fclose(f);
    return data;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *where)
{
    static const int channels[3] = {3, 1, 4};
    size_t n;
    if (type != FTW_F || st->st_size > 80000000)
        return 0;
    uint8_t *bytes = read_any(path, &n);
    weft_status first = WEFT_OK;
    for (int i = 0; i < 3; i++) {
        weft_picture p = {0};
        weft_picture_info info;
        weft_error err = {0};
        weft_status s = weft_picture_decode(bytes, n, NULL, channels[i], &p, &err);
        if (i == 0)
            first = s;
        if (s != first)
            fail_msg("%s: %s with 3 channels, %s with %d", path, weft_status_name(first), weft_status_name(s), channels[i]);
        if (s == WEFT_OK &&
            (weft_picture_probe(bytes, n, NULL, &info, NULL) != WEFT_OK || info.width != p.width || info.height != p.height))
            fail_msg("%s: the header promised another size", path);
        if (s != WEFT_OK && s != WEFT_E_INVALID && s != WEFT_E_MEDIA_TYPE && s != WEFT_E_UNPROCESSABLE && s != WEFT_E_TOO_LARGE)
            fail_msg("%s: %s %s", path, weft_status_name(s), err.text);
        weft_picture_destroy(&p);
        if (s == WEFT_E_MEDIA_TYPE || s == WEFT_E_INVALID)
            break;
    }
    n_decoded += first == WEFT_OK;
    n_refused += first != WEFT_OK;
    if (strstr(path, "/test-images/fail/") || strstr(path, "/pngsuite/corrupted/")) {
        n_must_fail++;
        if (first == WEFT_OK)
            fail_msg("%s must be refused", path);
    }
    free(bytes);
    return 0;
}

static void test_every_file(void **state)
{
    bool any = false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        any = any || present(folders[i]);
        nftw(folders[i], visit, 16, FTW_PHYS);
    }
    printf("%ld decoded, %ld refused, %ld of them had to be\n", n_decoded, n_refused, n_must_fail);
    if (!any)
        skip();
    if (present(PIXBUF "test-images/fail") && present(SUITE "corrupted"))
        assert_true(n_must_fail >= 45);
}

static weft_status decode_path(const char *path, int channels, weft_picture *p)
{
    size_t n;
    weft_error err = {0};
    uint8_t *bytes = read_any(path, &n);
    weft_status s = weft_picture_decode(bytes, n, NULL, channels, p, &err);
    free(bytes);
    return s;
}

/* Files that lost pixels, by name. */
static void test_damaged(void **state)
{
    static const char *const paths[] = {
        GO "png/testdata/invalid-crc32.png",
        GO "png/testdata/invalid-zlib.png",
        GO "png/testdata/invalid-trunc.png",
        GO "png/testdata/invalid-noend.png",
        GO "png/testdata/invalid-palette.png",
        PIXBUF "premature-end.jpg",
        "/usr/lib/python3/dist-packages/skimage/data/truncated.jpg",
    };
    /* -1 = either: what is missing lies after the pixels */
    static const weft_status expected[] = {WEFT_E_UNPROCESSABLE, WEFT_E_UNPROCESSABLE, -1, -1, -1,
                                           WEFT_E_UNPROCESSABLE, WEFT_E_UNPROCESSABLE};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        weft_picture p = {0};
        if (!present(paths[i]))
            continue;
        weft_status s = decode_path(paths[i], 3, &p);
        if (expected[i] == -1 ? s != WEFT_OK && s != WEFT_E_UNPROCESSABLE : s != expected[i])
            fail_msg("%s: %s", paths[i], weft_status_name(s));
        weft_picture_destroy(&p);
    }
}

/* Lossless WebP and the PNG of the same picture. */
static void test_twins(void **state)
{
    static const char *const names[] = {"blue-purple-pink-large",
                                        "gopher-doc.1bpp",
                                        "gopher-doc.2bpp",
                                        "gopher-doc.4bpp",
                                        "gopher-doc.8bpp",
                                        "tux",
                                        "yellow_rose"};
    if (!present(XIMAGE))
        skip();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char png[256], webp[256];
        weft_picture a = {0}, b = {0};
        snprintf(png, sizeof(png), XIMAGE "%s.png", names[i]);
        snprintf(webp, sizeof(webp), XIMAGE "%s.lossless.webp", names[i]);
        assert_int_equal(decode_path(png, 4, &a), WEFT_OK);
        assert_int_equal(decode_path(webp, 4, &b), WEFT_OK);
        for (int32_t k = 0; k < a.width * a.height && a.width == b.width; k++) { /* the colour under full transparency is free */
            if (a.data[4 * k + 3] == 0 && b.data[4 * k + 3] == 0)
                memcpy(a.data + 4 * k, b.data + 4 * k, 4);
        }
        if (help_difference(&a, &b) != 0)
            fail_msg("%s: PNG and lossless WebP differ by %d", names[i], help_difference(&a, &b));
        weft_picture_destroy(&a);
        weft_picture_destroy(&b);
    }
}

/* The letter F in all orientations is the same F when upright. The files were encoded one by one, so levels differ a little. */
static void test_orientations(void **state)
{
    weft_picture right = {0};
    if (!present(IMAGING "orientation_1.jpg"))
        skip();
    assert_int_equal(decode_path(IMAGING "orientation_1.jpg", 3, &right), WEFT_OK);
    for (int o = 2; o <= 8; o++) {
        char path[256];
        double sum = 0;
        weft_picture p = {0};
        snprintf(path, sizeof(path), IMAGING "orientation_%d.jpg", o);
        assert_int_equal(decode_path(path, 3, &p), WEFT_OK);
        assert_int_equal(p.width, right.width);
        assert_int_equal(p.height, right.height);
        for (int32_t k = 0; k < p.width * p.height * 3; k++)
            sum += abs(p.data[k] - right.data[k]);
        if (sum / (p.width * p.height * 3) > 3)
            fail_msg("orientation %d differs by %.1f on average", o, sum / (p.width * p.height * 3));
        weft_picture_destroy(&p);
    }
    weft_picture_destroy(&right);
}

int main(void)
{
    bool any = false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        any = any || present(folders[i]);
    if (!any) {
        printf("skipped: none of the picture packages is installed\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_file), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_twins), cmocka_unit_test(test_orientations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
