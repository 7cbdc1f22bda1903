/* W3C trace context, level 1 (www.w3.org/TR/trace-context): the header "traceparent" of a request, continued by this server.
 *
 * Any thread; nothing is allocated. */
#ifndef WEFT_SERVER_TRACE_CONTEXT_H
#define WEFT_SERVER_TRACE_CONTEXT_H

#include "server/http_parse.h"

#define WEFT_TRACE_BYTES 56 /* "00-<32>-<16>-<2>" and its NUL */

/* Writes the traceparent of this server's own span into out: the caller's trace-id and sampled flag, a new span-id, version 00.
 * False, and out "", when `value` is not a valid traceparent: then the request is not part of a trace. A version above 00 is read
 * as far as version 00 goes (section 3.2.4). */
bool weft_trace_continue(weft_http_slice value, char out[WEFT_TRACE_BYTES]);
/* The same from a request's head; none, and none of several, is no trace. */
bool weft_trace_from_head(const weft_http_head *head, char out[WEFT_TRACE_BYTES]);

#endif
