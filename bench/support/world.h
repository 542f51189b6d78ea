/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that a program of the comparison forks itself, for peers without a launcher: one process
 * each, pinned to a core each where there are enough, with some memory in common. When one fails
 * the others end, too. */
#ifndef BENCH_SUPPORT_WORLD_H
#define BENCH_SUPPORT_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct world {
    int rank, size;
    bool crowded; /* more ranks than cores: who waits must let others work */
};

/* Takes RANKS, the first argument, off the command line, or ends the program with status 2. */
int world_ranks(int *argc, char ***argv);

/* Forks `size` ranks and returns in each of them. The first process stays in the call, waits for
 * all and exits: with 0, or with 1 when a rank failed. Memory from world_memory() that was taken
 * before is common to all. */
void world_fork(struct world *world, int size);

/* Zeroed memory that ranks which are forked later share. Ends the program if there is none. */
void *world_memory(size_t nbytes);

/* Neither is measured: they spin and yield. */
void world_barrier(void);
double world_slowest(double mine);

/* In a loop that waits for another rank: a pause, or the rest of the time slice. */
void world_relax(const struct world *world);

#ifdef __cplusplus
}
#endif

#endif
