/* SPDX-License-Identifier: Apache-2.0 */
/* A short text for a set of ranks: "rank 3", "ranks 0-2, 5", "ranks 0, 2, 4 and 61 others".
 * Pure. */
#ifndef LAUNCHER_BASE_RANK_NAMES_H
#define LAUNCHER_BASE_RANK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The most ranges that are named; and bytes of the longest text, with its NUL. */
enum { RANK_NAMES_SHOWN = 16, RANK_NAMES_SIZE = 280 };

/* Writes the names of ranks 0 to `nranks` - 1 for which `is_one` is true to `text`, which has room
 * for RANK_NAMES_SIZE bytes; "" if there are none. Returns their number. */
int rank_names_text(char *text, size_t size, int nranks,
                    bool (*is_one)(const void *context, int rank), const void *context);

/* The same without the noun ("0-2, 5"), for numbers of workers. */
int rank_names_numbers(char *text, size_t size, int nranks,
                       bool (*is_one)(const void *context, int rank), const void *context);

#endif
