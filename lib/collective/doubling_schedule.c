/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of doubling; see doubling_schedule.h. */
#include "lib/collective/doubling_schedule.h"

int doubling_levels(int size)
{
    int levels = 0;
    while (size >> (levels + 1) > 0)
        levels++;
    return levels;
}

static int extras(int size)
{
    return size - (1 << doubling_levels(size));
}

static bool folds(int rank, int size)
{
    return rank < 2 * extras(size);
}

bool doubling_is_extra(int rank, int size)
{
    return folds(rank, size) && rank % 2 == 1;
}

int doubling_fold_peer(int rank, int size)
{
    return folds(rank, size) ? rank ^ 1 : -1;
}

int doubling_place(int rank, int size)
{
    return folds(rank, size) ? rank / 2 : rank - extras(size);
}

int doubling_rank(int place, int size)
{
    return place < extras(size) ? 2 * place : place + extras(size);
}

int doubling_partner(int rank, int size, int level)
{
    return doubling_rank(doubling_place(rank, size) ^ 1 << level, size);
}

bool doubling_is_low(int rank, int size, int level)
{
    return (doubling_place(rank, size) >> level & 1) == 0;
}

int doubling_peers(int rank, int size, int *peers)
{
    int count = 0;
    if (doubling_fold_peer(rank, size) >= 0)
        peers[count++] = doubling_fold_peer(rank, size);
    for (int level = 0; level < doubling_levels(size) && !doubling_is_extra(rank, size); level++)
        peers[count++] = doubling_partner(rank, size, level);
    return count;
}

struct doubling_piece doubling_piece(size_t count, int place, int levels)
{
    struct doubling_piece piece = { 0, count };
    for (int level = 0; level < levels; level++) {
        size_t low = piece.count - piece.count / 2;
        bool is_low = (place >> level & 1) == 0;
        piece.start += is_low ? 0 : low;
        piece.count = is_low ? low : piece.count - low;
    }
    return piece;
}
