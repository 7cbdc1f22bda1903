/* InferTensorContents -> the bytes of a tensor. */
#ifndef WEFT_SERVER_GRPC_TYPED_H
#define WEFT_SERVER_GRPC_TYPED_H

#include "base/arena.h"
#include "server/pb_read.h"
#include "weft/tensor.h"

/* bool=1 int=2 (INT8/16/32) int64=3 uint=4 (UINT8/16/32) uint64=5 fp32=6 fp64=7 bytes=8, each repeated, packed or not; several
 * stretches of one field follow each other. t has dtype, rank and shape; gets data (in the arena) and n_bytes. *max_bytes is what
 * may still be taken, and is lowered. INVALID when the number of elements, their kind or their range does not fit. */
weft_status weft_grpc_typed_read(weft_arena *arena, const weft_pb_field *contents, weft_tensor *t, size_t *max_bytes,
                                 weft_error *err);

#endif
