/* SPDX-License-Identifier: Apache-2.0 */
/* Parts and points; see fit_place.h. Nothing here fails. */
#include "examples/fit_place.h"

static const struct interval whole = { -1, 1 };

struct fit_place fit_place_for(enum fit_mode mode, bool in_parts, int rank, int size)
{
    struct interval part = { -1 + 2.0 * rank / size, -1 + 2.0 * (rank + 1) / size };
    bool alone = mode == FIT_ENSEMBLE;
    return (struct fit_place){
        .mode = mode,
        .rank = rank,
        .size = size,
        .points = alone && !in_parts ? whole : part,
        .domain = alone && in_parts ? part : whole,
    };
}

/* Values number `first` to `first + count` of the `total` that go from end to end. */
static void spread(const struct interval *interval, size_t total, size_t first, size_t count,
                   double *values)
{
    double width = interval->high - interval->low;
    for (size_t i = 0; i < count; i++)
        values[i] = total < 2 ? interval->low + width / 2
                              : interval->low + width * (double)(first + i) / (double)(total - 1);
}

void fit_place_points(const struct fit_place *place, size_t count, double *x)
{
    if (place->mode == FIT_ENSEMBLE)
        interval_spread(&place->domain, count, x);
    else
        spread(&place->domain, count * (size_t)place->size, count * (size_t)place->rank, count, x);
}

void interval_spread(const struct interval *interval, size_t count, double *values)
{
    spread(interval, count, 0, count, values);
}
