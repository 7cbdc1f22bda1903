/* Sessions: their options, and creating one from a file. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/onnxruntime/ort_internal.h"

/* ---- session options
 * ---------------------------------------------------------------------------------------------------------------------- */

static bool is_cpu(const char *provider)
{
    return !strcasecmp(provider, "cpu") || !strcasecmp(provider, "CPUExecutionProvider");
}

/* "PROVIDER.KEY: value" entries of one provider. */
static size_t provider_options_of(const weft_ort_options *o, const char *provider, const char **keys, const char **values,
                                  size_t room)
{
    const weft_key_value *kv = o->provider_options.items;
    size_t n = 0, length = strlen(provider);

    for (size_t i = 0; i < o->provider_options.n && n < room; i++)
        if (!strncasecmp(kv[i].key, provider, length) && kv[i].key[length] == '.') {
            keys[n] = kv[i].key + length + 1;
            values[n++] = kv[i].value;
        }
    return n;
}

static weft_status not_available(const char *model, const char *provider, weft_error *err)
{
    char list[400] = "", **names = NULL;
    size_t at = 0;
    int n = 0;

    weft_ort_ignore(ORT(providers)(&names, &n));
    for (int i = 0; i < n && at < sizeof list - 64; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.60s", i ? ", " : "", names[i]);
    if (names)
        weft_ort_ignore(ORT(providers_release)(names, n));
    return weft_fail(err, WEFT_E_CONFIG, "model \"%s\": the provider \"%.64s\" is not in ONNX Runtime %s (%s), which has: %s",
                     model, provider, weft_ort.version, weft_ort.path, list);
}

static weft_status add_cuda(ort_session_options *so, const weft_ort_options *o, const char *model, const char *provider,
                            weft_error *err)
{
    const char *keys[32], *values[32];
    size_t n = provider_options_of(o, provider, keys, values, 32);
    ort_cuda_options *cuda = NULL;
    ort_status *s = ORT(cuda_options_create)(&cuda);

    if (!s && n)
        s = ORT(cuda_options_set)(cuda, keys, values, n);
    if (!s)
        s = ORT(options_add_cuda)(so, cuda);
    if (cuda)
        ORT(cuda_options_release)(cuda);
    if (!s)
        return WEFT_OK;
    ORT(status_release)(s);
    return not_available(model, provider, err);
}

static weft_status add_providers(ort_session_options *so, const weft_ort_options *o, const char *model, weft_error *err)
{
    const char *const *names = o->providers.items;
    const char *keys[32], *values[32];
    weft_status s = WEFT_OK;

    for (size_t i = 0; i < o->providers.n && !s; i++) {
        ort_status *st;

        if (is_cpu(names[i]))
            continue;
        if (!strcasecmp(names[i], "cuda") || !strcasecmp(names[i], "CUDAExecutionProvider")) {
            s = add_cuda(so, o, model, names[i], err);
            continue;
        }
        st = ORT(options_add_provider)(so, names[i], keys, values, provider_options_of(o, names[i], keys, values, 32));
        if (st) {
            ORT(status_release)(st);
            s = not_available(model, names[i], err);
        }
    }
    return s;
}

/* Keys that the backend sets itself, so that threads and memory stay what the engine counts on. */
static bool is_ours(const char *key)
{
    static const char *const ours[] = {ORT_KEY_USE_ENV_ALLOCATORS,
                                       ORT_KEY_INTRA_SPINNING,
                                       ORT_KEY_INTER_SPINNING,
                                       "session.intra_op_num_threads",
                                       "session.inter_op_num_threads",
                                       "session.use_per_session_threads",
                                       "session.enable_mem_pattern",
                                       "session.graph_optimization_level",
                                       "session.optimized_model_filepath"};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(key, ours[i]))
            return true;
    return false;
}

static weft_status apply_options(ort_session_options *so, const weft_ort_options *o, const char *model, weft_error *err)
{
    const weft_key_value *kv = o->session_config.items;
    weft_status s = WEFT_OK;

    for (size_t i = 0; i < o->session_config.n && !s; i++) {
        if (is_ours(kv[i].key))
            return weft_fail(err, WEFT_E_CONFIG,
                             "model \"%s\": session_config cannot set %s: weft sets it (threads, memory and optimisation have "
                             "options of their own)",
                             model, kv[i].key);
        s = weft_ort_check(ORT(options_set)(so, kv[i].key, kv[i].value), kv[i].key, err);
    }
    kv = o->fix_dims.items;
    for (size_t i = 0; i < o->fix_dims.n && !s; i++) {
        char *end;
        long long size = strtoll(kv[i].value, &end, 10);

        if (!*kv[i].value || *end || size < 0)
            return weft_fail(err, WEFT_E_CONFIG, "model \"%s\": fix_dims.%s: expected a size, got \"%.64s\"", model, kv[i].key,
                             kv[i].value);
        s = weft_ort_check(ORT(options_fix_dim)(so, kv[i].key, size), "cannot fix a dim", err);
    }
    return s ? s : add_providers(so, o, model, err);
}

const weft_ort_options weft_ort_default_options = {.graph_optimization = ORT_OPTIMIZE_ALL, .log_level = ORT_LOG_WARNING};

weft_status weft_ort_session_options(weft_ort_model *m, const weft_model_source *src, ort_session_options **out, weft_error *err)
{
    const weft_ort_options *o = src->options ? src->options : &weft_ort_default_options;
    ort_session_options *so = NULL;
    weft_status s = weft_ort_check(ORT(options_create)(&so), "no session options", err);

    if (!s)
        s = weft_ort_check(ORT(options_intra_threads)(so, src->threads > 0 ? (int)src->threads : 1), "threads", err);
    if (!s)
        s = weft_ort_check(ORT(options_inter_threads)(so, 1), "threads", err);
    if (!s)
        s = weft_ort_check(ORT(options_mode)(so, ORT_ONE_NODE_AT_A_TIME), "mode", err);
    if (!s)
        s = weft_ort_check(ORT(options_no_pattern)(so), "memory pattern", err);
    if (!s)
        s = weft_ort_check(ORT(options_optimize)(so, o->graph_optimization), "optimisation", err);
    if (!s)
        s = weft_ort_check(ORT(options_log_level)(so, o->log_level), "log level", err);
    if (!s)
        s = weft_ort_check(ORT(options_set)(so, ORT_KEY_USE_ENV_ALLOCATORS, "1"), ORT_KEY_USE_ENV_ALLOCATORS, err);
    if (!s)
        s = weft_ort_check(ORT(options_set)(so, ORT_KEY_INTRA_SPINNING, "0"), ORT_KEY_INTRA_SPINNING, err);
    if (!s)
        s = weft_ort_check(ORT(options_set)(so, ORT_KEY_INTER_SPINNING, "0"), ORT_KEY_INTER_SPINNING, err);
    if (!s && src->threads > 1)
        s = weft_ort_check(weft_ort_own_threads(so, &m->account), "threads", err);
    if (!s)
        s = apply_options(so, o, m->name, err);
    if (s && so) {
        ORT(options_release)(so);
        so = NULL;
    }
    *out = so;
    return s;
}

/* ---- sessions
 * ------------------------------------------------------------------------------------------------------------------------------
 */

/* Bytes of malloc in use; 0 where that cannot be told (sanitizers, other C libraries). */
uint64_t weft_ort_heap_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
    struct mallinfo2 m = mallinfo2();

    return (uint64_t)m.uordblks + (uint64_t)m.hblkhd;
#else
    return 0;
#endif
}

weft_status weft_ort_check_file(const char *model, const char *path, uint64_t *n_bytes, weft_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return weft_fail(err, errno == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "model \"%s\": cannot read %s: %s", model, path,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return weft_fail(err, WEFT_E_CONFIG, "model \"%s\": %s is not a file", model, path);
    if (st.st_size == 0)
        return weft_fail(err, WEFT_E_CONFIG, "model \"%s\": %s is empty", model, path);
    *n_bytes += (uint64_t)st.st_size;
    return WEFT_OK;
}

static bool newer(const char *a, const char *b)
{
    struct stat sa, sb;

    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_mtime >= sb.st_mtime;
}

/* With `optimized_model` the optimised graph is kept: written beside its place and renamed, so that a start never reads half a
 * file. */
weft_status weft_ort_session_create(weft_ort_model *m, weft_ort_file *f, ort_session_options *so, const char *cache,
                                    weft_error *err)
{
    char temporary[1024] = "";
    const char *path = f->path;
    ort_status *st = NULL;

    if (cache && newer(cache, path)) {
        path = cache;
        st = ORT(options_optimize)(so, ORT_OPTIMIZE_OFF);
    } else if (cache && (size_t)snprintf(temporary, sizeof temporary, "%s.%ld", cache, (long)getpid()) < sizeof temporary) {
        st = ORT(options_save_to)(so, temporary);
    }
    if (!st)
        st = ORT(session_create)(weft_ort_env, path, so, &f->session);
    if (*temporary && (st || rename(temporary, cache) != 0)) {
        unlink(temporary);
        weft_ort_say(m->self, WEFT_LOG_WARN, "model-cache", m->name, "the optimised model could not be kept as %s", cache);
        if (st) { /* perhaps only because it could not be written */
            ORT(status_release)(st);
            st = ORT(options_save_to)(so, "");
            if (!st)
                st = ORT(session_create)(weft_ort_env, path, so, &f->session);
        }
    }
    return st ? weft_ort_load_failed(st, m->name, path, err) : WEFT_OK;
}
