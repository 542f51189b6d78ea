/* SPDX-License-Identifier: Apache-2.0 */
/* Who carries what between hosts in an allreduce of ranks on several hosts (hierarchy.h); no I/O.
 *
 * The host with the fewest ranks decides how many ranks of each host carry: the first ones of each
 * host, so that the same share of a tensor is carried by one rank of each host. A share is cut into
 * as many parts as there are hosts; each of the ranks that carry it makes the sum of one part.
 *
 *     two hosts with two ranks    share 0: ranks 0 and 2, share 1: ranks 1 and 3
 *     three ranks and one         share 0, the whole tensor: ranks 0 and 3; ranks 1, 2 carry
 *                                 nothing */
#ifndef LIB_CUDA_HIERARCHY_PLAN_H
#define LIB_CUDA_HIERARCHY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Ranks are those in the process set. */
struct hierarchy_plan {
    int hosts, carriers;      /* hosts; ranks of each host that carry, and thus shares */
    int host_rank, host_size; /* this rank among those of its host, and how many they are */
    int leader;               /* the first rank of this rank's host */
    int *peers;               /* on each host the rank with this rank's share, ascending */
    int place;                /* of this rank among them */
};

/* True if there are several hosts, and one of them has several ranks. `host_of` has for each rank
 * the first rank of its host. */
bool hierarchy_exists(const int *host_of, int size);

/* False when there is no memory. A rank that carries nothing has no peers. */
bool hierarchy_plan_make(struct hierarchy_plan *plan, const int *host_of, int size, int rank);
void hierarchy_plan_free(struct hierarchy_plan *plan);

/* True if this rank carries a share: that of the number `host_rank`. */
bool hierarchy_carries(const struct hierarchy_plan *plan);

/* Elements before a part of `count` elements that are cut into `parts`, as even as can be. */
size_t hierarchy_before(size_t count, int parts, int part);

#endif
