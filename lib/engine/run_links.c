/* SPDX-License-Identifier: Apache-2.0 */
/* The links that a run needs: wanted on all ranks when it is decided on, so that nobody waits for who
 * has not come so far in the line; and there before it is started. Those behind it wait, too: all
 * ranks start what they have decided on in the same order.
 *
 * Fails with HVD_ERR_PROTOCOL when it needs to know where ranks are, and nobody has said that, as
 * linker_want() does, and with HVD_ERR_NOMEM. */
#include "lib/engine/engine_impl.h"

static int find_others(const struct process_set *set, const struct run *run)
{
    struct operation_task task;
    run_describe(set, run, &task);
    return operation_peers(&task, set->runs.others);
}

/* The peers of a tree's rank depend on who its root is. */
static bool are_the_same(const struct run *run)
{
    return run->algorithm != ALGORITHM_TREE;
}

int run_want_links(struct process_set *set, const struct run *run, struct err *err)
{
    unsigned bit = 1u << run->algorithm;
    if (set->size < 2 || algorithm_is_near(run->algorithm) || set->runs.wanted & bit)
        return HVD_OK;
    if (!set->engine->reach.directory)
        return fail(err, HVD_ERR_PROTOCOL, "nothing tells where the ranks of process set %d are",
                    set->id);
    if (!reach_place(set))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (are_the_same(run))
        set->runs.wanted |= bit;
    return set_want_data(set, set->runs.others, find_others(set, run), err);
}

bool run_has_links(struct process_set *set, const struct run *run)
{
    if (set->size < 2 || set->links.nawaited == 0 || algorithm_is_near(run->algorithm))
        return true;
    int count = find_others(set, run);
    for (int i = 0; i < count; i++)
        if (!set->links.channels[set->runs.others[i]])
            return false;
    return true;
}
