/* Cohorts: loops that call the same model and bucket again and again (denoising steps) do not meet by luck. A member is either in
 * a call or between two; the batcher waits a little for those between two calls. A member that took longer than the wait last
 * time is not waited for. All under the scheduler's lock. */
#include "engine_internal.h"

void weft_member_init(weft_member *mb)
{
    *mb = (weft_member){.think_ns = -1};
}

static weft_cohort *find(weft_model *m, uint64_t key)
{
    weft_cohort *room = NULL;
    for (size_t i = 0; i < WEFT_MAX_COHORTS; i++) {
        weft_cohort *c = &m->cohorts[i];
        if (c->n_members && c->key == key)
            return c;
        if (!c->n_members && !room)
            room = c;
    }
    if (room) {
        room->key = key;
        weft_node_init(&room->between);
    }
    return room;
}

void weft_cohort_leave(weft_member *mb)
{
    if (!mb->cohort)
        return;
    weft_node_remove(&mb->node);
    mb->cohort->n_members--;
    mb->cohort = NULL;
    mb->model = NULL;
    mb->think_ns = -1;
}

void weft_cohort_submit(weft_member *mb, weft_model *m, uint64_t key, bool repeats, int64_t now_ns)
{
    if (mb->cohort && (mb->model != m || mb->cohort->key != key || !repeats)) {
        if (!repeats && (mb->model != m || mb->cohort->key != key))
            return; /* a call beside the loop */
        weft_cohort_leave(mb);
    }
    if (!repeats)
        return;
    if (!mb->cohort) {
        mb->cohort = find(m, key);
        if (!mb->cohort)
            return;
        mb->cohort->n_members++;
        mb->model = m;
    }
    if (weft_node_linked(&mb->node)) {
        weft_node_remove(&mb->node);
        mb->think_ns = now_ns - mb->between_since_ns;
    }
}

void weft_cohort_between(weft_member *mb, const weft_model *m, uint64_t key, int64_t now_ns)
{
    if (!mb->cohort || mb->model != m || mb->cohort->key != key || weft_node_linked(&mb->node))
        return;
    mb->between_since_ns = now_ns;
    weft_node_push_back(&mb->cohort->between, &mb->node);
}

int64_t weft_cohort_expected(const weft_model *m, uint64_t key, int64_t now_ns)
{
    int64_t n = 0;
    for (size_t i = 0; i < WEFT_MAX_COHORTS; i++) {
        const weft_cohort *c = &m->cohorts[i];
        if (!c->n_members || c->key != key)
            continue;
        weft_list_each(k, &c->between)
        {
            const weft_member *mb = weft_container_of(k, weft_member, node);
            n += mb->think_ns <= m->cohort_wait_ns && now_ns - mb->between_since_ns <= m->cohort_wait_ns;
        }
    }
    return n;
}
