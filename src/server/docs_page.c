#include "server/docs_page.h"

#include <stdio.h>

extern const unsigned char weft_docs_html[];
extern const size_t weft_docs_html_bytes;

void weft_docs_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    /* The page's own style and script, this server, pictures that the reader chose: nothing else, and in nobody's frame. */
    snprintf(
        x->answer_headers, sizeof(x->answer_headers),
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
        "img-src blob: data:; frame-ancestors 'none'; base-uri 'none'\r\nX-Content-Type-Options: nosniff\r\n");
    weft_buffer_append(&x->answer, weft_docs_html, weft_docs_html_bytes);
    weft_exchange_reply(x, 200, "text/html; charset=utf-8");
}
