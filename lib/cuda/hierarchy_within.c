/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an allreduce in two levels that NCCL does within a host; see hierarchy.h.
 *
 *   scatter: ncclReduceScatter, or a group of ncclReduce, one for each share
 *   collect: ncclAllGather, or a group of ncclBroadcast, in place
 *
 * Fails in NCCL's words; then the communicator is gone. */
#include "lib/cuda/hierarchy_impl.h"

uint64_t hierarchy_share_at(const struct cuda_group *group, const struct hierarchy_piece *piece,
                            uint64_t memory, int share)
{
    return memory +
           hierarchy_before(piece->count, group->hierarchy.plan.carriers, share) * piece->size;
}

size_t hierarchy_share_count(const struct cuda_group *group, const struct hierarchy_piece *piece,
                             int share)
{
    int carriers = group->hierarchy.plan.carriers;
    return hierarchy_before(piece->count, carriers, share + 1) -
           hierarchy_before(piece->count, carriers, share);
}

/* True if one call of NCCL does for all shares: every rank of this host carries as much. */
static bool shares_are_even(const struct cuda_group *group, const struct hierarchy_piece *piece)
{
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    return plan->host_size == plan->carriers && piece->count % (size_t)plan->carriers == 0;
}

static int scatter_uneven_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                                 int dtype, int op, struct err *err)
{
    const struct nccl *nccl = group->reducer->nccl;
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    int result = nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int share = 0; share < plan->carriers && result == NCCL_OK; share++) {
        size_t count = hierarchy_share_count(group, piece, share);
        uint64_t input = hierarchy_share_at(group, piece, piece->input, share);
        uint64_t output = hierarchy_share_at(group, piece, piece->output, share);
        if (count > 0)
            result = nccl->reduce((const void *)(uintptr_t)input,
                                  share == plan->host_rank ? (void *)(uintptr_t)output : NULL,
                                  count, dtype, op, share, group->hierarchy.comm, group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return cuda_group_end(group, result, "ncclReduce", err);
}

int hierarchy_scatter_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                             struct err *err)
{
    int dtype, op;
    const struct hvd_device_allreduce *allreduce = piece->allreduce;
    nccl_numbers(allreduce->dtype, allreduce->op == HVD_AVERAGE ? HVD_SUM : allreduce->op, &dtype,
                 &op);
    if (!shares_are_even(group, piece))
        return scatter_uneven_shares(group, piece, dtype, op, err);
    int result = group->reducer->nccl->reduce_scatter(
        (const void *)(uintptr_t)piece->input,
        (void *)(uintptr_t)hierarchy_share_at(group, piece, piece->output,
                                              group->hierarchy.plan.host_rank),
        piece->share, dtype, op, group->hierarchy.comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclReduceScatter", err);
}

static int collect_uneven_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                                 int dtype, struct err *err)
{
    const struct nccl *nccl = group->reducer->nccl;
    int result = nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int share = 0; share < group->hierarchy.plan.carriers && result == NCCL_OK; share++) {
        size_t count = hierarchy_share_count(group, piece, share);
        void *output = (void *)(uintptr_t)hierarchy_share_at(group, piece, piece->output, share);
        if (count > 0)
            result = nccl->broadcast(output, output, count, dtype, share, group->hierarchy.comm,
                                     group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return cuda_group_end(group, result, "ncclBroadcast", err);
}

int hierarchy_collect_shares(struct cuda_group *group, const struct hierarchy_piece *piece,
                             struct err *err)
{
    int dtype, op;
    nccl_numbers(piece->allreduce->dtype, HVD_SUM, &dtype, &op);
    if (!shares_are_even(group, piece))
        return collect_uneven_shares(group, piece, dtype, err);
    uint64_t own = hierarchy_share_at(group, piece, piece->output, group->hierarchy.plan.host_rank);
    int result = group->reducer->nccl->allgather((const void *)(uintptr_t)own,
                                                 (void *)(uintptr_t)piece->output, piece->share,
                                                 dtype, group->hierarchy.comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclAllGather", err);
}
