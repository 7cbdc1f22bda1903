/* Mutexes with a class name that assert they are held, and condition variables on the monotonic clock.
 *
 * The order of lock classes is in docs/ARCHITECTURE.md; in debug builds (NDEBUG not defined) weft_lock_take aborts when a thread takes a class that is not after every class it
 * already holds (rank must grow). No call-out is made with a lock held. */
#ifndef WEFT_BASE_LOCK_H
#define WEFT_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct weft_lock {
    pthread_mutex_t mutex;
    const char *class_name;
    int rank; /* locks are taken in growing rank */
    _Atomic(uintptr_t) owner;
} weft_lock;

void weft_lock_init(weft_lock *l, const char *class_name, int rank);
void weft_lock_fini(weft_lock *l);
void weft_lock_take(weft_lock *l);
void weft_lock_drop(weft_lock *l);
bool weft_lock_held(const weft_lock *l); /* by this thread */
#define weft_assert_held(l) weft_assert(weft_lock_held(l))

typedef struct weft_cond {
    pthread_cond_t cond;
} weft_cond;

void weft_cond_init(weft_cond *c);
void weft_cond_fini(weft_cond *c);
void weft_cond_signal(weft_cond *c);
void weft_cond_broadcast(weft_cond *c);
void weft_cond_wait(weft_cond *c, weft_lock *l);
/* Until CLOCK_MONOTONIC reaches deadline_ns; false on time-out. INT64_MAX waits for ever. */
bool weft_cond_wait_until(weft_cond *c, weft_lock *l, int64_t deadline_ns);

/* Our own broken invariants abort, in every build, with the place. */
void weft_panic(const char *file, int line, const char *what) __attribute__((noreturn, cold));
#define weft_assert(x) ((x) ? (void)0 : weft_panic(__FILE__, __LINE__, #x))

#endif
