/* GET /openapi.json: OpenAPI 3.1, made from the route table, the table of statuses, and what the loaded models say about
 * themselves. What no model changes (web/schemas.json) is compiled in. */
#ifndef WEFT_SERVER_OPENAPI_H
#define WEFT_SERVER_OPENAPI_H

#include "server/server_internal.h"

void weft_openapi_handle(weft_exchange *x, const weft_http_head *head);
/* The document; out->failed when memory is short. Any thread. */
void weft_openapi_write(weft_engine *e, weft_buffer *out);
/* Has this route a description in openapi.c? Every one has (test_openapi.c). */
bool weft_openapi_knows(const weft_route *r);

#endif
