/* SPDX-License-Identifier: Apache-2.0 */
/* The training of the programs that fit networks (fit.h), and all that a rank needs for it. */
#ifndef EXAMPLES_FIT_TRAINING_H
#define EXAMPLES_FIT_TRAINING_H

#include <stddef.h>
#include <stdint.h>

#include "examples/fit_options.h"
#include "examples/support/adam.h"
#include "examples/support/problem.h"
#include "hvd_optimizer.h"

struct fit {
    const struct fit_options *options;
    const struct fit_equation *equation;
    struct fit_place place;
    size_t points; /* of this rank */
    double *x;     /* owned; where they are */
    struct mlp mlp;
    struct adam adam;
    double rate;                     /* of learning, in the step at hand */
    struct hvd_optimizer *optimizer; /* owned; data-parallel, else NULL */
    int64_t bytes_sent;              /* by this rank, in the training steps */
};

/* What needs no other rank: points, network, memory. Returns 0, or -1 with a problem; fit_fini() in
 * both cases. */
int fit_init(struct fit *fit, const struct fit_options *options, struct problem *problem);
void fit_fini(struct fit *fit);

/* What needs the others before the first step. Likewise. */
int fit_start(struct fit *fit, struct problem *problem);

/* All steps. Likewise. */
int fit_train(struct fit *fit, struct problem *problem);

#endif
