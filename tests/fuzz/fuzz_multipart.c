/* Forms: the first line of the input is the Content-Type, the rest the body. Parts must lie inside the body. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const uint8_t *eol = memchr(data, '\n', n_bytes);
    if (!eol || eol - data > 255)
        return 0;
    char type[256];
    memcpy(type, data, (size_t)(eol - data));
    type[eol - data] = 0;
    size_t n = n_bytes - (size_t)(eol + 1 - data), n_parts = 0;
    unsigned char *body = malloc(n ? n : 1);
    if (!body)
        return 0;
    memcpy(body, eol + 1, n);
    weft_part parts[WEFT_MULTIPART_MAX_PARTS];
    weft_error err;
    if (weft_multipart_split(type, body, n, parts, &n_parts, &err) == WEFT_OK)
        for (size_t i = 0; i < n_parts; i++)
            if (parts[i].data < body || parts[i].data + parts[i].n_bytes > body + n)
                abort();
    free(body);
    return 0;
}
