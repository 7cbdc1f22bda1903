/* Ten thousand mixed requests against every injected fault: several models and a pipeline, all priorities, deadlines, cancels
 * from other threads, wrong values, wrong shapes, reloads and unloads meanwhile. Exactly one answer each, the right one, nothing
 * leaked. */
#include "unit/engine/help_engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_REQUESTS 10000
#define N_THREADS 4
#define BAD 99.0f /* this first value makes a model refuse its row */

typedef enum target { STEADY, BATCHED, BYTES, FAULTY, CARD, PIPE, N_TARGETS } target;
static const char *const names[N_TARGETS] = {"steady", "batched", "bytes", "faulty", "card", "pipe"};

typedef struct entry {
    target to;
    float v;
    int64_t n_rows, timeout_ms, calls;
    uint64_t ticket;
    bool wrong_shape, cancelled;
    weft_status refused; /* at admission */
    atomic_int n_done, n_released;
    weft_status status;
    bool right;
    char text[128];
} entry;

static entry entries[N_REQUESTS];
static weft_engine *engine;
static atomic_int next_entry, n_answers, n_accepted;

static uint32_t random_of(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static bool right_values(const entry *n, const weft_result *r)
{
    if (n->to == PIPE) {
        for (int64_t i = 0; i < n->calls; i++)
            if (((const float *)r->columns[0].tensor.data)[i] != 4 * (n->v + (float)i))
                return false;
        return r->n_items == (size_t)n->calls;
    }
    if (n->to == BYTES) {
        for (int64_t i = 0; i < n->n_rows; i++)
            if (((const float *)r->columns[0].tensor.data)[i] != 4 * (n->v + (float)i))
                return false;
        return r->n_items == (size_t)n->n_rows;
    }
    for (int64_t i = 0; i < n->n_rows; i++)
        for (int j = 0; j < 4; j++)
            if (help_y(r, i, j) != help_want(n->v + (float)i, j))
                return false;
    return true;
}

static void done(void *cookie, weft_result *r)
{
    entry *n = cookie;
    n->status = r->error.status;
    n->right = n->status || right_values(n, r);
    snprintf(n->text, sizeof(n->text), "%.120s", r->error.text);
    weft_result_unref(r);
    atomic_fetch_add(&n->n_done, 1);
    atomic_fetch_add(&n_answers, 1);
}

static void release(void *cookie)
{
    entry *n = cookie;
    atomic_fetch_add(&n->n_released, 1);
}

static void plan(entry *n, uint32_t *seed)
{
    n->to = (target)(random_of(seed) % N_TARGETS);
    n->v = (float)(random_of(seed) % 60);
    n->n_rows = random_of(seed) % 8 ? 1 : 1 + random_of(seed) % 12;
    n->calls = 1 + random_of(seed) % 6;
    if (random_of(seed) % 5 == 0)
        n->timeout_ms = 1 + random_of(seed) % 60;
    if (random_of(seed) % 40 == 0 && n->to != PIPE)
        n->v = BAD, n->n_rows = 1;
    n->wrong_shape = random_of(seed) % 50 == 0 && n->to != PIPE && n->to != BYTES;
}

static void send(entry *n, uint32_t *seed)
{
    static float x[N_REQUESTS][12 * 4]; /* lent until release */
    static uint8_t bytes[N_REQUESTS][12];
    size_t k = (size_t)(n - entries);
    weft_error err;
    weft_param params[3] = {{.name = "calls", .kind = WEFT_PARAM_INT, .i = n->calls},
                            {.name = "base", .kind = WEFT_PARAM_INT, .i = (int64_t)n->v},
                            {.name = "at_once", .kind = WEFT_PARAM_INT, .i = 1 + random_of(seed) % 4}};
    for (int64_t i = 0; i < n->n_rows * 4; i++)
        x[k][i] = n->v + (float)(i / 4);
    for (int64_t i = 0; i < n->n_rows; i++)
        bytes[k][i] = (uint8_t)(n->v + (float)i);
    weft_tensor t = {.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {n->n_rows, n->wrong_shape ? 3 : 4}, .data = x[k]};
    t.n_bytes = (size_t)(t.shape[0] * t.shape[1]) * 4;
    weft_input in = n->to == BYTES ? weft_input_bytes("bytes", bytes[k], (size_t)n->n_rows) : weft_input_tensor(&t);
    weft_call c = {.model = names[n->to],
                   .inputs = &in,
                   .n_inputs = 1,
                   .timeout_ms = n->timeout_ms,
                   .priority = (int)(random_of(seed) % 21) - 10};
    if (n->to == PIPE)
        c.n_inputs = 0, c.params = params, c.n_params = 3;
    weft_async a = {.done = done, .release = random_of(seed) % 2 ? release : NULL, .cookie = n};
    for (;;) {
        n->refused = weft_infer_async(engine, &c, &a, &n->ticket, &err);
        if (n->refused != WEFT_E_BUSY || n->timeout_ms)
            break;
        help_sleep_ms(1);
    }
    if (n->refused)
        return;
    atomic_fetch_add(&n_accepted, 1);
    if (!a.release)
        atomic_store(&n->n_released, -1);
    if (random_of(seed) % 10 == 0) {
        if (random_of(seed) % 2)
            help_sleep_ms(0.05 * (double)(random_of(seed) % 40));
        n->cancelled = weft_cancel(engine, n->ticket) == WEFT_OK;
    }
}

static void *sender(void *arg)
{
    uint32_t seed = 12345 + 77 * (uint32_t)(uintptr_t)arg;
    for (;;) {
        int k = atomic_fetch_add(&next_entry, 1);
        if (k >= N_REQUESTS)
            return NULL;
        plan(&entries[k], &seed);
        send(&entries[k], &seed);
    }
}

static void load(help_model *h, const char *name, int64_t max_batch)
{
    help_model_init(h, name);
    h->config.max_batch = max_batch;
    h->config.queue_size = 64;
    static const double bad[] = {(double)BAD};
    weft_fake_fault *f = help_fault(h, WEFT_FAKE_REQUEST);
    f->when_value = (weft_list){1, (void *)bad};
}

static void load_models(help_model *h)
{
    weft_error err;
    for (int i = 0; i < 5; i++)
        load(&h[i], names[i], i == STEADY ? 1 : 8);
    h[BATCHED].fake.delay_ms = 0.3;
    h[BATCHED].config.batch_window_ms = 1;
    h[BYTES].config.type = "bytes";
    h[CARD].config.backend = "fake_card";
    h[CARD].config.instances = 2;
    h[CARD].fake.delay_ms = 0.2;
    h[FAULTY].fake.delay_ms = 0.2;
    h[FAULTY].config.run_timeout_ms = 40;
    static const struct {
        weft_fake_kind kind;
        int64_t every;
    } faults[] = {{WEFT_FAKE_UNKNOWN, 23}, {WEFT_FAKE_STREAM, 61},     {WEFT_FAKE_TIMEOUT, 71}, {WEFT_FAKE_MEMORY, 31},
                  {WEFT_FAKE_HANG, 211},   {WEFT_FAKE_WRONG_SIZE, 41}, {WEFT_FAKE_DEVICE, 401}};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        help_fault(&h[FAULTY], faults[i].kind)->every = faults[i].every;
    for (int i = 0; i < 5; i++)
        help_load(engine, &h[i]);
    help_model_init(&h[PIPE], "pipe");
    h[PIPE].config.type = "pipe";
    h[PIPE].config.backend = NULL;
    h[PIPE].config.backend_options = NULL;
    h[PIPE].submodels[0] = (weft_submodel_config){"a", "batched"};
    h[PIPE].config.submodels.n = 1;
    help_must(weft_engine_load(engine, &h[PIPE].config, &err), &err);
}

static bool allowed(const entry *n, weft_status s)
{
    switch (s) {
    case WEFT_OK:
        return n->right && n->v != BAD && !n->wrong_shape;
    case WEFT_E_CANCELLED:
        return n->cancelled;
    case WEFT_E_DEADLINE:
        return n->timeout_ms > 0;
    case WEFT_E_INVALID:
        return n->v == BAD;
    case WEFT_E_RUN_FAILED:
    case WEFT_E_NO_MEMORY:
    case WEFT_E_DEVICE:
    case WEFT_E_UNAVAILABLE:
        return n->to == FAULTY;
    default:
        return false;
    }
}

static bool refusal_allowed(const entry *n)
{
    if (n->refused == WEFT_E_INVALID)
        return n->wrong_shape;
    if (n->refused == WEFT_E_BUSY)
        return n->timeout_ms > 0;
    return n->refused == WEFT_E_UNAVAILABLE && n->to == FAULTY;
}

static void check_entry(int k, int *by_status)
{
    const entry *n = &entries[k];
    if (n->refused) {
        if (!refusal_allowed(n))
            fail_msg("request %d to %s was refused with %s", k, names[n->to], weft_status_name(n->refused));
        assert_int_equal(n->n_done, 0);
        return;
    }
    if (n->n_done != 1)
        fail_msg("request %d to %s was answered %d times", k, names[n->to], n->n_done);
    assert_true(n->n_released == 1 || n->n_released == -1 || n->n_released == 0);
    if (n->cancelled != (n->status == WEFT_E_CANCELLED))
        fail_msg("request %d: cancel said %d, the answer %s", k, n->cancelled, weft_status_name(n->status));
    if (!allowed(n, n->status))
        fail_msg("request %d to %s (v %g, timeout %lld) ended with %s: %s", k, names[n->to], (double)n->v,
                 (long long)n->timeout_ms, weft_status_name(n->status), n->text);
    by_status[-n->status]++;
}

static void check_stats(void)
{
    uint64_t accepted = 0, ended = 0;
    for (int i = 0; i < N_TARGETS; i++) {
        weft_model_stats s;
        assert_int_equal(weft_engine_model_stats(engine, names[i], &s, NULL), WEFT_OK);
        accepted += s.accepted;
        ended += s.succeeded + s.failed_client + s.failed_server + s.expired + s.cancelled;
        assert_int_equal(s.queued, 0);
        assert_int_equal(s.queued_bytes, 0);
        assert_int_equal(s.ready_rows, 0);
    }
    assert_int_equal(accepted, atomic_load(&n_accepted));
    assert_int_equal(ended, accepted);
}

static void *reloader(void *arg)
{
    help_model *h = arg;
    weft_error err;
    for (int i = 0; atomic_load(&next_entry) < N_REQUESTS && i < 50; i++) {
        help_sleep_ms(30);
        if (weft_engine_reload(engine, &h[STEADY].config, WEFT_RELOAD_SWAP, &err))
            print_error("reload: %s\n", err.text);
        help_sleep_ms(30);
        if (weft_engine_reload(engine, &h[BATCHED].config, WEFT_RELOAD_SWAP, &err)) /* and the pipeline with it */
            print_error("reload: %s\n", err.text);
    }
    return NULL;
}

static void test_storm(void **state)
{
    static help_model h[N_TARGETS];
    pthread_t threads[N_THREADS], other;
    int by_status[32] = {0};
    engine = help_engine(4);
    load_models(h);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sender, (void *)i), 0);
    bool reloads = *state != NULL;
    if (reloads)
        assert_int_equal(pthread_create(&other, NULL, reloader, h), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    if (reloads)
        pthread_join(other, NULL);
    for (int i = 0; i < 60000 && atomic_load(&n_answers) < atomic_load(&n_accepted); i++)
        help_sleep_ms(1);
    assert_int_equal(atomic_load(&n_answers), atomic_load(&n_accepted));
    if (!reloads)
        check_stats(); /* a reload starts new counters */
    weft_error err;
    help_must(weft_engine_drain(engine, 5000, &err), &err);
    weft_engine_destroy(&engine);
    for (int k = 0; k < N_REQUESTS; k++)
        check_entry(k, by_status);
    for (int k = 0; k < N_REQUESTS;
         k++) { /* lent inputs all come back; on a busy machine a run may have been lost for a moment */
        for (int i = 0; i < 5000 && !entries[k].refused && !atomic_load(&entries[k].n_released); i++)
            help_sleep_ms(1);
        assert_true(entries[k].refused || entries[k].n_released == -1 || entries[k].n_released == 1);
    }
    for (int i = 0; i < 32; i++)
        if (by_status[i])
            print_message("%s %d  ", weft_status_name((weft_status)-i), by_status[i]);
    print_message("\n");
    assert_true(by_status[0] > N_REQUESTS / 3);
    for (int i = 0; i < 5; i++) {
        weft_fake_counts c;
        for (int k = 0; k < 5000; k++) {
            weft_fake_count(names[i], &c);
            if (c.loads - c.failed_loads == c.unloads)
                break;
            help_sleep_ms(1);
        }
        assert_int_equal(c.loads - c.failed_loads, c.unloads);
        assert_int_equal(c.instances_created, c.instances_destroyed);
        assert_int_equal(c.runs_started, c.runs_ended);
    }
}

static void clear(void)
{
    memset(entries, 0, sizeof(entries));
    atomic_store(&next_entry, 0);
    atomic_store(&n_answers, 0);
    atomic_store(&n_accepted, 0);
    weft_fake_reset();
}

static void test_every_request_is_answered_once(void **state)
{
    void *no = NULL;
    clear();
    test_storm(&no);
}

static void test_and_under_reloads(void **state)
{
    void *yes = &engine;
    clear();
    test_storm(&yes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_request_is_answered_once),
                                       cmocka_unit_test(test_and_under_reloads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
