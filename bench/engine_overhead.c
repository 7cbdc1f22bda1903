/* What the engine itself costs: its CPU time per run and the time of a lone call.
 *
 *     bench_engine_overhead [SECONDS]
 *
 * First with a backend that does nothing, so that all CPU time is the engine's; then with ONNX Runtime and the wake-word head,
 * against the same number of runs of the backend alone on as many threads. 16 calls are outstanding: each answer starts the next
 * call from its callback. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "weft/backend.h"
#include "weft/engine.h"
#include "weft/executor.h"

#define OUTSTANDING 16
#define ROUNDS 8
#define MODEL ".cache/models/wakeword/hello_deepa.onnx"

extern const weft_executor weft_executor_tensor;
extern const weft_backend weft_backend_onnxruntime;

static double seconds = 2; /* of each measurement, in ROUNDS parts */

static int64_t process_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * WEFT_S + t.tv_nsec;
}

/* ---- a backend that does nothing ---- */
static weft_status null_load(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err)
{
    static const weft_tensor_desc x = {
        .name = "x", .dtype = WEFT_DT_F32, .rank = 3, .shape = {1, 24, 96}, .size_kind = WEFT_SIZE_FIXED};
    static const weft_tensor_desc y = {
        .name = "y", .dtype = WEFT_DT_F32, .rank = 2, .shape = {1, 1}, .size_kind = WEFT_SIZE_FIXED};
    *model = (void *)&x;
    *desc = (weft_model_desc){.inputs = &x, .outputs = &y, .n_inputs = 1, .n_outputs = 1, .producer = ""};
    return WEFT_OK;
}

static void null_unload(void *self, void *model)
{
}

static weft_status null_create(void *self, void *model, void **instance, weft_error *err)
{
    *instance = model;
    return WEFT_OK;
}

static weft_status null_run(void *self, void *instance, weft_run *run, weft_error *err)
{
    weft_tensor *t = &run->outputs[0];
    if (!t->data)
        t->data = run->alloc(run->cookie, 0, 4);
    t->dtype = WEFT_DT_F32;
    t->rank = 2;
    t->shape[0] = t->shape[1] = 1;
    t->n_bytes = 4;
    *(float *)t->data = 1;
    return WEFT_OK;
}

static const weft_backend null_backend = {.abi = WEFT_BACKEND_ABI,
                                          .name = "null",
                                          .summary = "does nothing",
                                          .on_cpu = true,
                                          .model_load = null_load,
                                          .model_unload = null_unload,
                                          .instance_create = null_create,
                                          .instance_destroy = null_unload,
                                          .run = null_run};

/* ---- calls ---- */
typedef struct caller {
    weft_engine *e;
    weft_call call;
    weft_async async;
    struct caller *all;
} caller;

#define MOST_FRAMES 32
static float values[MOST_FRAMES * 96];
static weft_input input;
static atomic_long n_done;
static atomic_int n_open;
static atomic_bool stop;

static void again(void *cookie, weft_result *r)
{
    caller *c = cookie;
    if (r->error.status) {
        fprintf(stderr, "a call failed: %s\n", r->error.text);
        exit(1);
    }
    weft_result_unref(r);
    atomic_fetch_add_explicit(&n_done, 1, memory_order_relaxed);
    if (atomic_load_explicit(&stop, memory_order_relaxed) || weft_infer_async(c->e, &c->call, &c->async, NULL, NULL))
        atomic_fetch_sub(&n_open, 1);
}

static void make_input(const char *name, int64_t frames)
{
    weft_tensor t = {.name = name,
                     .dtype = WEFT_DT_F32,
                     .rank = 3,
                     .shape = {1, frames, 96},
                     .data = values,
                     .n_bytes = (size_t)frames * 96 * 4};
    input = weft_input_tensor(&t);
}

static void nap(double s)
{
    struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

typedef struct figures {
    double cpu_us, wall_us; /* per run */
    long n;
} figures;

/* 16 outstanding calls for a while. */
static figures saturate(weft_engine *e, const char *model, int64_t timeout_ms, double s)
{
    static caller callers[OUTSTANDING];
    atomic_store(&stop, false);
    atomic_store(&n_open, OUTSTANDING);
    for (int i = 0; i < OUTSTANDING; i++) {
        callers[i] = (caller){.e = e, .call = {.model = model, .inputs = &input, .n_inputs = 1, .timeout_ms = timeout_ms}};
        callers[i].async = (weft_async){.done = again, .cookie = &callers[i]};
        if (weft_infer_async(e, &callers[i].call, &callers[i].async, NULL, NULL))
            exit(1);
    }
    nap(s / 4);
    long n0 = atomic_load(&n_done);
    int64_t cpu0 = process_cpu_ns(), wall0 = weft_now_ns();
    nap(s);
    long n = atomic_load(&n_done) - n0;
    int64_t cpu = process_cpu_ns() - cpu0, wall = weft_now_ns() - wall0;
    atomic_store(&stop, true);
    while (atomic_load(&n_open) > 0)
        nap(0.001);
    return (figures){(double)cpu / (double)n / 1e3, (double)wall / (double)n / 1e3, n};
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Synchronous calls one after the other. */
static void lone(weft_engine *e, const char *model, int64_t timeout_ms, const char *what)
{
    enum { N = 3000 };
    static int64_t took[N];
    weft_call call = {.model = model, .inputs = &input, .n_inputs = 1, .timeout_ms = timeout_ms};
    for (int i = 0; i < N; i++) {
        weft_result *r;
        weft_error err;
        int64_t t0 = weft_now_ns();
        if (weft_infer(e, &call, &r, &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        took[i] = weft_now_ns() - t0;
        weft_result_unref(r);
    }
    qsort(took, N, sizeof(took[0]), compare);
    printf("  lone call, %-22s p50 %6.1f us  p99 %6.1f us\n", what, (double)took[N / 2] / 1e3, (double)took[N * 99 / 100] / 1e3);
}

/* ---- the backend alone ---- */
typedef struct bare {
    const weft_backend *b;
    void *self, *model;
    pthread_t thread;
    atomic_long n;
    atomic_bool *stop;
} bare;

static void *bare_alloc(void *cookie, size_t output, size_t n_bytes)
{
    static _Thread_local float room[64];
    return n_bytes <= sizeof(room) ? room : NULL;
}

static void *bare_main(void *arg)
{
    bare *x = arg;
    void *instance;
    weft_error err;
    bool wanted = true;
    if (x->b->instance_create(x->self, x->model, &instance, &err))
        exit(1);
    while (!atomic_load_explicit(x->stop, memory_order_relaxed)) {
        weft_tensor out = {0};
        weft_run run = {.inputs = &input.tensor,
                        .n_inputs = 1,
                        .outputs = &out,
                        .n_outputs = 1,
                        .wanted = &wanted,
                        .alloc = bare_alloc,
                        .n_rows = 1};
        if (x->b->run(x->self, instance, &run, &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        atomic_fetch_add_explicit(&x->n, 1, memory_order_relaxed);
    }
    x->b->instance_destroy(x->self, instance);
    return NULL;
}

/* The backend without the engine, ready to be run for a while again and again. */
typedef struct alone {
    const weft_backend *b;
    void *self, *model;
    char input_name[128];
} alone;

static void alone_open(alone *a, const weft_backend *b, const char *path, int n_threads)
{
    weft_backend_env env = {.cores = n_threads};
    weft_model_source src = {.name = "bare", .paths = &path, .n_paths = 1, .threads = 1, .max_batch = 1};
    weft_model_desc desc;
    weft_error err;
    a->b = b;
    if (b->open(&env, &a->self, &err) || b->model_load(a->self, &src, &a->model, &desc, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    snprintf(a->input_name, sizeof(a->input_name), "%s", desc.inputs[0].name);
    int64_t frames = desc.inputs[0].shape[1];
    make_input(a->input_name, frames < 1 || frames > MOST_FRAMES ? 24 : frames);
}

static void alone_close(alone *a)
{
    a->b->model_unload(a->self, a->model);
    a->b->close(a->self);
}

static figures alone_run(alone *a, int n_threads, double s)
{
    static bare threads[64];
    static atomic_bool bare_stop;
    long n0 = 0, n = 0;
    atomic_store(&bare_stop, false);
    for (int i = 0; i < n_threads; i++) {
        threads[i] = (bare){.b = a->b, .self = a->self, .model = a->model, .stop = &bare_stop};
        pthread_create(&threads[i].thread, NULL, bare_main, &threads[i]);
    }
    nap(s / 4);
    for (int i = 0; i < n_threads; i++)
        n0 += atomic_load(&threads[i].n);
    int64_t cpu0 = process_cpu_ns(), wall0 = weft_now_ns();
    nap(s);
    for (int i = 0; i < n_threads; i++)
        n += atomic_load(&threads[i].n);
    int64_t cpu = process_cpu_ns() - cpu0, wall = weft_now_ns() - wall0;
    atomic_store(&bare_stop, true);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i].thread, NULL);
    n -= n0;
    return (figures){(double)cpu / (double)n / 1e3, (double)wall / (double)n / 1e3, n};
}

static weft_engine *engine_with(const weft_backend *b, const char *path, int64_t cores)
{
    static const weft_executor *const executors[] = {&weft_executor_tensor, NULL};
    const weft_backend *const backends[] = {b, NULL};
    weft_engine_options o;
    weft_model_config c;
    weft_engine *e;
    weft_error err;
    weft_engine_options_init(&o);
    o.executors = executors;
    o.backends = backends;
    o.cores = cores;
    weft_model_config_init(&c);
    c.name = "m";
    c.backend = b->name;
    if (path)
        c.paths = (weft_list){1, &path};
    if (weft_engine_create(&o, &e, &err) || weft_engine_load(e, &c, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return e;
}

/* The best of some rounds: other work on the machine only ever adds. */
static figures best(weft_engine *e, int64_t timeout_ms)
{
    figures f = saturate(e, "m", timeout_ms, seconds / ROUNDS);
    for (int i = 1; i < ROUNDS; i++) {
        figures g = saturate(e, "m", timeout_ms, seconds / ROUNDS);
        if (g.cpu_us < f.cpu_us)
            f = g;
    }
    return f;
}

/* The backend alone and under the engine, in turns. */
static void bench_real(const weft_backend *b, int n_threads)
{
    alone a;
    alone_open(&a, b, MODEL, n_threads);
    weft_engine *e = engine_with(b, MODEL, n_threads);
    figures bare_best = {.cpu_us = 1e9}, engine_best = {.cpu_us = 1e9};
    double difference[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        figures f = alone_run(&a, n_threads, seconds / ROUNDS), g = saturate(e, "m", 0, seconds / ROUNDS);
        difference[i] = g.cpu_us - f.cpu_us;
        bare_best = f.cpu_us < bare_best.cpu_us ? f : bare_best;
        engine_best = g.cpu_us < engine_best.cpu_us ? g : engine_best;
    }
    qsort(difference, ROUNDS, sizeof(difference[0]), compare_doubles);
    printf("ONNX Runtime, wake-word head, %d core token%s\n", n_threads, n_threads > 1 ? "s" : "");
    printf("  backend alone:  %.2f us CPU a run, %.2f us wall\n", bare_best.cpu_us, bare_best.wall_us);
    printf("  16 outstanding: %.2f us CPU a run, %.2f us wall: the engine takes %.2f us (%.2f of the run); median of the rounds "
           "%.2f us\n",
           engine_best.cpu_us, engine_best.wall_us, engine_best.cpu_us - bare_best.cpu_us,
           (engine_best.cpu_us - bare_best.cpu_us) / bare_best.cpu_us, difference[ROUNDS / 2]);
    lone(e, "m", 0, "no deadline:");
    weft_engine_destroy(&e);
    alone_close(&a);
}

static void bench_null(int64_t cores)
{
    make_input("x", 24);
    weft_engine *e = engine_with(&null_backend, NULL, cores);
    figures f = best(e, 0), g = best(e, 60000);
    printf("null backend, %lld core token%s\n", (long long)cores, cores > 1 ? "s" : "");
    printf("  16 outstanding: engine %.2f us CPU a run (%.2f with a deadline), %.2f us wall, %ld runs\n", f.cpu_us, g.cpu_us,
           f.wall_us, f.n);
    lone(e, "m", 0, "no deadline:");
    lone(e, "m", 60000, "with a deadline:");
    weft_engine_destroy(&e);
}

int main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (argc > 1)
        seconds = atof(argv[1]);
    for (int i = 0; i < MOST_FRAMES * 96; i++)
        values[i] = (float)(i % 7) / 7;
    bench_null(1);
    if (cores > 1)
        bench_null(2);
    if (access(MODEL, R_OK)) {
        printf("no %s (script/fetch): ONNX Runtime is left out\n", MODEL);
        return 0;
    }
    if (!getenv("WEFT_ONNXRUNTIME") && !access(".cache/runtime/onnxruntime/libonnxruntime.so.1", R_OK))
        setenv("WEFT_ONNXRUNTIME", ".cache/runtime/onnxruntime/libonnxruntime.so.1", 1);
    for (int n = 1; n <= (cores > 1 ? 2 : 1); n++)
        bench_real(&weft_backend_onnxruntime, n);
    return 0;
}
