#include "harness/check.h"

#include "wire/base64.h"

static void vectors(void **state)
{
    /* RFC 4648, section 10. */
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    char text[16];
    uint8_t data[16];
    size_t n;

    for (size_t i = 0; i < 7; i++) {
        size_t n_data = strlen(cases[i][0]), n_text = strlen(cases[i][1]);

        assert_int_equal(weft_base64_encoded_bytes(n_data), n_text);
        weft_base64_encode(cases[i][0], n_data, text);
        assert_memory_equal(text, cases[i][1], n_text);
        assert_true(weft_base64_decode(cases[i][1], n_text, data, &n));
        assert_int_equal(n, n_data);
        assert_memory_equal(data, cases[i][0], n_data);
    }
    assert_true(weft_base64_decode("+/+/", 4, data, &n));
    assert_memory_equal(data, "\xfb\xff\xbf", 3);
}

static void refused(void **state)
{
    static const char *const bad[] = {
        "Z",     "Zg",   "Zg=",  "Zg===",    "Zh==",  "Zm9=",     "=Zg=",    "Z===",    "====", "Zm9v\n",
        "Zm 9v", "Zm9-", "Zm9_", "Zg==Zg==", "Zm9vZ", "Zm9v====", "\xffm9v", "Zm\xc3v", "Z=9v"};
    uint8_t data[16];
    size_t n;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (weft_base64_decode(bad[i], strlen(bad[i]), data, &n))
            fail_msg("\"%s\" was accepted", bad[i]);
    assert_false(weft_base64_decode("Zg=\0", 4, data, &n));
}

static void round_trip_in_place(void **state)
{
    uint64_t seed = 5;

    for (size_t n = 0; n < 300; n++) {
        uint8_t data[300], *exact;
        char *text = malloc(weft_base64_encoded_bytes(n) + 1);
        size_t n_text = weft_base64_encoded_bytes(n), n_got;

        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)test_random(&seed);
        weft_base64_encode(data, n, text);
        exact = malloc(weft_base64_decoded_bytes(n_text) + 1);
        assert_true(weft_base64_decode(text, n_text, exact, &n_got));
        assert_int_equal(n_got, n);
        assert_memory_equal(exact, data, n);
        assert_true(weft_base64_decode(text, n_text, (uint8_t *)text, &n_got));
        assert_int_equal(n_got, n);
        assert_memory_equal(text, data, n);
        free(text);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(refused),
                                       cmocka_unit_test(round_trip_in_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
