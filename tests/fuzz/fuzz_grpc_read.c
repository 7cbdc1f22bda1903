/* A gRPC message as ModelInferRequest, and as plain protobuf: fields and tensors must lie where they may. */
#include <stdlib.h>
#include <string.h>

#include "server/grpc_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void walk(const uint8_t *data, size_t n_bytes, int depth)
{
    weft_pb_reader r;
    weft_pb_field f;
    weft_pb_read_init(&r, data, n_bytes);
    while (weft_pb_next(&r, &f)) {
        if (f.type != WEFT_PB_BYTES)
            continue;
        if (f.data < data || f.n_bytes > n_bytes || f.data > data + n_bytes - f.n_bytes)
            abort();
        if (depth < 8)
            walk(f.data, f.n_bytes, depth + 1);
    }
    size_t at = weft_pb_find_bytes(data, n_bytes, 7);
    if (at > n_bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    weft_error err;
    const char *model, *version;
    weft_v2_call *c = malloc(sizeof(*c));
    weft_arena *arena = weft_arena_create(NULL, 0);
    if (!c || !arena)
        abort();
    walk(data, n_bytes, 0);
    weft_v2_call_init(c, arena);
    weft_grpc_infer_model(arena, data, n_bytes, &model, &version, &err);
    if (weft_grpc_infer_read(c, data, n_bytes, 65536, &err) == WEFT_OK) {
        volatile uint8_t sum = 0;
        for (size_t i = 0; i < c->n_inputs; i++) {
            const weft_tensor *t = &c->inputs[i];
            if (weft_tensor_check(t, NULL) != WEFT_OK ||
                (weft_dtype_bytes(t->dtype) > 1 && t->n_bytes && (uintptr_t)t->data % weft_dtype_bytes(t->dtype) != 0))
                abort();
            for (size_t k = 0; k < t->n_bytes; k++)
                sum = (uint8_t)(sum + ((const uint8_t *)t->data)[k]);
        }
    }
    weft_arena_destroy(&arena);
    free(c);
    return 0;
}
