/* The expected wait: predicted lane time of everything that would run before a new request in the real order, divided by the
 * width. `row_ns` is a running mean of what a row run alone really takes, seeded by warm-up; how much less rows cost together
 * follows from the measured gears. */
#include <math.h>

#include "engine_internal.h"

#define P90 1.2816 /* of a normal distribution, in standard deviations */

static int64_t rows_from(const weft_model *m, int level)
{
    int64_t n = 0;
    for (int i = level; i < WEFT_LEVELS; i++)
        n += m->level_rows[i];
    return n;
}

/* How many rows run alone cost as much as a run of n rows. */
static double units_of_run(const weft_model *m, int64_t n)
{
    const weft_gear_costs *c = m->costs.last;
    double one = c ? (double)weft_gears_cost(&m->gears, c, 1) : 0, all = c ? (double)weft_gears_cost(&m->gears, c, n) : 0;
    return one > 0 && all > 0 ? all / one : (double)n;
}

/* The same for n rows in as many runs as it takes. */
static double units(const weft_model *m, int64_t n)
{
    int64_t useful = m->costs.last ? m->costs.last->useful_rows : 1;
    if (n <= 0)
        return 0;
    if (useful <= 1)
        return (double)n;
    double u = (double)(n / useful) * units_of_run(m, useful);
    return n % useful ? u + units_of_run(m, n % useful) : u;
}

/* Runs of this model that go on beside each other. */
static double own_width(const weft_model *m)
{
    double width = m->width ? (double)m->width : (double)m->n_live;
    double cores = m->tokens ? (double)m->engine->cores / (double)m->tokens : width;
    width = m->width || width < cores ? width : cores;
    return width >= 1 ? width : 1;
}

int64_t weft_estimate_wait(const weft_model *m, int level, int64_t *p90_ns)
{
    weft_engine *e = m->engine;
    weft_assert_held(&e->sched);
    double n = units(m, rows_from(m, level));
    double own = n * m->row_ns, others = 0, var = n * m->row_var;
    weft_list_each(k, &e->active)
    {
        const weft_model *o = weft_container_of(k, weft_model, active_node);
        if (o == m || (m->tokens > 0) != (o->tokens > 0))
            continue;
        double higher = units(o, rows_from(o, level + 1)) * o->row_ns;
        double same = units(o, o->level_rows[level]) * o->row_ns;
        /* Of equal claim: no more than its fair share beside what this model itself has waiting. */
        double fair = (own + m->row_ns) * o->account->share.weight / m->account->share.weight;
        others += higher + (same < fair ? same : fair);
        var += (double)rows_from(o, level) * o->row_var;
    }
    own += (double)m->n_running * m->row_ns / 2; /* on average half done */
    double alone = own_width(m), all = m->tokens && !m->width ? (double)e->cores : alone;
    double wait = own / alone, shared = (own + others) / all;
    if (shared > wait)
        wait = shared;
    if (p90_ns)
        *p90_ns = (int64_t)(wait + P90 * sqrt(var) / alone);
    return (int64_t)wait;
}

void weft_estimate_learn(weft_model *m, int64_t n_rows, int64_t lane_ns)
{
    double one = (double)lane_ns / units_of_run(m, n_rows);
    if (!(m->row_ns > 0)) {
        m->row_ns = one;
        return;
    }
    double d = one - m->row_ns;
    m->row_ns += d / 16;
    m->row_var += (d * d - m->row_var) / 16;
}
