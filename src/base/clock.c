#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * WEFT_S + t.tv_nsec;
}

static int64_t system_now(struct weft_clock *c)
{
    return weft_now_ns();
}

weft_clock *weft_clock_system(void)
{
    static weft_clock system_clock = {system_now}; /* never written to */

    return &system_clock;
}

int64_t weft_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t weft_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t weft_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t weft_time_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (a == WEFT_NEVER || b == WEFT_NEVER)
        return WEFT_NEVER;
    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? WEFT_NEVER : INT64_MIN;
    return sum;
}

int64_t weft_ms_to_ns(double ms)
{
    if (!(ms > 0)) /* also NaN */
        return 0;
    if (ms >= (double)WEFT_NEVER / (double)WEFT_MS)
        return WEFT_NEVER;
    return (int64_t)(ms * (double)WEFT_MS);
}
