/* One timer thread with a heap of deadlines. It only pops and posts: what is due is handed to `due` callbacks that take at most
 * short locks; nothing that can block (callbacks of users, backends, probes) ever runs on it. */
#ifndef WEFT_ENGINE_TIMER_H
#define WEFT_ENGINE_TIMER_H

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

typedef enum weft_timer_kind {
    WEFT_TIMER_DEADLINE = 1, /* of a request */
    WEFT_TIMER_WAKE,         /* a batch window ends: ask the scheduler again */
    WEFT_TIMER_WATCH,        /* a run may have lasted too long */
} weft_timer_kind;

typedef struct weft_timer {
    int64_t at_ns;
    size_t place; /* in the heap, from 1; 0 = not armed */
    weft_timer_kind kind;
} weft_timer;

typedef struct weft_timers {
    weft_lock lock;
    weft_cond cond;
    weft_thread thread;
    weft_clock *clock;
    bool stop;
    int64_t sleeping_until_ns;
    weft_timer **heap; /* [1..n] */
    size_t n, capacity, n_reserved;
    /* Called with the timer lock held, the timer already disarmed; must only claim and post. */
    void (*due)(void *cookie, weft_timer *t);
    /* Called without a lock after a round in which something was due; wake: a WAKE was among it. */
    void (*round)(void *cookie, bool wake, bool watch);
    void *cookie;
} weft_timers;

void weft_timers_init(weft_timers *ts, weft_clock *clock);
weft_status weft_timers_start(weft_timers *ts, weft_error *err);
void weft_timers_stop(weft_timers *ts); /* joins the thread; harmless when never started */
void weft_timers_fini(weft_timers *ts); /* after stop */
/* Room for one more timer, so that arming cannot fail. Given back by unreserve. NO_MEMORY. */
weft_status weft_timers_reserve(weft_timers *ts, size_t n, weft_error *err);
void weft_timers_unreserve(weft_timers *ts, size_t n);
/* Arms, or moves when armed. WEFT_NEVER disarms. */
void weft_timer_set(weft_timers *ts, weft_timer *t, int64_t at_ns);
/* After this returns, `due` neither runs nor will run for t. */
void weft_timer_clear(weft_timers *ts, weft_timer *t);

#endif
