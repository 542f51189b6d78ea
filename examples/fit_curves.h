/* SPDX-License-Identifier: Apache-2.0 */
/* The solutions of all ranks' networks as curves, and the plot of them. */
#ifndef EXAMPLES_FIT_CURVES_H
#define EXAMPLES_FIT_CURVES_H

#include "examples/fit_training.h"

struct fit_curves {
    int size;         /* ranks */
    size_t stride;    /* values of each rank in x and solution; the last is no number, a gap */
    size_t samples;   /* of all ranks */
    double *memory;   /* owned; what the rest points into */
    double *x;        /* from end to end of the ranks' domains */
    double *solution; /* there, of their networks; to be filled in */
    double *sample_x; /* where all ranks have points */
    double *sample_y; /* the exact solution there */
};

/* Returns 0, or -1 when out of memory; fit_curves_fini() in both cases. */
int fit_curves_init(struct fit_curves *curves, const struct fit *fit);
void fit_curves_fini(struct fit_curves *curves);

/* Each rank has filled in its own solution; now all have those of all. Returns 0, or -1 with a
 * problem. */
int fit_curves_gather(struct fit_curves *curves, int rank, struct problem *problem);

/* Writes the plot that the options want. Returns 0, or -1 with a problem. */
int fit_curves_plot(const struct fit_curves *curves, const struct fit *fit,
                    struct problem *problem);

#endif
