/* Finding and opening libonnxruntime. The first of these that works is it:
 *   1. the path that was configured: that one and no other
 *   2. $WEFT_ONNXRUNTIME: likewise
 *   3. libonnxruntime.so.1, libonnxruntime.so as the loader finds them
 *   4. beside the program (../lib/, ./) and beside libweft, for installed copies
 *   5. .cache/runtime/onnxruntime/, where script/fetch puts it: of the source tree that the program was built in (its folder is
 *      build/PRESET/), then of the working directory */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/onnxruntime/ort_internal.h"

weft_ort_library weft_ort;

static const char *const names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};

/* Says what was tried and why it did not do, as far as the text has room. */
typedef struct attempts {
    char text[600];
    size_t n;
} attempts;

static void tried(attempts *a, const char *path, const char *why)
{
    int n = snprintf(a->text + a->n, sizeof a->text - a->n, "%s%s: %s", a->n ? "; " : "", path, why);

    a->n += n > 0 ? (size_t)n : 0;
    if (a->n >= sizeof a->text)
        a->n = sizeof a->text - 1;
}

/* The loader's message repeats the path; what comes after the last ": " is the reason. */
static const char *loader_reason(void)
{
    const char *e = dlerror(), *last = e;

    if (!e)
        return "cannot be opened";
    for (const char *p = e; (p = strstr(p, ": ")); p += 2)
        last = p + 2;
    return strstr(e, "cannot open shared object file") ? "not found" : last;
}

static void fill_calls(const void *const *table, const void *const *later)
{
    /* Function pointers come out of a table of data pointers, as POSIX guarantees for dlsym. */
#define TAKE(place, vendor, result, name, args) memcpy(&weft_ort.call.name, &table[place], sizeof table[place]);
    WEFT_ORT_CALLS(TAKE)
#undef TAKE
    if (!later)
        return;
#define TAKE(place, vendor, result, name, args) memcpy(&weft_ort.call.name, &later[place], sizeof later[place]);
    WEFT_ORT_LATER_CALLS(TAKE)
#undef TAKE
}

/* The interface that a release offers at most: 15 for "1.15.1". Asking for more makes the library write to stderr. A version in
 * another form is taken at its word. */
static uint32_t offered_api(const char *version)
{
    unsigned major, minor;

    return sscanf(version, "%u.%u", &major, &minor) == 2 && major == 1 ? minor : UINT32_MAX;
}

static bool try_open(const char *path, attempts *a)
{
    const ort_api_base *(*entry)(void);
    const ort_api_base *base;
    const void *const *table, *symbol;
    struct link_map *map;
    char why[160];
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        tried(a, path, loader_reason());
        return false;
    }
    symbol = dlsym(handle, WEFT_ORT_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    base = symbol ? entry() : NULL;
    if (!base) {
        tried(a, path, "is not ONNX Runtime");
        dlclose(handle);
        return false;
    }
    table = offered_api(base->version()) >= WEFT_ORT_API_VERSION ? base->api(WEFT_ORT_API_VERSION) : NULL;
    if (!table) {
        snprintf(why, sizeof why, "is release %.40s, too old", base->version());
        tried(a, path, why);
        dlclose(handle);
        return false;
    }
    fill_calls(table, offered_api(base->version()) >= WEFT_ORT_LATER_API_VERSION ? base->api(WEFT_ORT_LATER_API_VERSION) : NULL);
    snprintf(weft_ort.version, sizeof weft_ort.version, "%s", base->version());
    snprintf(weft_ort.path, sizeof weft_ort.path, "%s", path);
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
        snprintf(weft_ort.path, sizeof weft_ort.path, "%s", map->l_name);
    symbol = dlsym(handle, "_ZSt17__throw_bad_allocv"); /* std::__throw_bad_alloc() */
    memcpy(&weft_ort.throw_bad_alloc, &symbol, sizeof symbol);
    weft_ort.handle = handle;
    return true;
}

static bool try_folder(const char *folder, attempts *a)
{
    char path[1200];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (access(path, F_OK) == 0 && try_open(path, a))
            return true;
    }
    tried(a, folder, "nothing there");
    return false;
}

/* Cuts the file's name off. */
static bool folder_of(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = 0;
    return slash != NULL;
}

/* The folder of the file that this code was linked into: libweft.so in a program that embeds it. */
static bool own_folder(char *path, size_t n_path)
{
    Dl_info info;
    const void *here;
    weft_status (*self)(const char *, weft_error *) = weft_ort_library_open;

    memcpy(&here, &self, sizeof here);
    if (!dladdr(here, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
        return false;
    snprintf(path, n_path, "%s", info.dli_fname);
    return folder_of(path);
}

static bool program_folder(char *path, size_t n_path)
{
    ssize_t n = readlink("/proc/self/exe", path, n_path - 1);

    if (n <= 0)
        return false;
    path[n] = 0;
    return folder_of(path);
}

static bool try_usual_places(attempts *a)
{
    char program[1024], library[1024], folder[1100];
    bool has_program = program_folder(program, sizeof program), has_library = own_folder(library, sizeof library);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (try_open(names[i], a))
            return true;
    if (has_program) {
        snprintf(folder, sizeof folder, "%s/../lib", program);
        if (try_folder(folder, a) || try_folder(program, a))
            return true;
    }
    if (has_library && (!has_program || strcmp(library, program) != 0) && try_folder(library, a))
        return true;
    if (has_program) {
        snprintf(folder, sizeof folder, "%s/../../.cache/runtime/onnxruntime", program);
        if (try_folder(folder, a))
            return true;
    }
    return try_folder(".cache/runtime/onnxruntime", a);
}

weft_status weft_ort_library_open(const char *path, weft_error *err)
{
    const char *environment = getenv("WEFT_ONNXRUNTIME");
    attempts a = {.n = 0};
    static char asked[512]; /* the path of the first opening; guarded by the caller's lock */
    bool found;

    if (!path || !*path)
        path = environment && *environment ? environment : NULL;
    if (weft_ort.handle) {
        if (path && strcmp(path, asked) != 0 && strcmp(path, weft_ort.path) != 0)
            return weft_fail(err, WEFT_E_CONFLICT,
                             "this process already uses ONNX Runtime %s from %s; a process can have only one, not also %s",
                             weft_ort.version, weft_ort.path, path);
        return WEFT_OK;
    }
    /* Read by the library before its first call; it must be there first. A user who sets it to something else decides. */
    setenv("ORT_DISABLE_TELEMETRY", "1", 0);
    found = path ? try_open(path, &a) : try_usual_places(&a);
    if (!found)
        return weft_fail(err, WEFT_E_UNAVAILABLE,
                         "no usable ONNX Runtime (weft needs release " WEFT_ORT_OLDEST_RELEASE
                         " or newer): run script/fetch, put libonnxruntime.so.1 into the lib folder beside the program, or give "
                         "its path as onnxruntime_library or in WEFT_ONNXRUNTIME. Tried: %s",
                         a.text);
    snprintf(asked, sizeof asked, "%s", path ? path : "");
    return WEFT_OK;
}
