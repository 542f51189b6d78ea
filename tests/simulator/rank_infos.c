/* SPDX-License-Identifier: Apache-2.0 */
/* Where each rank belongs, worked out rank by rank in the simplest way, to be compared with the
 * plan (launcher/placement/rank_plan.h): by slot host after host is filled, by node each host gets
 * one rank a round as long as it has a slot. Fails the seed when the plan says otherwise. */
#include "tests/simulator/journal.h"
#include "tests/simulator/world.h"

static int slots_of(int host)
{
    return world.list.hosts[host].slots;
}

/* Of the next rank, when each host has so many already. */
static int next_host(const int counts[SIM_HOSTS_MAX], bool by_node)
{
    int best = -1;
    for (int host = 0; host < world.list.count; host++) {
        if (counts[host] == slots_of(host))
            continue;
        if (best < 0 || (by_node && counts[host] < counts[best]))
            best = host;
    }
    return best;
}

static void check_place(int rank, int host, const int before[SIM_HOSTS_MAX],
                        const int counts[SIM_HOSTS_MAX])
{
    const struct rank_info *rank_info = &world.plan.ranks[rank].rank_info;
    int local = before[host], cross_rank = 0, cross_size = 0;
    for (int other = 0; other < world.list.count; other++) {
        cross_rank += other < host && counts[other] > local;
        cross_size += counts[other] > local;
    }
    if (world.plan.ranks[rank].host != host || rank_info->rank != rank ||
        rank_info->size != world.nranks || rank_info->local_rank != local ||
        rank_info->local_size != counts[host] || rank_info->cross_rank != cross_rank ||
        rank_info->cross_size != cross_size)
        sim_broken("rank %d is planned as local rank %d of %d, cross rank %d of %d on host %d",
                   rank, rank_info->local_rank, rank_info->local_size, rank_info->cross_rank,
                   rank_info->cross_size, world.plan.ranks[rank].host);
}

void sim_rank_infos_check(bool by_node)
{
    int hosts[SIM_RANKS_MAX], counts[SIM_HOSTS_MAX] = { 0 }, before[SIM_HOSTS_MAX] = { 0 };
    for (int rank = 0; rank < world.nranks; rank++) {
        hosts[rank] = next_host(counts, by_node);
        counts[hosts[rank]]++;
    }
    for (int rank = 0; rank < world.nranks; rank++) {
        check_place(rank, hosts[rank], before, counts);
        before[hosts[rank]]++;
    }
}
