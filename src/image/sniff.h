/* Which format a file has, from its first bytes. Never fails, reads only inside the bytes. */
#ifndef WEFT_IMAGE_SNIFF_H
#define WEFT_IMAGE_SNIFF_H

#include "image/decode.h"

weft_picture_format weft_sniff_picture(const uint8_t *bytes, size_t n_bytes);
/* What a file of another kind is, as part of a sentence ("a GIF picture", "a PDF document", "base64 text: decode it first"); NULL
 * when unknown. Static text. */
const char *weft_sniff_name(const uint8_t *bytes, size_t n_bytes);

#endif
