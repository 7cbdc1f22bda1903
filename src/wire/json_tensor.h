/* JSON arrays -> tensor elements, straight into their final memory.
 *
 * `data` may be flat (row-major) or nested exactly as the shape says. Whole-number types take whole numbers only, exactly and in
 * range; FP16, BF16, FP32 and FP64 take any JSON number and round to nearest even (the 16-bit ones by way of the nearest float);
 * BOOL takes true and false; BYTES takes strings, or base64 of anything. */
#ifndef WEFT_WIRE_JSON_TENSOR_H
#define WEFT_WIRE_JSON_TENSOR_H

#include "base/arena.h"
#include "weft/tensor.h"
#include "wire/json.h"
#include "wire/json_read.h"

/* Reads the array that `r` stands before. In: name (for messages), dtype, rank, shape. Out: data (in the arena, 64-byte aligned)
 * and n_bytes. The count of elements is checked against what the text can hold at all, and the size against max_bytes, before
 * memory is taken. INVALID, TOO_LARGE or NO_MEMORY. */
weft_status weft_json_read_tensor(weft_json_reader *r, weft_arena *arena, size_t max_bytes, bool base64, weft_tensor *t,
                                  weft_error *err);

/* Writes all elements of a checked tensor as one flat array value. NaN becomes null; infinities are written as 1e999, a valid
 * number that reads as infinity in Python, JavaScript and C. `base64` with BYTES: each element as base64. The writer must not
 * indent. */
void weft_json_write_tensor(weft_json *j, const weft_tensor *t, bool base64);
/* Is every element of a checked BYTES tensor valid UTF-8? */
bool weft_tensor_is_text(const weft_tensor *t);

#endif
