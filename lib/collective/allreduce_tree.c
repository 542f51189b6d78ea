/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce along a binomial tree; see allreduce_tree.h. Exchange 0 is with the parent, if there is
 * one; the other exchanges are with the children, in order of rank. Operands go up, results down.
 *
 * The output is the place of the partial sums, and later of the results: a result only comes when
 * the parent has used the partial sum in its place. Operands of the first child are combined as
 * they come. Operands of a later child wait in a slot for those of the earlier children. */
#include "lib/collective/allreduce_tree.h"

#include "lib/collective/exchange.h"
#include "lib/collective/exchange_schedule.h"
#include "lib/collective/tree_schedule.h"

struct allreduce_tree {
    struct exchange_operation base;
    struct exchange_flow flow;
    struct combiner combiner;
    const unsigned char *input;
    unsigned char *output;
    int first_child; /* the exchange; 0 at the root */
    struct exchange exchanges[];
};

static const struct allreduce_tree *allreduce_tree_of(const struct exchange_flow *flow)
{
    return (const struct allreduce_tree *)(const void *)((const char *)flow -
                                                         offsetof(struct allreduce_tree, flow));
}

/* How many bytes of the sums of this rank and all ranks below are made. */
static size_t combined(const struct exchange_flow *flow, size_t nbytes)
{
    bool is_leaf = flow->count == allreduce_tree_of(flow)->first_child;
    return is_leaf ? nbytes : flow->exchanges[flow->count - 1].used;
}

static size_t allreduce_tree_operands_ready(const struct exchange_flow *flow, int index)
{
    return combined(flow, flow->exchanges[index].operands_size);
}

static size_t allreduce_tree_results_ready(const struct exchange_flow *flow, int index)
{
    bool is_root = allreduce_tree_of(flow)->first_child == 0;
    return is_root ? combined(flow, flow->exchanges[index].results_size)
                   : flow->exchanges[0].placed;
}

static size_t allreduce_tree_turn(const struct exchange_flow *flow, int index)
{
    bool is_first = index <= allreduce_tree_of(flow)->first_child;
    return is_first ? flow->exchanges[index].awaited : flow->exchanges[index - 1].used;
}

static void allreduce_tree_combine(struct exchange_flow *flow, int index, size_t offset,
                                   const unsigned char *data, size_t nbytes)
{
    const struct allreduce_tree *tree = allreduce_tree_of(flow);
    const unsigned char *own = index == tree->first_child ? tree->input : tree->output;
    bool is_last = tree->first_child == 0 && index == flow->count - 1;
    combiner_apply(&tree->combiner, tree->output + offset, own + offset, data, nbytes, is_last);
}

static const struct exchange_rules rules = { .operands_ready = allreduce_tree_operands_ready,
                                             .results_ready = allreduce_tree_results_ready,
                                             .turn = allreduce_tree_turn,
                                             .combine = allreduce_tree_combine };

static const struct operation_type type = EXCHANGE_OPERATION_TYPE("tree");

static void fill_parent(struct allreduce_tree *tree, size_t nbytes)
{
    bool is_leaf = tree->flow.count == 1;
    tree->exchanges[0].operands = is_leaf ? tree->input : tree->output;
    tree->exchanges[0].operands_size = nbytes;
    tree->exchanges[0].place = tree->output;
    tree->exchanges[0].place_size = nbytes;
}

/* `slot`: memory for the operands of the later children. */
static void fill_children(struct allreduce_tree *tree, size_t nbytes, unsigned char *slot)
{
    for (int i = tree->first_child; i < tree->flow.count; i++) {
        struct exchange *exchange = &tree->exchanges[i];
        exchange->awaited = nbytes;
        exchange->results = tree->output;
        exchange->results_size = nbytes;
        if (i == tree->first_child)
            continue;
        exchange->slot = slot;
        slot += operation_align(nbytes);
    }
}

/* The parent, if there is one, then the children, the smallest range first. */
static int find_peers(const struct operation_task *task, int peers[1 + TREE_CHILDREN_MOST])
{
    int children[TREE_CHILDREN_MOST], count = 0, parent = tree_parent(task->rank, task->size, 0);
    if (parent >= 0)
        peers[count++] = parent;
    for (int i = tree_children(task->rank, task->size, 0, children); i > 0; i--)
        peers[count++] = children[i - 1];
    return count;
}

static struct allreduce_tree *allreduce_tree_create(struct operation_store *store,
                                                    const struct operation_task *task)
{
    int peers[1 + TREE_CHILDREN_MOST], count = find_peers(task, peers);
    struct combiner combiner = combiner_of(task);
    struct allreduce_tree *tree =
        operation_alloc(store, sizeof *tree + (size_t)count * sizeof *tree->exchanges);
    if (!tree)
        return NULL;
    *tree = (struct allreduce_tree){
        .base = { .operation.type = &type,
                  .store = store,
                  .flow = &tree->flow,
                  .rank = task->rank },
        .flow = { .rules = &rules,
                  .exchanges = tree->exchanges,
                  .count = count,
                  .element_size = dtype_size((int)task->dtype),
                  .piece = EXCHANGE_IN_SEQUENCE,
                  .block = combiner_block(&combiner),
                  .staging = task->staging },
        .combiner = combiner,
        .input = task->input,
        .output = task->output,
        .first_child = task->rank == 0 ? 0 : 1,
    };
    for (int i = 0; i < count; i++)
        tree->exchanges[i] = (struct exchange){ .peer = peers[i] };
    return tree;
}

struct operation *allreduce_tree_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err)
{
    size_t nbytes = task->count * dtype_size((int)task->dtype);
    struct allreduce_tree *tree = allreduce_tree_create(store, task);
    if (!tree) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    int later = tree->flow.count - tree->first_child - 1;
    size_t scratch = later > 0 ? (size_t)later * operation_align(nbytes) : 0;
    if (scratch > 0 && !(tree->base.scratch = operation_alloc(store, scratch))) {
        operation_free(store, tree);
        fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of what may come early", scratch);
        return NULL;
    }
    if (tree->first_child == 1)
        fill_parent(tree, nbytes);
    fill_children(tree, nbytes, tree->base.scratch);
    exchange_flow_begin(&tree->flow);
    return &tree->base.operation;
}
