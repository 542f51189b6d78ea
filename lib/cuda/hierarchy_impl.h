/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of hierarchy.h share. */
#ifndef LIB_CUDA_HIERARCHY_IMPL_H
#define LIB_CUDA_HIERARCHY_IMPL_H

#include "lib/cuda/reducer_impl.h"

/* A piece of a tensor. `input` and `output` are its own. */
struct hierarchy_piece {
    const struct hvd_device_allreduce *allreduce;
    struct hierarchy_slot *slot;
    int number; /* of the slot */
    uint64_t input, output;
    size_t count, size; /* elements, and bytes of one */
    size_t share, part; /* elements of this rank's share, and of its part of that */
};

/* Where a share of the piece is in `memory`, which is its input or output, and its elements. */
uint64_t hierarchy_share_at(const struct cuda_group *group, const struct hierarchy_piece *piece,
                            uint64_t memory, int share);
size_t hierarchy_share_count(const struct cuda_group *group, const struct hierarchy_piece *piece,
                             int share);

/* Within this rank's host, in the GPU's context: puts the sum of each share at its place in the
 * output of the rank that carries it; puts all shares in the outputs of all ranks. */
int hierarchy_scatter_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                             struct err *err);
int hierarchy_collect_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                             struct err *err);

#endif
