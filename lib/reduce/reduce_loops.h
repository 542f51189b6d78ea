/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops, a template: a file per path includes it once, after defining
 *
 *   PATH, PATH_NAME, PATH_SUPPORTED   the struct reduce_path made here and its first two members
 *   PATH_TARGET                       attribute of each function: its instruction set
 *   lanes                             LANES floats, in a type with + * /; float if LANES is 1
 *   TYPE_load(p), TYPE_store(p, x)    LANES elements of float16 or bfloat16, as lanes; p unaligned
 *   lanes_least(x, y)                 x < y ? x : y, for each
 *   lanes_greatest(x, y)              x > y ? x : y, for each
 *   lanes_nan_or(x, y)                x is NaN ? x : y, for each
 *
 * Loops over types of C are left to the compiler's vectoriser; those over halves are made of lanes.
 *
 * Of two NaNs the left one goes on: x86 takes its first operand, and the order of operands is the
 * compiler's choice, so both are made the same. A comparison with NaN is false, so that a NaN on
 * the right is chosen by itself. */
#include "lib/reduce/reduce_path.h"

#include <stdint.h>
#include <string.h>

/* These loops are the library's only arithmetic: they are to be vectorised at any -O. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#define INDEPENDENT _Pragma("GCC ivdep")
#elif defined __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif

#if defined __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

typedef uint8_t any_uint8 UNALIGNED;
typedef int8_t any_int8 UNALIGNED;
typedef uint16_t any_uint16 UNALIGNED;
typedef int16_t any_int16 UNALIGNED;
typedef int32_t any_int32 UNALIGNED;
typedef int64_t any_int64 UNALIGNED;
typedef float any_float32 UNALIGNED;
typedef double any_float64 UNALIGNED;
typedef uint8_t any_bool UNALIGNED;

#define REDUCTION(op, type, expression)                                                            \
    PATH_TARGET static void op##_##type(void *out, const void *left, const void *right,            \
                                        size_t count)                                              \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = left, *with = right;                                              \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            any_##type x = from[i], y = with[i];                                                   \
            to[i] = (any_##type)(expression);                                                      \
        }                                                                                          \
    }

/* `quotient` is a type in which the quotient of a sum and a world's size, cut off, is exact: the
 * floating-point ones have vector instructions. */
#define AVERAGE(type, sum, quotient)                                                               \
    PATH_TARGET static void average_##type(void *out, const void *left, const void *right,         \
                                           size_t count, int divisor)                              \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = left, *with = right;                                              \
        const quotient by = (quotient)divisor;                                                     \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            any_##type x = from[i], y = with[i];                                                   \
            to[i] = (any_##type)((quotient)(any_##type)(sum) / by);                                \
        }                                                                                          \
    }

/* Unsigned arithmetic of at least 32 bits wraps around, and nothing in it is undefined. */
#define INTEGER(type, wide, quotient)                                                              \
    REDUCTION(sum, type, (wide)x + (wide)y)                                                        \
    REDUCTION(product, type, (wide)x *(wide)y)                                                     \
    REDUCTION(min, type, x < y ? x : y)                                                            \
    REDUCTION(max, type, x > y ? x : y)                                                            \
    AVERAGE(type, (wide)x + (wide)y, quotient)

#define NAN_OR(x, y) ((x) != (x) ? (x) : (y))

#define FLOAT(type)                                                                                \
    REDUCTION(sum, type, x + NAN_OR(x, y))                                                         \
    REDUCTION(product, type, x *NAN_OR(x, y))                                                      \
    REDUCTION(min, type, NAN_OR(x, x < y ? x : y))                                                 \
    REDUCTION(max, type, NAN_OR(x, x > y ? x : y))                                                 \
    AVERAGE(type, x + NAN_OR(x, y), any_##type)

INTEGER(uint8, uint32_t, float)
INTEGER(int8, uint32_t, float)
INTEGER(uint16, uint32_t, float)
INTEGER(int16, uint32_t, float)
INTEGER(int32, uint32_t, double)
INTEGER(int64, uint64_t, int64_t)
FLOAT(float32)
FLOAT(float64)

REDUCTION(or, bool, (x | y) != 0)
REDUCTION(and, bool, (x != 0) & (y != 0))

/* Comparisons with NaN are false, so that it comes out last, as 0. All these numbers fit into 32
 * bits, for which there are vector instructions. */
#define INTEGER_SCALE(type, least, greatest)                                                       \
    PATH_TARGET static void scale_##type(void *out, const void *in, size_t count, double factor)   \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = in;                                                               \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            double x = (double)from[i] * factor;                                                   \
            double fits = x >= greatest ? greatest : x <= least ? least : x == x ? x : 0;          \
            to[i] = (any_##type)(int32_t)fits;                                                     \
        }                                                                                          \
    }

INTEGER_SCALE(uint8, 0, UINT8_MAX)
INTEGER_SCALE(int8, INT8_MIN, INT8_MAX)
INTEGER_SCALE(uint16, 0, UINT16_MAX)
INTEGER_SCALE(int16, INT16_MIN, INT16_MAX)
INTEGER_SCALE(int32, INT32_MIN, INT32_MAX)

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
        const any_##type by = (any_##type)factor;                                                  \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            any_##type x = from[i];                                                                \
            to[i] = x * NAN_OR(x, by);                                                             \
        }                                                                                          \
    }

FLOAT_SCALE(float32)
FLOAT_SCALE(float64)

/* Only single lanes are for the vectoriser. */
#if LANES == 1
#define INDEPENDENT_LANES INDEPENDENT
#else
#define INDEPENDENT_LANES
#endif

/* Whole lanes, then the rest by way of lanes on the stack. Each result is rounded once. */
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
    lanes x = type##_load(rest[0]), y = type##_load(rest[1]);                                      \
    type##_store(rest[0], expression);                                                             \
    memcpy(to + whole * size, rest[0], (count - whole) * size);

#define HALF_REDUCTION(op, type, expression)                                                       \
    PATH_TARGET static void op##_##type(void *out, const void *left, const void *right,            \
                                        size_t count)                                              \
    {                                                                                              \
        HALF_LOOP(type, expression)                                                                \
    }

#define HALF(type)                                                                                 \
    HALF_REDUCTION(sum, type, x + lanes_nan_or(x, y))                                              \
    HALF_REDUCTION(product, type, x *lanes_nan_or(x, y))                                           \
    HALF_REDUCTION(min, type, lanes_nan_or(x, lanes_least(x, y)))                                  \
    HALF_REDUCTION(max, type, lanes_nan_or(x, lanes_greatest(x, y)))                               \
    PATH_TARGET static void average_##type(void *out, const void *left, const void *right,         \
                                           size_t count, int divisor)                              \
    {                                                                                              \
        const float by = (float)divisor;                                                           \
        HALF_LOOP(type, (x + lanes_nan_or(x, y)) / by)                                             \
    }

HALF(float16)
HALF(bfloat16)

/* Both operands of the loop are the same. */
#define HALF_SCALE(type)                                                                           \
    PATH_TARGET static void scale_##type(void *out, const void *in, size_t count, double factor)   \
    {                                                                                              \
        const void *left = in, *right = in;                                                        \
        const lanes by = (float)factor - (lanes){ 0 };                                             \
        HALF_LOOP(type, x *lanes_nan_or(y, by))                                                    \
    }

HALF_SCALE(float16)
HALF_SCALE(bfloat16)

#define HALF_CONVERSIONS(type)                                                                     \
    PATH_TARGET static void widen_##type(void *out, const void *in, size_t count)                  \
    {                                                                                              \
        unsigned char *to = out;                                                                   \
        const unsigned char *from = in;                                                            \
        const size_t whole = count / LANES * LANES, rest = count - whole;                          \
        INDEPENDENT_LANES                                                                          \
        for (size_t i = 0; i < whole; i += LANES) {                                                \
            lanes x = type##_load(from + i * sizeof(uint16_t));                                    \
            memcpy(to + i * sizeof(float), &x, sizeof x);                                          \
        }                                                                                          \
        if (rest == 0)                                                                             \
            return;                                                                                \
        uint16_t halves[LANES] = { 0 };                                                            \
        memcpy(halves, from + whole * sizeof *halves, rest * sizeof *halves);                      \
        lanes x = type##_load(halves);                                                             \
        memcpy(to + whole * sizeof(float), &x, rest * sizeof(float));                              \
    }                                                                                              \
    PATH_TARGET static void narrow_##type(void *out, const void *in, size_t count)                 \
    {                                                                                              \
        unsigned char *to = out;                                                                   \
        const unsigned char *from = in;                                                            \
        const size_t whole = count / LANES * LANES, rest = count - whole;                          \
        INDEPENDENT_LANES                                                                          \
        for (size_t i = 0; i < whole; i += LANES) {                                                \
            lanes x;                                                                               \
            memcpy(&x, from + i * sizeof(float), sizeof x);                                        \
            type##_store(to + i * sizeof(uint16_t), x);                                            \
        }                                                                                          \
        if (rest == 0)                                                                             \
            return;                                                                                \
        uint16_t halves[LANES];                                                                    \
        lanes x = (lanes){ 0 };                                                                    \
        memcpy(&x, from + whole * sizeof(float), rest * sizeof(float));                            \
        type##_store(halves, x);                                                                   \
        memcpy(to + whole * sizeof *halves, halves, rest * sizeof *halves);                        \
    }

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
