/* Replays a corpus through a fuzz target without a fuzzer, so that the same inputs are a plain test everywhere.
 *
 *     fuzz_NAME [-m N] FOLDER|FILE...
 *
 * -m N: besides each file itself, N random modifications of it (the same ones on each run). A folder is read flat. No file at all
 * is a failure. Each input lies in memory of exactly its size, so that a sanitizer sees a byte too much. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MAX_BYTES ((size_t)64 << 20)

static uint64_t state = 1;
static long n_files, n_inputs;

static uint64_t next(uint64_t limit)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return limit ? (z ^ (z >> 31)) % limit : 0;
}

static void run(const uint8_t *data, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1);

    if (!exact)
        exit(1);
    memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_inputs++;
}

/* One to four changes: a bit, a byte, an interesting number, a cut, a doubled or a removed piece. */
static size_t modify(uint8_t *p, size_t n, size_t capacity)
{
    static const uint8_t extremes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x40, '"', '\r', '\n', '=', '-'};

    for (uint64_t k = 1 + next(4); k && n; k--) {
        size_t at = next(n), length = 1 + next(n - at < 64 ? n - at : 64);

        switch (next(6)) {
        case 0:
            p[at] ^= (uint8_t)(1 << next(8));
            break;
        case 1:
            p[at] = (uint8_t)next(256);
            break;
        case 2:
            memset(p + at, extremes[next(sizeof extremes)], length < 8 ? length : 8);
            break;
        case 3:
            n = at;
            break;
        case 4:
            if (n + length <= capacity) {
                memmove(p + at + length, p + at, n - at);
                n += length;
            }
            break;
        default:
            memmove(p + at, p + at + length, n - at - length);
            n -= length;
        }
    }
    return n;
}

static void run_file(const char *path, long n_modified)
{
    FILE *f = fopen(path, "rb");
    size_t capacity = MAX_BYTES, n;
    uint8_t *data = malloc(capacity), *changed;

    if (!f || !data) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    n = fread(data, 1, capacity, f);
    fclose(f);
    n_files++;
    run(data, n);
    changed = malloc(n + 1024);
    for (long i = 0; changed && i < n_modified; i++) {
        memcpy(changed, data, n);
        run(changed, modify(changed, n, n + 1024));
    }
    free(changed);
    free(data);
}

static void run_path(const char *path, long n_modified)
{
    DIR *folder = opendir(path);
    struct dirent *e;
    char inner[4096];

    if (!folder) {
        run_file(path, n_modified);
        return;
    }
    while ((e = readdir(folder)))
        if (e->d_name[0] != '.') {
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            run_file(inner, n_modified);
        }
    closedir(folder);
}

int main(int argc, char **argv)
{
    long n_modified = 0;
    int i = 1;

    if (argc > 2 && !strcmp(argv[1], "-m")) {
        n_modified = strtol(argv[2], NULL, 10);
        i = 3;
    }
    for (; i < argc; i++)
        run_path(argv[i], n_modified);
    printf("%ld files, %ld inputs\n", n_files, n_inputs);
    return n_files ? 0 : 1;
}
