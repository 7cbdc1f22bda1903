#include "conformance/tensor_pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_tensor t;

    /* What it accepts is a whole tensor. */
    if (tensor_pb_parse(data, n, arena, &t, NULL) == WEFT_OK && weft_tensor_check(&t, NULL))
        __builtin_trap();
    weft_arena_destroy(&arena);
    return 0;
}
