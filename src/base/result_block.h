/* A result and what lies before it. Shared by result.c (references) and builder.c (which makes it); nobody else looks in here. */
#ifndef WEFT_BASE_RESULT_BLOCK_H
#define WEFT_BASE_RESULT_BLOCK_H

#include <stdint.h>

#include "weft/builder.h"

#define WEFT_RESULT_ID_BYTES 129
#define WEFT_RESULT_MODEL_BYTES 193 /* an inline sub-model is called parent.slot */
#define WEFT_RESULT_VERSION_BYTES 129

typedef struct weft_result_block {
    _Atomic(uint32_t) refs;
    void (*release)(void *owner); /* last unref; may free the memory of this block */
    void *owner;
    const size_t **ends; /* per column: for STRING the offset behind each element, else NULL */
    char id[WEFT_RESULT_ID_BYTES], model[WEFT_RESULT_MODEL_BYTES], version[WEFT_RESULT_VERSION_BYTES];
    weft_result result;
} weft_result_block;

#endif
