/* Every allocation of open, plan, preprocess and postprocess fails once: NO_MEMORY comes back and nothing is lost. */
#include "help_executor.h"

#include <stdlib.h>
#include <string.h>

#include "executor/classify/classify.h"
#include "executor/detect/detect.h"
#include "executor/face/face.h"
#include "harness/alloc_fault.h"

static void destroy_arena(void *owner)
{
    weft_arena *a = owner;
    weft_arena_destroy(&a);
}

/* One answer whose memory may run out anywhere. */
static weft_status answer(executor_bench *b, const weft_tensor *outputs, size_t n_outputs)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_builder *builder;
    weft_timing timing = {0};
    if (!arena)
        return WEFT_E_NO_MEMORY;
    weft_status s = weft_builder_create(arena, b->x->fields, b->x->n_fields, destroy_arena, arena, &builder, NULL);
    if (s == WEFT_OK)
        s = b->x->postprocess(b->state, &b->call, b->scratch, outputs, n_outputs, builder, &b->err);
    if (s == WEFT_OK)
        weft_result_unref(weft_builder_finish(builder, "", "test", "1", &timing, NULL));
    else
        weft_arena_destroy(&arena);
    return s;
}

static weft_status prepare(executor_bench *b)
{
    weft_tensor dst = b->plan.rows[0];
    weft_tensor_dense_bytes(dst.dtype, dst.shape, dst.rank, &dst.n_bytes);
    dst.data = b->row;
    weft_status s = b->x->plan(b->state, &b->call, b->scratch, &b->plan, &b->err);
    return s == WEFT_OK ? b->x->preprocess(b->state, &b->call, b->scratch, 0, &dst, 1, &b->err) : s;
}

typedef enum phase { OPEN, PREPARE, ANSWER } phase;

static void fail_each(executor_bench *b, phase what, const weft_tensor *outputs, size_t n_outputs)
{
    weft_status s = WEFT_E_NO_MEMORY;
    long n = 1;
    for (; s != WEFT_OK; n++) {
        assert_true(n < 1000);
        alloc_fault_at_thread(n, false);
        if (what == OPEN)
            s = b->x->open(&b->open, &b->state, &b->err);
        else
            s = what == PREPARE ? prepare(b) : answer(b, outputs, n_outputs);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        assert_int_equal(s, hit ? WEFT_E_NO_MEMORY : WEFT_OK);
        if (what == OPEN && s != WEFT_OK)
            assert_null(b->state);
    }
    if (what != OPEN)
        assert_true(n > 2); /* something was failed: the picture, the arena of the result */
}

static void fail_everywhere(const weft_executor *x, const weft_tensor_desc *in, const weft_tensor_desc *out, size_t n_out,
                            const char *labels)
{
    long before = alloc_outstanding();
    executor_bench b;
    weft_tensor outputs[4];
    bench_init(&b, x, in, out, n_out);
    if (labels) {
        b.file_path = "labels.txt";
        b.file_text = labels;
        bench_set(&b, "postprocess.labels", "labels.txt");
    }
    for (size_t i = 0; i < n_out; i++) {
        outputs[i] = tensor_of(&out[i], NULL);
        outputs[i].data = calloc(1, outputs[i].n_bytes);
        for (size_t k = 0; outputs[i].dtype == WEFT_DT_F32 && k < outputs[i].n_bytes / 4; k++)
            ((float *)outputs[i].data)[k] = 0.9f; /* everything is found everywhere */
    }
    fail_each(&b, OPEN, NULL, 0);
    bench_picture(&b, 40, 30);
    assert_int_equal(bench_prepare(&b), WEFT_OK); /* takes the row's memory */
    fail_each(&b, PREPARE, NULL, 0);
    fail_each(&b, ANSWER, outputs, n_out);
    for (size_t i = 0; i < n_out; i++)
        free(outputs[i].data);
    bench_fini(&b);
    assert_int_equal(alloc_outstanding(), before);
}

static void test_classify(void **state)
{
    weft_tensor_desc in = desc_of("input", WEFT_DT_F32, 4, 1, 3, 32, 32), out = desc_of("o", WEFT_DT_F16, 2, 1, 1500);
    static char labels[3001];
    for (size_t i = 0; i < 1500; i++)
        memcpy(labels + 2 * i, "a\n", 2);
    fail_everywhere(&weft_executor_classify, &in, &out, 1, labels);
}

static void test_face(void **state)
{
    weft_tensor_desc in = desc_of("input", WEFT_DT_F32, 4, 1, 128, 128, 3);
    weft_tensor_desc out[] = {desc_of("s", WEFT_DT_F32, 3, 1, 896, 1), desc_of("b", WEFT_DT_F32, 3, 1, 896, 16)};
    fail_everywhere(&weft_executor_face, &in, out, 2, NULL);
}

static void test_detect(void **state)
{
    weft_tensor_desc in = desc_of("input", WEFT_DT_F32, 4, 1, 3, 64, 64), out = desc_of("o", WEFT_DT_F32, 3, 1, 6, 2000);
    fail_everywhere(&weft_executor_detect, &in, &out, 1, "helmet\nvest\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classify),
        cmocka_unit_test(test_face),
        cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
