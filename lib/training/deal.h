/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples of an epoch remain, and how they are dealt to the ranks; without I/O.
 *
 * An epoch is an order of `count` places. The places before `begin` are done. The others are dealt
 * in rounds: round k of a rank is place begin + k x size + rank. When the places do not fill the
 * last round, the remaining ranks get places at the front of the order once more, or nothing
 * (distinct).
 *
 *      begin = 4, size = 3:    0 1 2 3 | 4 5 6 | 7 8 9 |       rank 1 has the places 5, 8
 *
 * The rounds that a rank has taken are done, unless the program says by itself which are done
 * (ahead). All ranks have done the same number of rounds when they ask how many places are done;
 * then the done places are those before deal_done(), whatever the number of ranks will be: the next
 * deal begins there, loses no place and gives none twice. */
#ifndef LIB_TRAINING_DEAL_H
#define LIB_TRAINING_DEAL_H

#include <stdbool.h>
#include <stdint.h>

struct deal {
    uint64_t count;
    uint64_t rank, size;
    uint64_t begin;
    uint64_t taken; /* rounds of this deal that the rank has taken */
    uint64_t done;  /* likewise, and has done; ahead only */
    bool distinct;  /* no place is dealt twice */
    bool ahead;     /* deal_finish() tells which rounds are done */
};

/* Deals the places from `begin` to `size` ranks. `begin` is at most count. */
void deal_begin(struct deal *deal, uint64_t begin);
void deal_place(struct deal *deal, uint64_t rank, uint64_t size);

/* The rounds that are left, the same on all ranks. */
uint64_t deal_left(const struct deal *deal);

/* Takes a round, of which one must be left. Returns false if the rank gets no place in it. */
bool deal_next(struct deal *deal, uint64_t *place);

/* `rounds` more rounds are done. Returns false, and changes nothing, if fewer have been taken. */
bool deal_finish(struct deal *deal, uint64_t rounds);

/* The number of places that all ranks together have done. */
uint64_t deal_done(const struct deal *deal);

#endif
