/* What the decoders refuse, and with which words; limits; truncation at every byte; EXIF. */
#include "image/decode.h"
#include "image/encode.h"
#include "image/exif.h"
#include "unit/image/help_golden.h"

#include <stdio.h>

static uint8_t *golden_file(const char *name, size_t *n)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
    return help_read_file(path, n);
}

static weft_status decode(const void *bytes, size_t n, const weft_picture_limits *limits, weft_error *err)
{
    weft_picture p = {0};
    weft_status s = weft_picture_decode(bytes, n, limits, 3, &p, err);
    weft_picture_destroy(&p);
    return s;
}

static void test_other_formats(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        weft_status status;
        const char *word;
    } cases[] = {
        {"", 0, WEFT_E_INVALID, "no bytes"},
        {"GIF89a....", 10, WEFT_E_MEDIA_TYPE, "GIF"},
        {"II*\0........", 12, WEFT_E_MEDIA_TYPE, "TIFF"},
        {"BM\0\0\0\0\0\0\0\0................", 26, WEFT_E_MEDIA_TYPE, "BMP"},
        {"\0\0\0\x18"
         "ftypheic....",
         16, WEFT_E_MEDIA_TYPE, "HEIC"},
        {"\0\0\0\x18"
         "ftypavif....",
         16, WEFT_E_MEDIA_TYPE, "AVIF"},
        {"%PDF-1.7", 8, WEFT_E_MEDIA_TYPE, "PDF"},
        {"<svg xmlns=", 11, WEFT_E_MEDIA_TYPE, "SVG"},
        {"data:image/png;base64,", 22, WEFT_E_MEDIA_TYPE, "base64"},
        {"iVBORw0KGgoAAA", 14, WEFT_E_MEDIA_TYPE, "base64"},
        {"{\"image\": 1}", 12, WEFT_E_MEDIA_TYPE, "JSON"},
        {"\x09PNG\r\n\x1a\n", 8, WEFT_E_MEDIA_TYPE, "damaged PNG"},
        {"what is this", 12, WEFT_E_MEDIA_TYPE, "JPEG, PNG or WebP"},
        {"\xff\xd8\xff\xd9", 4, WEFT_E_UNPROCESSABLE, "JPEG"},
        {"\xff\xd8\xff", 3, WEFT_E_UNPROCESSABLE, "JPEG"},
        {"\x89PNG\r\n\x1a\n", 8, WEFT_E_UNPROCESSABLE, "PNG"},
        {"RIFF\4\0\0\0WEBP", 12, WEFT_E_UNPROCESSABLE, "WebP"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_error err = {0};
        assert_int_equal(decode(cases[i].bytes, cases[i].n, NULL, &err), cases[i].status);
        if (!strstr(err.text, cases[i].word))
            fail_msg("case %zu says: %s", i, err.text);
    }
    assert_int_equal(decode(NULL, 5, NULL, NULL), WEFT_E_INVALID);
}

/* Files that end early are refused, however early; files that lost only what comes after the pixels are not. */
static void truncate_all(const char *name, size_t n_may_miss)
{
    size_t n;
    weft_error err = {0};
    uint8_t *bytes = golden_file(name, &n);
    size_t longest_refused = 0, shortest_taken = n;
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1); /* so that reading past the end is seen */
        memcpy(exact, bytes, cut);
        weft_status s = decode(exact, cut, NULL, &err);
        if (s == WEFT_OK) {
            shortest_taken = cut < shortest_taken ? cut : shortest_taken;
        } else {
            longest_refused = cut;
            if (cut > 16)
                assert_int_equal(s, WEFT_E_UNPROCESSABLE);
        }
        free(exact);
    }
    if (longest_refused > shortest_taken)
        fail_msg("%s: %zu bytes are taken and %zu refused", name, shortest_taken, longest_refused);
    if (n - shortest_taken > n_may_miss)
        fail_msg("%s: taken with %zu of %zu bytes", name, shortest_taken, n);
    free(bytes);
}

static void test_truncated(void **state)
{
    /* 2 bytes of EOI, and up to 2 of the last code that are padding or hold no bit that counts */
    truncate_all("jpeg-420.jpg", 4);
    truncate_all("jpeg-grey.jpg", 4);
    truncate_all("jpeg-progressive.jpg", 4);
    truncate_all("jpeg-restart.jpg", 4);
    truncate_all("jpeg-cmyk.jpg", 4);
    /* 12 bytes of IEND, the 4 of the checksum of the pixels and of zlib's */
    truncate_all("png-rgb8.png", 20);
    truncate_all("png-grey16i.png", 20);
    truncate_all("webp-lossless.webp", 1);
}

/* The EOI alone is not needed, and what comes without it is the same picture. */
static void test_without_eoi(void **state)
{
    static const char *const names[] = {"jpeg-420.jpg", "jpeg-progressive.jpg", "jpeg-restart.jpg"};
    for (int i = 0; i < 3; i++) {
        size_t n;
        weft_picture whole = {0}, cut = {0};
        uint8_t *bytes = golden_file(names[i], &n);
        assert_int_equal(weft_picture_decode(bytes, n, NULL, 3, &whole, NULL), WEFT_OK);
        assert_int_equal(weft_picture_decode(bytes, n - 2, NULL, 3, &cut, NULL), WEFT_OK);
        assert_int_equal(help_difference(&whole, &cut), 0);
        weft_picture_destroy(&whole);
        weft_picture_destroy(&cut);
        free(bytes);
    }
}

static void test_limits(void **state)
{
    size_t n;
    weft_error err;
    weft_picture_info info;
    uint8_t *bytes = golden_file("jpeg-420.jpg", &n); /* 43 x 29 */
    struct {
        weft_picture_limits limits;
        weft_status status;
    } cases[] = {{{n, 43 * 29, 43}, WEFT_OK},
                 {{n - 1, 0, 0}, WEFT_E_TOO_LARGE},
                 {{0, 43 * 29 - 1, 0}, WEFT_E_TOO_LARGE},
                 {{0, 0, 42}, WEFT_E_TOO_LARGE},
                 {{0, 0, 0}, WEFT_OK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(weft_picture_probe(bytes, n, &cases[i].limits, &info, &err), cases[i].status);
        assert_int_equal(decode(bytes, n, &cases[i].limits, &err), cases[i].status);
    }
    free(bytes);
}

/* A header that claims a huge picture costs nothing: no memory is taken before the check. */
static void test_bombs(void **state)
{
    size_t n;
    weft_error err;
    weft_picture_info info;
    uint8_t *png = golden_file("png-rgb8.png", &n);
    memcpy(png + 16, "\0\0\xff\xff\0\0\xff\xff", 8); /* 65535 x 65535 */
    assert_int_equal(decode(png, n, NULL, &err), WEFT_E_TOO_LARGE);
    assert_non_null(strstr(err.text, "65535"));
    memcpy(png + 16, "\0\0\0\0\0\0\0\1", 8);
    assert_int_equal(decode(png, n, NULL, &err), WEFT_E_UNPROCESSABLE);
    memcpy(png + 16, "\xff\xff\xff\xff\0\0\0\1", 8);
    assert_int_equal(decode(png, n, NULL, &err), WEFT_E_UNPROCESSABLE);
    free(png);
    uint8_t *jpeg = golden_file("jpeg-444.jpg", &n);
    size_t at = 2;
    while (!(jpeg[at] == 0xff && jpeg[at + 1] == 0xc0))
        at += 2 + (size_t)(jpeg[at + 2] << 8 | jpeg[at + 3]);
    memcpy(jpeg + at + 5, "\x17\x70\x1f\x40",
           4); /* 8000 x 6000 in about 1500 bytes: under the limits, but the bytes cannot hold it */
    assert_int_equal(weft_picture_probe(jpeg, n, NULL, &info, &err), WEFT_OK);
    assert_int_equal(info.width, 8000);
    assert_int_equal(info.height, 6000);
    assert_int_equal(decode(jpeg, n, NULL, &err), WEFT_E_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "truncated"));
    free(jpeg);
}

/* A progressive JPEG whose first scan is repeated for ever: bounded by the number of scans. */
static void test_many_scans(void **state)
{
    size_t n, at = 2, first = 0, second = 0;
    weft_error err;
    uint8_t *b = golden_file("jpeg-progressive.jpg", &n);
    for (; at + 4 < n && !second; at++)
        if (b[at] == 0xff && b[at + 1] == 0xda) {
            if (first)
                second = at;
            first = first ? first : at;
        }
    assert_true(second > first);
    size_t scan = second - first, copies = 300;
    uint8_t *many = malloc(first + scan * copies + 2);
    memcpy(many, b, first);
    for (size_t i = 0; i < copies; i++)
        memcpy(many + first + i * scan, b + first, scan);
    memcpy(many + first + scan * copies, "\xff\xd9", 2);
    assert_int_equal(decode(many, first + scan * copies + 2, NULL, &err), WEFT_E_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "scans"));
    free(many);
    free(b);
}

static void test_probe(void **state)
{
    static const struct {
        const char *name;
        weft_picture_format format;
        int width, height, channels, depth, orientation;
        bool alpha, progressive;
    } cases[] = {
        {"jpeg-420.jpg", WEFT_PICTURE_JPEG, 43, 29, 3, 8, 1, false, false},
        {"jpeg-progressive.jpg", WEFT_PICTURE_JPEG, 43, 29, 3, 8, 1, false, true},
        {"jpeg-cmyk.jpg", WEFT_PICTURE_JPEG, 43, 29, 4, 8, 1, false, false},
        {"jpeg-grey.jpg", WEFT_PICTURE_JPEG, 43, 29, 1, 8, 1, false, false},
        {"exif-6.jpg", WEFT_PICTURE_JPEG, 40, 24, 3, 8, 6, false, false},
        {"exif-6.png", WEFT_PICTURE_PNG, 40, 24, 3, 8, 6, false, false},
        {"exif-6.webp", WEFT_PICTURE_WEBP, 40, 24, 3, 8, 6, false, false},
        {"png-grey1i.png", WEFT_PICTURE_PNG, 21, 13, 1, 1, 1, false, true},
        {"png-rgba16.png", WEFT_PICTURE_PNG, 21, 13, 4, 16, 1, true, false},
        {"png-greya8.png", WEFT_PICTURE_PNG, 21, 13, 2, 8, 1, true, false},
        {"png-palette-trns.png", WEFT_PICTURE_PNG, 21, 13, 3, 4, 1, true, false},
        {"webp-lossy-alpha.webp", WEFT_PICTURE_WEBP, 43, 29, 4, 8, 1, true, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n;
        weft_picture_info f;
        uint8_t *bytes = golden_file(cases[i].name, &n);
        assert_int_equal(weft_picture_probe(bytes, n, NULL, &f, NULL), WEFT_OK);
        bool same = f.format == cases[i].format && f.width == cases[i].width && f.height == cases[i].height &&
                    f.channels == cases[i].channels && f.bit_depth == cases[i].depth && f.orientation == cases[i].orientation &&
                    f.has_alpha == cases[i].alpha && f.progressive == cases[i].progressive;
        if (!same)
            fail_msg("%s: %d x %d, %d channels, %d bits, orientation %d, alpha %d, progressive %d", cases[i].name, f.width,
                     f.height, f.channels, f.bit_depth, f.orientation, f.has_alpha, f.progressive);
        assert_true(f.decode_bytes >= (size_t)f.width * (size_t)f.height * 3);
        free(bytes);
    }
}

static void test_wrong_channels(void **state)
{
    size_t n;
    weft_picture p = {0};
    uint8_t *bytes = golden_file("png-rgb8.png", &n);
    assert_int_equal(weft_picture_decode(bytes, n, NULL, 2, &p, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_decode(bytes, n, NULL, 0, &p, NULL), WEFT_E_INVALID);
    weft_picture_destroy(&p);
    free(bytes);
}

/* The picture's block is kept when the next picture fits, and a failure leaves it usable. */
static void test_reuse(void **state)
{
    size_t n, n_small;
    weft_picture p = {0};
    uint8_t *large = golden_file("jpeg-444.jpg", &n), *small = golden_file("png-rgb8.png", &n_small);
    assert_int_equal(weft_picture_decode(large, n, NULL, 4, &p, NULL), WEFT_OK);
    const uint8_t *block = p.data;
    assert_int_equal(weft_picture_decode(small, n_small, NULL, 3, &p, NULL), WEFT_OK);
    assert_ptr_equal(p.data, block);
    assert_int_equal(p.width, 21);
    assert_int_equal(weft_picture_decode(small, n_small - 30, NULL, 3, &p, NULL), WEFT_E_UNPROCESSABLE);
    assert_int_equal(p.width, 0);
    assert_int_equal(weft_picture_decode(large, n, NULL, 3, &p, NULL), WEFT_OK);
    assert_ptr_equal(p.data, block);
    weft_picture_destroy(&p);
    assert_null(p.data);
    weft_picture_destroy(&p);
    weft_picture_destroy(NULL);
    free(large);
    free(small);
}

static void test_exif(void **state)
{
    static const uint8_t little[] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
    static const uint8_t big[] = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0};
    static const uint8_t slong[] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12,
                                    1,   9,   0,   1, 0, 0, 0, 5, 0, 0, 0}; /* as one camera writes it */
    uint8_t b[sizeof(little)];
    assert_int_equal(weft_exif_orientation(little, sizeof(little)), 6);
    assert_int_equal(weft_exif_orientation(big, sizeof(big)), 8);
    assert_int_equal(weft_exif_orientation(slong, sizeof(slong)), 5);
    for (size_t n = 0; n < sizeof(little); n++) /* cut anywhere: upright */
        assert_int_equal(weft_exif_orientation(little, n), 1);
    for (int v = 0; v < 256; v++) {
        memcpy(b, little, sizeof(b));
        b[18] = (uint8_t)v;
        assert_int_equal(weft_exif_orientation(b, sizeof(b)), v >= 1 && v <= 8 ? v : 1);
        memcpy(b, little, sizeof(b));
        b[4] = (uint8_t)v; /* the directory anywhere, also outside */
        int o = weft_exif_orientation(b, sizeof(b));
        assert_true(o == 1 || (v == 8 && o == 6));
    }
    memcpy(b, little, sizeof(b));
    b[14] = 2; /* two values */
    assert_int_equal(weft_exif_orientation(b, sizeof(b)), 1);
    memcpy(b, little, sizeof(b));
    b[12] = 5; /* a fraction */
    assert_int_equal(weft_exif_orientation(b, sizeof(b)), 1);
}

/* ---- encoding ------------------------------------------------------------------------------------------------------------ */
static void test_encode_png(void **state)
{
    static const char *const names[] = {"src-61x47-1.png", "src-61x47-3.png", "src-61x47-4.png", "src-7x5-3.png"};
    for (int i = 0; i < 4; i++)
        for (int level = -1; level <= 9; level += 5) {
            weft_buffer out;
            weft_picture p = help_golden(names[i]), back = {0};
            weft_buffer_init(&out, 0);
            weft_buffer_append(&out, "before", 6);
            assert_int_equal(weft_picture_encode_png(&p, level, &out, NULL), WEFT_OK);
            assert_int_equal(weft_picture_decode(out.data + 6, out.n_bytes - 6, NULL, p.channels, &back, NULL), WEFT_OK);
            assert_int_equal(help_difference(&p, &back), 0);
            weft_buffer_fini(&out);
            weft_picture_destroy(&p);
            weft_picture_destroy(&back);
        }
}

static double mean_difference(const weft_picture *a, const weft_picture *b)
{
    double sum = 0;
    for (int32_t i = 0; i < a->width * a->height * a->channels; i++)
        sum += abs(a->data[i] - b->data[i]);
    return sum / (a->width * a->height * a->channels);
}

static void test_encode_jpeg(void **state)
{
    weft_picture p = help_golden("src-61x47-3.png"), alpha = help_golden("src-61x47-4.png"),
                 grey = help_golden("src-61x47-1.png");
    size_t sizes[3];
    double differences[3];
    static const struct {
        int quality;
        weft_chroma chroma;
    } how[3] = {{40, WEFT_CHROMA_420}, {95, WEFT_CHROMA_420}, {95, WEFT_CHROMA_444}};
    for (int i = 0; i < 3; i++) {
        weft_buffer out;
        weft_picture back = {0};
        weft_buffer_init(&out, 0);
        assert_int_equal(weft_picture_encode_jpeg(&p, how[i].quality, how[i].chroma, &out, NULL), WEFT_OK);
        assert_int_equal(weft_picture_decode(out.data, out.n_bytes, NULL, 3, &back, NULL), WEFT_OK);
        sizes[i] = out.n_bytes;
        differences[i] = mean_difference(&p, &back);
        size_t one = out.n_bytes;
        assert_int_equal(weft_picture_encode_jpeg(&alpha, how[i].quality, how[i].chroma, &out, NULL),
                         WEFT_OK); /* the same colours with alpha */
        assert_int_equal(out.n_bytes, 2 * one);
        assert_memory_equal(out.data, out.data + one, one);
        weft_buffer_fini(&out);
        weft_picture_destroy(&back);
    }
    assert_true(sizes[0] < sizes[1] && sizes[1] < sizes[2]);
    assert_true(differences[0] > differences[1] && differences[1] > differences[2] && differences[2] < 3);
    weft_buffer out;
    weft_picture_info info;
    weft_buffer_init(&out, 0);
    assert_int_equal(weft_picture_encode_jpeg(&grey, 90, WEFT_CHROMA_420, &out, NULL), WEFT_OK);
    assert_int_equal(weft_picture_probe(out.data, out.n_bytes, NULL, &info, NULL), WEFT_OK);
    assert_int_equal(info.channels, 1);
    weft_buffer_fini(&out);
    weft_picture_destroy(&p);
    weft_picture_destroy(&alpha);
    weft_picture_destroy(&grey);
}

static void test_encode_refuses(void **state)
{
    weft_buffer out;
    weft_picture p = help_golden("src-61x47-3.png"), empty = {0};
    weft_buffer_init(&out, 500); /* too little for this picture: the buffer is as before */
    weft_buffer_append(&out, "x", 1);
    assert_int_equal(weft_picture_encode_png(&p, 6, &out, NULL), WEFT_E_NO_MEMORY);
    assert_int_equal(weft_picture_encode_jpeg(&p, 90, WEFT_CHROMA_444, &out, NULL), WEFT_E_NO_MEMORY);
    assert_int_equal(out.n_bytes, 1);
    assert_false(out.failed);
    assert_int_equal(weft_picture_encode_jpeg(&p, 0, WEFT_CHROMA_444, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_encode_jpeg(&p, 101, WEFT_CHROMA_444, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_encode_png(&p, 10, &out, NULL), WEFT_E_INVALID);
    assert_int_equal(weft_picture_encode_png(&empty, 6, &out, NULL), WEFT_E_INVALID);
    weft_buffer_fini(&out);
    weft_picture_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_formats),  cmocka_unit_test(test_truncated),      cmocka_unit_test(test_without_eoi),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_bombs),          cmocka_unit_test(test_many_scans),
        cmocka_unit_test(test_probe),          cmocka_unit_test(test_wrong_channels), cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_exif),           cmocka_unit_test(test_encode_png),     cmocka_unit_test(test_encode_jpeg),
        cmocka_unit_test(test_encode_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
