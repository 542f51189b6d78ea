/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges between ranks in an Adasum. Pure arithmetic.
 *
 * Recursive halving: in each level ranks that differ in one bit exchange halves of the piece that
 * both work on; the low rank keeps the low half, and each combines the half that it keeps. After
 * the last level every rank has its own piece of the result; going back, the ranks put the pieces
 * together. Level k joins neighbouring groups of 2^k ranks. With p the largest power of two that is
 * not above the size, ranks from p on send their vector to rank - p first and get the result last.
 * With + for the combination of two vectors, the tree is:
 *
 *   5 ranks: ((0 + 4) + 1) + (2 + 3)
 *   7 ranks: ((0 + 4) + (1 + 5)) + ((2 + 6) + 3)
 *
 * A rank goes through these steps, each an exchange with one peer in which both directions may be
 * empty. A rank skips a step in brackets if it has no such peer:
 *
 *   rank < p:   [fold] -> for each level: halve -> sum, level + 1 times
 *               -> for each level, backwards: spread -> [unfold] -> done
 *   rank >= p:  fold -> unfold -> done
 *
 * In the sums of level k the 2^(k+1) ranks of the two groups add up their dot products, by
 * recursive doubling: round j with the rank that differs in bit j. */
#ifndef LIB_COLLECTIVE_ADASUM_SCHEDULE_H
#define LIB_COLLECTIVE_ADASUM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum adasum_phase {
    ADASUM_FOLD,   /* the whole vector, from rank + p to rank */
    ADASUM_HALVE,  /* halves of the piece at the start of this level */
    ADASUM_SUM,    /* three numbers */
    ADASUM_SPREAD, /* the same halves, combined, in the other direction */
    ADASUM_UNFOLD, /* the result, from rank to rank + p */
    ADASUM_DONE
};

struct adasum_step {
    enum adasum_phase phase;
    int level; /* halve, sum, spread */
    int round; /* sum */
};

struct adasum_step adasum_first_step(int rank, int size);
struct adasum_step adasum_next_step(struct adasum_step step, int rank, int size);

/* The peer of a step; -1 when done. */
int adasum_peer(struct adasum_step step, int rank, int size);

/* All peers of a rank, without duplicates; `peers` has room for size - 1. Returns how many. */
int adasum_peers(int rank, int size, int *peers);

/* The first step from `step` on that is with `peer`, or done. */
struct adasum_step adasum_step_with(struct adasum_step step, int peer, int rank, int size);

bool adasum_same_step(struct adasum_step x, struct adasum_step y);

/* p, and its binary logarithm; whether `rank` is p or more. */
int adasum_core_size(int size);
int adasum_levels(int size);
bool adasum_is_extra(int rank, int size);

/* True if the piece that `rank` keeps in `level`, and its group's vector, is the lower one. */
bool adasum_is_low(int rank, int level);

/* A part of the vector, in elements. */
struct adasum_piece {
    size_t start, count;
};

/* The piece that `rank` < p works on after so many levels: the whole vector after none. */
struct adasum_piece adasum_piece(size_t count, int rank, int levels);

#endif
