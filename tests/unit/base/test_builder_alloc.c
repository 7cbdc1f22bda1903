#include "harness/alloc_fault.h"
#include "harness/check.h"

#include "base/arena.h"
#include "weft/builder.h"

static const weft_field_decl fields[] = {
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, ""},
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, ""},
    {"*", WEFT_FIELD_TENSOR, WEFT_DT_NONE, false, 0, ""},
};

static weft_status build(weft_arena *a, weft_builder **out, weft_error *err)
{
    static char big[10000];
    static const char *texts[500];
    weft_status s = weft_builder_create(a, fields, 3, NULL, NULL, out, err);
    char name[8] = "t0";
    weft_tensor t = {.name = name, .dtype = WEFT_DT_U8, .rank = 1, .shape = {sizeof big}, .data = big, .n_bytes = sizeof big};
    void *data;

    for (int i = 0; i < 500; i++)
        texts[i] = "some text";
    if (s)
        return s;
    weft_builder_items(*out, 500);
    if ((s = weft_builder_strings(*out, "text", texts, NULL, 500, err)) ||
        (s = weft_builder_column(*out, "score", (int64_t[]){500}, 1, &data, err)))
        return s;
    for (; name[1] <= '9'; name[1]++)
        if ((s = weft_builder_tensor(*out, WEFT_FIELD_TENSOR, false, &t, true, err)))
            return s;
    return WEFT_OK;
}

static void every_place(void **state)
{
    int failures = 0;

    for (long n = 1;; n++) {
        long before = alloc_outstanding();
        weft_arena *a = weft_arena_create(NULL, 1);
        weft_builder *b;
        weft_error err;
        weft_status s;
        bool hit;

        alloc_fault_at(n, false);
        s = build(a, &b, &err);
        hit = alloc_fault_hit();
        alloc_fault_off();
        if (hit) {
            assert_int_equal(s, WEFT_E_NO_MEMORY);
            assert_int_equal(err.status, WEFT_E_NO_MEMORY);
            failures++;
            if (b) { /* the failure can be told: finish takes no memory */
                alloc_fault_at(1, true);
                assert_int_equal(weft_builder_finish(b, "i", "m", "1", NULL, &err)->error.status, WEFT_E_NO_MEMORY);
                assert_false(alloc_fault_hit());
                alloc_fault_off();
            }
        } else {
            assert_int_equal(s, WEFT_OK);
        }
        weft_arena_destroy(&a);
        assert_int_equal(alloc_outstanding(), before);
        if (!hit)
            break;
    }
    assert_true(failures >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
