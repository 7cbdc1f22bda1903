#include "lane.h"

/* Lane time that starved work may be ahead of or behind the rest; without a bound an idle hour would pay for a storm. */
#define CREDIT_MAX_NS 60000000000LL

int weft_level(int64_t request_priority, int64_t model_priority)
{
    int64_t p = request_priority + model_priority;
    if (p < WEFT_PRIORITY_MIN)
        p = WEFT_PRIORITY_MIN;
    if (p > WEFT_PRIORITY_MAX)
        p = WEFT_PRIORITY_MAX;
    return (int)(p - WEFT_PRIORITY_MIN);
}

void weft_lane_init(weft_lane *l, int64_t max_starve_ns)
{
    *l = (weft_lane){.max_starve_ns = max_starve_ns};
}

static bool before(const weft_claim *a, const weft_claim *b)
{
    if (a->level != b->level)
        return a->level > b->level;
    if (a->share != b->share && a->share->vtime_ns != b->share->vtime_ns)
        return a->share->vtime_ns < b->share->vtime_ns;
    if (a->share == b->share && a->rank != b->rank)
        return a->rank < b->rank;
    return a->arrival_ns < b->arrival_ns;
}

void weft_contest_offer(const weft_lane *l, weft_contest *c, const weft_claim *claim, int64_t now_ns)
{
    if (!c->any || before(claim, &c->best)) {
        c->best = *claim;
        c->any = true;
    }
    if (now_ns - claim->arrival_ns >= l->max_starve_ns && (!c->any_aged || claim->arrival_ns < c->aged.arrival_ns)) {
        c->aged = *claim;
        c->any_aged = true;
    }
}

const weft_claim *weft_contest_winner(const weft_lane *l, const weft_contest *c, bool *starved)
{
    *starved = false;
    if (!c->any)
        return NULL;
    /* Within a level the fair share decides; age counts only against priority. */
    if (c->any_aged && c->aged.level < c->best.level && l->starve_credit_ns >= -l->starve_slack_ns) {
        *starved = true;
        return &c->aged;
    }
    return &c->best;
}

void weft_share_enter(const weft_lane *l, weft_share *s)
{
    if (s->n_pending++ == 0 && s->vtime_ns < l->vnow_ns)
        s->vtime_ns = l->vnow_ns;
}

void weft_share_leave(weft_share *s)
{
    s->n_pending--;
}

static int64_t weighted(const weft_share *s, int64_t ns, int64_t tokens)
{
    return (int64_t)((double)ns * (double)tokens / s->weight);
}

static void credit(weft_lane *l, int64_t ns, int64_t tokens, bool starved)
{
    int64_t v = l->starve_credit_ns + (starved ? -ns : ns) * tokens;
    if (v > 0)
        v = 0; /* the others' time repays what starved work took; it is not saved up */
    if (v < -CREDIT_MAX_NS)
        v = -CREDIT_MAX_NS;
    l->starve_credit_ns = v;
}

void weft_lane_charge(weft_lane *l, weft_share *s, int64_t predicted_ns, int64_t tokens, bool starved)
{
    if (s->vtime_ns > l->vnow_ns)
        l->vnow_ns = s->vtime_ns;
    s->vtime_ns += weighted(s, predicted_ns, tokens);
    credit(l, predicted_ns, tokens, starved);
}

void weft_lane_correct(weft_lane *l, weft_share *s, int64_t predicted_ns, int64_t actual_ns, int64_t tokens, bool starved)
{
    s->vtime_ns += weighted(s, actual_ns - predicted_ns, tokens);
    if (starved)
        l->starve_slack_ns = actual_ns * tokens / 16;
    credit(l, actual_ns - predicted_ns, tokens, starved);
}
