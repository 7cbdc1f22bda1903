/* Three services on one machine: one weft process against three separate processes.
 *
 *   bench_mixed_load [--repeats N] [--clients N] [--models DIR]
 *
 * Services: text (detector at 640x640, then six lines of 48x320 in one run), faces (256x256), classes (224x224). Each has a fixed
 * queue of requests, worked off by closed-loop clients; every configuration does exactly the same runs on the same inputs.
 * "default" opens ONNX Runtime as its documentation's first example does (threads = cores, spinning); "tuned" gives each process
 * one thread for a run and no spinning. The three processes call the runtime directly, so weft's own cost is on weft's side only.
 * Printed: medians over the repeats, which take turns, and ratios within the run. Then: the face model's latency alone and beside
 * saturating text work. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/onnxruntime/ort_internal.h"
#include "base/clock.h"
#include "base/thread.h"
#include "weft/engine.h"

enum { OCR, FACE, CLS, N_SERVICES };

typedef struct shape {
    const char *file, *model;
    int64_t dims[4];
} shape;

static shape steps[N_SERVICES][2] = {
    [OCR] = {{"ocr/ch_PP-OCRv4_det_infer.onnx", "det", {1, 3, 640, 640}},
             {"ocr/ch_PP-OCRv4_rec_infer.onnx", "rec", {6, 3, 48, 320}}},
    [FACE] = {{"face/face_detection_back_256x256_barracuda.onnx", "face", {1, 256, 256, 3}}},
    [CLS] = {{"classify/nsfw_mobilenet_v2.onnx", "cls", {1, 3, 224, 224}}},
};

static const char *models_dir = ".cache/models";

static void die(const char *what)
{
    fprintf(stderr, "mixed_load: %s\n", what);
    exit(1);
}

static size_t n_elements(const shape *s)
{
    return (size_t)(s->dims[0] * s->dims[1] * s->dims[2] * s->dims[3]);
}

static float *input_for(const shape *s)
{
    float *x = aligned_alloc(64, (n_elements(s) * sizeof(float) + 63) / 64 * 64);
    uint32_t r = 1;
    if (!x)
        die("out of memory");
    for (size_t i = 0; i < n_elements(s); i++) {
        r = r * 1664525u + 1013904223u;
        x[i] = (float)(r >> 8) / 16777216.0f;
    }
    return x;
}

static double pss_mb(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double kb = 0;
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Pss: %lf", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb / 1024;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ---- one process's work: `step` runs a service's step once -------------------------------------------------------------------
 */

typedef struct work {
    void (*step)(void *self, int service, int k);
    void *self;
    int n[N_SERVICES]; /* requests of each service; -1 = until `stop` */
    int clients[N_SERVICES];
    _Atomic(int) left[N_SERVICES];
    _Atomic(bool) stop;
    double *latency_ms[N_SERVICES];
    _Atomic(int) n_done[N_SERVICES];
} work;

#define MAX_LATENCIES 200000

typedef struct client {
    work *w;
    int service;
    pthread_t thread;
} client;

static void *run_client(void *arg)
{
    client *c = arg;
    work *w = c->w;
    int s = c->service;
    for (;;) {
        if (w->n[s] >= 0 ? atomic_fetch_sub(&w->left[s], 1) <= 0 : atomic_load(&w->stop))
            return NULL;
        int64_t start = weft_now_ns();
        for (int k = 0; k < 2 && steps[s][k].file; k++)
            w->step(w->self, s, k);
        int i = atomic_fetch_add(&w->n_done[s], 1);
        if (i < MAX_LATENCIES)
            w->latency_ms[s][i] = (double)(weft_now_ns() - start) / 1e6;
    }
}

static void run_work(work *w, double seconds)
{
    client clients[64];
    int n = 0;
    for (int s = 0; s < N_SERVICES; s++) {
        atomic_store(&w->left[s], w->n[s]);
        atomic_store(&w->n_done[s], 0);
        if (!w->latency_ms[s])
            w->latency_ms[s] = calloc(MAX_LATENCIES, sizeof(double));
        for (int i = 0; w->n[s] != 0 && i < w->clients[s] && n < 64; i++, n++)
            clients[n] = (client){.w = w, .service = s};
    }
    atomic_store(&w->stop, false);
    for (int i = 0; i < n; i++)
        pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
    if (seconds > 0) {
        usleep((useconds_t)(seconds * 1e6));
        atomic_store(&w->stop, true);
    }
    for (int i = 0; i < n; i++)
        pthread_join(clients[i].thread, NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percentile(double *v, int n, double p)
{
    if (n == 0)
        return NAN;
    qsort(v, (size_t)n, sizeof(*v), by_value);
    int i = (int)ceil(p * n) - 1;
    return v[i < 0 ? 0 : i];
}

/* ---- the runtime by itself
 * ----------------------------------------------------------------------------------------------------- */

typedef struct plain {
    ort_session *session[N_SERVICES][2];
    ort_value *input[N_SERVICES][2];
    char *in_name[N_SERVICES][2], *out_name[N_SERVICES][2][16];
    size_t n_out[N_SERVICES][2];
} plain;

static void ok(ort_status *s)
{
    if (s) {
        fprintf(stderr, "mixed_load: %s\n", ORT(status_text)(s));
        exit(1);
    }
}

static void quiet(void *cookie, int level, const char *category, const char *id, const char *place, const char *message)
{
    (void)cookie, (void)level, (void)category, (void)id, (void)place, (void)message;
}

static void plain_open(plain *p, int service, bool tuned)
{
    weft_error err;
    static ort_env *env;
    static ort_memory_info *info;
    ort_allocator *a;
    if (weft_ort_library_open(getenv("WEFT_ONNXRUNTIME"), &err) != WEFT_OK)
        die(err.text);
    if (!env) {
        ok(ORT(env_create)(quiet, NULL, ORT_LOG_FATAL, "bench", &env));
        ok(ORT(memory_info_create)("Cpu", ORT_PLAIN_ALLOCATOR, 0, ORT_USUAL_MEMORY, &info));
    }
    ok(ORT(default_allocator)(&a));
    for (int k = 0; k < 2 && steps[service][k].file; k++) {
        const shape *s = &steps[service][k];
        char path[1024];
        ort_session_options *o;
        snprintf(path, sizeof(path), "%s/%s", models_dir, s->file);
        ok(ORT(options_create)(&o));
        if (tuned) {
            ok(ORT(options_intra_threads)(o, 1));
            ok(ORT(options_set)(o, ORT_KEY_INTRA_SPINNING, "0"));
            ok(ORT(options_no_pattern)(o));
        }
        ok(ORT(session_create)(env, path, o, &p->session[service][k]));
        ORT(options_release)(o);
        ok(ORT(session_input_name)(p->session[service][k], 0, a, &p->in_name[service][k]));
        ok(ORT(session_outputs)(p->session[service][k], &p->n_out[service][k]));
        for (size_t i = 0; i < p->n_out[service][k] && i < 16; i++)
            ok(ORT(session_output_name)(p->session[service][k], i, a, &p->out_name[service][k][i]));
        ok(ORT(value_over)(info, input_for(s), n_elements(s) * sizeof(float), s->dims, 4, ORT_ELEMENT_F32,
                           &p->input[service][k]));
    }
}

static void plain_step(void *self, int s, int k)
{
    plain *p = self;
    ort_value *out[16] = {NULL};
    const char *in_names[] = {p->in_name[s][k]};
    const ort_value *in[] = {p->input[s][k]};
    ok(ORT(run)(p->session[s][k], NULL, in_names, in, 1, (const char *const *)p->out_name[s][k], p->n_out[s][k], out));
    for (size_t i = 0; i < p->n_out[s][k]; i++)
        ORT(value_release)(out[i]);
}

/* ---- weft
 * ------------------------------------------------------------------------------------------------------------------------ */

typedef struct in_weft {
    weft_engine *engine;
    float *input[N_SERVICES][2];
} in_weft;

static void weft_begin(in_weft *w, const char *text_options, const char *face_options)
{
    char path[] = "/tmp/weft-bench-XXXXXX";
    weft_error err;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        die("cannot write a temporary file");
    fprintf(f, "models:\n");
    char root[1024];
    if (!realpath(models_dir, root))
        die("the models are not there; run script/fetch --test");
    for (int s = 0; s < N_SERVICES; s++)
        for (int k = 0; k < 2 && steps[s][k].file; k++) {
            fprintf(f, "  - {name: %s, path: '%s/%s', %s}\n", steps[s][k].model, root, steps[s][k].file,
                    s == OCR    ? text_options
                    : s == FACE ? face_options
                                : "weight: 1");
            w->input[s][k] = input_for(&steps[s][k]);
        }
    fclose(f);
    weft_status st = weft_engine_open(path, &w->engine, &err);
    unlink(path);
    if (st != WEFT_OK)
        die(err.text);
}

static void weft_step(void *self, int s, int k)
{
    in_weft *w = self;
    const shape *sh = &steps[s][k];
    weft_tensor t = {.dtype = WEFT_DT_F32, .rank = 4, .data = w->input[s][k], .n_bytes = n_elements(sh) * sizeof(float)};
    memcpy(t.shape, sh->dims, sizeof(sh->dims));
    weft_input in = weft_input_tensor(&t);
    weft_call call = {.model = sh->model, .inputs = &in, .n_inputs = 1};
    weft_result *r;
    weft_error err;
    if (weft_infer(w->engine, &call, &r, &err) != WEFT_OK)
        die(err.text);
    weft_result_unref(r);
}

/* ---- processes
 * ------------------------------------------------------------------------------------------------------------------- */

typedef enum config_kind { WEFT_ONE, THREE_DEFAULT, THREE_TUNED, N_CONFIGS } config_kind;
static const char *const config_names[] = {"weft, one process", "three processes, defaults", "three processes, tuned"};

typedef struct report {
    double loaded_mb, worked_mb, cpu_s, face_p50, face_p99;
} report;

static void child(config_kind kind, int service, const int n[N_SERVICES], int clients, int go_fd, int say_fd)
{
    work w = {0};
    plain p = {0};
    in_weft iw = {0};
    report r = {0};
    char go;
    for (int s = 0; s < N_SERVICES; s++) {
        w.n[s] = kind == WEFT_ONE || s == service ? n[s] : 0;
        w.clients[s] = clients;
    }
    if (kind == WEFT_ONE) {
        weft_begin(&iw, "weight: 1", "priority: 2");
        w.step = weft_step, w.self = &iw;
    } else {
        plain_open(&p, service, kind == THREE_TUNED);
        w.step = plain_step, w.self = &p;
    }
    if (write(say_fd, "r", 1) != 1 || read(go_fd, &go, 1) != 1) /* all are loaded */
        _exit(1);
    r.loaded_mb = pss_mb();
    if (write(say_fd, "m", 1) != 1 || read(go_fd, &go, 1) != 1) /* all have measured */
        _exit(1);
    double before = cpu_s();
    run_work(&w, 0);
    r.cpu_s = cpu_s() - before;
    r.face_p50 = percentile(w.latency_ms[FACE], atomic_load(&w.n_done[FACE]), 0.5);
    r.face_p99 = percentile(w.latency_ms[FACE], atomic_load(&w.n_done[FACE]), 0.99);
    if (write(say_fd, "d", 1) != 1 || read(go_fd, &go, 1) != 1) /* the clock is stopped; all are still there */
        _exit(1);
    r.worked_mb = pss_mb();
    if (write(say_fd, &r, sizeof(r)) != sizeof(r) || read(go_fd, &go, 1) != 1)
        _exit(1);
    _exit(0);
}

typedef struct proc {
    pid_t pid;
    int go, say;
} proc;

static void each_say(proc *p, int n, void *to, size_t size)
{
    for (int i = 0; i < n; i++)
        if (read(p[i].say, (char *)to + (size_t)i * size, size) != (ssize_t)size)
            die("a process of the comparison ended early");
}

static void each_go(proc *p, int n)
{
    for (int i = 0; i < n; i++)
        if (write(p[i].go, "g", 1) != 1)
            die("a process of the comparison is gone");
}

typedef struct outcome {
    double wall_s, rate;
    report sum;
} outcome;

static outcome measure(config_kind kind, const int n[N_SERVICES], int clients)
{
    proc p[N_SERVICES];
    int n_procs = kind == WEFT_ONE ? 1 : N_SERVICES, total = n[0] + n[1] + n[2];
    char said[N_SERVICES];
    report r[N_SERVICES];
    outcome o = {0};
    fflush(stdout);
    for (int i = 0; i < n_procs; i++) {
        int go[2], say[2];
        if (pipe(go) < 0 || pipe(say) < 0)
            die("no pipe");
        p[i].pid = fork();
        if (p[i].pid == 0)
            child(kind, i, n, clients, go[0], say[1]);
        p[i].go = go[1], p[i].say = say[0];
        close(go[0]), close(say[1]);
    }
    each_say(p, n_procs, said, 1);
    each_go(p, n_procs);
    each_say(p, n_procs, said, 1);
    int64_t start = weft_now_ns();
    each_go(p, n_procs);
    each_say(p, n_procs, said, 1);
    o.wall_s = (double)(weft_now_ns() - start) / 1e9;
    each_go(p, n_procs);
    each_say(p, n_procs, r, sizeof(report));
    each_go(p, n_procs);
    for (int i = 0; i < n_procs; i++) {
        o.sum.loaded_mb += r[i].loaded_mb, o.sum.worked_mb += r[i].worked_mb, o.sum.cpu_s += r[i].cpu_s;
        if (kind == WEFT_ONE || i == FACE)
            o.sum.face_p50 = r[i].face_p50, o.sum.face_p99 = r[i].face_p99;
        waitpid(p[i].pid, NULL, 0);
        close(p[i].go), close(p[i].say);
    }
    o.rate = total / o.wall_s;
    return o;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#define MAX_REPEATS 50

static void compare(const char *name, const int n[N_SERVICES], int clients, int repeats)
{
    static double v[N_CONFIGS][7][MAX_REPEATS];
    double m[N_CONFIGS][7];
    int cores = weft_cores();
    for (int r = 0; r < repeats; r++)
        for (int k = 0; k < N_CONFIGS; k++) {
            outcome o = measure((config_kind)k, n, clients);
            double row[] = {
                o.rate,         o.sum.cpu_s,   o.sum.loaded_mb, o.sum.worked_mb, 100 * o.sum.cpu_s / (o.wall_s * cores),
                o.sum.face_p50, o.sum.face_p99};
            for (int i = 0; i < 7; i++)
                v[k][i][r] = row[i];
        }
    printf("\n%s load: %d text, %d face, %d class requests, %d clients a service, median of %d\n", name, n[OCR], n[FACE], n[CLS],
           clients, repeats);
    printf("  %-27s %10s %8s %11s %11s %8s %9s %9s\n", "", "requests/s", "CPU s", "PSS loaded", "PSS worked", "cores %",
           "face p50", "face p99");
    for (int k = 0; k < N_CONFIGS; k++) {
        for (int i = 0; i < 7; i++)
            m[k][i] = median(v[k][i], repeats);
        printf("  %-27s %10.1f %8.2f %8.0f MB %8.0f MB %7.0f%% %6.1f ms %6.1f ms\n", config_names[k], m[k][0], m[k][1], m[k][2],
               m[k][3], m[k][4], m[k][5], m[k][6]);
    }
    for (int k = 1; k < N_CONFIGS; k++)
        printf("  weft / %-20s %9.2fx throughput, %.2fx CPU, %.2fx memory loaded, %.2fx memory worked\n", config_names[k] + 17,
               m[0][0] / m[k][0], m[0][1] / m[k][1], m[0][2] / m[k][2], m[0][3] / m[k][3]);
}

/* ---- the quick model beside the slow one: whole pictures, as a server gets them ---------------------------------------------
 */

typedef struct picture {
    void *bytes;
    size_t n_bytes;
} picture;

static picture read_picture(const char *path)
{
    picture p = {malloc(8 << 20), 0};
    FILE *f = fopen(path, "rb");
    if (!f || !p.bytes)
        die("the pictures are not there; run script/fetch --demo");
    p.n_bytes = fread(p.bytes, 1, 8 << 20, f);
    fclose(f);
    return p;
}

static picture pictures[N_SERVICES];

static void picture_step(void *self, int s, int k)
{
    if (k)
        return;
    in_weft *w = self;
    weft_input in = weft_input_bytes("image", pictures[s].bytes, pictures[s].n_bytes);
    weft_call call = {.model = s == OCR ? "ocr" : "face", .inputs = &in, .n_inputs = 1};
    weft_result *r;
    weft_error err;
    if (weft_infer(w->engine, &call, &r, &err) != WEFT_OK)
        die(err.text);
    weft_result_unref(r);
}

static void open_pictures(in_weft *w, const char *text_options)
{
    char path[] = "/tmp/weft-bench-XXXXXX", root[1024];
    weft_error err;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f || !realpath(models_dir, root))
        die("cannot write a temporary file, or the models are not there");
    fprintf(f,
            "models:\n  - {name: ocr, type: ocr, detect: '%s/ocr/ch_PP-OCRv4_det_infer.onnx', recognise: "
            "'%s/ocr/ch_PP-OCRv4_rec_infer.onnx',\n"
            "     dictionary: '%s/ocr/ppocr_keys_v1.txt', %s}\n  - {name: face, type: face, path: '%s/%s', priority: 5}\n",
            root, root, root, text_options, root, steps[FACE][0].file);
    fclose(f);
    weft_status st = weft_engine_open(path, &w->engine, &err);
    unlink(path);
    if (st != WEFT_OK)
        die(err.text);
}

static void face_beside_text(const char *how, const char *text_options)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    in_weft iw = {0};
    work w = {.step = picture_step, .self = &iw, .n = {0, -1, 0}, .clients = {2, 1, 0}};
    open_pictures(&iw, text_options);
    w.n[OCR] = -1;
    run_work(&w, 2); /* warm */
    w.n[OCR] = 0;
    run_work(&w, 8);
    int n = atomic_load(&w.n_done[FACE]);
    double alone50 = percentile(w.latency_ms[FACE], n, 0.5), alone99 = percentile(w.latency_ms[FACE], n, 0.99);
    w.n[OCR] = -1;
    run_work(&w, 15);
    n = atomic_load(&w.n_done[FACE]);
    double p50 = percentile(w.latency_ms[FACE], n, 0.5), p99 = percentile(w.latency_ms[FACE], n, 0.99);
    printf("  %-28s alone p50 %5.1f p99 %5.1f ms; beside text p50 %5.1f p99 %5.1f ms: p99 %5.2fx; text %.2f pages/s\n", how,
           alone50, alone99, p50, p99, p99 / alone99, atomic_load(&w.n_done[OCR]) / 15.0);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    int repeats = 5, clients = 2;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--repeats") == 0)
            repeats = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--clients") == 0)
            clients = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--models") == 0)
            models_dir = argv[i + 1];
        else
            die("usage: bench_mixed_load [--repeats N] [--clients N] [--models DIR]");
    }
    if (repeats < 1 || repeats > MAX_REPEATS || clients < 1 || clients > 16)
        die("repeats 1..50, clients 1..16");
    signal(SIGPIPE, SIG_IGN);
    setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    printf("mixed load on %d cores; the three processes call ONNX Runtime directly\n", weft_cores());
    compare("balanced", (const int[]){5, 130, 120}, clients, repeats);
    compare("skewed", (const int[]){12, 25, 25}, clients, repeats);
    pictures[OCR] = read_picture(".cache/pictures/skimage/page.png");
    pictures[FACE] = read_picture(".cache/pictures/matplotlib/grace_hopper.jpg");
    printf("\nface latency, whole pictures, one closed-loop client, beside two saturating text clients\n");
    face_beside_text("text may take every core", "weight: 1");
    face_beside_text("text with max_cores: 1", "max_cores: 1");
    return 0;
}
