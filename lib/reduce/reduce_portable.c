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

static inline lanes float16_load(const void *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    return float16_to_float(half);
}

static inline void float16_store(void *to, lanes x)
{
    uint16_t half = float16_from_float(x);
    memcpy(to, &half, sizeof half);
}

static inline lanes bfloat16_load(const void *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    return bfloat16_to_float(half);
}

static inline void bfloat16_store(void *to, lanes x)
{
    uint16_t half = bfloat16_from_float(x);
    memcpy(to, &half, sizeof half);
}

static inline lanes lanes_least(lanes x, lanes y)
{
    return x < y ? x : y;
}

static inline lanes lanes_greatest(lanes x, lanes y)
{
    return x > y ? x : y;
}

/* Without a branch behind which y would be computed. */
static inline lanes lanes_nan_or(lanes x, lanes y)
{
    return float_from_bits(half_select(-(uint32_t)(x != x), float_to_bits(x), float_to_bits(y)));
}

#include "lib/reduce/reduce_loops.h"
