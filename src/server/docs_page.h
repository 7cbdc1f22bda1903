/* GET /docs: one page without outside resources (web/docs.html, compiled in) that lists models and endpoints from /openapi.json
 * and can send requests. */
#ifndef WEFT_SERVER_DOCS_PAGE_H
#define WEFT_SERVER_DOCS_PAGE_H

#include "server/server_internal.h"

void weft_docs_handle(weft_exchange *x, const weft_http_head *head);

#endif
