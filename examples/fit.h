/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting a small network to what is known about a function on [-1, 1]: its values
 * (function_approximation) or its differential equation (pinn). Each is done in two ways:
 *
 *   data-parallel   one model; rank r holds the r-th part of the points; gradients are averaged;
 *   ensemble        a model for each rank, with a task of its own; nothing is sent.
 *
 * The program says what is known and calls fit_main():
 *
 *   options, points, network (fit_options.c, fit_place.c); training, where the library is called
 *   (fit_training.c); comparison with the exact solution, table, plot, checkpoint, result line
 *   (fit_report.c).
 *
 * Fails when out of memory, when a file cannot be written, when a rank is lost, and when the ranks
 * of a data-parallel training differ at the end. */
#ifndef EXAMPLES_FIT_H
#define EXAMPLES_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/fit_place.h"
#include "examples/support/mlp.h"

struct fit_equation {
    const char *program, *summary;

    /* What the network misses at x; training makes the mean of its squares over the points small.
     * `n` is the network and its derivatives there; stores the derivative of the result by each. */
    double (*residual)(const struct fit_place *place, double x, const double n[MLP_ORDERS],
                       double d_n[MLP_ORDERS]);

    double (*solution)(double x, double n); /* what the network stands for */
    double (*exact)(const struct fit_place *place, double x);
    const char *(*formula)(const struct fit_place *place); /* of the exact solution */

    bool in_parts;          /* as for fit_place_for() */
    long points[FIT_MODES]; /* of each rank, unless there are fewer together than `least` */
    long least;
    size_t compared; /* points at which a network is compared with the exact solution */

    struct mlp_shape
        shape; /* hidden layers, width, order; scale if the domain is [-1, 1]; spread */
    long steps;
    double learning_rate; /* Adam's, of one rank; data-parallel it is multiplied by their number */
    double decay;         /* how much of it is left at the end */
};

/* What main() returns. */
int fit_main(const struct fit_equation *equation, int argc, char **argv);

#endif
