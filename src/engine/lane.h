/* Who runs next: claims, priorities, ageing and fair shares. Pure: time and costs come in, decisions go out; nothing here locks,
 * waits or allocates.
 *
 * The rule
 *   1. The highest priority level with work goes first.
 *   2. Within a level, the account that has used the least lane time for its weight goes first (start-time fair queueing on
 * measured time); within an account: what is nearest to an answer, then the oldest.
 *   3. Ageing: work of a lower level that has waited max_starve_ns goes before everything, the oldest first, as long as such runs
 * have used no more lane time than all the others since (`starve_credit_ns`). So a starved row waits at most max_starve_ns plus
 * the time of the run before it, and a flood of low priority can take at most half of the lane from high priority. */
#ifndef WEFT_ENGINE_LANE_H
#define WEFT_ENGINE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/request.h"

#define WEFT_LEVELS (WEFT_PRIORITY_MAX - WEFT_PRIORITY_MIN + 1)

/* Level of a request's and its model's priority together, 0..WEFT_LEVELS-1, larger is sooner. */
int weft_level(int64_t request_priority, int64_t model_priority);

/* Work of one owner (a served model with its hidden sub-models): its lane time. */
typedef struct weft_share {
    double weight;     /* > 0 */
    int64_t vtime_ns;  /* lane time used, divided by the weight */
    int64_t n_pending; /* requests that wait or run; a share without any does not save up time */
} weft_share;

/* One lane's memory. */
typedef struct weft_lane {
    int64_t vnow_ns; /* virtual time of the last grant */
    int64_t max_starve_ns;
    int64_t starve_credit_ns; /* <= 0: what starved work has had and the others have not yet; nearly 0 lets it go first again */
    int64_t
        starve_slack_ns; /* "nearly": a sixteenth of its last run, so that equal runs alternate although their times scatter */
} weft_lane;

/* What a claim is for, nearest to an answer first. */
typedef enum weft_claim_kind {
    WEFT_CLAIM_POST = 0, /* outputs to a result */
    WEFT_CLAIM_RESUME,   /* a pipeline that has what it waited for */
    WEFT_CLAIM_RUN,      /* a batch on an idle instance */
    WEFT_CLAIM_PREP,     /* input to tensors */
    WEFT_CLAIM_START,    /* a pipeline request */
} weft_claim_kind;

typedef struct weft_claim {
    weft_claim_kind kind;
    int rank;           /* order within one share; usually the kind */
    int level;          /* 0..WEFT_LEVELS-1 */
    int64_t arrival_ns; /* of the oldest request it serves */
    const weft_share *share;
    int64_t tokens;     /* cores it takes */
    void *owner, *item; /* the caller's */
} weft_claim;

/* The best of the claims seen so far. Zero it, offer every claim, then choose. */
typedef struct weft_contest {
    bool any, any_aged;
    weft_claim best, aged; /* aged: the oldest that has waited max_starve_ns */
} weft_contest;

void weft_lane_init(weft_lane *l, int64_t max_starve_ns);
void weft_contest_offer(const weft_lane *l, weft_contest *c, const weft_claim *claim, int64_t now_ns);
/* NULL when nothing was offered. *starved: the winner goes first because of its age. */
const weft_claim *weft_contest_winner(const weft_lane *l, const weft_contest *c, bool *starved);

/* A share that had nothing gets work: it starts at the lane's present time. */
void weft_share_enter(const weft_lane *l, weft_share *s);
void weft_share_leave(weft_share *s);
/* At the grant, with the predicted time; `tokens` cores for that long. */
void weft_lane_charge(weft_lane *l, weft_share *s, int64_t predicted_ns, int64_t tokens, bool starved);
/* At the end, what the prediction missed. */
void weft_lane_correct(weft_lane *l, weft_share *s, int64_t predicted_ns, int64_t actual_ns, int64_t tokens, bool starved);

#endif
