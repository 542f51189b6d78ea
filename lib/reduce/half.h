/* SPDX-License-Identifier: Apache-2.0 */
/* The two types of half a float, one element at a time: float16 (IEEE 754 binary16) and bfloat16
 * (the upper half of a float); and the NaN of floats that is the same on all processors.
 *
 * Widening is exact, denormals included. Narrowing rounds half to even; values that are too large
 * become infinite. A NaN stays a NaN, with its sign and as much of its payload as fits, and
 * narrowing makes it quiet. These are the rules of the F16C instructions. The code has no branch
 * and no table, so that compilers can vectorise it, and neither flush-to-zero nor
 * denormals-are-zero of the calling thread changes a result. */
#ifndef LIB_REDUCE_HALF_H
#define LIB_REDUCE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The NaN that inf - inf and 0 * inf make, of no operand that is NaN: x86 makes it with the sign
 * set, 0xffc00000, other processors without. `result` of x and y as x86 would have it. */
static inline float float32_made(float x, float y, float result)
{
#if defined __x86_64__
    (void)x, (void)y;
    return result;
#else
    uint32_t made = (uint32_t)((x == x) & (y == y) & (result != result));
    return float_from_bits(float_to_bits(result) | made << 31);
#endif
}

static inline double float64_made(double x, double y, double result)
{
#if defined __x86_64__
    (void)x, (void)y;
#else
    uint64_t bits, made = (uint64_t)((x == x) & (y == y) & (result != result));
    memcpy(&bits, &result, sizeof bits);
    bits |= made << 63;
    memcpy(&result, &bits, sizeof result);
#endif
    return result;
}

/* All bits if a > b, none if not. Compares signed numbers, because vectors have that comparison. */
static inline uint32_t half_if_greater(uint32_t a, uint32_t b)
{
    return -(uint32_t)((int32_t)a > (int32_t)b);
}

static inline uint32_t half_select(uint32_t mask, uint32_t a, uint32_t b)
{
    return (a & mask) | (b & ~mask);
}

/* Exponents are biased by 15 in a float16 and by 127 in a float: 112 more, and once more for the
 * greatest, which means infinity or NaN. A denormal becomes the digits of a number from 2^-14 on,
 * of which 2^-14 is subtracted; from all others 0. */
static inline float float16_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    uint32_t is_special = half_if_greater(rest, 0x0f7fffff);
    uint32_t is_denormal = half_if_greater(0x00800000, rest);
    uint32_t bits = rest + (112u << 23) + (is_special & 112u << 23) + (is_denormal & 1u << 23);
    float value = float_from_bits(bits) - float_from_bits(is_denormal & 113u << 23);
    return float_from_bits(sign | float_to_bits(value));
}

/* A float below 2^-14 becomes a denormal: in its sum with 0.5 the last digit stands for 2^-24. */
static inline uint16_t float16_from_float(float value)
{
    uint32_t bits = float_to_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7fffffff;
    uint32_t normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
    uint32_t denormal = float_to_bits(float_from_bits(rest) + 0.5f) - (126u << 23);
    uint32_t finite = half_select(half_if_greater(113u << 23, rest), denormal, normal);
    uint32_t payload = half_if_greater(rest, 0x7f800000) & (0x200 | (rest >> 13 & 0x3ff));
    uint32_t large = 0x7c00 | payload;
    return (uint16_t)(sign | half_select(half_if_greater(rest, 0x477fffff), large, finite));
}

static inline float bfloat16_to_float(uint16_t half)
{
    return float_from_bits((uint32_t)half << 16);
}

static inline uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = float_to_bits(value);
    uint32_t is_nan = half_if_greater(bits & 0x7fffffff, 0x7f800000);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40;
    return (uint16_t)half_select(is_nan, quiet, rounded);
}

#endif
