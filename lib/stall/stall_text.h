/* SPDX-License-Identifier: Apache-2.0 */
/* The texts about a stall, for people. Ranks are numbers in the world (`world_ranks`; NULL: the
 * numbers in the set are the same).
 *
 *   allreduce 'grad/7', 'grad/8' have waited 61 s for ranks 1, 3-4
 *     rank 1 on node2: in no collective, last finished 'grad/6' 60 s ago
 *     rank 3 on node3: waits for broadcast 'step' since 61 s
 *     no answer from rank 4 */
#ifndef LIB_STALL_STALL_TEXT_H
#define LIB_STALL_STALL_TEXT_H

#include "lib/stall/stall_message.h"

#include <stdint.h>

/* Writes only the names of the probe that are in `shown` (bit i: name i), at least one. Several
 * lines without a last newline; names that wait for the same ranks share one. */
void stall_warning_text(char *text, size_t size, const struct stall_names *names,
                        const struct stall_answer *answer, unsigned shown, const int *world_ranks);

/* One line about name `index`, and why the world ends. The idle ranks come first of those that
 * miss it, because a text that is too long ends with "...". */
void stall_abort_text(char *text, size_t size, const struct stall_names *names,
                      const struct stall_answer *answer, int index, uint64_t shutdown_s,
                      const int *world_ranks);

/* One line about all names of the probe, for which every rank waits, or for whose end. */
void stall_deadlock_text(char *text, size_t size, const struct stall_names *names,
                         const struct stall_answer *answer, const int *world_ranks);

#endif
