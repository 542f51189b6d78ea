/* SPDX-License-Identifier: Apache-2.0 */
/* A Gaussian process with a squared exponential kernel: the estimate of a function in the unit cube
 * from some of its values, each with noise. Values are taken relative to their mean and spread.
 * Pure. Adding a value, and asking for an estimate with its variance, cost about the square of the
 * number of values; asking for the mean alone costs about that number. */
#ifndef LIB_AUTOTUNE_GAUSSIAN_PROCESS_H
#define LIB_AUTOTUNE_GAUSSIAN_PROCESS_H

#include "lib/base/status.h"

struct gaussian_process {
    int ndims, count, capacity;
    double noise; /* deviation of a value seen from the function's, 1 being the values' spread */
    double *points, *values, *factor, *weights, *work; /* owned */
    double mean, spread;                               /* of the values */
};

struct belief {
    double mean, deviation;
};

/* Room for `capacity` values. HVD_ERR_NOMEM. */
int gaussian_process_init(struct gaussian_process *process, int ndims, int capacity, double noise,
                          struct err *err);
void gaussian_process_fini(struct gaussian_process *process);

/* Adds a value; there must be room. `point` has `ndims` coordinates from 0 to 1. */
void gaussian_process_add(struct gaussian_process *process, const double *point, double value);

double gaussian_process_mean(const struct gaussian_process *process, const double *point);
struct belief gaussian_process_believe(const struct gaussian_process *process, const double *point);

/* The expected improvement: by how much a value there is expected to exceed `than`, 0 where it is
 * less. */
double gaussian_process_improvement(const struct gaussian_process *process, const double *point,
                                    double than);

#endif
