/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops, a template: a file per path includes it once, after defining
 *
 *   PATH, PATH_NAME, PATH_SUPPORTED   the struct reduce_path made here and its first two members
 *   PATH_TARGET                       attribute of each function: its instruction set
 *   lanes                             LANES floats; float if LANES is 1
 *   TYPE_load(p), TYPE_store(p, x)    LANES elements of float16 or bfloat16, as lanes, in any order
 *                                     (the same for both); only results of lanes_*() are stored
 *   TYPE_widen(to, from)              LANES elements to as many floats, in order
 *   TYPE_narrow(to, from)             LANES floats to as many elements, in order
 *   lanes_sum(x, y), lanes_product, lanes_quotient, lanes_least, lanes_greatest
 *   lanes_all(x)                      a float everywhere
 *
 * The compiler vectorises the loops over C types; the loops over halves use lanes.
 *
 * Of two NaNs the left one is the result. x86 returns its first operand, but the compiler chooses
 * the order of operands, so the code makes both operands the same. A comparison with NaN is false,
 * so a NaN on the right is chosen without extra code. A NaN that no operand is has the sign that
 * x86 gives it (TYPE_made()). */
#include "lib/reduce/half.h"
#include "lib/reduce/reduce_path.h"

#include <stdint.h>
#include <string.h>

/* These loops are the library's only arithmetic: they are to be vectorised at any -O. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#define INDEPENDENT _Pragma("GCC ivdep")
#define FINITE_NUMBERS                                                                             \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"finite-math-only\", \"no-signed-zeros\")")
#define ALL_NUMBERS _Pragma("GCC pop_options")
#elif defined __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif
#ifndef FINITE_NUMBERS
#define FINITE_NUMBERS
#define ALL_NUMBERS
#endif

#if defined __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

/* An element in memory, at any address, and as a value. */
#define ELEMENT(name, type)                                                                        \
    typedef type any_##name UNALIGNED;                                                             \
    typedef type one_##name;

ELEMENT(uint8, uint8_t)
ELEMENT(int8, int8_t)
ELEMENT(uint16, uint16_t)
ELEMENT(int16, int16_t)
ELEMENT(int32, int32_t)
ELEMENT(int64, int64_t)
ELEMENT(float32, float)
ELEMENT(float64, double)
ELEMENT(bool, uint8_t)

#define REDUCTION(op, type, expression)                                                            \
    PATH_TARGET static void op##_##type(void *out, const void *left, const void *right,            \
                                        size_t count)                                              \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = left, *with = right;                                              \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            one_##type x = from[i], y = with[i];                                                   \
            to[i] = (one_##type)(expression);                                                      \
        }                                                                                          \
    }

/* `by` is the result of `prepare` for the divisor; `quotient` is computed from it and the sum z. */
#define AVERAGE(type, sum, prepared, prepare, quotient)                                            \
    PATH_TARGET static void average_##type(void *out, const void *left, const void *right,         \
                                           size_t count, int divisor)                              \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = left, *with = right;                                              \
        const prepared by = prepare;                                                               \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            one_##type x = from[i], y = with[i], z = (one_##type)(sum);                            \
            to[i] = (one_##type)(quotient);                                                        \
        }                                                                                          \
    }

/* Division of all elements by one divisor is a multiplication (Granlund and Montgomery, 1994): a
 * 64-bit division takes three times as long. */
struct reciprocal {
    int64_t factor; /* plus 2^64 it is above 2^(64 + shift) / divisor, and by less than 1 */
    int shift;
};

static struct reciprocal reciprocal_of(int divisor)
{
    struct reciprocal by = { divisor, 0 };
#ifdef __SIZEOF_INT128__
    while (divisor > 2 << by.shift)
        by.shift++;
    unsigned __int128 power = (unsigned __int128)1 << (64 + by.shift);
    by.factor = (int64_t)(uint64_t)(power / (unsigned int)divisor + 1);
#endif
    return by;
}

static inline int64_t int64_quotient(int64_t z, struct reciprocal by)
{
#ifdef __SIZEOF_INT128__
    int64_t high = (int64_t)((__int128)z * by.factor >> 64);
    int64_t scaled = (int64_t)((uint64_t)z + (uint64_t)high);
    return (int64_t)((uint64_t)(scaled >> by.shift) + (z < 0)); /* by 1 it wraps around */
#else
    return z / by.factor;
#endif
}

/* Unsigned arithmetic of at least 32 bits wraps around, and nothing in it is undefined. */
#define INTEGER(type, wide, prepared, prepare, quotient)                                           \
    REDUCTION(sum, type, (wide)x + (wide)y)                                                        \
    REDUCTION(product, type, (wide)x *(wide)y)                                                     \
    REDUCTION(min, type, x < y ? x : y)                                                            \
    REDUCTION(max, type, x > y ? x : y)                                                            \
    AVERAGE(type, (wide)x + (wide)y, prepared, prepare, quotient)

#define NAN_OR(x, y) ((x) != (x) ? (x) : (y))

#define FLOAT(type)                                                                                \
    REDUCTION(sum, type, type##_made(x, y, x + NAN_OR(x, y)))                                      \
    REDUCTION(product, type, type##_made(x, y, x *NAN_OR(x, y)))                                   \
    REDUCTION(min, type, NAN_OR(x, x < y ? x : y))                                                 \
    REDUCTION(max, type, NAN_OR(x, x > y ? x : y))                                                 \
    AVERAGE(type, type##_made(x, y, x + NAN_OR(x, y)), one_##type, (one_##type)divisor, z / by)

/* Of 8 bits, 16 binary places of the reciprocal are enough, if it is rounded up. Of 16 and 32,
 * float and double give the quotient that is cut off exactly, and have vector instructions. */
INTEGER(uint8, uint32_t, uint32_t, 65536 / (uint32_t)divisor + 1, z *by >> 16)
INTEGER(int8, uint32_t, int32_t, 65536 / divisor + 1, (z * by >> 16) + (z < 0))
INTEGER(uint16, uint32_t, float, (float)divisor, (float)z / by)
INTEGER(int16, uint32_t, float, (float)divisor, (float)z / by)
INTEGER(int32, uint32_t, double, divisor, (double)z / by)
INTEGER(int64, uint64_t, struct reciprocal, reciprocal_of(divisor), int64_quotient(z, by))
FLOAT(float32)
FLOAT(float64)

REDUCTION(or, bool, (x | y) != 0)
REDUCTION(and, bool, (x != 0) & (y != 0))

/* Limits the factor without changing a result, and avoids infinity and NaN: 2^64 already moves each
 * integer but 0 out of its range, and NaN becomes 0. */
static double integer_factor(double factor)
{
    if (factor != factor)
        return 0;
    return factor > 0x1p64 ? 0x1p64 : factor < -0x1p64 ? -0x1p64 : factor;
}

/* One selection after the other: instructions for the least and the greatest. All these numbers fit
 * into 32 bits, for which there are vector instructions. */
#define INTEGER_SCALE(type, least, greatest)                                                       \
    PATH_TARGET static void scale_##type(void *out, const void *in, size_t count, double factor)   \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = in;                                                               \
        const double by = integer_factor(factor);                                                  \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            double x = (double)from[i] * by;                                                       \
            double low = x < (greatest) ? x : (greatest);                                          \
            to[i] = (one_##type)(int32_t)(low > (least) ? low : (least));                          \
        }                                                                                          \
    }

/* There is nothing else: GCC may take those instructions. */
FINITE_NUMBERS
INTEGER_SCALE(uint8, 0, UINT8_MAX)
INTEGER_SCALE(int8, INT8_MIN, INT8_MAX)
INTEGER_SCALE(uint16, 0, UINT16_MAX)
INTEGER_SCALE(int16, INT16_MIN, INT16_MAX)
INTEGER_SCALE(int32, INT32_MIN, INT32_MAX)
ALL_NUMBERS

/* INT64_MAX is no double; the next one is 2^63. */
PATH_TARGET static void scale_int64(void *out, const void *in, size_t count, double factor)
{
    any_int64 *to = out;
    const any_int64 *from = in;
    INDEPENDENT
    for (size_t i = 0; i < count; i++) {
        double x = (double)from[i] * factor;
        to[i] = x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : x == x ? (int64_t)x : 0;
    }
}

#define FLOAT_SCALE(type)                                                                          \
    PATH_TARGET static void scale_##type(void *out, const void *in, size_t count, double factor)   \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = in;                                                               \
        const one_##type by = (one_##type)factor;                                                  \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            one_##type x = from[i];                                                                \
            to[i] = type##_made(x, by, x * NAN_OR(x, by));                                         \
        }                                                                                          \
    }

FLOAT_SCALE(float32)
FLOAT_SCALE(float64)

/* The compiler vectorises only loops over single lanes. */
#if LANES == 1
#define INDEPENDENT_LANES INDEPENDENT
#else
#define INDEPENDENT_LANES
#endif

/* Whole lanes first; the rest goes through lanes on the stack. Each result is rounded once. */
#define HALF_LOOP(type, expression)                                                                \
    unsigned char *to = out;                                                                       \
    const unsigned char *from = left, *with = right;                                               \
    const size_t size = sizeof(uint16_t), whole = count / LANES * LANES;                           \
    INDEPENDENT_LANES                                                                              \
    for (size_t i = 0; i < whole; i += LANES) {                                                    \
        lanes x = type##_load(from + i * size), y = type##_load(with + i * size);                  \
        type##_store(to + i * size, expression);                                                   \
    }                                                                                              \
    if (whole == count)                                                                            \
        return;                                                                                    \
    uint16_t rest[2][LANES] = { { 0 } };                                                           \
    memcpy(rest[0], from + whole * size, (count - whole) * size);                                  \
    memcpy(rest[1], with + whole * size, (count - whole) * size);                                  \
    lanes x = type##_load((void *)rest[0]), y = type##_load((void *)rest[1]);                      \
    type##_store((void *)rest[0], expression);                                                     \
    memcpy(to + whole * size, rest[0], (count - whole) * size);

#define HALF_REDUCTION(op, type, expression)                                                       \
    PATH_TARGET static void op##_##type(void *out, const void *left, const void *right,            \
                                        size_t count)                                              \
    {                                                                                              \
        HALF_LOOP(type, expression)                                                                \
    }

#define HALF(type)                                                                                 \
    HALF_REDUCTION(sum, type, lanes_sum(x, y))                                                     \
    HALF_REDUCTION(product, type, lanes_product(x, y))                                             \
    HALF_REDUCTION(min, type, lanes_least(x, y))                                                   \
    HALF_REDUCTION(max, type, lanes_greatest(x, y))                                                \
    PATH_TARGET static void average_##type(void *out, const void *left, const void *right,         \
                                           size_t count, int divisor)                              \
    {                                                                                              \
        const lanes by = lanes_all((float)divisor);                                                \
        HALF_LOOP(type, lanes_quotient(lanes_sum(x, y), by))                                       \
    }

HALF(float16)
HALF(bfloat16)

/* A NaN is stored as a sum of halves would be: quiet, and with no more digits than a half has. */
static inline float half_factor(double factor, uint32_t digits)
{
    float by = (float)factor;
    uint32_t bits;
    memcpy(&bits, &by, sizeof bits);
    if (by != by)
        bits = (bits & digits) | 0x400000;
    memcpy(&by, &bits, sizeof by);
    return by;
}

/* Both operands of the loop are the same. */
#define HALF_SCALE(type, digits)                                                                   \
    PATH_TARGET static void scale_##type(void *out, const void *in, size_t count, double factor)   \
    {                                                                                              \
        const void *left = in, *right = in;                                                        \
        const lanes by = lanes_all(half_factor(factor, digits));                                   \
        HALF_LOOP(type, ((void)y, lanes_product(x, by)))                                           \
    }

HALF_SCALE(float16, 0xffffe000)
HALF_SCALE(bfloat16, 0xffff0000)

#define HALF_CONVERSION(act, type, in_type, out_type)                                              \
    PATH_TARGET static void act##_##type(void *out, const void *in, size_t count)                  \
    {                                                                                              \
        unsigned char *to = out;                                                                   \
        const unsigned char *from = in;                                                            \
        const size_t whole = count / LANES * LANES, rest = count - whole;                          \
        INDEPENDENT_LANES                                                                          \
        for (size_t i = 0; i < whole; i += LANES)                                                  \
            type##_##act(to + i * sizeof(out_type), from + i * sizeof(in_type));                   \
        if (rest == 0)                                                                             \
            return;                                                                                \
        in_type last_in[LANES] = { 0 };                                                            \
        out_type last_out[LANES];                                                                  \
        memcpy(last_in, from + whole * sizeof(in_type), rest * sizeof(in_type));                   \
        type##_##act((void *)last_out, (void *)last_in);                                           \
        memcpy(to + whole * sizeof(out_type), last_out, rest * sizeof(out_type));                  \
    }

#define HALF_CONVERSIONS(type)                                                                     \
    HALF_CONVERSION(widen, type, uint16_t, float)                                                  \
    HALF_CONVERSION(narrow, type, float, uint16_t)

HALF_CONVERSIONS(float16)
HALF_CONVERSIONS(bfloat16)

#define BY_OP(type)                                                                                \
    {                                                                                              \
        [HVD_AVERAGE] = sum_##type, [HVD_SUM] = sum_##type, [HVD_MIN] = min_##type,                \
        [HVD_MAX] = max_##type, [HVD_PRODUCT] = product_##type,                                    \
    }

const struct reduce_path PATH = {
    .name = PATH_NAME,
    .supported = PATH_SUPPORTED,
    .reduce = {
        [HVD_UINT8] = BY_OP(uint8),
        [HVD_INT8] = BY_OP(int8),
        [HVD_UINT16] = BY_OP(uint16),
        [HVD_INT16] = BY_OP(int16),
        [HVD_INT32] = BY_OP(int32),
        [HVD_INT64] = BY_OP(int64),
        [HVD_FLOAT16] = BY_OP(float16),
        [HVD_FLOAT32] = BY_OP(float32),
        [HVD_FLOAT64] = BY_OP(float64),
        [HVD_BOOL] = { [HVD_SUM] = or_bool, [HVD_MAX] = or_bool,
                       [HVD_MIN] = and_bool, [HVD_PRODUCT] = and_bool },
        [HVD_BFLOAT16] = BY_OP(bfloat16),
    },
    .divide = {
        [HVD_UINT8] = average_uint8,
        [HVD_INT8] = average_int8,
        [HVD_UINT16] = average_uint16,
        [HVD_INT16] = average_int16,
        [HVD_INT32] = average_int32,
        [HVD_INT64] = average_int64,
        [HVD_FLOAT16] = average_float16,
        [HVD_FLOAT32] = average_float32,
        [HVD_FLOAT64] = average_float64,
        [HVD_BFLOAT16] = average_bfloat16,
    },
    .scale = {
        [HVD_UINT8] = scale_uint8,
        [HVD_INT8] = scale_int8,
        [HVD_UINT16] = scale_uint16,
        [HVD_INT16] = scale_int16,
        [HVD_INT32] = scale_int32,
        [HVD_INT64] = scale_int64,
        [HVD_FLOAT16] = scale_float16,
        [HVD_FLOAT32] = scale_float32,
        [HVD_FLOAT64] = scale_float64,
        [HVD_BFLOAT16] = scale_bfloat16,
    },
    .widen = { [HVD_FLOAT16] = widen_float16, [HVD_BFLOAT16] = widen_bfloat16 },
    .narrow = { [HVD_FLOAT16] = narrow_float16, [HVD_BFLOAT16] = narrow_bfloat16 },
};
