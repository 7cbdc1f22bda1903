#include "harness/check.h"

#include "base/arena.h"
#include "base/thread.h"
#include "weft/builder.h"

static const weft_field_decl fields[] = {
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, ""},
    {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, ""},
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, ""},
    {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 6, ""},
    {"index", WEFT_FIELD_NUMBER, WEFT_DT_I64, true, 0, ""},
    {"matte", WEFT_FIELD_MATTE, WEFT_DT_U8, false, 0, ""},
    {"picture", WEFT_FIELD_PICTURE, WEFT_DT_STRING, false, 0, ""},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

static int released;
static weft_arena *arena;

static void release(void *owner)
{
    weft_arena *a = owner;

    released++;
    weft_arena_destroy(&a);
}

static weft_builder *start(const weft_field_decl *f, size_t n)
{
    weft_builder *b;

    released = 0;
    arena = weft_arena_create(NULL, 0);
    assert_int_equal(weft_builder_create(arena, f, n, release, arena, &b, NULL), WEFT_OK);
    return b;
}

static void whole(void **state)
{
    weft_builder *b = start(fields, N_FIELDS);
    const char *texts[] = {"first", "", "a\0b"};
    const size_t lengths[] = {5, 0, 3};
    const weft_timing timing = {.total_ns = 12, .n_runs = 1};
    const weft_column *c;
    weft_result *r;
    float *box;
    void *data;
    size_t n;

    weft_builder_items(b, 3);
    assert_int_equal(weft_builder_strings(b, "text", texts, lengths, 3, NULL), WEFT_OK);
    assert_int_equal(weft_builder_column(b, "box", (int64_t[]){3, 4}, 2, &data, NULL), WEFT_OK);
    box = data;
    for (int i = 0; i < 12; i++) {
        assert_true(box[i] == 0);
        box[i] = (float)i;
    }
    assert_int_equal(weft_builder_strings(b, "picture", (const char *[]){"\x89PNG"}, NULL, 1, NULL), WEFT_OK);
    r = weft_builder_finish(b, "id-1", "ocr", "2", &timing, NULL);
    assert_int_equal(r->error.status, WEFT_OK);
    assert_string_equal(r->id, "id-1");
    assert_string_equal(r->model, "ocr");
    assert_string_equal(r->version, "2");
    assert_int_equal(r->timing.total_ns, 12);
    assert_int_equal(r->n_items, 3);
    assert_int_equal(r->n_columns, 3);
    assert_null(weft_result_column(r, "nothing"));
    assert_null(weft_result_column(r, NULL));
    c = weft_result_column(r, "text");
    assert_int_equal(c->kind, WEFT_FIELD_TEXT);
    assert_int_equal(weft_tensor_check(&c->tensor, NULL), WEFT_OK);
    assert_memory_equal(c->tensor.data, "\5\0\0\0first\0\0\0\0\3\0\0\0a\0b", 20);
    assert_int_equal(c->tensor.n_bytes, 20);
    assert_memory_equal(weft_result_text(r, "text", 0, &n), "first", 5);
    assert_int_equal(n, 5);
    assert_non_null(weft_result_text(r, "text", 1, &n));
    assert_int_equal(n, 0);
    assert_memory_equal(weft_result_text(r, "text", 2, &n), "a\0b", 3);
    assert_null(weft_result_text(r, "text", 3, &n));
    assert_null(weft_result_text(r, "box", 0, &n));
    assert_true(weft_result_f32(r, "box", 2, 3) == 11);
    assert_true(weft_result_f32(r, "box", 1, 0) == 4);
    assert_true(weft_result_f32(r, "box", 3, 0) == 0);
    assert_true(weft_result_f32(r, "box", 0, 4) == 0);
    assert_true(weft_result_f32(r, "text", 0, 0) == 0);
    assert_ptr_equal(weft_result_ref(r), r);
    weft_result_unref(r);
    assert_int_equal(released, 0);
    weft_result_unref(r);
    assert_int_equal(released, 1);
    weft_result_unref(NULL);
}

static void failure_drops_columns(void **state)
{
    weft_builder *b = start(fields, N_FIELDS);
    weft_error failure = {0};
    char longest[300];
    weft_result *r;
    void *data;

    memset(longest, 'i', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(weft_builder_column(b, "matte", (int64_t[]){2, 2}, 2, &data, NULL), WEFT_OK);
    weft_fail(&failure, WEFT_E_BUSY, "later");
    failure.retry_after_ms = 30;
    r = weft_builder_finish(b, longest, NULL, "1", NULL, &failure);
    assert_int_equal(r->error.status, WEFT_E_BUSY);
    assert_int_equal(r->error.retry_after_ms, 30);
    assert_int_equal(r->n_columns, 0);
    assert_int_equal(r->n_items, 0);
    assert_string_equal(r->model, "");
    assert_int_equal(strlen(r->id), 128);
    weft_result_unref(r);

    b = start(NULL, 0);
    failure.status = WEFT_OK;
    r = weft_builder_finish(b, NULL, "m", "1", NULL, &failure);
    assert_int_equal(r->error.status, WEFT_E_INTERNAL);
    weft_result_unref(r);
    assert_int_equal(released, 1);
}

static void refused_columns(void **state)
{
    weft_builder *b = start(fields, N_FIELDS);
    const char *texts[] = {"a", "b"};
    int64_t numbers[2] = {1, 2};
    weft_tensor t = {.name = "index", .dtype = WEFT_DT_I64, .rank = 1, .shape = {2}, .data = numbers, .n_bytes = 16};
    weft_error err;
    void *data;

#define REFUSED(call, part)                                                                                                      \
    do {                                                                                                                         \
        assert_int_equal(call, WEFT_E_INVALID);                                                                                  \
        assert_non_null(strstr(err.text, part));                                                                                 \
    } while (0)
    weft_builder_items(b, 2);
    REFUSED(weft_builder_column(b, "txt", (int64_t[]){2}, 1, &data, &err), "not among the declared");
    assert_null(data);
    REFUSED(weft_builder_column(b, "text", (int64_t[]){2}, 1, &data, &err), "no fixed element size");
    REFUSED(weft_builder_column(b, "score", (int64_t[]){3}, 1, &data, &err), "number of items, 2");
    REFUSED(weft_builder_column(b, "score", NULL, 0, &data, &err), "does not fit its kind");
    REFUSED(weft_builder_column(b, "box", (int64_t[]){2, 5}, 2, &data, &err), "does not fit its kind");
    REFUSED(weft_builder_column(b, "points", (int64_t[]){2, 5, 2}, 3, &data, &err), "does not fit its kind");
    REFUSED(weft_builder_column(b, "index", (int64_t[]){2, INT64_MAX}, 2, &data, &err), "impossible shape");
    REFUSED(weft_builder_column(b, "index", (int64_t[]){2, -1}, 2, &data, &err), "impossible shape");
    REFUSED(weft_builder_column(b, "index", (int64_t[9]){2}, 9, &data, &err), "9 dimensions");
    REFUSED(weft_builder_strings(b, "score", texts, NULL, 2, &err), "declared as FP32");
    REFUSED(weft_builder_strings(b, "text", texts, NULL, 1, &err), "number of items, 2");
    REFUSED(weft_builder_strings(b, "picture", texts, NULL, 2, &err), "does not fit its kind");
    assert_int_equal(weft_builder_column(b, "score", (int64_t[]){2}, 1, &data, &err), WEFT_OK);
    REFUSED(weft_builder_column(b, "score", (int64_t[]){2}, 1, &data, &err), "added twice");
    REFUSED(weft_builder_tensor(b, WEFT_FIELD_TENSOR, false, &t, true, &err), "not of the declared kind");
    REFUSED(weft_builder_tensor(b, WEFT_FIELD_NUMBER, false, &t, true, &err), "not of the declared kind");
    t.n_bytes = 15;
    REFUSED(weft_builder_tensor(b, WEFT_FIELD_NUMBER, true, &t, true, &err), "needs 16 bytes");
    t.n_bytes = 16;
    assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_NUMBER, true, &t, true, &err), WEFT_OK);
    weft_result_unref(weft_builder_finish(b, "", "m", "1", NULL, NULL));
}

static void free_columns(void **state)
{
    weft_builder *b = start(NULL, 0);
    float values[3] = {1, 2, 3};
    char name[16] = "v";
    weft_tensor t = {.name = name, .dtype = WEFT_DT_F32, .rank = 1, .shape = {3}, .data = values, .n_bytes = 12};
    weft_error err;
    weft_result *r;
    size_t n;
    void *data;

    assert_int_equal(weft_builder_column(b, "v", (int64_t[]){3}, 1, &data, &err), WEFT_E_INVALID);
    for (int i = 0; i < WEFT_BUILDER_MAX_COLUMNS; i++) {
        name[1] = (char)('A' + i % 32);
        name[2] = i < 32 ? 0 : '2';
        assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_TENSOR, false, &t, i != 5, &err), WEFT_OK);
    }
    name[2] = '3';
    assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_TENSOR, false, &t, true, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "at most 64"));
    assert_int_equal((uintptr_t)weft_builder_alloc(b, 3) % 64, 0);
    r = weft_builder_finish(b, "", "m", "1", NULL, NULL);
    values[0] = 9;
    assert_true(weft_result_f32(r, "vA", 0, 0) == 1); /* copied */
    assert_true(weft_result_f32(r, "vF", 0, 0) == 9); /* adopted */
    assert_ptr_equal(weft_result_column(r, "vF")->tensor.data, values);
    weft_result_unref(r);

    b = start((const weft_field_decl[]){{"*", WEFT_FIELD_TENSOR, WEFT_DT_NONE, false, 0, ""}}, 1);
    t = (weft_tensor){
        .name = "s", .dtype = WEFT_DT_STRING, .rank = 2, .shape = {1, 2}, .data = (char *)"\1\0\0\0x\2\0\0\0yz", .n_bytes = 11};
    assert_int_equal(weft_builder_tensor(b, WEFT_FIELD_TENSOR, false, &t, true, &err), WEFT_OK);
    r = weft_builder_finish(b, "", "m", "1", NULL, NULL);
    assert_memory_equal(weft_result_text(r, "s", 1, &n), "yz", 2);
    assert_int_equal(n, 2);
    assert_null(weft_result_text(r, "s", 2, NULL));
    weft_result_unref(r);
}

static void ref_unref(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        weft_result_ref(arg);
        weft_result_unref(arg);
    }
    weft_result_unref(arg);
}

static void references_of_many_threads(void **state)
{
    weft_result *r = weft_builder_finish(start(NULL, 0), "", "m", "1", NULL, NULL);
    weft_thread t[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(weft_thread_start(&t[i], "refs", ref_unref, weft_result_ref(r), NULL), WEFT_OK);
    weft_result_unref(r);
    for (int i = 0; i < 4; i++)
        weft_thread_join(&t[i]);
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),        cmocka_unit_test(failure_drops_columns),      cmocka_unit_test(refused_columns),
        cmocka_unit_test(free_columns), cmocka_unit_test(references_of_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
