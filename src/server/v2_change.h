/* Loading and unloading a model for a client: seconds, so each change has a thread of its own, a few at once. */
#ifndef WEFT_SERVER_V2_CHANGE_H
#define WEFT_SERVER_V2_CHANGE_H

#include "base/thread.h"
#include "server/server_internal.h"

typedef struct weft_v2_change {
    weft_exchange *x;
    weft_thread thread;
    const char *model;
    bool unload, unload_dependents;
    const char *config; /* see weft_v2_repository_load; NULL = none */
    size_t n_config;
    weft_error err; /* at home: how it ended */
} weft_v2_change;

/* c (zeroed, then its model, unload, config set) and its strings must live as long as the exchange. The route's finish comes when
 * it is done. BUSY when too many changes are at work. On the loop. */
weft_status weft_v2_change_start(weft_v2_change *c, weft_exchange *x, weft_error *err);

#endif
