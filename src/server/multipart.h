/* multipart/form-data (RFC 7578) over a body that is already whole in memory: finds the parts, copies nothing. */
#ifndef WEFT_SERVER_MULTIPART_H
#define WEFT_SERVER_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/status.h"

#define WEFT_MULTIPART_MAX_PARTS 32

typedef struct weft_part {
    char name[64];         /* of the form field; "" when absent */
    char content_type[64]; /* lower case, without parameters; "" when absent */
    bool has_filename;
    const unsigned char *data; /* inside the body */
    size_t n_bytes;
} weft_part;

/* content_type is the request's header value. INVALID with one sentence for a missing or over-long boundary, broken part headers,
 * a missing end or too many parts. */
weft_status weft_multipart_split(const char *content_type, const unsigned char *body, size_t n_body, weft_part *parts,
                                 size_t *n_parts, weft_error *err);

#endif
