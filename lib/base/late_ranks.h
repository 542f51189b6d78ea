/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks for which the others of their world have waited too long: the lowest of them if they
 * are more than fit. Plain values, without allocation.
 *
 *   u8 count, then i32 of each, ascending */
#ifndef LIB_BASE_LATE_RANKS_H
#define LIB_BASE_LATE_RANKS_H

#include "lib/base/wire.h"

#include <stdbool.h>

enum { LATE_RANKS_MAX = 64, LATE_RANKS_ENCODED_MAX = 1 + 4 * LATE_RANKS_MAX };

struct late_ranks {
    int count;
    int rank[LATE_RANKS_MAX]; /* ascending */
};

/* A rank that is in the list already changes nothing. */
void late_ranks_add(struct late_ranks *ranks, int rank);
void late_ranks_add_all(struct late_ranks *ranks, const struct late_ranks *other);
bool late_ranks_contain(const struct late_ranks *ranks, int rank);

/* The reader fails unless all ranks are at least `first`, below `end` and ascending. */
void late_ranks_encode(struct wire_writer *writer, const struct late_ranks *ranks);
void late_ranks_decode(struct late_ranks *ranks, int first, int end, struct wire_reader *reader);

#endif
