/* GET /metrics: every metric of tbl/metrics.h, and nothing else. */
#ifndef WEFT_SERVER_METRICS_HTTP_H
#define WEFT_SERVER_METRICS_HTTP_H

#include "server/server_internal.h"

void weft_metrics_handle(weft_exchange *x, const weft_http_head *head);
/* The document itself; out->failed when memory is short. Any thread. */
void weft_metrics_write(weft_server *s, bool open_metrics, weft_buffer *out);
/* Does this Accept header (NULL = none) prefer OpenMetrics to plain text? */
bool weft_metrics_wants_openmetrics(const weft_http_slice *accept);

#endif
