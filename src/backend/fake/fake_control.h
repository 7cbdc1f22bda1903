/* Levers for tests: what a fake model did, and what it shall do next. By model name, over all loads and engines of the process.
 * Any thread.
 *
 * A name is known from the first load or the first call here, until weft_fake_reset. */
#ifndef WEFT_FAKE_CONTROL_H
#define WEFT_FAKE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/fake/fake_backend.h"

#define WEFT_FAKE_HISTORY 64

typedef struct weft_fake_counts {
    uint64_t loads, unloads, failed_loads;
    uint64_t instances_created, instances_destroyed;
    uint64_t runs_started, runs_ended; /* started - ended = running now */
    uint64_t rows;                     /* of started runs */
    uint64_t faults;                   /* runs that ended with a fault */
    uint64_t terminated;               /* runs that ended because of terminate */
    uint64_t waiting;                  /* now: hanging or held */
    int64_t largest_rows;
    size_t n_history; /* rows of the last runs, oldest first */
    int64_t history[WEFT_FAKE_HISTORY];
} weft_fake_counts;

/* All zero for a name that never was. */
void weft_fake_count(const char *model, weft_fake_counts *out);
/* Waits until runs_started >= n (or running now >= n, or waiting >= n); false after timeout_ms. */
bool weft_fake_wait_started(const char *model, uint64_t n, int64_t timeout_ms);
bool weft_fake_wait_running(const char *model, uint64_t n, int64_t timeout_ms);
bool weft_fake_wait_waiting(const char *model, uint64_t n, int64_t timeout_ms);

/* Ends every hang that is in progress now. Hangs that start later hang again. */
void weft_fake_release(const char *model);
/* While held, every run waits before its work until weft_fake_let has granted it or hold(false): for tests with a clock of their
 * own. Terminate ends the wait. */
void weft_fake_hold(const char *model, bool held);
void weft_fake_let(const char *model, int64_t n_runs);
/* The next n runs have this fault, before those of the options; at most 16 such orders wait. false = no room. LOAD and INSTANCE:
 * the next n loads or instances. */
bool weft_fake_inject(const char *model, weft_fake_kind kind, int64_t n);
/* On top of the options' delay. */
void weft_fake_set_delay(const char *model, double delay_ms);
/* Clears the sticky fault of a device. */
void weft_fake_device_reset(int64_t device_id);
/* Forgets all names and counters. Nothing may be loaded. */
void weft_fake_reset(void);

#endif
