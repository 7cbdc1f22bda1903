/* The engine: what all models share. Created empty, destroyed when everything accepted has been answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_text.h"
#include "base/text.h"
#include "engine_internal.h"

#define KEEP_BYTES ((size_t)64 << 20) /* of freed request memory that is kept for the next */
#define SWEEP_NS (10 * WEFT_MS)

/* The built-in parts. A program that links only the engine (tests) gives its own in the options instead. */
extern const struct weft_executor *const weft_builtin_executors[] __attribute__((weak));
extern const struct weft_backend *const weft_builtin_backends[] __attribute__((weak));

static _Thread_local weft_role role;

weft_role weft_role_get(void)
{
    return role;
}

void weft_role_set(weft_role r)
{
    role = r;
}

void weft_engine_log(weft_engine *e, weft_log_level level, const char *event, const char *model, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    if (!e->options.log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    e->options.log(e->options.log_cookie, level, event, model, line);
}

void weft_home_unref(weft_home *h)
{
    if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_chunk_pool_destroy(&h->pool);
    free(h);
}

void weft_engine_ref(weft_engine *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void weft_engine_unref(weft_engine *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_timers_fini(&e->timers);
    for (size_t i = 0; i < e->n_backends; i++)
        if (e->backends[i].is_open && e->backends[i].table->close)
            e->backends[i].table->close(e->backends[i].self);
    free(e->backends);
    free(e->tickets);
    free(e->library);
    weft_home_unref(e->home);
    weft_cond_fini(&e->registry_changed);
    weft_cond_fini(&e->all_answered);
    weft_cond_fini(&e->admin_cond);
    weft_cond_fini(&e->maintain_cond);
    weft_cond_fini(&e->post_cond);
    weft_lock_fini(&e->registry);
    weft_lock_fini(&e->sched);
    weft_lock_fini(&e->post_lock);
    weft_lock_fini(&e->ticket_lock);
    weft_lock_fini(&e->backend_lock);
    free(e);
}

/* ---- parts ---- */
const weft_executor *weft_engine_executor_find(weft_engine *e, const char *name)
{
    for (size_t i = 0; e->options.executors[i]; i++) {
        const weft_executor *x = e->options.executors[i];
        if (!strcmp(x->name, name))
            return x;
        for (size_t k = 0; x->aliases && x->aliases[k]; k++)
            if (!strcmp(x->aliases[k], name))
                return x;
    }
    return NULL;
}

weft_status weft_engine_unknown_executor(weft_engine *e, const char *name, weft_error *err)
{
    const char *names[128];
    size_t n = 0;
    for (size_t i = 0; e->options.executors[i] && n < 128; i++)
        names[n++] = e->options.executors[i]->name;
    const char *near = weft_nearest_name(name, names, n);
    if (near)
        return weft_fail(err, WEFT_E_CONFIG, "there is no executor \"%.64s\"; did you mean \"%s\"?", name, near);
    return weft_fail(err, WEFT_E_CONFIG, "there is no executor \"%.64s\" in this build", name);
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end);
}

static weft_engine_backend *backend_for(weft_engine *e, const char *name, const char *path)
{
    for (size_t i = 0; i < e->n_backends; i++) {
        const weft_backend *t = e->backends[i].table;
        if (name && !strcmp(t->name, name))
            return &e->backends[i];
        for (size_t k = 0; !name && path && t->extensions && t->extensions[k]; k++)
            if (ends_with(path, t->extensions[k]))
                return &e->backends[i];
    }
    return NULL;
}

static weft_status open_backend(weft_engine *e, weft_engine_backend *b, weft_error *err)
{
    weft_backend_env env = {.log = e->options.log, .log_cookie = e->options.log_cookie, .library = e->library, .cores = e->cores};
    weft_status s = b->table->open ? b->table->open(&env, &b->self, err) : WEFT_OK;
    b->is_open = !s;
    return s ? weft_fail_prefix(err, s, "backend \"%s\"", b->table->name) : WEFT_OK;
}

weft_status weft_engine_backend_get(weft_engine *e, const char *name, const char *path, weft_engine_backend **out,
                                    weft_error *err)
{
    *out = NULL;
    if (!name && !path)
        return weft_fail(err, WEFT_E_CONFIG, "a model needs a file (path) or the name of a backend");
    weft_engine_backend *b = backend_for(e, name, path);
    if (!b && name)
        return weft_fail(err, WEFT_E_CONFIG, "there is no backend \"%.64s\" in this build", name);
    if (!b)
        return weft_fail(err, WEFT_E_CONFIG, "no backend knows files like \"%.256s\"; name one with `backend`", path);
    if (b->table->abi != WEFT_BACKEND_ABI)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "the backend \"%s\" was built for interface %u; this engine has %u",
                         b->table->name, b->table->abi, WEFT_BACKEND_ABI);
    weft_lock_take(&e->backend_lock); /* opened once; the second of two loads waits */
    weft_status s = b->is_open ? WEFT_OK : open_backend(e, b, err);
    weft_lock_drop(&e->backend_lock);
    if (!s)
        *out = b;
    return s;
}

/* ---- timers ---- */
/* Timer thread, timer lock held: only claim and post. */
static void timer_due(void *cookie, weft_timer *t)
{
    if (t->kind != WEFT_TIMER_DEADLINE)
        return;
    weft_request *r = weft_container_of(t, weft_request, deadline);
    if (!weft_request_claim(r))
        return;
    r->why = WEFT_WHY_DEADLINE;
    weft_completer_post(cookie, r);
}

static void timer_round(void *cookie, bool wake, bool watch)
{
    weft_engine *e = cookie;
    if (watch)
        weft_completer_watch(e);
    if (!wake)
        return;
    weft_lock_take(&e->sched);
    weft_sched_dispatch(e, weft_engine_now(e));
    weft_lock_drop(&e->sched);
}

/* ---- life ---- */
static void init_locks(weft_engine *e)
{
    weft_lock_init(&e->backend_lock, "backend", 50);
    weft_lock_init(&e->registry, "registry", 100);
    weft_lock_init(&e->sched, "sched", 200);
    weft_lock_init(&e->ticket_lock, "ticket", 250);
    weft_lock_init(&e->post_lock, "post", 400);
    weft_cond_init(&e->registry_changed);
    weft_cond_init(&e->all_answered);
    weft_cond_init(&e->admin_cond);
    weft_cond_init(&e->maintain_cond);
    weft_cond_init(&e->post_cond);
    for (size_t i = 0; i < WEFT_ENTRY_BUCKETS; i++)
        weft_node_init(&e->entries[i]);
    weft_node_init(&e->models);
    weft_node_init(&e->active);
    weft_node_init(&e->accounts);
    weft_node_init(&e->host_idle);
    weft_node_init(&e->admin_waiting);
    weft_node_init(&e->posted);
    e->free_ticket = UINT32_MAX;
}

static weft_status set_parts(weft_engine *e, weft_error *err)
{
    if (!e->options.executors && weft_builtin_executors)
        e->options.executors = weft_builtin_executors;
    if (!e->options.backends && weft_builtin_backends)
        e->options.backends = weft_builtin_backends;
    if (!e->options.executors || !e->options.backends)
        return weft_fail(err, WEFT_E_INVALID, "no executors or backends were given, and none are built in");
    while (e->options.backends[e->n_backends])
        e->n_backends++;
    e->backends = calloc(e->n_backends + 1, sizeof(*e->backends));
    if (!e->backends) {
        e->n_backends = 0;
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the engine");
    }
    for (size_t i = 0; i < e->n_backends; i++)
        e->backends[i].table = e->options.backends[i];
    return WEFT_OK;
}

static weft_status set_memory(weft_engine *e, weft_error *err)
{
    e->home = calloc(1, sizeof(*e->home));
    if (e->home && !(e->home->pool = weft_chunk_pool_create(KEEP_BYTES, e->options.memory_limit))) {
        free(e->home);
        e->home = NULL;
    }
    if (!e->home)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the engine");
    atomic_init(&e->home->refs, 1);
    if (e->options.onnxruntime_library && !(e->library = strdup(e->options.onnxruntime_library)))
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the engine");
    e->options.onnxruntime_library = e->library;
    return WEFT_OK;
}

static void stop_threads(weft_engine *e)
{
    weft_hosts_stop(e);
    if (e->maintainer.started)
        weft_maintainer_stop(e);
    weft_timers_stop(&e->timers);
    if (e->completer.started)
        weft_completer_stop(e);
}

weft_status weft_engine_create(const weft_engine_options *o, weft_engine **out, weft_error *err)
{
    weft_engine_options defaults;
    *out = NULL;
    if (!o) {
        weft_engine_options_init(&defaults);
        o = &defaults;
    }
    weft_status s = weft_options_check(weft_engine_option_table, o, err);
    if (s)
        return s;
    weft_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for the engine");
    atomic_init(&e->refs, 1);
    e->options = *o;
    e->clock = o->clock ? o->clock : weft_clock_system();
    e->cores = e->tokens_free = o->cores ? o->cores : weft_cores();
    e->max_run_ns = weft_ms_to_ns(o->max_run_ms);
    weft_lane_init(&e->lane, weft_ms_to_ns(o->max_starve_ms));
    init_locks(e);
    weft_timers_init(&e->timers, e->clock);
    e->timers.due = timer_due;
    e->timers.round = timer_round;
    e->timers.cookie = e;
    s = set_parts(e, err);
    if (!s)
        s = set_memory(e, err);
    if (!s)
        s = weft_completer_start(e, err);
    if (!s)
        s = weft_timers_start(&e->timers, err);
    if (!s)
        s = weft_maintainer_start(e, err);
    if (!s)
        s = weft_hosts_start(e, err);
    if (s) {
        stop_threads(e);
        weft_engine_unref(e);
        return s;
    }
    *out = e;
    return WEFT_OK;
}

/* Answers everything that is open with CANCELLED; returns when all callbacks have returned. */
static void cancel_all(weft_engine *e)
{
    weft_lock_take(&e->sched);
    while (atomic_load(&e->n_open) > 0) {
        weft_lock_drop(&e->sched);
        weft_ticket_cancel_all(e); /* again and again: a call may have been on its way in */
        weft_lock_take(&e->sched);
        if (atomic_load(&e->n_open) > 0)
            weft_cond_wait_until(&e->all_answered, &e->sched, weft_now_ns() + SWEEP_NS);
    }
    weft_lock_drop(&e->sched);
}

void weft_engine_destroy(weft_engine **ep)
{
    weft_engine *e = ep ? *ep : NULL;
    if (!e)
        return;
    weft_assert(role == WEFT_ROLE_NONE); /* not from a callback */
    *ep = NULL;
    atomic_store(&e->closing, true);
    cancel_all(e);
    weft_registry_close(e);
    stop_threads(e);
    weft_engine_unref(e);
}

weft_status weft_engine_drain(weft_engine *e, int64_t timeout_ms, weft_error *err)
{
    if (!e)
        return weft_fail(err, WEFT_E_INVALID, "no engine was given");
    if (role != WEFT_ROLE_NONE)
        return weft_fail(err, WEFT_E_CONFLICT, "weft_engine_drain was called from a callback");
    int64_t until = weft_time_add(weft_now_ns(), weft_ms_to_ns((double)timeout_ms));
    atomic_store(&e->draining, true);
    weft_lock_take(&e->sched);
    int64_t left;
    while ((left = atomic_load(&e->n_open)) > 0 && weft_now_ns() < until)
        weft_cond_wait_until(&e->all_answered, &e->sched, until);
    weft_lock_drop(&e->sched);
    if (left > 0)
        return weft_fail(err, WEFT_E_DEADLINE, "%lld requests are still open after %lld ms", (long long)left,
                         (long long)timeout_ms);
    return WEFT_OK;
}
