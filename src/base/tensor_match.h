/* Does a tensor fit what a model says about an input? One sentence for every backend. */
#ifndef WEFT_BASE_TENSOR_MATCH_H
#define WEFT_BASE_TENSOR_MATCH_H

#include "weft/tensor.h"

/* Type, rank, fixed dims, byte count and (STRING) length prefixes; d->rank -1 accepts any rank. INVALID with what is expected and
 * what came. Never reads more than t->n_bytes. */
weft_status weft_tensor_match(const weft_tensor_desc *d, const weft_tensor *t, weft_error *err);
/* The same for a whole run: `inputs` in the order of `descs`. An input with data NULL and n_bytes 0 counts as left out when it
 * has elements: fine if it is optional, INVALID if not. */
weft_status weft_tensors_match(const weft_tensor_desc *descs, size_t n_descs, const weft_tensor *inputs, size_t n_inputs,
                               weft_error *err);
/* True when the caller left this input out (see above). */
bool weft_tensor_absent(const weft_tensor *t);

#endif
