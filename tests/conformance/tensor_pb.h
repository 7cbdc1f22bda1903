/* Reads a TensorProto, the file format of the ONNX backend suite's inputs and outputs (onnx.proto: dims 1, data_type 2,
 * float_data 4, int32_data 5, string_data 6, int64_data 7, name 8, raw_data 9, double_data 10, uint64_data 11). For tests;
 * bounded, any bytes may come. */
#ifndef WEFT_TESTS_TENSOR_PB_H
#define WEFT_TESTS_TENSOR_PB_H

#include "base/arena.h"
#include "weft/tensor.h"

#define TENSOR_PB_MAX_BYTES ((size_t)256 << 20) /* of the tensor's data */

/* Name and data go to the arena; strings come out in the form of weft_tensor. INVALID with what is wrong. */
weft_status tensor_pb_parse(const uint8_t *data, size_t n_bytes, weft_arena *arena, weft_tensor *out, weft_error *err);
/* A whole file. IO when it cannot be read. */
weft_status tensor_pb_read(const char *path, weft_arena *arena, weft_tensor *out, weft_error *err);

#endif
