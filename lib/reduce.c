/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops; see reduce.h. Written once, made for each type by the macros below; the table at
 * the end chooses. */
#include "lib/reduce.h"

#include <stdint.h>

/* These loops are the library's only arithmetic: they are to be vectorised at any -O. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#define INDEPENDENT _Pragma("GCC ivdep")
#elif defined __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif

typedef int32_t any_int32 __attribute__((aligned(1), may_alias));
typedef int64_t any_int64 __attribute__((aligned(1), may_alias));
typedef float any_float32 __attribute__((aligned(1), may_alias));
typedef double any_float64 __attribute__((aligned(1), may_alias));

#define REDUCTION(function, type, expression)                                                      \
    static void function(void *out, const void *left, const void *right, size_t count)             \
    {                                                                                              \
        any_##type *to = out;                                                                      \
        const any_##type *from = left, *with = right;                                              \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            any_##type x = from[i], y = with[i];                                                   \
            to[i] = (expression);                                                                  \
        }                                                                                          \
    }

#define DIVISION(function, type)                                                                   \
    static void function(void *data, size_t count, int divisor)                                    \
    {                                                                                              \
        any_##type *at = data;                                                                     \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++)                                                         \
            at[i] = at[i] / (any_##type)divisor;                                                   \
    }

#define INTEGER_REDUCTIONS(type, utype)                                                            \
    REDUCTION(sum_##type, type, (any_##type)((utype)x + (utype)y))                                 \
    REDUCTION(product_##type, type, (any_##type)((utype)x * (utype)y))                             \
    REDUCTION(min_##type, type, x < y ? x : y)                                                     \
    REDUCTION(max_##type, type, x > y ? x : y)                                                     \
    DIVISION(divide_##type, type)

/* A NaN on the right wins because every comparison with it is false, one on the left because it is
 * asked for. */
#define FLOAT_REDUCTIONS(type)                                                                     \
    REDUCTION(sum_##type, type, x + y)                                                             \
    REDUCTION(product_##type, type, x *y)                                                          \
    REDUCTION(min_##type, type, x < y || x != x ? x : y)                                           \
    REDUCTION(max_##type, type, x > y || x != x ? x : y)                                           \
    DIVISION(divide_##type, type)

INTEGER_REDUCTIONS(int32, uint32_t)
INTEGER_REDUCTIONS(int64, uint64_t)
FLOAT_REDUCTIONS(float32)
FLOAT_REDUCTIONS(float64)

static const char *const ops[] = {
    [HVD_AVERAGE] = "average", [HVD_SUM] = "sum",         [HVD_MIN] = "min",
    [HVD_MAX] = "max",         [HVD_PRODUCT] = "product",
};

enum { OP_COUNT = sizeof ops / sizeof *ops };

#define BY_OP(type)                                                                                \
    {                                                                                              \
        [HVD_AVERAGE] = sum_##type, [HVD_SUM] = sum_##type, [HVD_MIN] = min_##type,                \
        [HVD_MAX] = max_##type, [HVD_PRODUCT] = product_##type,                                    \
    }

static const struct element {
    const char *name;
    size_t size;
    reduce_fn *by_op[OP_COUNT];
    divide_fn *divide;
} elements[] = {
    [HVD_INT32] = { "int32", 4, BY_OP(int32), divide_int32 },
    [HVD_INT64] = { "int64", 8, BY_OP(int64), divide_int64 },
    [HVD_FLOAT32] = { "float32", 4, BY_OP(float32), divide_float32 },
    [HVD_FLOAT64] = { "float64", 8, BY_OP(float64), divide_float64 },
};

/* NULL if there is none. */
static const struct element *find(int dtype)
{
    int count = sizeof elements / sizeof *elements;
    return dtype >= 0 && dtype < count && elements[dtype].size ? &elements[dtype] : NULL;
}

static int known_op(int op)
{
    return op >= 0 && op < OP_COUNT && ops[op];
}

reduce_fn *reduce_function(enum hvd_dtype dtype, enum hvd_op op)
{
    const struct element *element = find((int)dtype);
    return element && known_op((int)op) ? element->by_op[op] : NULL;
}

divide_fn *divide_function(enum hvd_dtype dtype)
{
    const struct element *element = find((int)dtype);
    return element ? element->divide : NULL;
}

size_t dtype_size(int dtype)
{
    const struct element *element = find(dtype);
    return element ? element->size : 0;
}

const char *dtype_name(int dtype)
{
    const struct element *element = find(dtype);
    return element ? element->name : "?";
}

const char *op_name(int op)
{
    return known_op(op) ? ops[op] : "?";
}
