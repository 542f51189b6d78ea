/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of rows in front of the ranks' contributions to an allgather or alltoall
 * (negotiation.h). They come from other ranks: nothing is true of them but what is checked here.
 * Pure. */
#ifndef LIB_ENGINE_DECISION_ROWS_H
#define LIB_ENGINE_DECISION_ROWS_H

#include "lib/negotiation/negotiation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allgather: the rows of `rank`. The second function is true if so many rows follow, of `row_size`
 * bytes each; rows without elements are not counted. */
int64_t decision_rows(const struct agreed *agreed, int rank);
bool decision_rows_came(const struct agreed *agreed, int rank, size_t row_size);

/* Alltoall of `size` ranks: the rows that `from` sends to `to`, or to all ranks before `to`. The
 * first is negative if the contribution says so or is too short to say; the second is -1 if the
 * numbers are negative or come to more than ROWS_MAX. */
int64_t decision_split(const struct agreed *agreed, int size, int from, int to);
int64_t decision_splits_before(const struct agreed *agreed, int size, int from, int to);

/* True if all the rows that `from` sends follow its numbers. */
bool decision_splits_came(const struct agreed *agreed, int size, int from, size_t row_size);

#endif
