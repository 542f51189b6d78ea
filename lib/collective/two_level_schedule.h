/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a vector that each rank carries when the vector is reduced inside each host first,
 * then between hosts. Pure arithmetic.
 *
 * Inside a host every rank carries an equal share. The ends of the shares of all hosts are cuts,
 * and a segment lies between two cuts, so one rank of each host carries a segment. With equally
 * many ranks on each host a share is a segment; otherwise there are more segments than shares:
 *
 *   hosts of 2 and 3:   |     0     |     1     |
 *                       |   0   |   1   |   2   |
 *   segments            |   0   | 1 | 2 |   3   | */
#ifndef LIB_COLLECTIVE_TWO_LEVEL_SCHEDULE_H
#define LIB_COLLECTIVE_TWO_LEVEL_SCHEDULE_H

#include "lib/collective/placing.h"

#include <stdbool.h>
#include <stddef.h>

/* A position in a vector, as a fraction: part / parts. */
struct cut {
    int part, parts;
};

/* The cuts between which a rank carries everything. */
struct cut two_level_begin(const struct placing *placing, int rank);
struct cut two_level_end(const struct placing *placing, int rank);

bool cut_is_before(struct cut a, struct cut b);

/* The next cut of any host behind `cut`, which is not the end of the vector. */
struct cut two_level_next_cut(const struct placing *placing, struct cut cut);

/* The first element behind a cut, out of `count`. Cuts at the same place have the same element. */
size_t two_level_position(struct cut cut, size_t count);

/* The rank of a host that carries the segment behind a cut. */
int two_level_carrier(const struct placing *placing, int host, struct cut cut);

/* How many segments a rank carries, for any vector. */
int two_level_segments(const struct placing *placing, int rank);

/* All peers of a rank, without duplicates; `peers` has room for size - 1. Returns how many. */
int two_level_peers(const struct placing *placing, int rank, int *peers);

#endif
