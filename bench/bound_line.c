/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the machine: how long a cache line takes from one core to another and back. Of two
 * virtual cores that may be 0.1 us or five times that, as the host places them, and everything that
 * goes through memory follows. Compare only what was measured in one state.
 *
 *     bench/bound_line
 *
 * Prints a line as support/peer.h says, of operation "line". */
#include "bench/support/sample.h"
#include "bench/support/world.h"

#include <stdatomic.h>
#include <stdio.h>

enum { SAMPLES = 9, TRIPS = 5000 };

static void wait_for(const struct world *world, atomic_int *line, int value)
{
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        world_relax(world);
}

/* The line counts up, to odd numbers by rank 0, to even ones by rank 1. */
static double time_trips(const struct world *world, atomic_int *line, int first)
{
    double start_us = now_us();
    for (int trip = first; trip < first + TRIPS; trip++) {
        if (world->rank == 1)
            wait_for(world, line, 2 * trip + 1);
        atomic_store_explicit(line, 2 * trip + 1 + world->rank, memory_order_release);
        if (world->rank == 0)
            wait_for(world, line, 2 * trip + 2);
    }
    return (now_us() - start_us) / TRIPS;
}

int main(void)
{
    struct world world;
    double trip_us[SAMPLES];
    atomic_int *line = world_memory(sizeof *line);
    world_fork(&world, 2);
    for (int i = 0; i < SAMPLES; i++) {
        world_barrier();
        trip_us[i] = time_trips(&world, line, i * TRIPS);
    }
    if (world.rank == 0) {
        double middle = median(trip_us, SAMPLES); /* sorts them */
        printf("machine\tline\t-\t2\t64\t%.3f\t%.3f\t%.3f\n", middle, trip_us[0],
               trip_us[SAMPLES - 1]);
    }
    return 0;
}
