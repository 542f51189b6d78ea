/* SPDX-License-Identifier: Apache-2.0 */
/* A number that is watched for as long as it takes, for a plot of it: neighbouring values are
 * averaged when there are more than a plot can show. */
#ifndef EXAMPLES_SUPPORT_CURVE_H
#define EXAMPLES_SUPPORT_CURVE_H

#include <stddef.h>

enum { CURVE_POINTS = 512 };

/* Begins empty: all zero. */
struct curve {
    double x[CURVE_POINTS], y[CURVE_POINTS];
    size_t count;
    long every; /* values that make a point; 0 counts as 1 */
    double sum; /* of the values since the last point */
    long summed;
};

/* `x` only grows. A point stands where its last value did. */
void curve_add(struct curve *curve, double x, double y);

#endif
