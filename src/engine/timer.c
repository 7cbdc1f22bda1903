/* A timer is
 *   idle    place == 0
 *   armed   in the heap; moved by set, ended by clear or by falling due (timer thread)
 * Everything is guarded by `lock`. */
#include "timer.h"

#include <stdlib.h>

#define RANK_TIMER 300
#define FOREIGN_CLOCK_STEP_NS WEFT_MS /* a clock that is moved by hand is looked at this often */

void weft_timers_init(weft_timers *ts, weft_clock *clock)
{
    weft_lock_init(&ts->lock, "timer", RANK_TIMER);
    weft_cond_init(&ts->cond);
    ts->clock = clock;
    ts->sleeping_until_ns = 0;
}

static void put(weft_timers *ts, size_t place, weft_timer *t)
{
    ts->heap[place] = t;
    t->place = place;
}

static void sift_up(weft_timers *ts, size_t i, weft_timer *t)
{
    while (i > 1 && ts->heap[i / 2]->at_ns > t->at_ns) {
        put(ts, i, ts->heap[i / 2]);
        i /= 2;
    }
    put(ts, i, t);
}

static void sift_down(weft_timers *ts, size_t i, weft_timer *t)
{
    for (;;) {
        size_t child = 2 * i;
        if (child > ts->n)
            break;
        if (child < ts->n && ts->heap[child + 1]->at_ns < ts->heap[child]->at_ns)
            child++;
        if (ts->heap[child]->at_ns >= t->at_ns)
            break;
        put(ts, i, ts->heap[child]);
        i = child;
    }
    put(ts, i, t);
}

static void heap_remove(weft_timers *ts, weft_timer *t)
{
    size_t i = t->place;
    weft_timer *last = ts->heap[ts->n--];
    t->place = 0;
    if (last == t)
        return;
    if (i > 1 && ts->heap[i / 2]->at_ns > last->at_ns)
        sift_up(ts, i, last);
    else
        sift_down(ts, i, last);
}

weft_status weft_timers_reserve(weft_timers *ts, size_t n, weft_error *err)
{
    weft_status s = WEFT_OK;
    weft_lock_take(&ts->lock);
    size_t need = ts->n_reserved + n + 1;
    if (need > ts->capacity) {
        size_t capacity = ts->capacity ? ts->capacity : 256;
        while (capacity < need)
            capacity *= 2;
        weft_timer **heap = realloc(ts->heap, capacity * sizeof(*heap));
        if (heap) {
            ts->heap = heap;
            ts->capacity = capacity;
        } else {
            s = WEFT_E_NO_MEMORY;
        }
    }
    if (!s)
        ts->n_reserved += n;
    weft_lock_drop(&ts->lock);
    return s ? weft_fail(err, s, "out of memory for a deadline") : WEFT_OK;
}

void weft_timers_unreserve(weft_timers *ts, size_t n)
{
    weft_lock_take(&ts->lock);
    ts->n_reserved -= n;
    weft_lock_drop(&ts->lock);
}

void weft_timer_set(weft_timers *ts, weft_timer *t, int64_t at_ns)
{
    weft_lock_take(&ts->lock);
    if (t->place)
        heap_remove(ts, t);
    t->at_ns = at_ns;
    if (at_ns != WEFT_NEVER) {
        weft_assert(ts->n + 1 < ts->capacity);
        ts->n++;
        sift_up(ts, ts->n, t);
        if (at_ns < ts->sleeping_until_ns)
            weft_cond_signal(&ts->cond);
    }
    weft_lock_drop(&ts->lock);
}

void weft_timer_clear(weft_timers *ts, weft_timer *t)
{
    weft_lock_take(&ts->lock);
    if (t->place)
        heap_remove(ts, t);
    weft_lock_drop(&ts->lock);
}

static void sleep_until(weft_timers *ts, int64_t at_ns, int64_t now)
{
    ts->sleeping_until_ns = at_ns;
    if (ts->clock == weft_clock_system())
        weft_cond_wait_until(&ts->cond, &ts->lock, at_ns);
    else
        weft_cond_wait_until(&ts->cond, &ts->lock, weft_now_ns() + FOREIGN_CLOCK_STEP_NS);
    ts->sleeping_until_ns = 0;
}

static void timer_main(void *arg)
{
    weft_timers *ts = arg;
    weft_lock_take(&ts->lock);
    while (!ts->stop) {
        int64_t now = ts->clock->now(ts->clock);
        bool wake = false, watch = false;
        while (ts->n && ts->heap[1]->at_ns <= now) {
            weft_timer *t = ts->heap[1];
            heap_remove(ts, t);
            wake |= t->kind == WEFT_TIMER_WAKE;
            watch |= t->kind == WEFT_TIMER_WATCH;
            ts->due(ts->cookie, t);
        }
        if (wake || watch) {
            weft_lock_drop(&ts->lock);
            ts->round(ts->cookie, wake, watch);
            weft_lock_take(&ts->lock);
            continue;
        }
        sleep_until(ts, ts->n ? ts->heap[1]->at_ns : WEFT_NEVER, now);
    }
    weft_lock_drop(&ts->lock);
}

weft_status weft_timers_start(weft_timers *ts, weft_error *err)
{
    return weft_thread_start(&ts->thread, "weft-timer", timer_main, ts, err);
}

void weft_timers_stop(weft_timers *ts)
{
    weft_lock_take(&ts->lock);
    ts->stop = true;
    weft_cond_signal(&ts->cond);
    weft_lock_drop(&ts->lock);
    weft_thread_join(&ts->thread);
}

void weft_timers_fini(weft_timers *ts)
{
    free(ts->heap);
    ts->heap = NULL;
    weft_cond_fini(&ts->cond);
    weft_lock_fini(&ts->lock);
}
