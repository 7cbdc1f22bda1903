/* Forms. Expectations by RFC 7578 and RFC 2046 5.1, by hand. */
#include "harness/cmocka_all.h"

#include <string.h>

#include "server/multipart.h"

static weft_part parts[WEFT_MULTIPART_MAX_PARTS];
static size_t n_parts;
static weft_error err;

static weft_status split(const char *type, const char *body)
{
    return weft_multipart_split(type, (const unsigned char *)body, strlen(body), parts, &n_parts, &err);
}

static void reads_a_curl_form(void **state)
{
    (void)state;
    const char *body = "--------------------------abc\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a "
                       "\\\"b\\\".jpg\"\r\nContent-Type: Image/JPEG; x=y\r\n\r\n"
                       "\xff\xd8\r\n--not\r\n\r\n--------------------------abc\r\nContent-Disposition: form-data; "
                       "name=\"top_k\"\r\n\r\n3\r\n--------------------------abc--\r\n";
    assert_int_equal(split("multipart/form-data; boundary=------------------------abc", body), WEFT_OK);
    assert_int_equal(n_parts, 2);
    assert_string_equal(parts[0].name, "image");
    assert_string_equal(parts[0].content_type, "image/jpeg");
    assert_true(parts[0].has_filename);
    assert_int_equal(parts[0].n_bytes, 11);
    assert_memory_equal(parts[0].data, "\xff\xd8\r\n--not\r\n", 11);
    assert_string_equal(parts[1].name, "top_k");
    assert_false(parts[1].has_filename);
    assert_int_equal(parts[1].n_bytes, 1);
    assert_memory_equal(parts[1].data, "3", 1);
}

static void reads_quoted_boundary_preamble_and_empty_parts(void **state)
{
    (void)state;
    const char *body =
        "preamble\r\n--x y\r\n\r\n\r\n--x y  \r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--x y--epilogue";
    assert_int_equal(split("multipart/form-data; charset=utf-8; Boundary=\"x y\"", body), WEFT_OK);
    assert_int_equal(n_parts, 2);
    assert_string_equal(parts[0].name, "");
    assert_int_equal(parts[0].n_bytes, 0);
    assert_string_equal(parts[1].name, "a");
    assert_int_equal(parts[1].n_bytes, 0);
    assert_int_equal(split("multipart/form-data; boundary=x", "--x--"), WEFT_OK);
    assert_int_equal(n_parts, 0);
}

static void refuses(const char *type, const char *body)
{
    err.text[0] = 0;
    if (split(type, body) != WEFT_E_INVALID || !err.text[0])
        fail_msg("accepted: %s", body);
}

static void refuses_broken_forms(void **state)
{
    (void)state;
    refuses("multipart/form-data", "--x--");
    refuses("multipart/form-data; boundary=", "--x--");
    refuses("multipart/form-data; boundary=\"x", "--x--");
    refuses("multipart/form-data; boundary=01234567890123456789012345678901234567890123456789012345678901234567890", "--x--");
    refuses("multipart/form-data; boundary=x", "");
    refuses("multipart/form-data; boundary=x", "--x");
    refuses("multipart/form-data; boundary=x", "--x\r\n");
    refuses("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ndata");
    refuses("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ndata\r\n--x");
    refuses("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\r\n\r\ndata\r\n--x--");
    refuses("multipart/form-data; boundary=x", "--xy\r\n\r\ndata\r\n--xy--");
}

static void bounds_parts_and_names(void **state)
{
    (void)state;
    static char body[8192];
    body[0] = 0;
    for (int i = 0; i <= WEFT_MULTIPART_MAX_PARTS; i++)
        strcat(body, "--x\r\n\r\na\r\n");
    strcat(body, "--x--");
    refuses("multipart/form-data; boundary=x", body);
    strcpy(body, "--x\r\nContent-Disposition: form-data; name=\"");
    memset(body + strlen(body), 'n', 64);
    strcat(body, "\"\r\n\r\na\r\n--x--");
    refuses("multipart/form-data; boundary=x", body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_a_curl_form),
                                       cmocka_unit_test(reads_quoted_boundary_preamble_and_empty_parts),
                                       cmocka_unit_test(refuses_broken_forms), cmocka_unit_test(bounds_parts_and_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
