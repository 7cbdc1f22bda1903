#include "backend/backend_list.h"

extern const weft_backend weft_backend_onnxruntime, weft_backend_fake, weft_backend_fake_card;

const weft_backend *const weft_builtin_backends[] = {
    &weft_backend_onnxruntime,
    &weft_backend_fake,
    &weft_backend_fake_card,
    NULL,
};
