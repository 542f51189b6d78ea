/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pieces; see piece.h. All numbers were measured with float32 sums. */
#include "lib/collective/piece.h"

#include <stdbool.h>

/* Between two ranks, a result that a rank has just made goes out when two more pieces of operands
 * and one of results have gone each way. Until then the rank touches two pieces of its input, of
 * its output, of the sum and of the peer's results, and all of both rings. While all of that stays
 * in the processor's own cache, the result is copied from there. */
enum { PIECES_IN_CACHE = 8, RINGS_IN_CACHE = 2, CACHED_LEAST = 64 * 1024 };

/* Room for a piece in the own cache beside the rings; 0: too little. */
static size_t piece_room(const struct piece_case *what)
{
    size_t rings = RINGS_IN_CACHE * what->ring;
    size_t room = what->own_cache > rings ? (what->own_cache - rings) / PIECES_IN_CACHE : 0;
    return what->ring > 0 && room >= CACHED_LEAST ? room : 0;
}

static size_t whole_power(size_t nbytes)
{
    size_t power = PIECE_LEAST;
    while (power < PIECE_MOST && 2 * power <= nbytes)
        power *= 2;
    return power;
}

enum piece_size { CACHED, LARGEST, SMALLER };

/* The first row that matches decides.
 *
 *   pair, cached: on an Intel Xeon with 2 MiB of its own, where rings have 512 KiB, this gives 128
 *     KiB. An allreduce of 16 MiB takes 0.89 of the time that it takes with the largest pieces, the
 *     gradients of VGG-16 0.87, those of ResNet-50 0.89. Pieces of 32 KiB are slower.
 *   pair, other: TCP gains by pieces that fill a frame, and so do exported memory and system calls,
 *     which have a cost for each piece. Where the rings do not stay in the own cache, smaller
 *     pieces gain nothing.
 *   more: a rank that has pieces of 512 KiB under way with each of three others is 6 to 14 percent
 *     slower at 16 MiB, because they leave the cache. 64 and 128 KiB gain nothing. */
static const struct piece_row {
    int ranks; /* at most so many; 0: any number */
    bool cached;
    enum piece_size size;
} rows[] = {
    { 2, true, CACHED },
    { 2, false, LARGEST },
    { 0, false, SMALLER },
};

static size_t piece_bytes(enum piece_size size, const struct piece_case *what)
{
    switch (size) {
    case CACHED:
        return whole_power(piece_room(what));
    case SMALLER:
        return PIECE_MOST / 2;
    default:
        return PIECE_MOST;
    }
}

size_t piece_choose(const struct piece_case *what)
{
    const struct piece_row *row = rows;
    while ((row->ranks > 0 && what->ranks > row->ranks) || (row->cached && piece_room(what) == 0))
        row++;
    return piece_bytes(row->size, what);
}

/* The code is the power. */
uint8_t piece_code(size_t piece)
{
    uint8_t code = 0;
    while ((size_t)1 << code < piece)
        code++;
    return code;
}

size_t piece_of_code(int code)
{
    size_t piece = code >= 0 && code < 32 ? (size_t)1 << code : 0;
    return piece >= PIECE_LEAST && piece <= PIECE_MOST ? piece : 0;
}
