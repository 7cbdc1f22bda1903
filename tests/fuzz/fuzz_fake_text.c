#include "backend/fake/fake_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_fake_options o = {.spin = false};

    weft_fake_text_parse((const char *)data, n, arena, &o, NULL);
    weft_arena_destroy(&arena);
    return 0;
}
