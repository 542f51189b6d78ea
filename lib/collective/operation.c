/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithm moves what; see operation.h. */
#include "lib/collective/operation.h"

#include "lib/collective/adasum.h"
#include "lib/collective/alltoall_pairwise.h"
#include "lib/collective/operation_impl.h"
#include "lib/collective/ring.h"

static const struct {
    struct operation *(*start)(struct operation_store *store, const struct operation_task *task,
                               struct err *err);
    bool needs_mesh;
} kinds[] = {
    [OPERATION_ALLREDUCE] = { allreduce_ring_start, false },
    [OPERATION_ALLGATHER] = { allgather_ring_start, false },
    [OPERATION_BROADCAST] = { broadcast_ring_start, false },
    [OPERATION_ALLTOALL] = { alltoall_pairwise_start, true },
    [OPERATION_REDUCESCATTER] = { reduce_scatter_ring_start, false },
    [OPERATION_ADASUM] = { adasum_start, true },
};

struct operation *operation_start(struct operation_store *store, const struct operation_task *task,
                                  struct err *err)
{
    return kinds[task->kind].start(store, task, err);
}

void operation_fini(struct operation_store *store, struct operation *operation)
{
    if (operation && operation->type->fini)
        operation->type->fini(operation);
    operation_free(store, operation);
}

bool operation_needs_mesh(enum operation_kind kind)
{
    return kinds[kind].needs_mesh;
}
