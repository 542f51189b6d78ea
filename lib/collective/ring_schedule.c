/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the ring; see ring_schedule.h. */
#include "lib/collective/ring_schedule.h"

/* Reduces a number modulo `size` to [0, size), in both directions. */
static int around(int position, int size)
{
    int rest = position % size;
    return rest < 0 ? rest + size : rest;
}

int ring_steps(int size)
{
    return size - 1;
}

int reduce_scatter_sends(int rank, int size, int step)
{
    return around(rank - 1 - step, size);
}

int reduce_scatter_receives(int rank, int size, int step)
{
    return around(rank - 2 - step, size);
}

int allgather_sends(int rank, int size, int step)
{
    return around(rank - step, size);
}

int allgather_receives(int rank, int size, int step)
{
    return around(rank - 1 - step, size);
}

int broadcast_distance(int rank, int size, int root)
{
    return around(rank - root, size);
}

size_t chunk_start(size_t count, int chunks, int chunk)
{
    size_t parts = (size_t)chunks, part = (size_t)chunk;
    size_t longer = count % parts;
    return count / parts * part + (part < longer ? part : longer);
}

size_t chunk_count(size_t count, int chunks, int chunk)
{
    return chunk_start(count, chunks, chunk + 1) - chunk_start(count, chunks, chunk);
}
