/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as numbers; see element.h. Integers go through int64_t, of which their types are the
 * lower bytes: that is what wrapping around means. Nothing here fails. */
#include "examples/support/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Sign, 5 bits of exponent with a bias of 15, 10 of digits behind the point. */
static uint16_t half_from(double value)
{
    int exponent;
    double digits = frexp(fabs(value), &exponent); /* from 0.5 to below 1 */
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return sign | 0x7e00;
    if (isinf(value) || exponent > 16)
        return sign | 0x7c00;
    if (digits == 0 || exponent < -23)
        return sign;
    if (exponent < -13) /* denormal: the last digit stands for 2^-24 */
        return sign | (uint16_t)ldexp(digits, exponent + 24);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(digits, 11) & 0x3ff));
}

static double half_to(uint16_t half)
{
    int exponent = half >> 10 & 31, digits = half & 0x3ff;
    double value = exponent == 31  ? (digits ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(digits, -24)
                                   : ldexp(digits + 0x400, exponent - 25);
    return half & 0x8000 ? -value : value;
}

static uint16_t upper_half_of(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double upper_half_to(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Two functions for each type; `from` and `to` convert what stands behind them. */
#define ELEMENT(name, type, from, to)                                                              \
    static void put_##name(void *at, double value)                                                 \
    {                                                                                              \
        type element = from(value);                                                                \
        memcpy(at, &element, sizeof element);                                                      \
    }                                                                                              \
    static double get_##name(const void *at)                                                       \
    {                                                                                              \
        type element;                                                                              \
        memcpy(&element, at, sizeof element);                                                      \
        return to(element);                                                                        \
    }

ELEMENT(uint8, uint8_t, (uint8_t)(int64_t), (double))
ELEMENT(int8, int8_t, (int8_t)(int64_t), (double))
ELEMENT(uint16, uint16_t, (uint16_t)(int64_t), (double))
ELEMENT(int16, int16_t, (int16_t)(int64_t), (double))
ELEMENT(int32, int32_t, (int32_t)(int64_t), (double))
ELEMENT(int64, int64_t, (int64_t), (double))
ELEMENT(bool, uint8_t, 0 !=, (double))
ELEMENT(float16, uint16_t, half_from, half_to)
ELEMENT(bfloat16, uint16_t, upper_half_of, upper_half_to)
ELEMENT(float32, float, (float), (double))
ELEMENT(float64, double, , )

static const struct {
    const char *name;
    int digits; /* of a floating-point type, binary; 0: an integer */
    void (*put)(void *at, double value);
    double (*get)(const void *at);
} types[ELEMENT_TYPES] = {
    [HVD_UINT8] = { "uint8", 0, put_uint8, get_uint8 },
    [HVD_INT8] = { "int8", 0, put_int8, get_int8 },
    [HVD_UINT16] = { "uint16", 0, put_uint16, get_uint16 },
    [HVD_INT16] = { "int16", 0, put_int16, get_int16 },
    [HVD_INT32] = { "int32", 0, put_int32, get_int32 },
    [HVD_INT64] = { "int64", 0, put_int64, get_int64 },
    [HVD_FLOAT16] = { "float16", 11, put_float16, get_float16 },
    [HVD_FLOAT32] = { "float32", 24, put_float32, get_float32 },
    [HVD_FLOAT64] = { "float64", 53, put_float64, get_float64 },
    [HVD_BOOL] = { "bool", 0, put_bool, get_bool },
    [HVD_BFLOAT16] = { "bfloat16", 8, put_bfloat16, get_bfloat16 },
};

const char *element_name(enum hvd_dtype dtype)
{
    return types[dtype].name;
}

bool element_is_floating(enum hvd_dtype dtype)
{
    return types[dtype].digits != 0;
}

double element_epsilon(enum hvd_dtype dtype)
{
    return types[dtype].digits ? ldexp(1, 1 - types[dtype].digits) : 0;
}

void element_store(enum hvd_dtype dtype, void *at, double value)
{
    types[dtype].put(at, value);
}

double element_load(enum hvd_dtype dtype, const void *at)
{
    return types[dtype].get(at);
}
