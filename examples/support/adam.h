/* SPDX-License-Identifier: Apache-2.0 */
/* Adam in double precision (Kingma and Ba, 2014), beta 0.9 and 0.999, epsilon 1e-7. */
#ifndef EXAMPLES_SUPPORT_ADAM_H
#define EXAMPLES_SUPPORT_ADAM_H

#include <stddef.h>

struct adam {
    size_t count;
    long steps;             /* made so far */
    double *mean;           /* owned; of the gradients, decaying */
    double *mean_of_square; /* owned; likewise */
};

/* Returns 0, or -1 when out of memory. */
int adam_init(struct adam *adam, size_t count);

/* One step. A single gradient, whatever its length, moves its parameter by `rate`. */
void adam_step(struct adam *adam, double *parameters, const double *gradients, double rate);

void adam_fini(struct adam *adam);

#endif
