/* SPDX-License-Identifier: Apache-2.0 */
/* What happens, line by line with its virtual time, when --log asks for it; and what is wrong,
 * which fails the seed. */
#ifndef TESTS_SIMULATOR_JOURNAL_H
#define TESTS_SIMULATOR_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

void sim_journal_begin(uint64_t seed, bool shown);

void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A promise is broken. Said at once with the seed; the seed has failed. */
void sim_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many promises of this seed were broken. */
int sim_broken_count(void);

#endif
