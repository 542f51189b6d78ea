/* SPDX-License-Identifier: Apache-2.0 */
/* How a gradient changes the parameters: Adam, with the constants of Keras (beta 0.9 and 0.999,
 * epsilon 1e-7), or plain gradient descent. Both work on all parameters as one vector, and know
 * nothing of ranks: that is hvd_optimizer's. */
#ifndef EXAMPLES_SUPPORT_OPTIMIZER_H
#define EXAMPLES_SUPPORT_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

enum optimizer_kind { OPTIMIZER_ADAM, OPTIMIZER_SGD };

struct optimizer {
    enum optimizer_kind kind;
    double learning_rate; /* of the next step */
    size_t count;
    int64_t steps;   /* made so far */
    float *mean;     /* owned; of the gradients, decaying; Adam only */
    float *variance; /* owned; of the gradients, around 0, decaying; Adam only */
};

/* Returns 0, or -1 when out of memory. */
int optimizer_init(struct optimizer *optimizer, enum optimizer_kind kind, size_t count);

void optimizer_step(struct optimizer *optimizer, float *parameters, const float *gradients);

void optimizer_fini(struct optimizer *optimizer);

#endif
