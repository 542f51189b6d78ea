/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops in plain C, for any machine; see reduce_path.h. A lane is one float. */
#include "lib/reduce/half.h"

#define PATH reduce_portable
#define PATH_NAME "portable"
#define PATH_SUPPORTED on_any_machine
#define PATH_TARGET

#include <stdbool.h>

static bool on_any_machine(void)
{
    return true;
}

typedef float lanes;
#define LANES 1

#define CONVERSIONS(type)                                                                          \
    static inline lanes type##_load(const void *from)                                              \
    {                                                                                              \
        uint16_t half;                                                                             \
        memcpy(&half, from, sizeof half);                                                          \
        return type##_to_float(half);                                                              \
    }                                                                                              \
    static inline void type##_store(void *to, lanes x)                                             \
    {                                                                                              \
        uint16_t half = type##_from_float(x);                                                      \
        memcpy(to, &half, sizeof half);                                                            \
    }                                                                                              \
    static inline void type##_widen(void *to, const void *from)                                    \
    {                                                                                              \
        lanes x = type##_load(from);                                                               \
        memcpy(to, &x, sizeof x);                                                                  \
    }                                                                                              \
    static inline void type##_narrow(void *to, const void *from)                                   \
    {                                                                                              \
        lanes x;                                                                                   \
        memcpy(&x, from, sizeof x);                                                                \
        type##_store(to, x);                                                                       \
    }

CONVERSIONS(float16)
CONVERSIONS(bfloat16)

/* x if it is NaN, else y; without a branch, behind which y would be computed. */
static inline lanes nan_or(lanes x, lanes y)
{
    return float_from_bits(half_select(-(uint32_t)(x != x), float_to_bits(x), float_to_bits(y)));
}

static inline lanes lanes_sum(lanes x, lanes y)
{
    return float32_made(x, y, x + nan_or(x, y));
}

static inline lanes lanes_product(lanes x, lanes y)
{
    return float32_made(x, y, x * nan_or(x, y));
}

static inline lanes lanes_quotient(lanes x, lanes y)
{
    return x / y;
}

static inline lanes lanes_least(lanes x, lanes y)
{
    return nan_or(x, x < y ? x : y);
}

static inline lanes lanes_greatest(lanes x, lanes y)
{
    return nan_or(x, x > y ? x : y);
}

static inline lanes lanes_all(float x)
{
    return x;
}

#include "lib/reduce/reduce_loops.h"
