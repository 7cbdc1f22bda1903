/* Tickets: numbers that name requests, so that a late weft_cancel hits nothing or the right one. Slot number below, generation
 * above; a slot's generation moves on when the request is answered. The table also bounds and lists the open requests. */
#include <stdlib.h>

#include "engine_internal.h"

#define NO_SLOT UINT32_MAX

/* Lock held. */
static bool grow(weft_engine *e)
{
    uint32_t n = e->n_tickets ? e->n_tickets * 2 : 256;
    if (n > 1u << 24)
        return false;
    weft_ticket_slot *slots = realloc(e->tickets, n * sizeof(*slots));
    if (!slots)
        return false;
    e->tickets = slots;
    if (weft_timers_reserve(&e->timers, n - e->n_tickets,
                            NULL)) /* every open request may have a deadline: arming it cannot fail */
        return false;
    for (uint32_t i = e->n_tickets; i < n; i++)
        slots[i] = (weft_ticket_slot){.generation = 1, .next_free = i + 1 < n ? i + 1 : NO_SLOT};
    e->free_ticket = e->n_tickets;
    e->n_tickets = n;
    return true;
}

weft_status weft_ticket_take(weft_engine *e, weft_request *r, weft_error *err)
{
    weft_lock_take(&e->ticket_lock);
    bool ok = e->free_ticket != NO_SLOT || grow(e);
    if (ok) {
        uint32_t i = e->free_ticket;
        weft_ticket_slot *s = &e->tickets[i];
        e->free_ticket = s->next_free;
        s->request = r;
        r->ticket = (uint64_t)s->generation << 32 | i;
    }
    weft_lock_drop(&e->ticket_lock);
    return ok ? WEFT_OK : weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for one more open request");
}

void weft_ticket_give(weft_engine *e, uint64_t ticket)
{
    uint32_t i = (uint32_t)ticket;
    weft_lock_take(&e->ticket_lock);
    weft_ticket_slot *s = &e->tickets[i];
    s->request = NULL;
    if (++s->generation == 0)
        s->generation = 1;
    s->next_free = e->free_ticket;
    e->free_ticket = i;
    weft_lock_drop(&e->ticket_lock);
}

weft_request *weft_ticket_find(weft_engine *e, uint64_t ticket)
{
    uint32_t i = (uint32_t)ticket;
    weft_request *r = NULL;
    weft_lock_take(&e->ticket_lock);
    if (i < e->n_tickets && e->tickets[i].generation == (uint32_t)(ticket >> 32))
        r = e->tickets[i].request;
    if (r)
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    weft_lock_drop(&e->ticket_lock);
    return r;
}

void weft_ticket_cancel_all(weft_engine *e)
{
    weft_lock_take(&e->ticket_lock);
    for (uint32_t i = 0; i < e->n_tickets; i++) {
        weft_request *r = e->tickets[i].request;
        if (!r || !weft_request_claim(r))
            continue;
        r->why = WEFT_WHY_CLOSING;
        weft_completer_post(e, r);
    }
    weft_lock_drop(&e->ticket_lock);
}
