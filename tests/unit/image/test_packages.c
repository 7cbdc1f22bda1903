/* Every file of the picture packages (tests/data/image/compare_packages.py lists them) through the decoder: must-fail files are
 * refused, damaged ones refused or decoded, twins are equal. What the pixels should be is compared with Pillow and OpenCV by the
 * test image.packages; this one needs no reference program. */
#include "image/decode.h"
#include "unit/image/help_golden.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

/* Where script/fetch puts a package's pictures, and where the installed package has them; "" = nowhere else. */
static const struct {
    const char *fetched, *installed;
} sets[] = {
    {"go-image", "/usr/share/go-1.19/src/image"},
    {"x-image", "/usr/share/gocode/src/golang.org/x/image/testdata"},
    {"gdk-pixbuf", "/usr/libexec/installed-tests/gdk-pixbuf/test-images"},
    {"sixel", "/usr/share/doc/libsixel-examples/examples/images"},
    {"jxl", "/usr/share/libjxl-testdata/jxl"},
    {"imaging", "/usr/share/gocode/src/github.com/disintegration/imaging/testdata"},
    {"goexif", "/usr/share/gocode/src/github.com/rwcarlsen/goexif/exif"},
    {"sdl", "/usr/libexec/installed-tests/SDL2_image"},
    {"skimage", "/usr/lib/python3/dist-packages/skimage/data"},
};
enum { N_SETS = sizeof(sets) / sizeof(sets[0]) };

static bool present(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* "go-image/testdata/x.jpeg" -> the file, wherever its package is; false when it is nowhere. */
static bool locate(const char *name, char *path, size_t n)
{
    size_t length = strcspn(name, "/");
    snprintf(path, n, WEFT_CACHE_DIR "/pictures/%s", name);
    if (present(path))
        return true;
    for (int i = 0; i < N_SETS; i++)
        if (strlen(sets[i].fetched) == length && strncmp(sets[i].fetched, name, length) == 0)
            snprintf(path, n, "%s%s", sets[i].installed, name + length);
    return present(path);
}

static long n_decoded, n_refused, n_must_fail;

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
    if (strstr(path, "/fail/") || strstr(path, "/pngsuite/corrupted/")) {
        n_must_fail++;
        if (first == WEFT_OK)
            fail_msg("%s must be refused", path);
    }
    free(bytes);
    return 0;
}

static void test_every_file(void **state)
{
    char path[512];
    for (int i = 0; i < N_SETS; i++)
        if (locate(sets[i].fetched, path, sizeof(path)))
            nftw(path, visit, 16, FTW_PHYS);
    printf("%ld decoded, %ld refused, %ld of them had to be\n", n_decoded, n_refused, n_must_fail);
    if (locate("gdk-pixbuf/fail", path, sizeof(path)) && locate("sixel/pngsuite/corrupted", path, sizeof(path)))
        assert_true(n_must_fail >= 45);
}

static weft_status decode_named(const char *name, int channels, weft_picture *p)
{
    size_t n;
    char path[512];
    weft_error err = {0};
    locate(name, path, sizeof(path));
    uint8_t *bytes = read_any(path, &n);
    weft_status s = weft_picture_decode(bytes, n, NULL, channels, p, &err);
    free(bytes);
    return s;
}

/* Files that lost pixels, by name. */
static void test_damaged(void **state)
{
    static const char *const paths[] = {
        "go-image/png/testdata/invalid-crc32.png",   "go-image/png/testdata/invalid-zlib.png",
        "go-image/png/testdata/invalid-trunc.png",   "go-image/png/testdata/invalid-noend.png",
        "go-image/png/testdata/invalid-palette.png", "skimage/truncated.jpg",
        "gdk-pixbuf/reftests/bug696331.png",
    };
    /* -1 = either: what is missing lies after the pixels */
    static const weft_status expected[] = {WEFT_E_UNPROCESSABLE, WEFT_E_UNPROCESSABLE, -1, -1, -1,
                                           WEFT_E_UNPROCESSABLE, WEFT_E_UNPROCESSABLE};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        weft_picture p = {0};
        char path[512];
        if (!locate(paths[i], path, sizeof(path)))
            continue;
        weft_status s = decode_named(paths[i], 3, &p);
        if (expected[i] == -1 ? s != WEFT_OK && s != WEFT_E_UNPROCESSABLE : s != expected[i])
            fail_msg("%s: %s", paths[i], weft_status_name(s));
        weft_picture_destroy(&p);
    }
}

/* Lossless WebP and the PNG of the same picture. */
static void test_twins(void **state)
{
    char png[256], webp[256];
    static const char *const names[] = {"blue-purple-pink-large",
                                        "gopher-doc.1bpp",
                                        "gopher-doc.2bpp",
                                        "gopher-doc.4bpp",
                                        "gopher-doc.8bpp",
                                        "tux",
                                        "yellow_rose"};
    if (!locate("x-image", png, sizeof(png)))
        skip();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        weft_picture a = {0}, b = {0};
        snprintf(png, sizeof(png), "x-image/%s.png", names[i]);
        snprintf(webp, sizeof(webp), "x-image/%s.lossless.webp", names[i]);
        assert_int_equal(decode_named(png, 4, &a), WEFT_OK);
        assert_int_equal(decode_named(webp, 4, &b), WEFT_OK);
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
    char path[256];
    if (!locate("imaging/orientation_1.jpg", path, sizeof(path)))
        skip();
    assert_int_equal(decode_named("imaging/orientation_1.jpg", 3, &right), WEFT_OK);
    for (int o = 2; o <= 8; o++) {
        double sum = 0;
        weft_picture p = {0};
        snprintf(path, sizeof(path), "imaging/orientation_%d.jpg", o);
        assert_int_equal(decode_named(path, 3, &p), WEFT_OK);
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
    char path[512];
    for (int i = 0; i < N_SETS; i++)
        any = locate(sets[i].fetched, path, sizeof(path)) || any;
    if (!any) {
        printf("skipped: script/fetch --test has not brought the pictures and none of their packages is installed\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_file), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_twins), cmocka_unit_test(test_orientations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
