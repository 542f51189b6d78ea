/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges between ranks in recursive doubling and in halving-doubling. Pure arithmetic.
 *
 * With p the largest power of two that is not above the size, size - p ranks are folded out: of the
 * first 2 (size - p) ranks each odd rank sends its vector to the even rank before it, and gets the
 * result last. The remaining ranks have the places 0 to p - 1, in order of rank. At level k places
 * that differ in bit k are partners. After level k each place has combined the vectors of its block
 * of 2^(k + 1) neighbouring places. The lower block is always the left operand, so all ranks have
 * the same result:
 *
 *   5 ranks: ((0 + 1) + 2) + (3 + 4)
 *   6 ranks: ((0 + 1) + (2 + 3)) + (4 + 5)
 *
 * Partners that are close to each other come first, so that ranks of one host exchange the most. */
#ifndef LIB_COLLECTIVE_DOUBLING_SCHEDULE_H
#define LIB_COLLECTIVE_DOUBLING_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum { DOUBLING_PEERS_MAX = 32 };

/* The binary logarithm of p. */
int doubling_levels(int size);

/* Whether `rank` is folded out. The rank that it folds with, in or out; -1 if none. */
bool doubling_is_extra(int rank, int size);
int doubling_fold_peer(int rank, int size);

/* The place of a rank that is not folded out, and the rank at a place. */
int doubling_place(int rank, int size);
int doubling_rank(int place, int size);

/* The partner at a level of a rank that is not folded out. Whether its own block is the lower
 * one. */
int doubling_partner(int rank, int size, int level);
bool doubling_is_low(int rank, int size, int level);

/* Every rank that `rank` exchanges bytes with, in order of exchanges: the rank of its fold, then
 * its partners from level 0 on. Returns how many, at most DOUBLING_PEERS_MAX. */
int doubling_peers(int rank, int size, int *peers);

/* A part of the vector, in elements. */
struct doubling_piece {
    size_t start, count;
};

/* Halving-doubling: the piece that the rank at `place` works on after so many levels, the whole
 * vector after none. At each level the lower place keeps the lower half, which has the odd
 * element. */
struct doubling_piece doubling_piece(size_t count, int place, int levels);

#endif
