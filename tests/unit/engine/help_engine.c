#include "help_engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void help_must(weft_status s, const weft_error *err)
{
    if (s)
        fail_msg("%s: %s", weft_status_name(s), err->text);
}

static const weft_executor *const executors[] = {&weft_executor_tensor, &help_bytes_executor, &help_pipe_executor, NULL};
static const weft_backend *const backends[] = {&weft_backend_fake, &weft_backend_fake_card, NULL};

static void log_line(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    if (getenv("HELP_LOG"))
        fprintf(stderr, "%d %s %s: %s\n", (int)level, event, model, line);
}

void help_engine_options(weft_engine_options *o, int64_t cores)
{
    weft_engine_options_init(o);
    o->cores = cores ? cores : 2;
    o->executors = executors;
    o->backends = backends;
    o->log = log_line;
}

weft_engine *help_engine(int64_t cores)
{
    weft_engine_options o;
    weft_engine *e;
    weft_error err;
    help_engine_options(&o, cores);
    help_must(weft_engine_create(&o, &e, &err), &err);
    return e;
}

static const int64_t row_shape[2] = {-1, 4};
static weft_fake_tensor in_x = {.name = "x", .dtype = WEFT_DT_F32, .shape = {2, (void *)row_shape}};
static weft_fake_tensor out_y = {.name = "y", .dtype = WEFT_DT_F32, .shape = {2, (void *)row_shape}, .size = WEFT_SIZE_FIXED};

void help_model_init(help_model *h, const char *name)
{
    memset(h, 0, sizeof(*h));
    weft_model_config_init(&h->config);
    h->config.name = name;
    h->config.backend = "fake";
    h->fake.inputs = (weft_list){1, &in_x};
    h->fake.outputs = (weft_list){1, &out_y};
    h->fake.faults.items = h->faults;
    h->config.backend_options = &h->fake;
    h->config.submodels.items = h->submodels;
    h->config.run_timeout_ms = 30000;
}

weft_fake_fault *help_fault(help_model *h, weft_fake_kind kind)
{
    weft_fake_fault *f = &h->faults[h->fake.faults.n++];
    f->kind = kind;
    return f;
}

void help_load(weft_engine *e, const help_model *h)
{
    weft_error err;
    help_model copy = *h; /* the lists point into the caller's object */
    help_must(weft_engine_load(e, &copy.config, &err), &err);
}

void help_call_init(help_call *c, const char *model, int64_t n_rows, float v)
{
    memset(c, 0, sizeof(*c));
    weft_tensor t = {
        .name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {n_rows, 4}, .data = c->x, .n_bytes = (size_t)n_rows * 16};
    for (int64_t i = 0; i < n_rows * 4; i++)
        c->x[i] = v + (float)(i / 4);
    c->input = weft_input_tensor(&t);
    c->call = (weft_call){.model = model, .inputs = &c->input, .n_inputs = 1};
}

float help_y(const weft_result *r, int64_t row, int j)
{
    const weft_column *c = weft_result_column(r, "y");
    assert_non_null(c);
    assert_int_equal(c->tensor.rank, 2);
    assert_true(row < c->tensor.shape[0]);
    return ((const float *)c->tensor.data)[row * 4 + j];
}

/* ---- answers ---- */
struct help_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int n;
};

help_inbox *help_inbox_create(void)
{
    help_inbox *b = calloc(1, sizeof(*b));
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->cond, &a);
    pthread_condattr_destroy(&a);
    return b;
}

void help_inbox_destroy(help_inbox *b)
{
    pthread_cond_destroy(&b->cond);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

void help_done(void *cookie, weft_result *r)
{
    help_ticket *t = cookie;
    pthread_mutex_lock(&t->inbox->mutex);
    t->n_done++;
    t->result = r;
    t->done_ns = help_now_ns();
    t->inbox->n++;
    pthread_cond_broadcast(&t->inbox->cond);
    pthread_mutex_unlock(&t->inbox->mutex);
}

weft_status help_try(weft_engine *e, help_inbox *b, help_ticket *t, const help_call *c, weft_error *err)
{
    weft_async a = {.done = help_done, .cookie = t};
    *t = (help_ticket){.inbox = b};
    return weft_infer_async(e, &c->call, &a, &t->number, err);
}

void help_start(weft_engine *e, help_inbox *b, help_ticket *t, const help_call *c)
{
    weft_error err;
    help_must(help_try(e, b, t, c, &err), &err);
}

bool help_inbox_wait(help_inbox *b, int n)
{
    struct timespec until;
    bool ok = true;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&b->mutex);
    while (b->n < n && ok)
        ok = pthread_cond_timedwait(&b->cond, &b->mutex, &until) != ETIMEDOUT;
    ok = b->n >= n;
    pthread_mutex_unlock(&b->mutex);
    return ok;
}

int help_inbox_count(help_inbox *b)
{
    pthread_mutex_lock(&b->mutex);
    int n = b->n;
    pthread_mutex_unlock(&b->mutex);
    return n;
}

weft_status help_take(help_ticket *t)
{
    assert_int_equal(t->n_done, 1);
    weft_status s = t->result->error.status;
    weft_result_unref(t->result);
    t->result = NULL;
    return s;
}

int64_t help_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void help_sleep_ms(double ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
}

/* ---- bytes executor ---- */
typedef struct bytes_scratch {
    const uint8_t *bytes;
    size_t n;
} bytes_scratch;

_Atomic int help_n_preprocessed;

static weft_status bytes_open(const weft_open *o, void **state, weft_error *err)
{
    *state = (void *)(uintptr_t)o->model;
    return WEFT_OK;
}

static weft_status bytes_plan(void *state, const weft_call *call, void *scratch, weft_plan *plan, weft_error *err)
{
    const weft_model_view *m = state;
    bytes_scratch *s = scratch;
    const void *bytes;
    weft_status st = weft_call_picture(call, "bytes", &bytes, &s->n, err);
    if (st)
        return st;
    s->bytes = bytes;
    plan->n_rows = m->batched ? (int64_t)s->n : 1;
    return weft_plan_row(plan, m, 0, (const int64_t[]){4}, 1, err);
}

static weft_status bytes_preprocess(void *state, const weft_call *call, void *scratch, int64_t row, weft_tensor *dst,
                                    size_t n_dst, weft_error *err)
{
    bytes_scratch *s = scratch;
    help_n_preprocessed++;
    if (s->bytes[row] == 255)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "byte %d cannot be decoded", (int)row);
    if (s->bytes[row] == 254)
        help_sleep_ms(20);
    for (int i = 0; i < 4; i++)
        ((float *)dst[0].data)[i] = s->bytes[row];
    return WEFT_OK;
}

static weft_status bytes_postprocess(void *state, const weft_call *call, void *scratch, const weft_tensor *outputs,
                                     size_t n_outputs, weft_builder *b, weft_error *err)
{
    if (weft_call_param(call, "post_fail"))
        return weft_fail(err, WEFT_E_INTERNAL, "told to fail");
    int64_t n = outputs[0].rank > 1 ? outputs[0].shape[0] : 1;
    void *data;
    weft_builder_items(b, (size_t)n);
    weft_status s = weft_builder_column(b, "sum", &n, 1, &data, err);
    for (int64_t i = 0; !s && i < n; i++)
        ((float *)data)[i] = ((const float *)outputs[0].data)[i * 4];
    return s;
}

static bool bytes_warm(void *state, size_t i, weft_plan *plan)
{
    return i == 0 && !weft_plan_row(plan, state, 0, (const int64_t[]){4}, 1, NULL);
}

static const weft_field_decl bytes_fields[] = {
    {.name = "sum", .kind = WEFT_FIELD_NUMBER, .dtype = WEFT_DT_F32, .per_item = true, .help = "sum"}};

const weft_executor help_bytes_executor = {
    .name = "bytes",
    .summary = "for tests",
    .fields = bytes_fields,
    .n_fields = 1,
    .picture_input = "bytes",
    .scratch_bytes = sizeof(bytes_scratch),
    .open = bytes_open,
    .plan = bytes_plan,
    .preprocess = bytes_preprocess,
    .postprocess = bytes_postprocess,
    .warm = bytes_warm,
};
