/* The body of an infer request over HTTP -> weft_v2_call: JSON (inference_rest.md), JSON with binary tensors behind it and raw
 * binary requests (extension_binary_data.md).
 *
 * Binary tensors are lent straight out of the body; one whose address does not fit its element type is copied into the call's
 * arena. Counts, sizes and nesting are bounded before memory is taken. Threads: no state; may run on any thread. */
#ifndef WEFT_SERVER_V2_REQUEST_H
#define WEFT_SERVER_V2_REQUEST_H

#include "server/v2_call.h"

/* The first json_bytes are JSON, the rest is binary data in the order of the inputs. max_bytes bounds each tensor. */
weft_status weft_v2_request_read(weft_v2_call *c, const uint8_t *body, size_t n_bytes, size_t json_bytes, size_t max_bytes,
                                 weft_error *err);
/* The whole body is the one input of the model, batch 1; outputs are binary. Four bytes before `body` must be writable: they
 * become the length of a BYTES element. */
weft_status weft_v2_request_raw(weft_v2_call *c, const weft_v2_model *m, uint8_t *body, size_t n_bytes, weft_error *err);

#endif
