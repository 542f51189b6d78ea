/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as positions on axes; see tuning.h. */
#include "lib/autotune/tuning.h"

#include <math.h>
#include <stddef.h>

enum { UNIT = 1024 };

/* Bytes grow by the same factor everywhere; the time begins at 0 and grows with the third power. */
static const struct axis {
    size_t offset; /* in struct tuning */
    double low, high;
} axes[TUNING_DIMENSIONS] = {
    { offsetof(struct tuning, fusion_threshold), 64 * UNIT, 4096 * UNIT },
    { offsetof(struct tuning, fused_max), 4 * UNIT, 1024 * UNIT },
    { offsetof(struct tuning, cycle_time_us), 0, 5000 },
    { offsetof(struct tuning, small), 1 * UNIT, 1024 * UNIT },
    { offsetof(struct tuning, large), 4 * UNIT, 4096 * UNIT },
};

static double tuning_place(const struct axis *axis, uint64_t value)
{
    double at = axis->low > 0 ? log((double)value / axis->low) / log(axis->high / axis->low)
                              : cbrt((double)value / axis->high);
    return at < 0 ? 0 : at > 1 ? 1 : at;
}

static uint64_t value_at(const struct axis *axis, double at)
{
    double value =
        axis->low > 0 ? axis->low * pow(axis->high / axis->low, at) : axis->high * at * at * at;
    return (uint64_t)llround(value);
}

int tuning_dimensions(unsigned varying)
{
    return __builtin_popcount(varying & TUNE_ALL);
}

void tuning_point(double *point, const struct tuning *tuning, unsigned varying)
{
    for (int i = 0; i < TUNING_DIMENSIONS; i++)
        if (varying & 1u << i)
            *point++ =
                tuning_place(&axes[i], *(const uint64_t *)((const char *)tuning + axes[i].offset));
}

struct tuning tuning_at(const double *point, const struct tuning *fixed, unsigned varying)
{
    struct tuning tuning = *fixed;
    for (int i = 0; i < TUNING_DIMENSIONS; i++)
        if (varying & 1u << i)
            *(uint64_t *)((char *)&tuning + axes[i].offset) = value_at(&axes[i], *point++);
    return tuning;
}
