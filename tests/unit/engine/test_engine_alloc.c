/* Memory that runs out at the n-th allocation, everywhere; and none that is taken in steady state. */
#include "help_engine.h"

#include <string.h>

#include "harness/alloc_fault.h"

#define MOST 5000 /* allocations that one of these works may take */

static void settle(long want)
{
    for (int i = 0; i < 2000 && alloc_outstanding() != want; i++)
        help_sleep_ms(1); /* threads that are just ending */
    assert_int_equal(alloc_outstanding(), want);
}

static void test_create(void **state)
{
    long before = alloc_outstanding();
    for (long n = 1;; n++) {
        weft_engine_options o;
        weft_engine *e;
        weft_error err;
        assert_true(n < MOST);
        help_engine_options(&o, 2);
        o.onnxruntime_library = "/somewhere";
        alloc_fault_at(n, false);
        weft_status s = weft_engine_create(&o, &e, &err);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        weft_engine_destroy(&e);
        settle(before);
        if (!hit) {
            help_must(s, &err);
            return;
        }
        assert_int_equal(s, WEFT_E_NO_MEMORY);
    }
}

static void prepare(help_model *h, const char *type)
{
    weft_fake_reset();
    help_model_init(h, "m");
    h->config.type = type;
    h->config.max_batch = 4;
    h->config.instances = 1;
}

static void test_load(void **state)
{
    static const char *const types[] = {"tensor", "bytes"};
    for (int k = 0; k < 2; k++) {
        for (long n = 1;; n++) {
            help_model h;
            weft_error err;
            weft_fake_counts c;
            assert_true(n < MOST);
            prepare(&h, types[k]);
            weft_fake_count("m", &c);
            long before = alloc_outstanding();
            weft_engine *e = help_engine(2);
            alloc_fault_at(n, false);
            weft_status s = weft_engine_load(e, &h.config, &err);
            bool hit = alloc_fault_hit();
            alloc_fault_off();
            if (s)
                assert_int_equal(s, WEFT_E_NO_MEMORY);
            if (s) /* the name is free again */
                help_load(e, &h);
            help_call call;
            weft_result *r;
            help_call_init(&call, "m", 1, 2);
            uint8_t byte = 2;
            if (k)
                call.input = weft_input_bytes("bytes", &byte, 1);
            help_must(weft_infer(e, &call.call, &r, &err), &err);
            weft_result_unref(r);
            weft_engine_destroy(&e);
            weft_fake_reset();
            settle(before);
            if (!hit)
                break;
        }
    }
}

typedef weft_status (*work)(weft_engine *e, weft_error *err);

static weft_status infer_tensor(weft_engine *e, weft_error *err)
{
    help_call c;
    weft_result *r;
    help_call_init(&c, "m", 9, 2); /* several runs */
    c.call.id = "some-id";
    c.call.timeout_ms = 10000;
    weft_status s = weft_infer(e, &c.call, &r, err);
    if (!s)
        assert_true(help_y(r, 8, 0) == help_want(10, 0));
    weft_result_unref(r);
    return s;
}

static weft_status infer_bytes(weft_engine *e, weft_error *err)
{
    const uint8_t bytes[3] = {1, 2, 3};
    weft_input in = weft_input_bytes("bytes", bytes, 3);
    weft_call c = {.model = "m", .inputs = &in, .n_inputs = 1};
    weft_result *r;
    weft_status s = weft_infer(e, &c, &r, err);
    if (!s)
        assert_true(((const float *)r->columns[0].tensor.data)[2] == 12);
    weft_result_unref(r);
    return s;
}

static weft_status infer_pipe_wide(weft_engine *e, int64_t calls, int64_t at_once, weft_error *err)
{
    weft_param p[2] = {{.name = "calls", .kind = WEFT_PARAM_INT, .i = calls},
                       {.name = "at_once", .kind = WEFT_PARAM_INT, .i = at_once}};
    weft_call c = {.model = "p", .params = p, .n_params = 2};
    weft_result *r;
    weft_status s = weft_infer(e, &c, &r, err);
    if (!s)
        assert_true(((const float *)r->columns[0].tensor.data)[4] == 16);
    weft_result_unref(r);
    return s;
}

static weft_status infer_pipe(weft_engine *e, weft_error *err)
{
    return infer_pipe_wide(e, 5, 3, err);
}

static void load_pipe(weft_engine *e, help_model *p)
{
    weft_error err;
    help_model_init(p, "p");
    p->config.type = "pipe";
    p->config.backend = NULL;
    p->config.backend_options = NULL;
    p->submodels[0] = (weft_submodel_config){"a", "m"};
    p->config.submodels.n = 1;
    p->config.concurrency = 1;
    help_must(weft_engine_load(e, &p->config, &err), &err);
}

static void fail_everywhere(const char *type, work w, bool pipe)
{
    weft_error err;
    for (long n = 1;; n++) {
        help_model h, p;
        assert_true(n < MOST);
        prepare(&h, type);
        long before = alloc_outstanding();
        weft_engine *e = help_engine(2);
        help_load(e, &h);
        if (pipe)
            load_pipe(e, &p);
        alloc_fault_at(n, false);
        weft_status s = w(e, &err);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        if (s)
            assert_int_equal(s, WEFT_E_NO_MEMORY);
        help_must(w(e, &err), &err); /* nothing is broken by it */
        weft_engine_destroy(&e);
        weft_fake_reset();
        settle(before);
        if (!hit)
            return;
    }
}

static void test_infer(void **state)
{
    fail_everywhere("tensor", infer_tensor, false);
    fail_everywhere("bytes", infer_bytes, false);
    fail_everywhere("tensor", infer_pipe, true);
}

static void test_reload(void **state)
{
    for (int mode = WEFT_RELOAD_SWAP; mode <= WEFT_RELOAD_REPLACE; mode++) {
        for (long n = 1;; n++) {
            help_model h, p;
            weft_error err;
            assert_true(n < MOST);
            prepare(&h, "tensor");
            long before = alloc_outstanding();
            weft_engine *e = help_engine(2);
            help_load(e, &h);
            load_pipe(e, &p);
            alloc_fault_at(n, false);
            weft_status s = weft_engine_reload(e, &h.config, (weft_reload_mode)mode, &err);
            bool hit = alloc_fault_hit();
            alloc_fault_off();
            if (s)
                assert_int_equal(s, WEFT_E_NO_MEMORY);
            help_must(infer_pipe(e, &err), &err); /* with the new or with the old */
            weft_engine_destroy(&e);
            weft_fake_reset();
            settle(before);
            if (!hit)
                break;
        }
    }
}

/* ---- steady state ---- */
typedef struct loop {
    weft_engine *e;
    help_call c;
    weft_async a;
    help_ticket last;
    int left;
} loop;

static void again(void *cookie, weft_result *r)
{
    loop *l = cookie;
    if (--l->left > 0) {
        weft_result_unref(r);
        assert_int_equal(weft_infer_async(l->e, &l->c.call, &l->a, NULL, NULL), WEFT_OK);
        return;
    }
    help_done(&l->last, r);
}

static void run_loops(weft_engine *e, help_inbox *in, loop *loops, int n, int each, int have)
{
    for (int i = 0; i < n; i++) {
        loop *l = &loops[i];
        help_call_init(&l->c, "m", 1, (float)i);
        l->c.call.timeout_ms = 60000;
        l->e = e;
        l->a = (weft_async){.done = again, .cookie = l};
        l->last = (help_ticket){.inbox = in};
        l->left = each;
        assert_int_equal(weft_infer_async(e, &l->c.call, &l->a, NULL, NULL), WEFT_OK);
    }
    assert_true(help_inbox_wait(in, have + n));
    for (int i = 0; i < n; i++)
        assert_int_equal(help_take(&loops[i].last), WEFT_OK);
}

static void test_steady_state_allocates_nothing(void **state)
{
    help_model h, p;
    weft_error err;
    static loop loops[24];
    prepare(&h, "tensor");
    h.config.instances = 2;
    weft_engine *e = help_engine(2);
    help_inbox *in = help_inbox_create();
    help_load(e, &h);
    load_pipe(e, &p);
    run_loops(e, in, loops, 24, 200, 0); /* more at once than later, so that the pool has enough of everything */
    for (int i = 0; i < 20; i++)
        help_must(infer_pipe_wide(e, 10, 8, &err), &err);
    alloc_count_reset();
    run_loops(e, in, loops, 16, 500, 24);
    assert_int_equal(alloc_count(), 0);
    for (int i = 0; i < 100; i++)
        help_must(infer_pipe(e, &err), &err);
    assert_int_equal(alloc_count(), 0);
    weft_engine_destroy(&e);
    help_inbox_destroy(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_infer),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
