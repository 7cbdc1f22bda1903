#include "harness/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "vision/labels.h"

typedef struct memory {
    void *taken[8];
    size_t n;
    size_t left; /* allocations before it says no */
} memory;

static void *take(void *cookie, size_t n_bytes)
{
    memory *m = cookie;
    if (m->left == 0)
        return NULL;
    m->left--;
    return m->taken[m->n++] = calloc(1, n_bytes);
}

static void give(memory *m)
{
    while (m->n > 0)
        free(m->taken[--m->n]);
}

static weft_status parse(memory *m, const char *text, weft_labels *out, weft_error *err)
{
    return weft_labels_parse("names.txt", text, strlen(text), take, m, out, err);
}

static void test_lines(void **state)
{
    memory m = {.left = 8};
    weft_labels l;
    assert_int_equal(parse(&m,
                           "\xEF\xBB\xBF"
                           "cat\r\n  great white shark \n\n\xE7\x8C\xAB",
                           &l, NULL),
                     WEFT_OK);
    assert_int_equal(l.n, 4);
    assert_string_equal(l.names[0], "cat");
    assert_string_equal(l.names[1], "great white shark");
    assert_null(l.names[2]);
    assert_string_equal(l.names[3], "\xE7\x8C\xAB");
    char buf[WEFT_LABEL_TEXT_BYTES];
    assert_string_equal(weft_label(&l, 1, buf), "great white shark");
    assert_string_equal(weft_label(&l, 2, buf), "class 2");
    assert_string_equal(weft_label(&l, 17, buf), "class 17");
    assert_string_equal(weft_label(&l, INT32_MAX, buf), "class 2147483647");
    assert_int_equal(weft_label_index(&l, "great white shark"), 1);
    assert_int_equal(weft_label_index(&l, "Cat"), -1);
    give(&m);
}

static void test_end_of_file(void **state)
{
    const char *same[] = {"a\nb", "a\nb\n", "a\nb\r\n\r\n", "a\nb \n \t\n"};
    for (size_t i = 0; i < 4; i++) {
        memory m = {.left = 8};
        weft_labels l;
        assert_int_equal(parse(&m, same[i], &l, NULL), WEFT_OK);
        assert_int_equal(l.n, 2);
        assert_string_equal(l.names[1], "b");
        give(&m);
    }
}

static void test_no_terminator_is_needed(void **state)
{
    char *text = malloc(3); /* on the heap: a read past the end is seen by the sanitizer */
    memcpy(text, "a\nb", 3);
    memory m = {.left = 8};
    weft_labels l;
    assert_int_equal(weft_labels_parse("names.txt", text, 3, take, &m, &l, NULL), WEFT_OK);
    assert_string_equal(l.names[1], "b");
    give(&m);
    free(text);
}

static void test_refused(void **state)
{
    memory m = {.left = 8};
    weft_labels l;
    weft_error err;
    const char *bad[] = {"", "\n \n\r\n", "\xEF\xBB\xBF", "cat\xFF\n"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(parse(&m, bad[i], &l, &err), WEFT_E_CONFIG);
        assert_non_null(strstr(err.text, "names.txt"));
        assert_int_equal(l.n, 0);
    }
    assert_int_equal(weft_labels_parse("names.txt", "a\0b", 3, take, &m, &l, &err), WEFT_E_CONFIG);
    assert_int_equal(m.n, 0);
}

static void test_out_of_memory(void **state)
{
    for (size_t allowed = 0; allowed < 2; allowed++) {
        memory m = {.left = allowed};
        weft_labels l;
        assert_int_equal(parse(&m, "a\nb\n", &l, NULL), WEFT_E_NO_MEMORY);
        assert_int_equal(l.n, 0);
        give(&m);
    }
}

static void test_count_must_fit(void **state)
{
    const char *names[] = {"a", "b", "c"};
    weft_labels l = {names, 3}, none = {NULL, 0};
    weft_error err;
    assert_int_equal(weft_labels_check(&l, "names.txt", 3, &err), WEFT_OK);
    assert_int_equal(weft_labels_check(&l, "names.txt", -1, &err), WEFT_OK); /* a dynamic axis: not known */
    assert_int_equal(weft_labels_check(&none, NULL, 1000, &err), WEFT_OK);
    assert_int_equal(weft_labels_check(&l, "names.txt", 1001, &err), WEFT_E_CONFIG);
    assert_non_null(strstr(err.text, "3 classes"));
    assert_non_null(strstr(err.text, "1001"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_end_of_file),   cmocka_unit_test(test_no_terminator_is_needed),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_count_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
