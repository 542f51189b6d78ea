/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast along a tree; see broadcast_tree.h. Exchange 0 is with the parent, if there is one; the
 * other exchanges are with the children. Only results travel, no operands. */
#include "lib/collective/broadcast_tree.h"

#include "lib/collective/exchange.h"
#include "lib/collective/exchange_schedule.h"

struct broadcast_tree {
    struct exchange_operation base;
    struct exchange_flow flow;
    struct exchange exchanges[];
};

static size_t no_operands(const struct exchange_flow *flow, int index)
{
    (void)flow;
    (void)index;
    return 0;
}

/* The root has all results from the start. */
static size_t broadcast_tree_results_ready(const struct exchange_flow *flow, int index)
{
    const struct exchange *above = &flow->exchanges[0];
    return above->place_size > 0 ? above->placed : flow->exchanges[index].results_size;
}

static const struct exchange_rules rules = { .operands_ready = no_operands,
                                             .results_ready = broadcast_tree_results_ready,
                                             .turn = no_operands };

static const struct operation_type type = EXCHANGE_OPERATION_TYPE("tree");

static void broadcast_tree_fill(struct exchange *exchange, const struct operation_task *task,
                                int peer, bool is_parent)
{
    size_t nbytes = task->count * dtype_size((int)task->dtype);
    *exchange = (struct exchange){ .peer = peer };
    if (is_parent) {
        exchange->place = task->output;
        exchange->place_size = nbytes;
    } else {
        exchange->results = task->output;
        exchange->results_size = nbytes;
    }
}

struct operation *broadcast_tree_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err)
{
    int peers[1 + TREE_CHILDREN_MOST];
    int count = tree_peers(task->rank, task->size, task->root, peers);
    struct broadcast_tree *tree =
        operation_alloc(store, sizeof *tree + (size_t)count * sizeof *tree->exchanges);
    if (!tree) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    tree->base = (struct exchange_operation){
        .operation.type = &type, .store = store, .flow = &tree->flow, .rank = task->rank
    };
    tree->flow = (struct exchange_flow){ .rules = &rules,
                                         .exchanges = tree->exchanges,
                                         .count = count,
                                         .element_size = dtype_size((int)task->dtype),
                                         .piece = EXCHANGE_IN_SEQUENCE,
                                         .staging = task->staging };
    for (int i = 0; i < count; i++)
        broadcast_tree_fill(&tree->exchanges[i], task, peers[i],
                            i == 0 && task->rank != task->root);
    exchange_flow_begin(&tree->flow);
    return &tree->base.operation;
}
