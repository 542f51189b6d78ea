/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions made plainly; see reduce_reference.h. */
#include "tests/support/reduce_reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const enum hvd_dtype reference_dtypes[REFERENCE_DTYPES] = {
    HVD_UINT8,   HVD_INT8,    HVD_UINT16,  HVD_INT16, HVD_INT32,    HVD_INT64,
    HVD_FLOAT16, HVD_FLOAT32, HVD_FLOAT64, HVD_BOOL,  HVD_BFLOAT16,
};
const enum hvd_op reference_ops[REFERENCE_OPS] = { HVD_AVERAGE, HVD_SUM, HVD_MIN, HVD_MAX,
                                                   HVD_PRODUCT };

const struct half_format reference_float16 = { 10, -14, 15 };
const struct half_format reference_bfloat16 = { 7, -126, 127 };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float reference_widen(const struct half_format *format, uint16_t half)
{
    int one = 1 << format->digits, fraction = half & (one - 1);
    int field = (half & 0x7fff) >> format->digits;
    uint32_t sign = half & 0x8000u ? 0x80000000 : 0;
    if (field ==
        format->greatest - format->least + 2) /* the fraction is all that tells NaNs apart */
        return float_of(sign | 0x7f800000 | (uint32_t)fraction << (23 - format->digits));
    int exponent = field > 0 ? field - 1 + format->least : format->least;
    double value = ldexp(field > 0 ? one + fraction : fraction, exponent - format->digits);
    return (float)(sign ? -value : value);
}

static uint16_t narrow_nan(const struct half_format *format, uint32_t bits)
{
    uint32_t fraction = bits >> (23 - format->digits) & ((1u << format->digits) - 1);
    uint32_t infinite = 0x7fffu >> format->digits << format->digits;
    return (uint16_t)(infinite | fraction | 1u << (format->digits - 1));
}

static uint16_t narrow_magnitude(const struct half_format *format, double value)
{
    int exponent = value > 0 && isfinite(value) ? ilogb(value) : format->least;
    if (exponent < format->least)
        exponent = format->least;
    if (nearbyint(ldexp(value, format->digits - exponent)) >= ldexp(2, format->digits) ||
        isinf(value))
        exponent++;
    if (exponent > format->greatest || isinf(value))
        return (uint16_t)(0x7fffu >> format->digits << format->digits);
    int steps = (int)nearbyint(ldexp(value, format->digits - exponent)), one = 1 << format->digits;
    int field = exponent - format->least; /* less one, which the leading digit adds */
    return (uint16_t)(steps < one ? steps : (field << format->digits) + steps);
}

uint16_t reference_narrow(const struct half_format *format, float value)
{
    uint16_t sign = bits_of(value) >> 31 ? 0x8000 : 0;
    return sign | (isnan(value) ? narrow_nan(format, bits_of(value))
                                : narrow_magnitude(format, fabs((double)value)));
}

/* A NaN that is made of other numbers is the one that x86 makes, on any processor. */
static float made_float(float result)
{
    return isnan(result) ? float_of(0xffc00000) : result;
}

static double made_double(double result)
{
    return isnan(result) ? -fabs(result) : result;
}

/* The left one of two NaNs goes on, made quiet where there is arithmetic. */
#define COMBINE_FLOATS(op, x, y, divisor, quiet, made)                                             \
    switch (op) {                                                                                  \
    case HVD_MIN:                                                                                  \
        return isnan(x) ? x : isnan(y) ? y : x < y ? x : y;                                        \
    case HVD_MAX:                                                                                  \
        return isnan(x) ? x : isnan(y) ? y : x > y ? x : y;                                        \
    case HVD_PRODUCT:                                                                              \
        return isnan(x) ? quiet(x) : isnan(y) ? quiet(y) : made(x * y);                            \
    case HVD_SUM:                                                                                  \
        return isnan(x) ? quiet(x) : isnan(y) ? quiet(y) : made(x + y);                            \
    case HVD_ADASUM: /* is not made of elements */                                                 \
    case HVD_AVERAGE:                                                                              \
        break;                                                                                     \
    }                                                                                              \
    return isnan(x) ? quiet(x) : isnan(y) ? quiet(y) : made((x + y) / divisor);

static float quiet_float(float nan)
{
    return float_of(bits_of(nan) | 0x400000);
}

static double quiet_double(double nan)
{
    uint64_t bits;
    memcpy(&bits, &nan, sizeof bits);
    bits |= (uint64_t)1 << 51;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

static float combine_floats(enum hvd_op op, float x, float y, float divisor)
{
    COMBINE_FLOATS(op, x, y, divisor, quiet_float, made_float)
}

static double combine_doubles(enum hvd_op op, double x, double y, double divisor)
{
    COMBINE_FLOATS(op, x, y, divisor, quiet_double, made_double)
}

static int combine_bools(enum hvd_op op, int x, int y)
{
    return op == HVD_SUM || op == HVD_MAX ? x || y : x && y;
}

/* One element of each type, to copy to and from. */
union element {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
};

static int64_t integer_of(enum hvd_dtype dtype, const union element *element)
{
    switch (dtype) {
    case HVD_UINT8:
        return element->u8;
    case HVD_INT8:
        return element->i8;
    case HVD_UINT16:
        return element->u16;
    case HVD_INT16:
        return element->i16;
    case HVD_INT32:
        return element->i32;
    default:
        return element->i64;
    }
}

/* Keeps the lowest bits. */
static union element element_of(enum hvd_dtype dtype, uint64_t bits)
{
    union element element = { 0 };
    if (hvd_dtype_size(dtype) == 1)
        element.u8 = (uint8_t)bits;
    else if (hvd_dtype_size(dtype) == 2)
        element.u16 = (uint16_t)bits;
    else if (hvd_dtype_size(dtype) == 4)
        element.i32 = (int32_t)(uint32_t)bits;
    else
        element.i64 = (int64_t)bits;
    return element;
}

static union element combine_integers(enum hvd_dtype dtype, enum hvd_op op, int divisor,
                                      const union element *left, const union element *right)
{
    int64_t x = integer_of(dtype, left), y = integer_of(dtype, right);
    if (op == HVD_MIN || op == HVD_MAX)
        return element_of(dtype, (uint64_t)((x < y) == (op == HVD_MIN) ? x : y));
    if (op == HVD_PRODUCT)
        return element_of(dtype, (uint64_t)x * (uint64_t)y);
    union element sum = element_of(dtype, (uint64_t)x + (uint64_t)y);
    if (op == HVD_SUM)
        return sum;
    return element_of(dtype, (uint64_t)(integer_of(dtype, &sum) / divisor));
}

static union element combine(enum hvd_dtype dtype, enum hvd_op op, int divisor,
                             const union element *x, const union element *y)
{
    const struct half_format *half = &reference_float16;
    switch (dtype) {
    case HVD_FLOAT32:
        return (union element){ .f32 = combine_floats(op, x->f32, y->f32, (float)divisor) };
    case HVD_FLOAT64:
        return (union element){ .f64 = combine_doubles(op, x->f64, y->f64, divisor) };
    case HVD_BOOL:
        return (union element){ .u8 = (uint8_t)combine_bools(op, x->u8, y->u8) };
    case HVD_BFLOAT16:
        half = &reference_bfloat16;
        /* fall through */
    case HVD_FLOAT16: {
        float a = reference_widen(half, x->u16), b = reference_widen(half, y->u16);
        float result = combine_floats(op, a, b, (float)divisor);
        return (union element){ .u16 = reference_narrow(half, result) };
    }
    default:
        return combine_integers(dtype, op, divisor, x, y);
    }
}

void reference_reduce(enum hvd_dtype dtype, enum hvd_op op, int divisor, void *out,
                      const void *left, const void *right, size_t count)
{
    size_t size = hvd_dtype_size(dtype);
    for (size_t at = 0; at < count * size; at += size) {
        union element x = { 0 }, y = { 0 };
        memcpy(&x, (const char *)left + at, size);
        memcpy(&y, (const char *)right + at, size);
        union element result = combine(dtype, op, divisor, &x, &y);
        memcpy((char *)out + at, &result, size);
    }
}

static union element scale_integer(enum hvd_dtype dtype, double factor, const union element *x)
{
    bool is_unsigned = dtype == HVD_UINT8 || dtype == HVD_UINT16;
    int bits = 8 * (int)hvd_dtype_size(dtype) - !is_unsigned;
    double product = (double)integer_of(dtype, x) * factor, limit = ldexp(1, bits);
    if (isnan(product))
        return element_of(dtype, 0);
    if (trunc(product) >= limit)
        return element_of(dtype, ((uint64_t)1 << bits) - 1);
    if (trunc(product) < (is_unsigned ? 0 : -limit))
        return element_of(dtype, is_unsigned ? 0 : (uint64_t)1 << bits);
    return element_of(dtype, (uint64_t)(int64_t)product);
}

static float scale_float(float x, float factor)
{
    return isnan(x) ? quiet_float(x) : isnan(factor) ? factor : made_float(x * factor);
}

static double scale_double(double x, double factor)
{
    return isnan(x) ? quiet_double(x) : isnan(factor) ? factor : made_double(x * factor);
}

static union element scale(enum hvd_dtype dtype, double factor, const union element *x)
{
    const struct half_format *half =
        dtype == HVD_FLOAT16 ? &reference_float16 : &reference_bfloat16;
    switch (dtype) {
    case HVD_FLOAT16:
    case HVD_BFLOAT16: {
        float result = scale_float(reference_widen(half, x->u16), (float)factor);
        return (union element){ .u16 = reference_narrow(half, result) };
    }
    case HVD_FLOAT32:
        return (union element){ .f32 = scale_float(x->f32, (float)factor) };
    case HVD_FLOAT64:
        return (union element){ .f64 = scale_double(x->f64, factor) };
    default:
        return scale_integer(dtype, factor, x);
    }
}

void reference_scale(enum hvd_dtype dtype, double factor, void *out, const void *in, size_t count)
{
    size_t size = hvd_dtype_size(dtype);
    for (size_t at = 0; at < count * size; at += size) {
        union element x = { 0 };
        memcpy(&x, (const char *)in + at, size);
        union element result = scale(dtype, factor, &x);
        memcpy((char *)out + at, &result, size);
    }
}
