/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the operation of the chosen algorithm; see operation.h. */
#include "lib/collective/operation.h"

#include "lib/collective/adasum.h"
#include "lib/collective/adasum_schedule.h"
#include "lib/collective/algorithm.h"
#include "lib/collective/allreduce_tree.h"
#include "lib/collective/alltoall_pairwise.h"
#include "lib/collective/broadcast_linear.h"
#include "lib/collective/broadcast_tree.h"
#include "lib/collective/direct.h"
#include "lib/collective/doubling.h"
#include "lib/collective/operation_impl.h"
#include "lib/collective/ring.h"
#include "lib/collective/ring_schedule.h"
#include "lib/collective/two_level.h"

typedef int peers_fn(const struct operation_task *task, int *peers);
typedef struct operation *start_fn(struct operation_store *store, const struct operation_task *task,
                                   struct err *err);

static int of_ring(const struct operation_task *task, int *peers)
{
    peers[0] = ring_left(task->rank, task->size);
    peers[1] = ring_right(task->rank, task->size);
    return task->size > 2 ? 2 : 1;
}

static int of_all(const struct operation_task *task, int *peers)
{
    for (int rank = 0; rank < task->size; rank++)
        if (rank != task->rank)
            *peers++ = rank;
    return task->size - 1;
}

static int of_direct(const struct operation_task *task, int *peers)
{
    return direct_peers(task->rank, task->size, peers);
}

static int of_doubling(const struct operation_task *task, int *peers)
{
    return doubling_peers(task->rank, task->size, peers);
}

static int of_tree(const struct operation_task *task, int *peers)
{
    int root = task->kind == OPERATION_BROADCAST ? task->root : 0;
    return tree_peers(task->rank, task->size, root, peers);
}

static int of_linear(const struct operation_task *task, int *peers)
{
    return broadcast_linear_peers(task->rank, task->size, task->root, peers);
}

static int of_two_level(const struct operation_task *task, int *peers)
{
    return two_level_peers(task->placing, task->rank, peers);
}

static int of_adasum(const struct operation_task *task, int *peers)
{
    return adasum_peers(task->rank, task->size, peers);
}

/* algorithm_can() describes what is implemented here. */
static const struct {
    peers_fn *peers;
    start_fn *start[OPERATION_ADASUM + 1];
} algorithms[ALGORITHMS] = {
    [ALGORITHM_RING] = { of_ring,
                         { [OPERATION_ALLREDUCE] = allreduce_ring_start,
                           [OPERATION_ALLGATHER] = allgather_ring_start,
                           [OPERATION_BROADCAST] = broadcast_ring_start,
                           [OPERATION_REDUCESCATTER] = reduce_scatter_ring_start } },
    [ALGORITHM_DIRECT] = { of_direct,
                           { [OPERATION_ALLREDUCE] = allreduce_direct_start,
                             [OPERATION_ALLGATHER] = allgather_direct_start,
                             [OPERATION_REDUCESCATTER] = reduce_scatter_direct_start } },
    [ALGORITHM_RECURSIVE_DOUBLING] = { of_doubling,
                                       { [OPERATION_ALLREDUCE] =
                                             allreduce_recursive_doubling_start } },
    [ALGORITHM_HALVING_DOUBLING] = { of_doubling,
                                     { [OPERATION_ALLREDUCE] = allreduce_halving_doubling_start } },
    [ALGORITHM_TREE] = { of_tree,
                         { [OPERATION_ALLREDUCE] = allreduce_tree_start,
                           [OPERATION_BROADCAST] = broadcast_tree_start } },
    [ALGORITHM_TWO_LEVEL] = { of_two_level, { [OPERATION_ALLREDUCE] = allreduce_two_level_start } },
    [ALGORITHM_PAIRWISE] = { of_all, { [OPERATION_ALLTOALL] = alltoall_pairwise_start } },
    [ALGORITHM_ADASUM] = { of_adasum, { [OPERATION_ADASUM] = adasum_start } },
    [ALGORITHM_LINEAR] = { of_linear, { [OPERATION_BROADCAST] = broadcast_linear_start } },
};

/* An allgather of the ring passes on what it has just received, and was not measured. */
static bool is_exchange(const struct operation_task *task)
{
    return task->kind == OPERATION_ALLTOALL ||
           (task->kind == OPERATION_ALLGATHER && task->algorithm == ALGORITHM_DIRECT);
}

/* The rows of a message, on average over those that are not empty. All ranks of an allgather get
 * the same number, so both sides of a link give its messages the same class of costs. */
static size_t count_rows(const struct operation_task *task)
{
    int64_t rows = 0, messages = 0;
    for (int rank = 0; rank < task->size; rank++) {
        rows += task->splits[rank];
        messages += task->splits[rank] > 0;
    }
    return messages > 0 ? (size_t)(rows / messages) : 0;
}

/* Bytes for each peer, if links should choose their way by what they have measured. The broadcast
 * of 3 ranks and more was measured as well: reading one copy in place wins (linear_flow.h). */
static size_t count_message(const struct operation_task *task)
{
    size_t size = dtype_size((int)task->dtype);
    if (is_exchange(task))
        return count_rows(task) * task->row_count * size;
    return task->kind == OPERATION_BROADCAST && task->size == 2 ? task->count * size : 0;
}

struct operation *operation_start(struct operation_store *store, const struct operation_task *task,
                                  struct err *err)
{
    struct operation *operation = algorithms[task->algorithm].start[task->kind](store, task, err);
    if (operation && (task->kind == OPERATION_ALLREDUCE || task->kind == OPERATION_ADASUM))
        operation->reduced = task->count * dtype_size((int)task->dtype);
    if (operation) {
        operation->exchanged = is_exchange(task);
        operation->message = count_message(task);
    }
    return operation;
}

int operation_peers(const struct operation_task *task, int *peers)
{
    return algorithms[task->algorithm].peers(task, peers);
}

void operation_fini(struct operation_store *store, struct operation *operation)
{
    if (operation && operation->type->fini)
        operation->type->fini(operation);
    operation_free(store, operation);
}
