#include "batch.h"

#include "base/clock.h"

/* A run is started this much before the last moment, for the work around it. */
#define DEADLINE_MARGIN_NS (2 * WEFT_MS)

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool weft_batch_eligible(const weft_batch_facts *f, int64_t now_ns, int64_t *wake_ns)
{
    *wake_ns = WEFT_NEVER;
    if (f->alone || f->n_ready >= f->useful_rows)
        return true;
    int64_t until = now_ns; /* wait for companions until then */
    if (f->window_ns > 0)
        until = weft_time_add(f->oldest_ready_ns, f->window_ns);
    if (f->n_between > 0) {
        /* A row that came to a long idle instance waits from its own arrival on: its companions are only just between two calls.
         */
        int64_t from = f->idle_since_ns > f->oldest_ready_ns ? f->idle_since_ns : f->oldest_ready_ns;
        int64_t cohort = weft_time_add(from, f->cohort_wait_ns);
        if (cohort > until)
            until = cohort;
    }
    if (f->first_deadline_ns != WEFT_NEVER)
        until = smaller(until, f->first_deadline_ns - f->run_ns - DEADLINE_MARGIN_NS);
    if (now_ns >= until)
        return true;
    *wake_ns = until;
    return false;
}
