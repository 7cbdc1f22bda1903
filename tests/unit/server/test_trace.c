/* W3C trace context. The cases are those of the recommendation (www.w3.org/TR/trace-context), sections 3.2.2 and 3.2.4, and its
 * example values. */
#include "harness/cmocka_all.h"

#include <string.h>

#include "server/trace_context.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static bool carry_on(const char *text, char out[WEFT_TRACE_BYTES])
{
    return weft_trace_continue((weft_http_slice){text, strlen(text)}, out);
}

static void keeps_the_trace_and_names_its_own_span(void **state)
{
    (void)state;
    char a[WEFT_TRACE_BYTES], b[WEFT_TRACE_BYTES];
    assert_true(carry_on("00-" ID "-" SPAN "-01", a));
    assert_int_equal(strlen(a), 55);
    assert_memory_equal(a, "00-" ID "-", 36);
    assert_memory_not_equal(a + 36, SPAN, 16);
    assert_string_equal(a + 52, "-01");
    assert_int_equal(strspn(a + 36, "0123456789abcdef"), 16);
    assert_true(carry_on("00-" ID "-" SPAN "-00", b));
    assert_string_equal(b + 52, "-00");
    assert_memory_not_equal(a + 36, b + 36, 16);       /* each request has a span of its own */
    assert_true(carry_on("00-" ID "-" SPAN "-ff", b)); /* of the flags only "sampled" is known */
    assert_string_equal(b + 52, "-01");
    assert_true(carry_on("00-" ID "-" SPAN "-0a", b));
    assert_string_equal(b + 52, "-00");
}

static void reads_later_versions_as_far_as_it_knows_them(void **state)
{
    (void)state;
    char out[WEFT_TRACE_BYTES];
    assert_true(carry_on("cc-" ID "-" SPAN "-01", out));
    assert_memory_equal(out, "00-" ID, 35);
    assert_true(carry_on("cc-" ID "-" SPAN "-01-what-the-future-will-be-like", out));
    assert_false(carry_on("cc-" ID "-" SPAN "-01.what-the-future-will-not-be-like", out));
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "00",
        "00-" ID "-" SPAN,
        "00-" ID "-" SPAN "-0",
        "00-" ID "-" SPAN "-01-more",
        "00-" ID "-" SPAN "-010",
        "ff-" ID "-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" ID "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-" ID "-" SPAN "-0G",
        "0X-" ID "-" SPAN "-01",
        "00_" ID "-" SPAN "-01",
        "00-" ID "_" SPAN "-01",
        "00-" ID "-" SPAN "_01",
        "00-.bf92f3577b34da6a3ce929d0e0e4736-" SPAN "-01",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char out[WEFT_TRACE_BYTES] = "x";
        if (carry_on(bad[i], out))
            fail_msg("accepted: %s", bad[i]);
        assert_string_equal(out, "");
    }
}

static void takes_it_from_a_head_only_once(void **state)
{
    (void)state;
    static const char one[] = "GET / HTTP/1.1\r\nHost: a\r\nTraceparent: 00-" ID "-" SPAN "-01\r\n\r\n";
    static const char two[] =
        "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: 00-" ID "-" SPAN "-01\r\ntraceparent: 00-" ID "-" SPAN "-01\r\n\r\n";
    weft_http_engine engine;
    weft_http_head head;
    weft_http_refusal no;
    char out[WEFT_TRACE_BYTES];
    assert_true(weft_http_head_parse(&engine, one, sizeof(one) - 1, &head, &no));
    assert_true(weft_trace_from_head(&head, out));
    assert_memory_equal(out, "00-" ID "-", 36);
    assert_true(weft_http_head_parse(&engine, two, sizeof(two) - 1, &head, &no));
    assert_false(weft_trace_from_head(&head, out));
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_trace_and_names_its_own_span),
        cmocka_unit_test(reads_later_versions_as_far_as_it_knows_them),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(takes_it_from_a_head_only_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
