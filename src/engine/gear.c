#include "gear.h"

#include <math.h>
#include <string.h>

void weft_gears_init(weft_gears *g, int64_t max_batch, const int64_t *sizes, size_t n_sizes)
{
    memset(g, 0, sizeof *g);
    if (n_sizes) {
        g->compiled = true;
        for (size_t i = 0; i < n_sizes && g->n < WEFT_MAX_GEARS; i++)
            if (sizes[i] >= 1 && sizes[i] <= max_batch)
                g->rows[g->n++] = sizes[i];
        if (!g->n)
            g->rows[g->n++] = sizes[0];
        return;
    }
    for (int64_t b = 1; b < max_batch && g->n + 1 < WEFT_MAX_GEARS; b *= 2)
        g->rows[g->n++] = b;
    g->rows[g->n++] = max_batch;
}

static size_t index_of(const weft_gears *g, int64_t n_rows)
{
    size_t i = 0;
    while (i < g->n && g->rows[i] < n_rows)
        i++;
    return i;
}

int64_t weft_gears_fit(const weft_gears *g, int64_t n_rows)
{
    size_t i = index_of(g, n_rows);
    if (i == g->n)
        return 0;
    return g->compiled ? g->rows[i] : n_rows;
}

int64_t weft_gears_cost(const weft_gears *g, const weft_gear_costs *c, int64_t n_rows)
{
    size_t i = index_of(g, n_rows);
    if (i == g->n)
        i = g->n - 1;
    double hi = c->cost_ns[i];
    if (g->rows[i] == n_rows || g->compiled || i == 0)
        return (int64_t)(hi > 0 ? hi : c->cost_ns[0] * (double)n_rows / (double)g->rows[0]);
    double lo = c->cost_ns[i - 1];
    if (!(lo > 0) || !(hi > 0))
        return (int64_t)(c->cost_ns[0] * (double)n_rows / (double)g->rows[0]);
    double part = (double)(n_rows - g->rows[i - 1]) / (double)(g->rows[i] - g->rows[i - 1]);
    return (int64_t)(lo + (hi - lo) * part);
}

void weft_gears_judge(const weft_gears *g, weft_gear_costs *c)
{
    c->useful_rows = g->rows[0];
    double best = c->cost_ns[0] / (double)g->rows[0];
    for (size_t i = 1; i < g->n && c->cost_ns[i] > 0 && best > 0; i++) {
        double per_row = c->cost_ns[i] / (double)g->rows[i];
        if (per_row > WEFT_GEAR_GAIN * best)
            continue; /* one step may be flat and the next one pay */
        best = per_row;
        c->useful_rows = g->rows[i];
    }
}

/* A candidate of n rows is better when its time per row of real work is 5 % below the best so far, or equal in time: more rows
 * for nothing. */
static void consider(const weft_gears *g, const weft_gear_costs *c, int64_t n, int64_t max_run_ns, int64_t *best,
                     double *best_per_row)
{
    double cost = (double)weft_gears_cost(g, c, n);
    if (max_run_ns > 0 && cost > (double)max_run_ns && *best)
        return;
    double per_row = cost / (double)n;
    if (*best && per_row > WEFT_GEAR_GAIN * *best_per_row)
        return;
    *best = n;
    *best_per_row = per_row;
}

int64_t weft_gears_choose(const weft_gears *g, const weft_gear_costs *c, int64_t n_ready, int64_t cap_rows, int64_t max_run_ns)
{
    int64_t most = n_ready < cap_rows ? n_ready : cap_rows;
    if (most > c->useful_rows)
        most = c->useful_rows;
    int64_t best = 0;
    double per_row = 0;
    for (size_t i = 0; i < g->n && g->rows[i] < most; i++)
        consider(g, c, g->rows[i], max_run_ns, &best, &per_row);
    consider(g, c, most, max_run_ns, &best, &per_row);
    return best;
}

void weft_gears_learn(const weft_gears *g, weft_gear_costs *c, int64_t n_rows, int64_t actual_ns)
{
    size_t i = index_of(g, n_rows);
    if (i == g->n || actual_ns <= 0)
        return;
    double predicted = (double)weft_gears_cost(g, c, n_rows);
    if (!(predicted > 0)) {
        c->cost_ns[i] = (double)actual_ns * (double)g->rows[i] / (double)n_rows;
        weft_gears_judge(g, c);
        return;
    }
    /* One odd run (a page fault, a busy neighbour) moves the account by at most a half. */
    double ratio = fmin(fmax((double)actual_ns / predicted, 0.25), 4.0);
    double factor = 1.0 + (ratio - 1.0) / 8.0;
    if (c->cost_ns[i] > 0)
        c->cost_ns[i] *= factor;
    else if (g->rows[i] == n_rows || g->compiled)
        c->cost_ns[i] = (double)actual_ns;
    if (i > 0 && g->rows[i] != n_rows && !g->compiled)
        c->cost_ns[i - 1] *= factor;
    weft_gears_judge(g, c);
}

int64_t weft_gears_smaller(const weft_gears *g, int64_t n_rows)
{
    size_t i = index_of(g, n_rows);
    return i > 0 ? g->rows[i - 1] : 0;
}

/* The measured bucket whose rows are nearest in bytes. */
static const weft_gear_costs *nearest(const weft_gear_table *t, double row_bytes)
{
    const weft_gear_costs *best = NULL;
    double best_distance = 0;
    for (size_t i = 0; i < t->n; i++) {
        const weft_gear_costs *c = &t->buckets[i];
        if (!(c->cost_ns[0] > 0))
            continue;
        double d = fabs(log((row_bytes + 1) / (c->row_bytes + 1)));
        if (!best || d < best_distance) {
            best = c;
            best_distance = d;
        }
    }
    return best;
}

weft_gear_costs *weft_gear_table_get(weft_gear_table *t, const weft_gears *g, uint64_t key, double row_bytes)
{
    if (t->last && t->last->key == key)
        return t->last;
    t->clock++;
    weft_gear_costs *slot = NULL;
    for (size_t i = 0; i < t->n; i++) {
        weft_gear_costs *c = &t->buckets[i];
        if (c->key == key) {
            c->used = t->clock;
            t->last = c;
            return c;
        }
        if (!slot || c->used < slot->used)
            slot = c;
    }
    weft_gear_costs fresh = {.key = key, .used = t->clock, .row_bytes = row_bytes};
    const weft_gear_costs *like = nearest(t, row_bytes);
    if (like)
        for (size_t i = 0; i < g->n; i++)
            fresh.cost_ns[i] = like->cost_ns[i] * (row_bytes + 1) / (like->row_bytes + 1);
    weft_gears_judge(g, &fresh);
    if (t->n < WEFT_MAX_BUCKETS)
        slot = &t->buckets[t->n++];
    *slot = fresh;
    t->last = slot;
    return slot;
}
