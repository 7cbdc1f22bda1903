/* Gears: what a run of so many rows costs, and how many rows pay. Pure, apart from the table that it keeps.
 *
 * Costs come from warm-up and are corrected in service. A larger gear is used only while its time per row is at least 5 % better;
 * on the CPU that is usually one row. A model with compiled batch sizes runs the smallest size that fits, the rest of the rows
 * zero. */
#ifndef WEFT_ENGINE_GEAR_H
#define WEFT_ENGINE_GEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_MAX_GEARS 16   /* batch sizes: 1,2,4..4096 are 13 */
#define WEFT_MAX_BUCKETS 64 /* buckets whose costs a model remembers; the least recently used goes */
#define WEFT_GEAR_GAIN 0.95 /* time per row of a larger gear against the best smaller one */

/* Batch sizes of a model, ascending. */
typedef struct weft_gears {
    size_t n;
    int64_t rows[WEFT_MAX_GEARS];
    bool compiled; /* only these sizes exist; otherwise any size between runs, and these are where costs are measured */
} weft_gears;

/* Measured run times of one bucket. */
typedef struct weft_gear_costs {
    uint64_t key;                   /* bucket */
    uint64_t used;                  /* for eviction */
    double row_bytes;               /* input bytes of one row, to guess from another bucket */
    double cost_ns[WEFT_MAX_GEARS]; /* 0 = not measured */
    int64_t useful_rows;            /* largest gear that pays */
} weft_gear_costs;

/* 1,2,4,..max_batch when `sizes` is NULL; else the compiled sizes up to max_batch, or the smallest one if all are larger. */
void weft_gears_init(weft_gears *g, int64_t max_batch, const int64_t *sizes, size_t n_sizes);
/* Rows that a run of n rows really computes: n itself, or the smallest compiled size that fits; 0 when none does. */
int64_t weft_gears_fit(const weft_gears *g, int64_t n_rows);
/* Predicted time of a run of n rows; 0 when nothing is measured. */
int64_t weft_gears_cost(const weft_gears *g, const weft_gear_costs *c, int64_t n_rows);
/* Recomputes c->useful_rows by the 5 % rule; gears that were not measured are not used beyond the first. */
void weft_gears_judge(const weft_gears *g, weft_gear_costs *c);
/* How many of n_ready rows (>= 1) to run at once, at most cap_rows and no longer than max_run_ns (0 = no limit; one row or the
 * smallest gear is always allowed). */
int64_t weft_gears_choose(const weft_gears *g, const weft_gear_costs *c, int64_t n_ready, int64_t cap_rows, int64_t max_run_ns);
/* A finished run corrects the costs around its size (weight 1/8). */
void weft_gears_learn(const weft_gears *g, weft_gear_costs *c, int64_t n_rows, int64_t actual_ns);
/* The next smaller number of rows to try after running out of memory with n_rows; 0 = none. */
int64_t weft_gears_smaller(const weft_gears *g, int64_t n_rows);

typedef struct weft_gear_table {
    size_t n;
    uint64_t clock;
    weft_gear_costs *last; /* the bucket asked for last: most models have one */
    weft_gear_costs buckets[WEFT_MAX_BUCKETS];
} weft_gear_table;

/* The costs of a bucket; an unknown one starts from the nearest known bucket, scaled by its bytes. Never NULL. */
weft_gear_costs *weft_gear_table_get(weft_gear_table *t, const weft_gears *g, uint64_t key, double row_bytes);

#endif
