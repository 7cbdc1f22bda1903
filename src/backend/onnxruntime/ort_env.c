/* The environment of ONNX Runtime: one per process, shared by all engines.
 *
 *   nobody     -> first weft_ort_env_ref: library opened, environment created, allocator registered
 *   n users    -> counted
 *   last unref -> allocator unregistered, environment released, scratch memory freed; the library stays open */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/onnxruntime/ort_internal.h"
#include "base/thread.h"

#define ENV_LOCK_RANK 860
#define LOAD_LOCK_RANK 870

ort_env *weft_ort_env;
_Thread_local weft_ort_thread weft_ort_here;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static weft_lock env_lock;
static size_t n_users; /* guarded by env_lock */
static weft_lock load_lock;
static weft_cond load_over;
static bool load_in_progress; /* guarded by load_lock, which is not held during the load: it calls out */

static void init_once(void)
{
    weft_lock_init(&env_lock, "ort-env", ENV_LOCK_RANK);
    weft_lock_init(&load_lock, "ort-load", LOAD_LOCK_RANK);
    weft_cond_init(&load_over);
}

/* ---- log
 * ---------------------------------------------------------------------------------------------------------------------------- */

void weft_ort_say(weft_ort_self *self, weft_log_level level, const char *event, const char *model, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    if (!self || !self->env.log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    self->env.log(self->env.log_cookie, level, event, model ? model : "", line);
}

/* ORT's own log. It reaches the engine for which the calling thread works; threads that work for nobody say nothing. Its warnings
 * are about the hygiene of model files (weights that nothing uses): information for us. */
static void on_log(void *cookie, int level, const char *category, const char *id, const char *place, const char *message)
{
    static const weft_log_level levels[] = {WEFT_LOG_DEBUG, WEFT_LOG_DEBUG, WEFT_LOG_INFO, WEFT_LOG_ERROR, WEFT_LOG_ERROR};
    weft_ort_self *self = weft_ort_here.self;
    char line[900];

    if (!self || !self->env.log)
        return;
    weft_ort_clean(message ? message : "", line, sizeof line);
    if (strstr(line, "Removing initializer")) /* one line a weight, of no use to whoever runs the model */
        level = 0;
    weft_ort_say(self, level >= 0 && level <= 4 ? levels[level] : WEFT_LOG_WARN, "onnxruntime", weft_ort_here.model, "%s", line);
}

/* ---- environment
 * ---------------------------------------------------------------------------------------------------------------------- */

static void release_env(void)
{
    if (weft_ort_env && weft_ort_cpu_memory)
        weft_ort_ignore(ORT(env_unset_allocator)(weft_ort_env, weft_ort_cpu_memory));
    if (weft_ort_env)
        ORT(env_release)(weft_ort_env);
    if (weft_ort_cpu_memory)
        ORT(memory_info_release)(weft_ort_cpu_memory);
    weft_ort_env = NULL;
    weft_ort_cpu_memory = NULL;
}

static weft_status create_env(weft_error *err)
{
    weft_status s = weft_ort_check(ORT(env_create)(on_log, NULL, ORT_LOG_WARNING, "weft", &weft_ort_env),
                                   "cannot create an environment", err);

    if (!s)
        s = weft_ort_check(ORT(env_no_telemetry)(weft_ort_env), "cannot turn telemetry off", err);
    if (!s)
        s = weft_ort_check(ORT(memory_info_create)("Cpu", ORT_PLAIN_ALLOCATOR, 0, ORT_USUAL_MEMORY, &weft_ort_cpu_memory),
                           "cannot describe host memory", err);
    if (!s)
        s = weft_ort_check(ORT(env_set_allocator)(weft_ort_env, &weft_ort_allocator), "cannot register the allocator", err);
    if (s)
        release_env();
    return s;
}

weft_status weft_ort_env_ref(weft_ort_self *self, weft_error *err)
{
    weft_status s = WEFT_OK;

    pthread_once(&once, init_once);
    weft_lock_take(&env_lock);
    if (n_users == 0) {
        weft_ort_thread before = weft_ort_here;

        weft_ort_here = (weft_ort_thread){.self = NULL}; /* nothing is logged with a lock held */
        s = weft_ort_library_open(self->env.library, err);
        if (!s)
            s = create_env(err);
        weft_ort_here = before;
    } else {
        s = weft_ort_library_open(self->env.library, err);
    }
    if (!s)
        n_users++;
    weft_lock_drop(&env_lock);
    return s;
}

void weft_ort_env_unref(void)
{
    weft_lock_take(&env_lock);
    weft_assert(n_users > 0);
    if (--n_users == 0) {
        release_env();
        weft_ort_scratch_trim(true);
    }
    weft_lock_drop(&env_lock);
}

void weft_ort_load_begin(void)
{
    weft_lock_take(&load_lock);
    while (load_in_progress)
        weft_cond_wait(&load_over, &load_lock);
    load_in_progress = true;
    weft_lock_drop(&load_lock);
}

void weft_ort_load_end(void)
{
    weft_lock_take(&load_lock);
    load_in_progress = false;
    weft_cond_signal(&load_over);
    weft_lock_drop(&load_lock);
}

/* ---- threads of sessions
 * ---------------------------------------------------------------------------------------------------------------- */

typedef struct session_thread {
    weft_thread thread;
    weft_ort_account *account;
    ort_work_fn fn;
    void *work;
} session_thread;

static void session_thread_main(void *arg)
{
    session_thread *t = arg;

    weft_ort_here.account = t->account;
    weft_ort_here.model = t->account->model;
    t->fn(t->work);
}

static const void *start_thread(void *cookie, ort_work_fn fn, void *work)
{
    session_thread *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->account = cookie;
    t->fn = fn;
    t->work = work;
    if (weft_thread_start(&t->thread, "ort-run", session_thread_main, t, NULL)) {
        free(t);
        return NULL;
    }
    return t;
}

static void join_thread(const void *handle)
{
    session_thread *t = (session_thread *)(uintptr_t)handle;

    if (!t)
        return;
    weft_thread_join(&t->thread);
    free(t);
}

ort_status *weft_ort_own_threads(ort_session_options *o, weft_ort_account *account)
{
    ort_status *s = ORT(options_thread_start)(o, start_thread);

    if (!s)
        s = ORT(options_thread_cookie)(o, account);
    if (!s)
        s = ORT(options_thread_join)(o, join_thread);
    return s;
}
