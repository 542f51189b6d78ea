/* SPDX-License-Identifier: Apache-2.0 */
/* See hierarchy_plan.h. */
#include "lib/cuda/hierarchy_plan.h"

#include <stdlib.h>

static int ranks_of_host(const int *host_of, int size, int host)
{
    int ranks = 0;
    for (int rank = 0; rank < size; rank++)
        ranks += host_of[rank] == host;
    return ranks;
}

static int count_hosts(const int *host_of, int size)
{
    int hosts = 0;
    for (int rank = 0; rank < size; rank++)
        hosts += host_of[rank] == rank;
    return hosts;
}

bool hierarchy_exists(const int *host_of, int size)
{
    int hosts = count_hosts(host_of, size);
    return hosts > 1 && hosts < size;
}

/* The rank's number among those of its host. */
static int number_on_host(const int *host_of, int rank)
{
    return ranks_of_host(host_of, rank, host_of[rank]);
}

static void find_peers(struct hierarchy_plan *plan, const int *host_of, int size, int rank)
{
    int count = 0;
    for (int other = 0; other < size; other++) {
        if (number_on_host(host_of, other) != plan->host_rank)
            continue;
        if (other == rank)
            plan->place = count;
        plan->peers[count++] = other;
    }
}

bool hierarchy_plan_make(struct hierarchy_plan *plan, const int *host_of, int size, int rank)
{
    *plan = (struct hierarchy_plan){ .hosts = count_hosts(host_of, size),
                                     .carriers = size,
                                     .host_rank = number_on_host(host_of, rank),
                                     .host_size = ranks_of_host(host_of, size, host_of[rank]),
                                     .leader = host_of[rank] };
    for (int other = 0; other < size; other++) {
        int ranks = ranks_of_host(host_of, size, host_of[other]);
        plan->carriers = ranks < plan->carriers ? ranks : plan->carriers;
    }
    if (!hierarchy_carries(plan))
        return true;
    plan->peers = malloc((size_t)plan->hosts * sizeof *plan->peers);
    if (plan->peers)
        find_peers(plan, host_of, size, rank);
    return plan->peers;
}

void hierarchy_plan_free(struct hierarchy_plan *plan)
{
    free(plan->peers);
    plan->peers = NULL;
}

bool hierarchy_carries(const struct hierarchy_plan *plan)
{
    return plan->host_rank < plan->carriers;
}

size_t hierarchy_before(size_t count, int parts, int part)
{
    size_t even = count / (size_t)parts, longer = count % (size_t)parts;
    return even * (size_t)part + ((size_t)part < longer ? (size_t)part : longer);
}
