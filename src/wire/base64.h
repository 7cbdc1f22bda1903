/* Base64 as RFC 4648 section 4 defines it: standard alphabet, padding required. */
#ifndef WEFT_WIRE_BASE64_H
#define WEFT_WIRE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters for n_bytes, without a NUL. */
size_t weft_base64_encoded_bytes(size_t n_bytes);
/* Writes exactly weft_base64_encoded_bytes(n_bytes) characters. */
void weft_base64_encode(const void *data, size_t n_bytes, char *out);
/* Upper bound for decoding n characters. */
size_t weft_base64_decoded_bytes(size_t n);
/* Strict: no white space, no missing or extra padding, unused bits zero (each content has exactly one text). out has room for
 * weft_base64_decoded_bytes(n) and may be the text itself. False when the text is wrong; out is garbage then. */
bool weft_base64_decode(const char *text, size_t n, uint8_t *out, size_t *n_out);

#endif
