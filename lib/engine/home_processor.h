/* SPDX-License-Identifier: Apache-2.0 */
/* The processor that a rank goes back to when the ranks of its host outnumber the processors.
 *
 * Ranks of a collective wait for each other, so the processor with the most ranks sets the pace.
 * The kernel places the ranks by load, and ranks that yield look alike to the kernel: seven of
 * eight ranks may stay on one of two processors for seconds. So a rank has a home, by its number
 * among the ranks of its host: each processor is the home of as many ranks as any other, or of one
 * more, and ranks with neighbouring numbers, which exchange most data, share one. A thread that
 * waits in a collective away from home moves there, at most once in HOME_AGAIN_NS. The thread is
 * not bound: the kernel may move it again, and threads that the program starts may run on any
 * processor.
 *
 * A rank has no home if
 *   the ranks of the host have a processor each;
 *   this process may not use just the processors that the ranks share: the process is bound, or a
 *     quota gives all ranks fewer processors;
 *   the host has several memory nodes: a rank that moves could leave its memory.
 * A rank gives up its home when it may not move, or when its affinity has changed, because whoever
 * binds a thread decides where the thread runs. */
#ifndef LIB_ENGINE_HOME_PROCESSOR_H
#define LIB_ENGINE_HOME_PROCESSOR_H

#include "lib/base/clock.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* A move takes some microseconds, a thousandth of this time. */
#define HOME_AGAIN_NS 10000000ull

struct home_processor {
    int processor;     /* -1: none */
    int allowed;       /* processors that this process could use at the beginning */
    uint64_t moved_ns; /* 0: never */
};

/* The home of a rank among `local_size` ranks that share `processors`; -1: none. */
int home_processor_choose(const cpu_set_t *allowed, int processors, int local_rank, int local_size);

/* True if the text of /sys/devices/system/node/online ("0", "0-1", "0,2") names one node. */
bool home_processor_is_one_node(const char *online);

/* Reads what this process may use. */
void home_processor_init(struct home_processor *home, int processors, int local_rank,
                         int local_size);

/* Moves the calling thread home, unless a thread has moved less than HOME_AGAIN_NS ago. */
void home_processor_move(struct home_processor *home, uint64_t now_ns);

/* The calling thread waits for other ranks: it goes home if it is away. */
static inline void home_processor_return(struct home_processor *home)
{
    if (home->processor >= 0 && sched_getcpu() != home->processor)
        home_processor_move(home, monotonic_tick_ns());
}

#endif
