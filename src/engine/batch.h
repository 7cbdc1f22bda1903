/* When a batch may run. Pure: the facts of one bucket come in, a decision goes out, so that tests move the clock by hand.
 *
 * A bucket is eligible when its largest useful batch is ready, its oldest row has waited the window, a deadline needs it now, or
 * the window is 0. A cohort (loops that will call the same model again) holds an idle instance back for at most cohort_wait_ns,
 * and only while members are between two calls. Which rows run is decided later, at the grant. */
#ifndef WEFT_ENGINE_BATCH_H
#define WEFT_ENGINE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_batch_facts {
    int64_t n_ready;         /* rows of the bucket, >= 1; counting may stop at useful_rows */
    int64_t useful_rows;     /* largest batch that pays */
    int64_t oldest_ready_ns; /* when its oldest row became ready */
    int64_t window_ns;
    int64_t first_deadline_ns; /* earliest of its rows; WEFT_NEVER = none */
    int64_t run_ns;            /* predicted time of running what is ready */
    int64_t n_between;         /* cohort members expected back soon */
    int64_t idle_since_ns;     /* when the instance that would run it became idle */
    int64_t cohort_wait_ns;
    bool alone; /* its head must run by itself: nothing to wait for */
} weft_batch_facts;

/* True: run now. False: *wake_ns is when to ask again if nothing arrives. */
bool weft_batch_eligible(const weft_batch_facts *f, int64_t now_ns, int64_t *wake_ns);

#endif
