#include "weft/request.h"

weft_input weft_input_bytes(const char *name, const void *bytes, size_t n_bytes)
{
    return (weft_input){.name = name, .bytes = bytes, .n_bytes = n_bytes, .is_bytes = true};
}

weft_input weft_input_tensor(const weft_tensor *t)
{
    return (weft_input){.name = t->name, .tensor = *t};
}
