/* The expected wait: predicted lane time of everything that would run before a new request in the real order, divided by the
 * width. A row's time is a running mean of what rows really took, seeded by warm-up. */
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

int64_t weft_estimate_wait(const weft_model *m, int level, int64_t *p90_ns)
{
    weft_engine *e = m->engine;
    weft_assert_held(&e->sched);
    double own_rows = (double)rows_from(m, level);
    double own = own_rows * m->row_ns, others = 0, var = own_rows * m->row_var;
    double width = m->tokens ? (double)e->cores : 1;
    weft_list_each(n, &e->active)
    {
        const weft_model *o = weft_container_of(n, weft_model, active_node);
        if (o == m || (m->tokens > 0) != (o->tokens > 0))
            continue;
        double higher = (double)rows_from(o, level + 1) * o->row_ns;
        double same = (double)o->level_rows[level] * o->row_ns;
        /* Of equal claim: no more than its fair share beside what this model itself has waiting. */
        double fair = (own + m->row_ns) * o->account->share.weight / m->account->share.weight;
        others += higher + (same < fair ? same : fair);
        var += (double)rows_from(o, level) * o->row_var;
    }
    if (m->width)
        width = (double)m->width;
    else if (!m->tokens)
        width = m->n_live ? (double)m->n_live : 1;
    double running = (double)m->n_running * m->row_ns / 2; /* on average half done */
    double wait = (own + others + running) / width;
    if (p90_ns)
        *p90_ns = (int64_t)(wait + P90 * sqrt(var) / width);
    return (int64_t)wait;
}

void weft_estimate_learn(weft_model *m, int64_t n_rows, int64_t lane_ns)
{
    double one = (double)lane_ns / (double)n_rows;
    if (!(m->row_ns > 0)) {
        m->row_ns = one;
        return;
    }
    double d = one - m->row_ns;
    m->row_ns += d / 16;
    m->row_var += (d * d - m->row_var) / 16;
}
