/* Pages per second of the OCR pipeline: `bench_ocr_pages --models DIR [--callers N] [--rounds N] PICTURE...` reads every picture
 * `rounds` times with N callers at once and prints one line of JSON. bench/ocr_pages.py compares it with a Python program in the
 * same run. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "weft/engine.h"

typedef struct picture {
    void *bytes;
    size_t n_bytes;
} picture;

static picture *pictures;
static size_t n_pictures, n_jobs;
static atomic_size_t next_job, n_lines;
static weft_engine *engine;

static void die(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

static void load_picture(const char *path, picture *p)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        die(path, "cannot be read");
    p->n_bytes = (size_t)ftell(f);
    rewind(f);
    p->bytes = malloc(p->n_bytes);
    if (!p->bytes || fread(p->bytes, 1, p->n_bytes, f) != p->n_bytes)
        die(path, "cannot be read");
    fclose(f);
}

static void *work(void *arg)
{
    for (size_t i; (i = atomic_fetch_add(&next_job, 1)) < n_jobs;) {
        const picture *p = &pictures[i % n_pictures];
        weft_input in = weft_input_bytes("image", p->bytes, p->n_bytes);
        weft_call call = {.model = "ocr", .inputs = &in, .n_inputs = 1};
        weft_result *r;
        weft_error err;
        if (weft_infer(engine, &call, &r, &err) != WEFT_OK)
            die("a page", err.text);
        atomic_fetch_add(&n_lines, r->n_items);
        weft_result_unref(r);
    }
    return NULL;
}

static void run(size_t callers, size_t rounds)
{
    pthread_t threads[64];
    atomic_store(&next_job, 0);
    atomic_store(&n_lines, 0);
    n_jobs = n_pictures * rounds;
    for (size_t i = 0; i < callers; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            die("pthread_create", "failed");
    for (size_t i = 0; i < callers; i++)
        pthread_join(threads[i], NULL);
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void open_engine(const char *models)
{
    char path[] = "/tmp/weft-bench-ocr-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        die(path, "cannot be written");
    fprintf(f,
            "models:\n  - name: ocr\n    type: ocr\n    detect: %s/ch_PP-OCRv4_det_infer.onnx\n    recognise: "
            "%s/ch_PP-OCRv4_rec_infer.onnx\n    dictionary: %s/ppocr_keys_v1.txt\n",
            models, models, models);
    fclose(f);
    weft_error err;
    weft_status s = weft_engine_open(path, &engine, &err);
    unlink(path);
    if (s != WEFT_OK)
        die("the engine", err.text);
}

int main(int argc, char **argv)
{
    const char *models = NULL;
    size_t callers = 1, rounds = 1;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--models") == 0)
            models = argv[i + 1];
        else if (strcmp(argv[i], "--callers") == 0)
            callers = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = strtoul(argv[i + 1], NULL, 10);
    }
    if (!models || i >= argc || callers < 1 || callers > 64 || rounds < 1 || models[0] != '/')
        die("usage", "bench_ocr_pages --models /ABSOLUTE/DIR [--callers 1..64] [--rounds N] PICTURE...");
    n_pictures = (size_t)(argc - i);
    pictures = calloc(n_pictures, sizeof *pictures);
    for (size_t k = 0; k < n_pictures; k++)
        load_picture(argv[(size_t)i + k], &pictures[k]);
    open_engine(models);
    run(callers, 1); /* warm */
    int64_t begun = weft_now_ns();
    double cpu = cpu_seconds();
    run(callers, rounds);
    double seconds = (double)(weft_now_ns() - begun) / 1e9;
    printf("{\"pages_per_s\": %.4f, \"cpu_s_per_page\": %.5f, \"lines\": %zu, \"callers\": %zu}\n", (double)n_jobs / seconds,
           (cpu_seconds() - cpu) / (double)n_jobs, atomic_load(&n_lines), callers);
    weft_engine_destroy(&engine);
    return 0;
}
