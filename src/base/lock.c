#include "base/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The order of classes is checked where somebody is looking for faults: debug builds and sanitizer builds. */
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_ORDER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_ORDER 1
#endif
#endif

void weft_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "weft: broken invariant at %s:%d: %s\n", file, line, what);
    fflush(stderr);
    abort();
}

static void panic_about(const weft_lock *l, const char *what, const weft_lock *other)
{
    char text[256];

    snprintf(text, sizeof text, "lock class %s (rank %d): %s%s%s", l->class_name, l->rank, what, other ? " " : "",
             other ? other->class_name : "");
    weft_panic(__FILE__, __LINE__, text);
}

static void must(int rc, const weft_lock *l, const char *what)
{
    if (rc)
        panic_about(l, what, NULL);
}

/* A thread is named by the address of one of its own variables: unique among live threads, never 0, no system call. */
static uintptr_t self(void)
{
    static _Thread_local char marker;

    return (uintptr_t)&marker;
}

#ifdef CHECK_ORDER
#define MAX_HELD 16
static _Thread_local const weft_lock *held[MAX_HELD];
static _Thread_local int n_held;

static void order_check(const weft_lock *l)
{
    for (int i = 0; i < n_held; i++)
        if (held[i]->rank >= l->rank)
            panic_about(l, "taken after", held[i]);
    if (n_held == MAX_HELD)
        panic_about(l, "too many locks held at once by one thread", NULL);
}
static void order_push(const weft_lock *l)
{
    held[n_held++] = l;
}
static void order_pop(const weft_lock *l)
{
    int i = n_held - 1;

    while (i >= 0 && held[i] != l)
        i--;
    if (i < 0)
        panic_about(l, "dropped but not in this thread's list", NULL);
    memmove(&held[i], &held[i + 1], (size_t)(n_held - 1 - i) * sizeof held[0]);
    n_held--;
}
/* Waiting re-takes the lock, so nothing that ranks after it may be held meanwhile. */
static void order_wait(const weft_lock *l)
{
    if (held[n_held - 1] != l)
        panic_about(l, "waited on while holding", held[n_held - 1]);
}
#else
static void order_check(const weft_lock *l)
{
}
static void order_push(const weft_lock *l)
{
}
static void order_pop(const weft_lock *l)
{
}
static void order_wait(const weft_lock *l)
{
}
#endif

void weft_lock_init(weft_lock *l, const char *class_name, int rank)
{
    l->class_name = class_name;
    l->rank = rank;
    atomic_init(&l->owner, 0);
    must(pthread_mutex_init(&l->mutex, NULL), l, "cannot be initialised");
}

void weft_lock_fini(weft_lock *l)
{
    if (atomic_load_explicit(&l->owner, memory_order_relaxed))
        panic_about(l, "finished while held", NULL);
    must(pthread_mutex_destroy(&l->mutex), l, "finished while in use");
}

void weft_lock_take(weft_lock *l)
{
    if (weft_lock_held(l))
        panic_about(l, "taken twice by one thread", NULL);
    order_check(l);
    must(pthread_mutex_lock(&l->mutex), l, "cannot be taken");
    atomic_store_explicit(&l->owner, self(), memory_order_relaxed);
    order_push(l);
}

void weft_lock_drop(weft_lock *l)
{
    if (!weft_lock_held(l))
        panic_about(l, "dropped by a thread that does not hold it", NULL);
    order_pop(l);
    atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
    must(pthread_mutex_unlock(&l->mutex), l, "cannot be dropped");
}

bool weft_lock_held(const weft_lock *l)
{
    /* Relaxed is enough: only this thread ever stores its own name, and it clears it before it lets go. */
    return atomic_load_explicit(&l->owner, memory_order_relaxed) == self();
}

void weft_cond_init(weft_cond *c)
{
    pthread_condattr_t attr;

    if (pthread_condattr_init(&attr) || pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) || pthread_cond_init(&c->cond, &attr))
        weft_panic(__FILE__, __LINE__, "a condition variable on the monotonic clock cannot be made");
    pthread_condattr_destroy(&attr);
}

void weft_cond_fini(weft_cond *c)
{
    pthread_cond_destroy(&c->cond);
}

void weft_cond_signal(weft_cond *c)
{
    pthread_cond_signal(&c->cond);
}

void weft_cond_broadcast(weft_cond *c)
{
    pthread_cond_broadcast(&c->cond);
}

static void before_wait(weft_lock *l)
{
    if (!weft_lock_held(l))
        panic_about(l, "waited on by a thread that does not hold it", NULL);
    order_wait(l);
    order_pop(l);
    atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
}

static void after_wait(weft_lock *l)
{
    atomic_store_explicit(&l->owner, self(), memory_order_relaxed);
    order_push(l);
}

void weft_cond_wait(weft_cond *c, weft_lock *l)
{
    before_wait(l);
    must(pthread_cond_wait(&c->cond, &l->mutex), l, "cannot wait");
    after_wait(l);
}

bool weft_cond_wait_until(weft_cond *c, weft_lock *l, int64_t deadline_ns)
{
    struct timespec t;
    int rc;

    if (deadline_ns == INT64_MAX) {
        weft_cond_wait(c, l);
        return true;
    }
    if (deadline_ns < 0)
        deadline_ns = 0;
    t.tv_sec = (time_t)(deadline_ns / 1000000000);
    t.tv_nsec = (long)(deadline_ns % 1000000000);
    before_wait(l);
    rc = pthread_cond_timedwait(&c->cond, &l->mutex, &t);
    after_wait(l);
    if (rc && rc != ETIMEDOUT)
        panic_about(l, "cannot wait", NULL);
    return rc == 0;
}
