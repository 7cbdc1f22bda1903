/* Every case of the ONNX backend suite (Debian package libonnx-testdata) against its golden outputs.
 *
 *     onnx_suite [--backend|--engine|--loopback] [--list] [--only NAME] EXPECTED [FOLDER]
 *
 * A case ends as one of
 *     match    all outputs are equal within rtol 1e-3, atol 1e-7 (numbers), or exactly (integers, strings, bools)
 *     loose    the same with atol 1e-3
 *     differ   they are not
 *     load     the model was refused at load
 *     run      the run failed
 *     data     an input or output of the case cannot be used
 *     nodata   the case has no data set
 * In the list an end may also be `random`: differ, but by luck it may match.
 * EXPECTED is a text file with one line for each case that is expected to end otherwise than with `match`: name, end, why. Any
 * case that ends differently from what is expected, also for the better, fails the test: the list is always true. --list prints
 * the ends in this form. Without the package: exit status 77. The list is for one release of the suite (@suite: a hash of the
 * names of its cases); of another one only nine matches in ten are demanded. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fp.h"
#include "base/hash.h"
#include "conformance/suite_runner.h"
#include "conformance/tensor_pb.h"

#define MAX_CASES 4096
#define MAX_TENSORS 16
#define FETCHED WEFT_CACHE_DIR "/pictures/onnx-suite"
#define INSTALLED "/usr/share/libonnx-testdata/data"

typedef enum ending { MATCH, LOOSE, DIFFER, LOAD, RUN, DATA, NODATA, RANDOM, N_ENDINGS } ending;
static const char *const ending_names[N_ENDINGS] = {"match", "loose", "differ", "load", "run", "data", "nodata", "random"};

typedef struct expected {
    char name[200];
    ending end;
    bool met;
} expected;

static expected *expectations;
static size_t n_expectations;
static uint64_t expected_suite; /* hash of the names of its cases */
static const suite_runner *runner = &suite_backend;

/* ---- comparing
 * -----------------------------------------------------------------------------------------------------------------------------
 */

static double number_at(weft_dtype t, const void *data, int64_t i)
{
    switch (t) {
    case WEFT_DT_F32:
        return ((const float *)data)[i];
    case WEFT_DT_F64:
        return ((const double *)data)[i];
    case WEFT_DT_F16:
        return weft_f16_to_f32(((const uint16_t *)data)[i]);
    default:
        return weft_bf16_to_f32(((const uint16_t *)data)[i]);
    }
}

static bool close_enough(double got, double want, double atol)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want))
        return got == want;
    return fabs(got - want) <= atol + 1e-3 * fabs(want);
}

static ending compare(const weft_tensor *got, const weft_tensor *want, char *why, size_t n_why)
{
    char a[160], b[160];
    ending end = MATCH;
    int64_t n = 0;

    if (got->dtype != want->dtype || got->rank != want->rank ||
        memcmp(got->shape, want->shape, (size_t)want->rank * sizeof *want->shape) != 0) {
        snprintf(why, n_why, "%s is %s%s, expected %s%s", want->name, weft_dtype_name(got->dtype),
                 weft_shape_print(got->shape, got->rank, a, sizeof a), weft_dtype_name(want->dtype),
                 weft_shape_print(want->shape, want->rank, b, sizeof b));
        return DIFFER;
    }
    if (want->dtype != WEFT_DT_F32 && want->dtype != WEFT_DT_F64 && want->dtype != WEFT_DT_F16 && want->dtype != WEFT_DT_BF16) {
        if (got->n_bytes == want->n_bytes && (!got->n_bytes || memcmp(got->data, want->data, got->n_bytes) == 0))
            return MATCH;
        snprintf(why, n_why, "the bytes of %s differ", want->name);
        return DIFFER;
    }
    weft_shape_elements(want->shape, want->rank, &n);
    for (int64_t i = 0; i < n; i++) {
        double x = number_at(got->dtype, got->data, i), y = number_at(want->dtype, want->data, i);

        if (close_enough(x, y, 1e-7))
            continue;
        snprintf(why, n_why, "%s[%lld] is %g, expected %g", want->name, (long long)i, x, y);
        if (!close_enough(x, y, 1e-3))
            return DIFFER;
        end = LOOSE;
    }
    return end;
}

/* ---- one case
 * ---------------------------------------------------------------------------------------------------------------------------------
 */

static bool read_tensors(const char *folder, const char *kind, weft_arena *arena, weft_tensor *t, size_t *n, char *why,
                         size_t n_why)
{
    char path[700];
    struct stat st;
    weft_error err;

    for (*n = 0; *n <= MAX_TENSORS; (*n)++) {
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, kind, *n);
        if (stat(path, &st) != 0)
            return true;
        if (*n == MAX_TENSORS || tensor_pb_read(path, arena, &t[*n], &err)) {
            snprintf(why, n_why, "%s_%zu: %s", kind, *n, *n == MAX_TENSORS ? "too many" : err.text);
            return false;
        }
    }
    return true;
}

/* The files of BF16 tensors say UINT16. */
static void as_described(weft_tensor *t, const weft_tensor_desc *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (d[i].dtype == WEFT_DT_BF16 && t[i].dtype == WEFT_DT_U16)
            t[i].dtype = WEFT_DT_BF16;
}

static ending run_loaded(suite_model *m, const char *folder, weft_arena *arena, char *why, size_t n_why)
{
    weft_tensor in[MAX_TENSORS], want[MAX_TENSORS], got[MAX_TENSORS];
    size_t n_in, n_want;
    ending worst = MATCH;
    struct stat st;
    char path[700];
    weft_error err;

    snprintf(path, sizeof path, "%s/test_data_set_0", folder);
    if (stat(path, &st) != 0) {
        snprintf(why, n_why, "no data set");
        return NODATA;
    }
    if (!read_tensors(folder, "input", arena, in, &n_in, why, n_why) ||
        !read_tensors(folder, "output", arena, want, &n_want, why, n_why))
        return DATA;
    if (n_in != m->n_inputs || n_want != m->n_outputs) {
        snprintf(why, n_why, "%zu inputs and %zu outputs in the files, %zu and %zu in the model", n_in, n_want, m->n_inputs,
                 m->n_outputs);
        return DATA;
    }
    as_described(in, m->inputs, n_in);
    as_described(want, m->outputs, n_want);
    memset(got, 0, sizeof got);
    if (runner->run(m, in, got, arena, &err)) {
        snprintf(why, n_why, "%s", err.text);
        return RUN;
    }
    for (size_t i = 0; i < n_want; i++) {
        ending e;

        want[i].name = m->outputs[i].name;
        e = weft_tensor_check(&got[i], &err) ? DIFFER : compare(&got[i], &want[i], why, n_why);
        worst = e > worst ? e : worst;
    }
    return worst;
}

static ending run_case(const char *folder, char *why, size_t n_why)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    char path[700];
    suite_model m;
    weft_error err;
    ending e;

    *why = 0;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (runner->load(path, &m, &err)) {
        snprintf(why, n_why, "%s", err.text);
        e = LOAD;
    } else {
        e = run_loaded(&m, folder, arena, why, n_why);
        runner->unload(&m);
    }
    weft_arena_destroy(&arena);
    return e;
}

/* ---- the list
 * ---------------------------------------------------------------------------------------------------------------------------------
 */

static bool read_expectations(const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned long long suite = 0;
    char line[1000], end[32];
    expected e;

    expectations = calloc(MAX_CASES, sizeof *expectations);
    if (!f || !expectations)
        return false;
    while (fgets(line, sizeof line, f)) {
        if (*line == '#' || *line == '\n' || sscanf(line, "@suite %llx", &suite) == 1)
            continue;
        memset(&e, 0, sizeof e);
        e.end = N_ENDINGS;
        if (sscanf(line, "%199s %31s", e.name, end) == 2)
            for (int i = 0; i < N_ENDINGS; i++)
                if (!strcmp(end, ending_names[i]))
                    e.end = (ending)i;
        if (e.end == N_ENDINGS || n_expectations == MAX_CASES) {
            fprintf(stderr, "%s: cannot use the line: %s", path, line);
            fclose(f);
            return false;
        }
        expectations[n_expectations++] = e;
    }
    fclose(f);
    expected_suite = suite;
    return true;
}

static ending expected_end(const char *name)
{
    for (size_t i = 0; i < n_expectations; i++)
        if (!strcmp(expectations[i].name, name)) {
            expectations[i].met = true;
            return expectations[i].end;
        }
    return MATCH;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint64_t hash_names(char **names, size_t n)
{
    uint64_t hash = WEFT_HASH_SEED;

    for (size_t i = 0; i < n; i++)
        hash = weft_hash_str(hash, names[i]);
    return hash;
}

/* "node/test_abs" and so on, sorted. */
static size_t find_cases(const char *root, char **names)
{
    static const char *const groups[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    size_t n = 0;

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        char path[700];
        struct dirent *entry;
        DIR *d;

        snprintf(path, sizeof path, "%s/%s", root, groups[g]);
        d = opendir(path);
        while (d && (entry = readdir(d)) && n < MAX_CASES) {
            struct stat st;

            snprintf(path, sizeof path, "%s/%s/%s/model.onnx", root, groups[g], entry->d_name);
            if (*entry->d_name == '.' || stat(path, &st) != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", groups[g], entry->d_name);
            names[n++] = strdup(path);
        }
        if (d)
            closedir(d);
    }
    qsort(names, n, sizeof *names, by_name);
    return n;
}

typedef struct arguments {
    const char *list, *folder, *only;
    bool print;
} arguments;

static bool parse_arguments(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            a->print = true;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            a->only = argv[++i];
        else if (!strcmp(argv[i], "--backend"))
            runner = &suite_backend;
        else if (!strcmp(argv[i], "--engine"))
            runner = &suite_engine;
        else if (!strcmp(argv[i], "--loopback"))
            runner = &suite_loopback;
        else if (!a->list)
            a->list = argv[i];
        else
            a->folder = argv[i];
    }
    if (!a->folder)
        a->folder = getenv("WEFT_ONNX_TESTDATA");
    if (!a->folder)
        a->folder = access(FETCHED "/node", R_OK) == 0 ? FETCHED : INSTALLED;
    return a->list != NULL;
}

static size_t run_all(const arguments *a, char **names, size_t n)
{
    size_t counts[N_ENDINGS] = {0}, surprises = 0, unmet = 0;
    char folder[600], why[1100];

    for (size_t i = 0; i < n; i++) {
        ending e, want;

        if (a->only && strcmp(a->only, names[i]) != 0)
            continue;
        snprintf(folder, sizeof folder, "%s/%s", a->folder, names[i]);
        e = run_case(folder, why, sizeof why);
        counts[e]++;
        want = expected_end(names[i]);
        if (a->print && e != MATCH)
            printf("%s\t%s\t%s\n", names[i], ending_names[e], why);
        if (e == want || (want == RANDOM && (e == DIFFER || e == LOOSE || e == MATCH)))
            continue;
        surprises++;
        if (!a->print)
            printf("%s: ended with %s, expected %s%s%s\n", names[i], ending_names[e], ending_names[want], *why ? ": " : "", why);
    }
    for (size_t i = 0; i < n_expectations && !a->only; i++)
        if (!expectations[i].met) {
            printf("%s is in the list, but not in the suite\n", expectations[i].name);
            unmet++;
        }
    printf("%s%s: %zu cases:", a->print ? "# " : "", runner->name, n);
    for (int i = 0; i < RANDOM; i++)
        printf(" %zu %s", counts[i], ending_names[i]);
    printf("; %zu not as expected\n", surprises + unmet);
    if (hash_names(names, n) != expected_suite && !a->only) {
        printf("this is another release of the suite than the list is for (@suite %016llx): only a match of nine in ten is "
               "demanded\n",
               (unsigned long long)hash_names(names, n));
        return counts[MATCH] < n - n / 10;
    }
    return a->print ? 0 : surprises + unmet;
}

int main(int argc, char **argv)
{
    static char *names[MAX_CASES];
    const char *library = getenv("WEFT_ONNXRUNTIME") ? NULL : WEFT_CACHE_DIR "/runtime/onnxruntime/libonnxruntime.so.1";
    arguments a = {0};
    weft_error err;
    size_t n, failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse_arguments(argc, argv, &a) || !read_expectations(a.list)) {
        fprintf(stderr, "usage: onnx_suite [--backend|--engine|--loopback] [--list] [--only NAME] EXPECTED [FOLDER]\n");
        return 2;
    }
    n = find_cases(a.folder, names);
    if (!n) {
        printf("%s is not there: install libonnx-testdata\n", a.folder);
        return 77;
    }
    if (runner->open(library, &err)) {
        printf("%s\n", err.text);
        return err.status == WEFT_E_UNAVAILABLE ? 77 : 1;
    }
    failed = run_all(&a, names, n);
    runner->close();
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(expectations);
    return failed ? 1 : 0;
}
