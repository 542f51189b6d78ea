/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous in shared memory; see slots.h.
 *
 * A rank has two slots, used in turn. It may write into one again because it has seen since that
 * every other rank was writing into the other: they had read this one. */
#include "bench/support/slots.h"

#include "lib/reduce/reduce.h"

#include <string.h>

struct slot {
    _Alignas(128) atomic_uint turn; /* beside the first elements: one line holds a small vector */
    float data[SLOTS_ELEMENTS];
};

static struct rank_slots {
    _Alignas(128) atomic_uint met;
    struct slot slots[2];
} * places;

static reduce_fn *add;

void slots_init(void)
{
    places = world_memory(SLOTS_RANKS_MAX * sizeof *places);
    add = reduce_function(HVD_FLOAT32, HVD_SUM);
}

void slots_wait(const struct world *world, atomic_uint *counter, unsigned value)
{
    while ((int)(atomic_load_explicit(counter, memory_order_acquire) - value) < 0)
        world_relax(world);
}

void slots_meet(const struct world *world)
{
    unsigned value = atomic_load_explicit(&places[world->rank].met, memory_order_relaxed) + 1;
    atomic_store_explicit(&places[world->rank].met, value, memory_order_release);
    for (int i = 0; i < world->size; i++)
        slots_wait(world, &places[i].met, value);
}

void slots_allreduce(const struct world *world, float *data, size_t count)
{
    static unsigned turn;
    struct slot *mine = &places[world->rank].slots[++turn % 2];
    memcpy(mine->data, data, count * sizeof *data);
    atomic_store_explicit(&mine->turn, turn, memory_order_release);
    for (int i = 1; i < world->size; i++) {
        struct slot *slot = &places[(world->rank + i) % world->size].slots[turn % 2];
        slots_wait(world, &slot->turn, turn);
        add(data, data, slot->data, count);
    }
}
