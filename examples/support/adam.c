/* SPDX-License-Identifier: Apache-2.0 */
/* Adam. Fails when out of memory, in adam_init() alone. */
#include "examples/support/adam.h"

#include <math.h>
#include <stdlib.h>

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;

int adam_init(struct adam *adam, size_t count)
{
    *adam = (struct adam){ .count = count };
    adam->mean = calloc(count, sizeof *adam->mean);
    adam->mean_of_square = calloc(count, sizeof *adam->mean_of_square);
    if (adam->mean != NULL && adam->mean_of_square != NULL)
        return 0;
    adam_fini(adam);
    return -1;
}

void adam_step(struct adam *adam, double *parameters, const double *gradients, double rate)
{
    double step = (double)++adam->steps;
    double mean_weight = 1 - pow(beta1, step), square_weight = 1 - pow(beta2, step);
    for (size_t i = 0; i < adam->count; i++) {
        double gradient = gradients[i];
        adam->mean[i] += (1 - beta1) * (gradient - adam->mean[i]);
        adam->mean_of_square[i] += (1 - beta2) * (gradient * gradient - adam->mean_of_square[i]);
        double size = sqrt(adam->mean_of_square[i] / square_weight) + epsilon;
        parameters[i] -= rate * adam->mean[i] / mean_weight / size;
    }
}

void adam_fini(struct adam *adam)
{
    free(adam->mean);
    free(adam->mean_of_square);
    *adam = (struct adam){ 0 };
}
