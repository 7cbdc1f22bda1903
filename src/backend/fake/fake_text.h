/* The text form of a fake model, for example files and tests that want a path:
 *
 *     # comment
 *     input  image FP32 [-1,3,8,8]
 *     input  bias  FP32 [8] optional
 *     output prob  FP32 [-1,10]
 *     output boxes FP32 [-1,4] mix runtime          (values: sum copy rows mix run; size: fixed runtime bounded=BYTES)
 *     batch  1 2 4
 *     delay  5                                      (milliseconds; row_delay, load_delay likewise)
 *     weights 1000000                               (bytes; work likewise)
 *     spin
 *
 * One statement a line; words are separated by blanks. */
#ifndef WEFT_FAKE_TEXT_H
#define WEFT_FAKE_TEXT_H

#include "backend/fake/fake_backend.h"
#include "base/arena.h"

#define WEFT_FAKE_TEXT_MAX_BYTES 65536
#define WEFT_FAKE_MAX_TENSORS 64
#define WEFT_FAKE_MAX_GEARS 16

/* Fills *o (already holding defaults) from text; strings and lists go to the arena. CONFIG with the line number; NO_MEMORY. */
weft_status weft_fake_text_parse(const char *text, size_t n_bytes, weft_arena *arena, weft_fake_options *o, weft_error *err);

#endif
