/* Outputs -> the body of an infer answer: JSON, then binary tensors without a copy. */
#ifndef WEFT_SERVER_V2_ANSWER_H
#define WEFT_SERVER_V2_ANSWER_H

#include "base/buffer.h"
#include "server/gzip_body.h"
#include "server/v2_call.h"

/* Bytes that go as JSON numbers or strings: what is costly to write. */
size_t weft_v2_answer_json_bytes(const weft_v2_call *c, const weft_v2_output *outs, size_t n);
/* Appends the JSON part to `json`; the binary ones in order to pieces (room for n), which point into the outputs. BYTES that are
 * not UTF-8 and go as JSON are written in base64, with "content_type":"base64" among the output's parameters. */
void weft_v2_answer_write(const weft_v2_call *c, const char *model, const char *version, const weft_v2_output *outs, size_t n,
                          weft_buffer *json, weft_piece *pieces, size_t *n_pieces);

#endif
