#include "harness/check.h"

#include "base/buffer.h"

static void appends(void **state)
{
    weft_buffer b;

    weft_buffer_init(&b, 0);
    assert_true(weft_buffer_puts(&b, "one "));
    assert_true(weft_buffer_putc(&b, '2'));
    assert_true(weft_buffer_printf(&b, " %s %0500d", "three", 4));
    assert_int_equal(b.n_bytes, 4 + 1 + 7 + 500);
    assert_int_equal(strlen((char *)b.data), b.n_bytes);
    assert_memory_equal(b.data, "one 2 three 000", 15);
    assert_true(weft_buffer_append(&b, NULL, 0));
    weft_buffer_clear(&b);
    assert_int_equal(b.n_bytes, 0);
    assert_string_equal((char *)b.data, "");
    for (int i = 0; i < 10000; i++)
        assert_true(weft_buffer_append(&b, &i, sizeof i));
    for (int i = 0; i < 10000; i++)
        assert_memory_equal(b.data + 4 * i, &i, 4);
    weft_buffer_fini(&b);
    assert_null(b.data);
    weft_buffer_fini(&b);
    assert_true(weft_buffer_puts(&b, "again"));
    weft_buffer_fini(&b);
}

static void limit(void **state)
{
    weft_buffer b;

    weft_buffer_init(&b, 10);
    assert_true(weft_buffer_puts(&b, "0123456789"));
    assert_int_equal(b.data[10], 0);
    assert_false(weft_buffer_putc(&b, 'x'));
    assert_true(b.failed);
    assert_int_equal(b.n_bytes, 10);
    assert_false(weft_buffer_append(&b, "", 0)); /* a lost append is remembered */
    weft_buffer_clear(&b);
    assert_false(weft_buffer_printf(&b, "%s", "01234567890"));
    weft_buffer_clear(&b);
    assert_true(weft_buffer_printf(&b, "%s", "0123456789"));
    weft_buffer_clear(&b);
    assert_false(weft_buffer_reserve(&b, SIZE_MAX));
    weft_buffer_fini(&b);
    weft_buffer_init(&b, 0);
    assert_true(weft_buffer_putc(&b, 'x'));
    assert_false(weft_buffer_reserve(&b, SIZE_MAX));
    weft_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(appends), cmocka_unit_test(limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
