/* SPDX-License-Identifier: Apache-2.0 */
/* Who fits what: which part of [-1, 1] a rank holds points of, and where its network is to be
 * right. Arithmetic only. */
#ifndef EXAMPLES_FIT_PLACE_H
#define EXAMPLES_FIT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum fit_mode { FIT_DATA_PARALLEL, FIT_ENSEMBLE, FIT_MODES };

struct interval {
    double low, high;
};

struct fit_place {
    enum fit_mode mode;
    int rank, size;
    struct interval points; /* where this rank's points are */
    struct interval domain; /* where its network is to be right */
};

/* Data-parallel, rank r has the points of the r-th of `size` equal parts, and the network is for
 * all of them. In an ensemble each rank has a domain of its own and all points of it: its part if
 * `in_parts`, else the whole. */
struct fit_place fit_place_for(enum fit_mode mode, bool in_parts, int rank, int size);

/* Evenly spaced points of the place, `count` for each rank. In its domain they go from end to end:
 * all those of a data-parallel training together, so that two ranks with 16 have the points of one
 * with 32. */
void fit_place_points(const struct fit_place *place, size_t count, double *x);

/* `count` values from `low` to `high`, both included; one alone is in the middle. */
void interval_spread(const struct interval *interval, size_t count, double *values);

#endif
