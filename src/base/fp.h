/* 16-bit floats <-> float, round to nearest even. Source: IEEE 754-2008 binary16; bfloat16 as the upper half of binary32. */
#ifndef WEFT_BASE_FP_H
#define WEFT_BASE_FP_H

#include <stdint.h>

float weft_f16_to_f32(uint16_t h);
uint16_t weft_f32_to_f16(float f);
float weft_bf16_to_f32(uint16_t h);
uint16_t weft_f32_to_bf16(float f);

#endif
