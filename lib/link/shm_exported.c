/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for segments; see shm_exported.h. Cannot fail. */
#include "lib/link/shm_exported.h"

static int need(struct shm_exported *exported, int slot)
{
    exported->needed[slot] = ++exported->now;
    return exported->last = slot;
}

int shm_exported_find(struct shm_exported *exported, uint64_t segment)
{
    if (exported->segments[exported->last] == segment)
        return need(exported, exported->last);
    for (int slot = 0; slot < SHM_SLOTS; slot++)
        if (exported->segments[slot] == segment)
            return need(exported, slot);
    return -1;
}

int shm_exported_choose(const struct shm_exported *exported)
{
    int chosen = 0;
    for (int slot = 1; slot < SHM_SLOTS; slot++)
        if (exported->needed[slot] < exported->needed[chosen])
            chosen = slot;
    return chosen;
}

void shm_exported_set(struct shm_exported *exported, int slot, uint64_t segment)
{
    exported->segments[slot] = segment;
    exported->order[slot] = ++exported->count;
    need(exported, slot);
}

bool shm_exported_is_answered(const struct shm_exported *exported, int slot, uint32_t answered)
{
    return exported->count - exported->order[slot] >= shm_exported_open(exported, answered);
}

uint32_t shm_exported_open(const struct shm_exported *exported, uint32_t answered)
{
    return exported->count - answered;
}
