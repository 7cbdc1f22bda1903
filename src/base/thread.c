#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct start {
    void (*fn)(void *arg);
    void *arg;
    char name[16];
} start;

static void *thread_main(void *cookie)
{
    start s = *(start *)cookie;

    free(cookie);
    pthread_setname_np(pthread_self(), s.name);
    s.fn(s.arg);
    return NULL;
}

weft_status weft_thread_start(weft_thread *t, const char *name, void (*fn)(void *arg), void *arg, weft_error *err)
{
    start *s = malloc(sizeof *s);
    sigset_t all, before;
    int rc;

    t->started = false;
    if (!s)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while starting the thread \"%s\"", name);
    s->fn = fn;
    s->arg = arg;
    snprintf(s->name, sizeof s->name, "%s", name);
    /* A new thread inherits the mask, so it never sees a signal, not even before its first line. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&t->id, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        free(s);
        return weft_fail(err, WEFT_E_NO_MEMORY,
                         "the system refused to start the thread \"%s\": %s; raise the limit on threads or memory", name,
                         strerror(rc));
    }
    t->started = true;
    return WEFT_OK;
}

void weft_thread_join(weft_thread *t)
{
    if (!t->started)
        return;
    t->started = false;
    pthread_join(t->id, NULL);
}
