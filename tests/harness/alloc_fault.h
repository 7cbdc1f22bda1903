/* Counting and failing the allocations of weft's own objects.
 *
 * A test named *_alloc.c is linked with -Wl,--wrap=malloc and so on, which sends every allocation of the objects linked into it
 * (not those of shared libraries) through here. The usual test tries n = 1, 2, 3 ... until the work succeeds:
 *
 *     for (long n = 1;; n++) {
 *         alloc_fault_at(n, false);
 *         status = work(...);
 *         bool hit = alloc_fault_hit();
 *         alloc_fault_off();
 *         undo(...);
 *         assert_int_equal(alloc_outstanding(), before);
 *         if (!hit) break;            // the n-th allocation was never reached: all places have failed once
 *         assert_int_equal(status, WEFT_E_NO_MEMORY);
 *     }
 *
 * Any thread. Memory that a shared library allocated and weft frees (or the other way round) is not counted. */
#ifndef WEFT_TESTS_ALLOC_FAULT_H
#define WEFT_TESTS_ALLOC_FAULT_H

#include <stdbool.h>

/* Counts from now: the n-th allocation (n >= 1) of the whole process fails, and with `all_after` every later one too. Clears the
 * counters below. */
void alloc_fault_at(long n, bool all_after);
/* The same, counting and failing only on the calling thread. */
void alloc_fault_at_thread(long n, bool all_after);
void alloc_fault_off(void);    /* nothing fails; alloc_count goes on */
bool alloc_fault_hit(void);    /* an allocation was failed since alloc_fault_at */
long alloc_count(void);        /* allocations of the whole process since alloc_fault_at or alloc_count_reset */
long alloc_count_thread(void); /* of the calling thread, since it was started or alloc_count_reset was called on it */
void alloc_count_reset(void);
long alloc_outstanding(void);       /* allocated and not freed, whole process, since the start */
long alloc_outstanding_bytes(void); /* their requested bytes */

#endif
