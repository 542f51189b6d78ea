/* SPDX-License-Identifier: Apache-2.0 */
/* Measured costs of moving bytes; see shm_costs.h. */
#include "lib/link/shm_costs.h"

#define COST_MOST (UINT64_C(1) << 24) /* a quarter more still fits, as does the sum of two */

uint32_t shm_cost_sample(uint32_t cost, uint64_t took_ns, size_t nbytes)
{
    uint64_t most = cost ? (uint64_t)cost + cost / 4 + 1 : COST_MOST;
    uint64_t sample = took_ns < COST_MOST ? took_ns * 1000 / nbytes : COST_MOST;
    most = most < COST_MOST ? most : COST_MOST;
    return (uint32_t)(sample == 0 ? 1 : sample < most ? sample : most);
}

/* `copies` is the cost of both, as far as it delays the bytes. */
static bool shm_costs_choose(const struct shm_costs *costs, uint64_t copies)
{
    uint64_t at = costs->moved % SHM_COST_PERIOD;
    if (at < SHM_COST_TRIAL || !costs->put || !costs->get)
        return false;
    if (at < 2 * SHM_COST_TRIAL)
        return true;
    return costs->fetch && costs->fetch < copies;
}

bool shm_costs_choose_fetch(const struct shm_costs *costs)
{
    return shm_costs_choose(costs, (uint64_t)costs->put + costs->get);
}

bool shm_costs_choose_one_way(const struct shm_costs *costs)
{
    return shm_costs_choose(costs, costs->put > costs->get ? costs->put : costs->get);
}
