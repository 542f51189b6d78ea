/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as numbers; see element.h. Integers go through int64_t, of which their types are the
 * lower bytes: that is what wrapping around means. Nothing here fails. */
#include "examples/support/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    int digits; /* of a floating-point type, binary; 0: an integer */
} types[ELEMENT_TYPES] = {
    [HVD_UINT8] = { "uint8", 0 },       [HVD_INT8] = { "int8", 0 },
    [HVD_UINT16] = { "uint16", 0 },     [HVD_INT16] = { "int16", 0 },
    [HVD_INT32] = { "int32", 0 },       [HVD_INT64] = { "int64", 0 },
    [HVD_FLOAT16] = { "float16", 11 },  [HVD_FLOAT32] = { "float32", 24 },
    [HVD_FLOAT64] = { "float64", 53 },  [HVD_BOOL] = { "bool", 0 },
    [HVD_BFLOAT16] = { "bfloat16", 8 },
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

static uint16_t upper_half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static float upper_half_to(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

union number {
    uint8_t uint8;
    int8_t int8;
    uint16_t uint16;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    float float32;
    double float64;
};

void element_put(enum hvd_dtype dtype, void *at, double value)
{
    union number number = { 0 };
    int64_t whole = element_is_floating(dtype) ? 0 : (int64_t)value;
    switch (dtype) {
    case HVD_UINT8:
        number.uint8 = (uint8_t)whole;
        break;
    case HVD_INT8:
        number.int8 = (int8_t)whole;
        break;
    case HVD_UINT16:
        number.uint16 = (uint16_t)whole;
        break;
    case HVD_INT16:
        number.int16 = (int16_t)whole;
        break;
    case HVD_INT32:
        number.int32 = (int32_t)whole;
        break;
    case HVD_INT64:
        number.int64 = whole;
        break;
    case HVD_FLOAT16:
        number.uint16 = half_from(value);
        break;
    case HVD_FLOAT32:
        number.float32 = (float)value;
        break;
    case HVD_FLOAT64:
        number.float64 = value;
        break;
    case HVD_BOOL:
        number.uint8 = whole != 0;
        break;
    case HVD_BFLOAT16:
        number.uint16 = upper_half_of((float)value);
        break;
    }
    memcpy(at, &number, hvd_dtype_size(dtype));
}

double element_get(enum hvd_dtype dtype, const void *at)
{
    union number number = { 0 };
    memcpy(&number, at, hvd_dtype_size(dtype));
    switch (dtype) {
    case HVD_UINT8:
    case HVD_BOOL:
        return number.uint8;
    case HVD_INT8:
        return number.int8;
    case HVD_UINT16:
        return number.uint16;
    case HVD_INT16:
        return number.int16;
    case HVD_INT32:
        return number.int32;
    case HVD_INT64:
        return (double)number.int64;
    case HVD_FLOAT16:
        return half_to(number.uint16);
    case HVD_FLOAT32:
        return (double)number.float32;
    case HVD_FLOAT64:
        return number.float64;
    case HVD_BFLOAT16:
        return (double)upper_half_to(number.uint16);
    }
    return 0;
}
