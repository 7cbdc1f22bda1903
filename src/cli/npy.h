/* NumPy .npy files (format version 1.0 and 2.0, C order, little endian) as tensors, so that any model can be tried from the
 * shell. */
#ifndef WEFT_CLI_NPY_H
#define WEFT_CLI_NPY_H

#include "base/buffer.h"
#include "weft/tensor.h"

/* The tensor's data points into bytes. INVALID with what was expected and what came. */
weft_status weft_npy_read(const void *bytes, size_t n_bytes, weft_tensor *out, weft_error *err);
/* Appends the whole file. UNSUPPORTED for strings; bfloat16 is written as uint16. */
weft_status weft_npy_write(const weft_tensor *t, weft_buffer *out, weft_error *err);

#endif
