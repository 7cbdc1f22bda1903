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

/* How a tensor may be written. Plain JSON has no NaN and no infinity: NaN becomes null, and infinities 1e999, a valid number that
 * reads as infinity in Python, JavaScript and C. */
enum {
    WEFT_JSON_BASE64 = 1, /* BYTES: each element as base64 */
    WEFT_JSON_NAN = 2,    /* NaN, Infinity and -Infinity as such: not JSON, but what Triton sends and its clients read */
};
/* Writes all elements of a checked tensor as one flat array value. The writer must not indent. */
void weft_json_write_tensor(weft_json *j, const weft_tensor *t, unsigned how);
/* Is every element of a checked BYTES tensor valid UTF-8? */
bool weft_tensor_is_text(const weft_tensor *t);

#endif
