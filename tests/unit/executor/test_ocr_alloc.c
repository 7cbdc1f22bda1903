/* ocr: memory that runs out, at every place where it is taken: the request's arena and malloc (codecs' own memory is not counted). */
#include "harness/alloc_fault.h"
#include "ocr_pipe.h"

static const toy_line lines[] = {{20, 20, 1, false}, {150, 24, 2, true}, {20, 80, 3, false}};

static void page_of(weft_buffer *png)
{
    toy_page(320, 160, lines, 3, png);
}

static void test_the_arena_runs_out(void **state)
{
    ocr_rig r;
    weft_buffer png;
    weft_result *result;
    page_of(&png);
    rig_init(&r);
    rig_toys(&r, true);
    assert_int_equal(rig_open(&r), WEFT_OK);
    long n = 1;
    for (;; n++) {
        r.pipe.fail_alloc_at = n;
        weft_status s = rig_run(&r, png.data, png.n_bytes, &result);
        if (s == WEFT_OK)
            break;
        assert_int_equal(s, WEFT_E_NO_MEMORY);
        assert_true(r.err.text[0] != 0);
        assert_true(n < 100);
    }
    assert_true(n > 10);
    rig_done(&r, result);
    rig_fini(&r);
    weft_buffer_fini(&png);
}

static void test_malloc_runs_out(void **state)
{
    ocr_rig r;
    weft_buffer png;
    weft_result *result = NULL;
    page_of(&png);
    rig_init(&r);
    rig_toys(&r, true);
    assert_int_equal(rig_open(&r), WEFT_OK);
    assert_int_equal(rig_run(&r, png.data, png.n_bytes, &result), WEFT_OK); /* what the codec keeps for the process */
    rig_done(&r, result);
    long before = alloc_outstanding(), n = 1;
    for (;; n++) {
        alloc_fault_at(n, false);
        weft_status s = rig_run(&r, png.data, png.n_bytes, &result);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        if (s == WEFT_OK)
            rig_done(&r, result);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
        assert_int_equal(s, WEFT_E_NO_MEMORY);
        assert_true(n < 1000);
    }
    assert_true(n > 10);
    rig_fini(&r);
    weft_buffer_fini(&png);
}

static void test_open_runs_out(void **state)
{
    for (long n = 1;; n++) {
        ocr_rig r;
        rig_init(&r);
        rig_toys(&r, true);
        alloc_fault_at(n, false);
        weft_status s = rig_open(&r);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        rig_fini(&r);
        if (!hit) {
            assert_int_equal(s, WEFT_OK);
            break;
        }
        assert_int_equal(s, WEFT_E_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_arena_runs_out),
        cmocka_unit_test(test_malloc_runs_out),
        cmocka_unit_test(test_open_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
