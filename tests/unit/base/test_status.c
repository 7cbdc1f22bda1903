#include "harness/check.h"

#include "base/text.h"
#include "weft/status.h"

#include <stdio.h>

static void names_and_codes(void **state)
{
    /* From the table of the protocol page and RFC 9110, written out by hand. */
    assert_string_equal(weft_status_name(WEFT_OK), "OK");
    assert_int_equal(weft_status_http(WEFT_OK), 200);
    assert_int_equal(weft_status_grpc(WEFT_OK), 0);
    assert_string_equal(weft_status_name(WEFT_E_BUSY), "BUSY");
    assert_int_equal(WEFT_E_BUSY, -11);
    assert_int_equal(weft_status_http(WEFT_E_BUSY), 429);
    assert_int_equal(weft_status_grpc(WEFT_E_BUSY), 8);
    assert_int_equal(weft_status_http(WEFT_E_DEADLINE), 504);
    assert_int_equal(weft_status_grpc(WEFT_E_DEADLINE), 4);
    assert_string_equal(weft_status_name((weft_status)-999), "UNKNOWN");
    assert_int_equal(weft_status_http((weft_status)-999), 500);
    assert_int_equal(weft_status_grpc((weft_status)-999), 2);
    assert_non_null(strstr(weft_status_text(WEFT_E_NO_MEMORY), "memory"));
}

static void fail_fills(void **state)
{
    weft_error err = {.retry_after_ms = 7};

    assert_int_equal(weft_fail(&err, WEFT_E_INVALID, "%d of %s", 3, "x"), WEFT_E_INVALID);
    assert_int_equal(err.status, WEFT_E_INVALID);
    assert_int_equal(err.retry_after_ms, 0);
    assert_string_equal(err.text, "3 of x");
    assert_int_equal(weft_fail(NULL, WEFT_E_IO, "nobody listens"), WEFT_E_IO);
    /* The old text may be an argument of the new one. */
    weft_fail(&err, WEFT_E_CONFIG, "again: %s", err.text);
    assert_string_equal(err.text, "again: 3 of x");
    weft_error_clear(&err);
    assert_int_equal(err.status, WEFT_OK);
    assert_string_equal(err.text, "");
    weft_error_clear(NULL);
}

static void text_is_cut_at_a_character(void **state)
{
    char longer[1400];
    weft_error err;

    for (int shift = 0; shift < 3; shift++) {
        memset(longer, 'a', (size_t)shift);
        for (int i = 0; i < 450; i++)
            memcpy(longer + shift + 3 * i, "\xe6\x96\x87", 3);
        longer[shift + 1350] = 0;
        weft_fail(&err, WEFT_E_INVALID, "%s", longer);
        assert_true(weft_utf8_valid(err.text, strlen(err.text)));
        assert_in_range(strlen(err.text), WEFT_ERROR_TEXT_BYTES - 4, WEFT_ERROR_TEXT_BYTES - 1);
        assert_int_equal((strlen(err.text) - (size_t)shift) % 3, 0);
        assert_memory_equal(err.text, longer, strlen(err.text));
    }
}

static void malformed_text_is_repaired(void **state)
{
    weft_error err;

    weft_fail(&err, WEFT_E_INVALID, "name \"%s\"", "a\xff\xc3");
    assert_string_equal(err.text, "name \"a??\"");
    weft_fail(&err, WEFT_E_INVALID, "%s", "\xef\xbf\xbd stays"); /* U+FFFD itself is well-formed */
    assert_string_equal(err.text, "\xef\xbf\xbd stays");
}

static void prefix(void **state)
{
    weft_error err;
    char longer[WEFT_ERROR_TEXT_BYTES + 100];

    weft_fail(&err, WEFT_E_NOT_FOUND, "no such file");
    err.retry_after_ms = 5;
    assert_int_equal(weft_fail_prefix(&err, err.status, "model \"%s\"", "ocr"), WEFT_E_NOT_FOUND);
    assert_string_equal(err.text, "model \"ocr\": no such file");
    assert_int_equal(err.status, WEFT_E_NOT_FOUND);
    assert_int_equal(err.retry_after_ms, 5);
    weft_fail_prefix(&err, err.status, "%s", err.text);
    assert_string_equal(err.text, "model \"ocr\": no such file: model \"ocr\": no such file");
    weft_fail(&err, WEFT_E_IO, "model \"ocr\": no such file");
    assert_int_equal(weft_fail_prefix(&err, err.status, "model \"%s\"", "ocr"), WEFT_E_IO);
    assert_string_equal(err.text, "model \"ocr\": no such file"); /* said already */
    weft_fail_prefix(&err, err.status, "model");
    assert_string_equal(err.text, "model: model \"ocr\": no such file"); /* only the same prefix counts */
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    weft_fail_prefix(&err, err.status, "%s", longer);
    assert_int_equal(strlen(err.text), WEFT_ERROR_TEXT_BYTES - 1);
    weft_error_clear(&err);
    weft_fail_prefix(&err, WEFT_E_IO, "alone");
    assert_string_equal(err.text, "alone");
    assert_int_equal(err.status, WEFT_E_IO);
    assert_int_equal(weft_fail_prefix(NULL, WEFT_E_IO, "x"), WEFT_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_codes),
        cmocka_unit_test(fail_fills),
        cmocka_unit_test(text_is_cut_at_a_character),
        cmocka_unit_test(malformed_text_is_repaired),
        cmocka_unit_test(prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
