#include "base/fp.h"

#include <string.h>

static uint32_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, 4);
    return u;
}

static float float_of(uint32_t u)
{
    float f;

    memcpy(&f, &u, 4);
    return f;
}

float weft_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;

    if (exponent == 31)
        return float_of(sign | 0x7f800000 | (fraction << 13));
    if (exponent)
        return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
    if (!fraction)
        return float_of(sign);
    /* Subnormal: fraction * 2^-24, exact in binary32. */
    return float_of(sign | bits_of((float)fraction * 0x1p-24f));
}

uint16_t weft_f32_to_f16(float f)
{
    uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;

    if (a > 0x7f800000) /* NaN: keep the upper payload bits, make it quiet */
        return (uint16_t)(sign | 0x7e00 | ((a >> 13) & 0x3ff));
    if (a >= 0x47800000) /* 2^16 and above, infinity */
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) {
        /* Below 2^-14: a multiple of 2^-24. Adding 0.5 puts the unit of 2^-24 at the end of the fraction, and the addition itself
         * rounds to nearest even. */
        return (uint16_t)(sign | (bits_of(float_of(a) + 0.5f) - 0x3f000000));
    }
    a += 0xfff + ((a >> 13) & 1); /* half a unit, ties to even; a carry runs into the exponent and, at the top, into infinity */
    return (uint16_t)(sign | ((a - 0x38000000) >> 13));
}

float weft_bf16_to_f32(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

uint16_t weft_f32_to_bf16(float f)
{
    uint32_t u = bits_of(f);

    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)((u >> 16) | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
