/* Threads with a name. */
#ifndef WEFT_BASE_THREAD_H
#define WEFT_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "weft/status.h"

typedef struct weft_thread {
    pthread_t id;
    bool started;
} weft_thread;

/* name: at most 15 bytes are kept (Linux). On failure t->started is false. All signals are blocked in the new thread. */
weft_status weft_thread_start(weft_thread *t, const char *name, void (*fn)(void *arg), void *arg, weft_error *err);
/* Joins once; harmless when never started. */
void weft_thread_join(weft_thread *t);
int weft_cores(void); /* processors this process may use (affinity and cgroup quota), at least 1 */

#endif
