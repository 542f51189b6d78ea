/* SPDX-License-Identifier: Apache-2.0 */
/* Measured costs of moving bytes; see shm_costs.h. Class 1 has the least messages that are
 * exchanged, class 1 + SHM_COST_SIZES the least that go one way. What one side publishes:
 *
 *   choice, 2 bits   how many times SHM_COST_UNIT has moved, 30 */
#include "lib/link/shm_costs.h"

#include "lib/base/min.h"

#define COST_MOST (UINT64_C(1) << 24) /* a quarter more still fits, as does the sum of two */
enum { DIFFERENCE_PART = 16, CHOICE_COPY = 1, CHOICE_FETCH = 2, CHOICE_MASK = 3, MOVED_AT = 2 };

unsigned shm_cost_class(size_t nbytes, bool exchanged)
{
    unsigned size = 0;
    if (nbytes < SHM_COST_LEAST)
        return SHM_COST_NONE;
    while (size < SHM_COST_SIZES - 1 && nbytes >> (size + 1) >= SHM_COST_LEAST)
        size++;
    if (!exchanged && size >= SHM_COST_ONE_WAY_SIZES)
        return SHM_COST_NONE;
    return 1 + size + (exchanged ? 0 : SHM_COST_SIZES);
}

bool shm_cost_is_exchange(unsigned cost_class)
{
    return cost_class != SHM_COST_NONE && cost_class <= SHM_COST_SIZES;
}

static size_t least_message(unsigned cost_class)
{
    return (size_t)SHM_COST_LEAST << (cost_class - 1) % SHM_COST_SIZES;
}

size_t shm_cost_trial(unsigned cost_class)
{
    return size_min(SHM_COST_TRIAL_MESSAGES * least_message(cost_class), SHM_COST_TRIAL_MOST);
}

size_t shm_cost_first(unsigned cost_class)
{
    size_t trials = SHM_COST_FIRST * shm_cost_trial(cost_class);
    size_t messages = SHM_COST_FIRST_MESSAGES * least_message(cost_class);
    return trials > messages ? trials : messages;
}

uint32_t shm_cost_sample(uint32_t cost, uint64_t took_ns, size_t nbytes)
{
    uint64_t most = cost ? (uint64_t)cost + cost / 4 + 1 : COST_MOST;
    uint64_t sample = took_ns < COST_MOST ? took_ns * 1000 / nbytes : COST_MOST;
    most = most < COST_MOST ? most : COST_MOST;
    return (uint32_t)(sample == 0 ? 1 : sample < most ? sample : most);
}

bool shm_cost_differs(uint32_t before, uint32_t after)
{
    uint32_t difference = before < after ? after - before : before - after;
    return before == 0 || difference > before / DIFFERENCE_PART;
}

/* What both copies cost, as far as they delay the bytes. */
static uint64_t sum_copies(const struct shm_costs *costs, bool exchanged)
{
    if (exchanged)
        return (uint64_t)costs->put + costs->get;
    return costs->put > costs->get ? costs->put : costs->get;
}

bool shm_costs_choose_fetch(const struct shm_costs *costs, unsigned cost_class)
{
    size_t trial = shm_cost_trial(cost_class), first = shm_cost_first(cost_class);
    uint64_t at = costs->moved;
    if (at >= first)
        at = (at - first) % SHM_COST_PERIOD;
    if (at < trial || !costs->put || !costs->get)
        return false;
    if (at < 2 * trial)
        return true;
    return costs->fetch && costs->fetch < sum_copies(costs, shm_cost_is_exchange(cost_class));
}

uint32_t shm_costs_publish(const struct shm_costs *costs, bool is_fetch)
{
    uint32_t choice = is_fetch ? CHOICE_FETCH : CHOICE_COPY;
    return choice | (uint32_t)(costs->moved / SHM_COST_UNIT) << MOVED_AT;
}

bool shm_choice_is_fetch(uint32_t published)
{
    return (published & CHOICE_MASK) == CHOICE_FETCH;
}

bool shm_costs_follow(struct shm_costs *costs, uint32_t published)
{
    if (published != costs->published)
        costs->published_at = costs->moved;
    costs->published = published;
    return published != 0 && costs->moved - costs->published_at < SHM_COST_FOLLOWED;
}
