/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for segments; see shm_lent.h. Cannot fail. */
#include "lib/link/shm_lent.h"

static int need(struct shm_lent *lent, int slot)
{
    lent->needed[slot] = ++lent->now;
    return lent->last = slot;
}

int shm_lent_find(struct shm_lent *lent, uint64_t segment)
{
    if (lent->segments[lent->last] == segment)
        return need(lent, lent->last);
    for (int slot = 0; slot < SHM_SLOTS; slot++)
        if (lent->segments[slot] == segment)
            return need(lent, slot);
    return -1;
}

int shm_lent_choose(const struct shm_lent *lent)
{
    int chosen = 0;
    for (int slot = 1; slot < SHM_SLOTS; slot++)
        if (lent->needed[slot] < lent->needed[chosen])
            chosen = slot;
    return chosen;
}

void shm_lent_set(struct shm_lent *lent, int slot, uint64_t segment)
{
    lent->segments[slot] = segment;
    lent->order[slot] = ++lent->count;
    need(lent, slot);
}

bool shm_lent_is_answered(const struct shm_lent *lent, int slot, uint32_t answered)
{
    return lent->count - lent->order[slot] >= shm_lent_open(lent, answered);
}

uint32_t shm_lent_open(const struct shm_lent *lent, uint32_t answered)
{
    return lent->count - answered;
}
