/* SPDX-License-Identifier: Apache-2.0 */
/* What memory allows when all vectors lie where every rank can read and write them: allreduce on
 * one host, nothing copied but the result.
 *
 *     bench/bound_shared RANKS NAME SAMPLES SAMPLE_MS allreduce:BYTES...
 *
 * "slots" copies what is small beside a flag, and everybody reads it there; "direct" sums a share
 * of the vectors of all and writes it into all. */
#include "bench/support/peer.h"
#include "bench/support/slots.h"
#include "bench/support/world.h"
#include "lib/reduce/reduce.h"

#include <err.h>
#include <string.h>

enum { BLOCK = 16 << 10, DIRECT_MIN = 256 }; /* elements; a block stays in the first caches */
enum algorithm { SLOTS, DIRECT };

static const size_t area_nbytes = (size_t)1 << 30;
static const char *const algorithms[] = { [SLOTS] = "slots", [DIRECT] = "direct", NULL };

static struct world world;
static char *areas; /* the vector of each rank; pages are there when they are used */
static reduce_fn *add;

static float *area(int rank)
{
    return (float *)(areas + area_nbytes * (size_t)rank);
}

/* All ranks have the same one in use. */
static void *own_area(size_t nbytes)
{
    return nbytes <= area_nbytes ? area(world.rank) : NULL;
}

static void keep_area(void *memory)
{
    (void)memory;
}

static void reduce_block(size_t begin, size_t count)
{
    float *sum = area(world.rank) + begin;
    for (int i = 1; i < world.size; i++)
        add(sum, sum, area((world.rank + i) % world.size) + begin, count);
    for (int i = 1; i < world.size; i++)
        memcpy(area((world.rank + i) % world.size) + begin, sum, count * sizeof *sum);
}

static void direct(size_t count)
{
    size_t at = count * (size_t)world.rank / (size_t)world.size;
    size_t end = count * (size_t)(world.rank + 1) / (size_t)world.size;
    slots_meet(&world);
    for (; at < end; at += BLOCK)
        reduce_block(at, end - at < BLOCK ? end - at : BLOCK);
    slots_meet(&world);
}

static bool can(const struct peer *peer, enum peer_operation operation, size_t count)
{
    return operation == PEER_ALLREDUCE &&
           (peer->algorithm == DIRECT ? count >= DIRECT_MIN : count <= SLOTS_ELEMENTS);
}

static void run(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count)
{
    (void)operation, (void)input;
    if (peer->algorithm == DIRECT)
        direct(count);
    else
        slots_allreduce(&world, output, count);
}

int main(int argc, char **argv)
{
    int size = world_ranks(&argc, &argv);
    if (size > SLOTS_RANKS_MAX)
        errx(2, "at most %d ranks", SLOTS_RANKS_MAX);
    peer_check_arguments(argc, argv);
    add = reduce_function(HVD_FLOAT32, HVD_SUM);
    slots_init();
    areas = world_memory(area_nbytes * (size_t)size);
    world_fork(&world, size);
    struct peer peer = { .name = argv[1],
                         .rank = world.rank,
                         .size = size,
                         .algorithms = algorithms,
                         .can = can,
                         .run = run,
                         .barrier = world_barrier,
                         .slowest = world_slowest,
                         .alloc = own_area,
                         .free = keep_area };
    peer_measure(&peer, argc - 2, argv + 2);
    return 0;
}
