#include "harness/check.h"

#include "base/text.h"

static void validity(void **state)
{
    /* Edges of every length: Unicode 15, table 3-7. */
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xe4\xb8\xad\xe6\x96\x87 mixed"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xe4\xb8",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xf0\x90\x80",
                                      "a\xff",
                                      "\xe4\x41\x80"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(weft_utf8_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(weft_utf8_valid(bad[i], strlen(bad[i])));
    assert_true(weft_utf8_valid("\0", 1));
}

static void next(void **state)
{
    const char *s = "a\xc3\xa9\xe6\x96\x87\xf0\x9f\x98\x80\xe6\x96";
    static const uint32_t want[] = {'a', 0xe9, 0x6587, 0x1f600, 0xfffd, 0xfffd};
    size_t n = strlen(s);

    for (size_t i = 0; i < 6; i++)
        assert_int_equal(weft_utf8_next(&s, &n), want[i]);
    assert_int_equal(n, 0);
    assert_int_equal(weft_utf8_next(&s, &n), 0);
    assert_int_equal(n, 0);
}

static void all_code_points(void **state)
{
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        char buf[4];
        size_t n = 0, left;
        const char *s = buf;

        if (c < 0x80) {
            buf[n++] = (char)c;
        } else if (c < 0x800) {
            buf[n++] = (char)(0xc0 | c >> 6);
            buf[n++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            buf[n++] = (char)(0xe0 | c >> 12);
            buf[n++] = (char)(0x80 | (c >> 6 & 63));
            buf[n++] = (char)(0x80 | (c & 63));
        } else {
            buf[n++] = (char)(0xf0 | c >> 18);
            buf[n++] = (char)(0x80 | (c >> 12 & 63));
            buf[n++] = (char)(0x80 | (c >> 6 & 63));
            buf[n++] = (char)(0x80 | (c & 63));
        }
        left = n;
        if (c >= 0xd800 && c < 0xe000) {
            assert_false(weft_utf8_valid(buf, n));
            continue;
        }
        if (weft_utf8_next(&s, &left) != c || left != 0)
            fail_msg("U+%04X", (unsigned)c);
    }
}

static void cut(void **state)
{
    const char *s = "a\xe6\x96\x87\xf0\x9f\x98\x80z"; /* 1 + 3 + 4 + 1 */
    static const size_t want[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9};

    for (size_t i = 0; i <= 10; i++)
        assert_int_equal(weft_utf8_cut(s, 9, i), want[i]);
    assert_int_equal(weft_utf8_cut("\x80\x80\x80\x80\x80", 5, 3), 3); /* garbage is cut anywhere, never read beyond */
}

static void distance(void **state)
{
    assert_int_equal(weft_edit_distance("", "", 3), 0);
    assert_int_equal(weft_edit_distance("kitten", "sitting", 5), 3); /* the textbook example */
    assert_int_equal(weft_edit_distance("ca", "ac", 3), 1);          /* a transposition is one error */
    assert_int_equal(weft_edit_distance("abc", "", 3), 3);
    assert_int_equal(weft_edit_distance("abcdef", "uvwxyz", 2), 3); /* max + 1 */
    assert_int_equal(weft_edit_distance("a", "abcdefgh", 2), 3);
}

static void nearest(void **state)
{
    static const char *const names[] = {"max_batch", NULL, "queue_size", "batch_window_ms", "preprocess", "model"};

#define NEAREST(s) weft_nearest_name(s, names, 6)
    assert_string_equal(NEAREST("max_bacth"), "max_batch");
    assert_string_equal(NEAREST("maxbatch"), "max_batch");
    assert_string_equal(NEAREST("Queue-Size"), "queue_size");
    assert_string_equal(NEAREST("preproces"), "preprocess");
    assert_string_equal(NEAREST("models"), "model");
    assert_null(NEAREST("threads"));
    assert_null(NEAREST(""));
    assert_null(NEAREST(NULL));
    assert_null(weft_nearest_name("x", names, 0));
    assert_null(weft_nearest_name("x", (const char *const[]){"y"}, 1)); /* nothing in common */
}

static void bytes(void **state)
{
    char buf[32];

    assert_string_equal(weft_print_bytes(0, buf, sizeof buf), "0 B");
    assert_string_equal(weft_print_bytes(1023, buf, sizeof buf), "1023 B");
    assert_string_equal(weft_print_bytes(1536, buf, sizeof buf), "1.5 KiB");
    assert_string_equal(weft_print_bytes(1572864, buf, sizeof buf), "1.5 MiB");
    assert_string_equal(weft_print_bytes(1048575, buf, sizeof buf), "1.0 MiB");
    assert_string_equal(weft_print_bytes(UINT64_MAX, buf, sizeof buf), "16.0 EiB");
}

static void names(void **state)
{
    char longest[66];

    memset(longest, 'a', 65);
    longest[65] = 0;
    assert_false(weft_name_valid(longest));
    longest[64] = 0;
    assert_true(weft_name_valid(longest));
    assert_true(weft_name_valid("ocr-v4.det_1"));
    assert_false(weft_name_valid(""));
    assert_false(weft_name_valid(NULL));
    assert_false(weft_name_valid(".hidden"));
    assert_false(weft_name_valid("a/b"));
    assert_false(weft_name_valid("a b"));
    assert_false(weft_name_valid("\xc3\xa9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validity), cmocka_unit_test(next),    cmocka_unit_test(all_code_points), cmocka_unit_test(cut),
        cmocka_unit_test(distance), cmocka_unit_test(nearest), cmocka_unit_test(bytes),           cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
