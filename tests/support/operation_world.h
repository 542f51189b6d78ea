/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of several ranks in one thread. Between two ranks lie bytes that have been sent and
 * not received; how many move when is random, the seed is printed. (operation_net.h has links that
 * can do more.) */
#ifndef TESTS_SUPPORT_OPERATION_WORLD_H
#define TESTS_SUPPORT_OPERATION_WORLD_H

#include "lib/collective/operation.h"

#include <stddef.h>
#include <stdint.h>

enum { WORLD_RANKS_MAX = 8, WORLD_SIZES = 5, WORLD_COUNTS = 7 };

extern const int world_sizes[WORLD_SIZES];
extern const size_t world_counts[WORLD_COUNTS]; /* of elements; the last is large */

/* A test sets the size and the tasks, which lack only rank, size and staging. */
extern int world_size;
extern struct operation_store *world_stores[WORLD_RANKS_MAX];
extern struct operation_task world_tasks[WORLD_RANKS_MAX];
extern struct operation *world_operations[WORLD_RANKS_MAX];

/* For main(): a new seed, or that of OPERATION_TEST_SEED. */
void world_choose_seed(void);

void world_set_up(void);
void world_tear_down(void);

/* How bytes move in the next run, in which a rank has about `nbytes`: a few at a time, or many. */
void world_choose_pace(size_t nbytes);

/* Starts the operations, moves until all are done, and ends them: HVD_OK or what failed first. Or
 * the first and the last of it alone. */
int world_run(struct err *err);
void world_start(void);
void world_end(void);

/* A run that must not fail. */
void world_check(void);

/* Memory of exactly so many bytes, so that a step beyond is seen; for free(). */
unsigned char *world_bytes(size_t nbytes);
unsigned char *world_random_bytes(size_t nbytes);

/* `data`, which is `what` of a rank, is as expected. */
void world_check_bytes(const void *data, const void *expected, size_t nbytes, const char *what,
                       int rank);

#endif
