/* SPDX-License-Identifier: Apache-2.0 */
/* All that a run of fashion_mnist needs to go on as if it had never ended: the parameters, what the
 * optimizer remembers, and how far the training is. Broadcast at the beginning, and kept in a file
 * (hvd_checkpoint_save(3)). */
#ifndef EXAMPLES_FASHION_STATE_H
#define EXAMPLES_FASHION_STATE_H

#include "examples/fashion_network.h"
#include "examples/support/optimizer.h"
#include "examples/support/problem.h"
#include "hvd_training.h"

enum { FASHION_SCALARS = 3, FASHION_NAME_SIZE = 32 };

struct fashion_state {
    /* Those of the network, then, for Adam, the means and variances of their gradients. */
    struct hvd_parameter tensors[3 * NETWORK_TENSORS];
    int tensor_count;
    struct hvd_scalar scalars[FASHION_SCALARS];
    int64_t epoch;     /* the current one; as many are over */
    int64_t processed; /* images of it that all ranks together have had */
    char names[2 * NETWORK_TENSORS][FASHION_NAME_SIZE];
};

/* Of a network and an optimizer, which it borrows. It must stay where it is. */
void fashion_state_init(struct fashion_state *state, struct network *network,
                        struct optimizer *optimizer);

/* All ranks take over what rank 0 has. */
int fashion_state_broadcast(const struct fashion_state *state, struct problem *problem);

/* Both say on all ranks what is wrong on rank 0. */
int fashion_state_save(const struct fashion_state *state, const char *file,
                       struct problem *problem);
int fashion_state_restore(struct fashion_state *state, const char *file, struct problem *problem);

#endif
