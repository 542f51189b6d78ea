/* SPDX-License-Identifier: Apache-2.0 */
/* Places of ranks; see rank_places.h. The hosts are walked in order of their first rank: each gives
 * its ranks the next cross rank of those with their local rank. */
#include "rendezvous/world/rank_places.h"

#include "rendezvous/base/host_groups.h"

#include <assert.h>
#include <stdlib.h>

/* `cross_sizes`: so far, by local rank. */
static void place_host(struct rendezvous_slot *slots, int size, const int *ranks, int local_size,
                       int *cross_sizes)
{
    for (int local_rank = 0; local_rank < local_size; local_rank++)
        slots[ranks[local_rank]].rank_info = (struct rank_info){
            .rank = ranks[local_rank],
            .size = size,
            .local_rank = local_rank,
            .local_size = local_size,
            .cross_rank = cross_sizes[local_rank]++,
        };
}

int rank_places_fill(struct rendezvous_slot *slots, int size)
{
    struct host_groups groups = { 0 };
    assert(size > 0);
    const char **names = calloc((size_t)size, sizeof *names);
    int *cross_sizes = calloc((size_t)size, sizeof *cross_sizes);
    for (int rank = 0; names && rank < size; rank++)
        names[rank] = slots[rank].host;
    int rc = names && cross_sizes ? host_groups_init(&groups, names, size) : HVD_ERR_NOMEM;
    for (int h = 0; rc == HVD_OK && h < groups.count; h++)
        place_host(slots, size, groups.order + groups.starts[h],
                   groups.starts[h + 1] - groups.starts[h], cross_sizes);
    for (int rank = 0; rc == HVD_OK && rank < size; rank++)
        slots[rank].rank_info.cross_size = cross_sizes[slots[rank].rank_info.local_rank];
    host_groups_fini(&groups);
    free(cross_sizes);
    free(names);
    return rc;
}
