#include "tbl/events.h"
#include "tbl/metrics.h"

#include <string.h>

static const weft_event_decl events[] = {
#define DECL(id, name, level, keys, text) {name, WEFT_LOG_##level, keys, text},
    WEFT_EVENT_TABLE(DECL)
#undef DECL
};

static const weft_metric_decl metrics[] = {
#define DECL(id, name, kind, unit, labels, help, details) {name, WEFT_METRIC_##kind, unit, labels, help, details},
    WEFT_METRIC_TABLE(DECL)
#undef DECL
};

const weft_event_decl *weft_events(size_t *n)
{
    *n = WEFT_N_EVENTS;
    return events;
}

const weft_event_decl *weft_event_find(const char *name)
{
    for (int i = 0; i < WEFT_N_EVENTS; i++)
        if (!strcmp(events[i].name, name))
            return &events[i];
    return NULL;
}

const char *weft_event_name(weft_event e)
{
    return (unsigned)e < WEFT_N_EVENTS ? events[e].name : "?";
}

weft_log_level weft_event_level(weft_event e)
{
    return (unsigned)e < WEFT_N_EVENTS ? events[e].level : WEFT_LOG_ERROR;
}

const weft_metric_decl *weft_metrics(size_t *n)
{
    *n = WEFT_N_METRICS;
    return metrics;
}

const weft_metric_decl *weft_metric_find(const char *name)
{
    for (int i = 0; i < WEFT_N_METRICS; i++)
        if (!strcmp(metrics[i].name, name))
            return &metrics[i];
    return NULL;
}
