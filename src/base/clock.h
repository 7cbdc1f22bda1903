/* Time. Durations and instants are int64_t nanoseconds on CLOCK_MONOTONIC; INT64_MAX means never.
 *
 * The scheduler reads time only through a weft_clock, so that tests move it by hand. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <stdint.h>

#define WEFT_NEVER INT64_MAX
#define WEFT_MS 1000000LL
#define WEFT_S 1000000000LL

typedef struct weft_clock {
    int64_t (*now)(struct weft_clock *c);
} weft_clock;

weft_clock *weft_clock_system(void);
int64_t weft_now_ns(void);      /* CLOCK_MONOTONIC */
int64_t weft_unix_ns(void);     /* CLOCK_REALTIME */
int64_t weft_thread_cpu_ns(void);
/* a + b without overflow: WEFT_NEVER absorbs. */
int64_t weft_time_add(int64_t a, int64_t b);
int64_t weft_ms_to_ns(double ms); /* <= 0 gives 0 */

#endif
