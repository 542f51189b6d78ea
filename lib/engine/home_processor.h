/* SPDX-License-Identifier: Apache-2.0 */
/* The processor that a rank goes back to when the ranks of its host outnumber the processors.
 *
 * Ranks of a collective wait for each other, so the processor with the most ranks sets the pace.
 * The kernel places the ranks by load, and ranks that yield look alike to the kernel: seven of
 * eight ranks may stay on one of two processors for seconds. So a rank has a home, by its number
 * among the ranks of its host: each processor is the home of as many ranks as any other, or of one
 * more, and ranks with neighbouring numbers, which exchange most data, share one. A thread that
 * waits in a collective away from home moves there, at most once in HOME_AGAIN_NS. The kernel may
 * move it again, and threads that the program starts may run on any processor.
 *
 * Moving binds the thread for a moment, and then lets it use all processors again: those of its
 * cpuset, also those that the cpuset gets later.
 *
 * A rank has no home if
 *   the ranks of the host have a processor each;
 *   a quota gives all ranks fewer processors than they may use;
 *   this process may use other processors than the first process of the host or container: the
 *     process is bound, or has a cpuset of its own;
 *   the host has several memory nodes: a rank that moves could leave its memory.
 * Whoever binds a thread decides where it runs. So a thread that is bound stays where it is, and
 * does not count for the others; and a rank gives up its home when a move fails, or shows that the
 * first process was bound. There is no setting for all this: a bound rank has no home. */
#ifndef LIB_ENGINE_HOME_PROCESSOR_H
#define LIB_ENGINE_HOME_PROCESSOR_H

#include "lib/base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A move takes some microseconds if the home is idle; if a rank computes there, it waits for its
 * turn, which the kernel gives after some milliseconds. So no lock is held meanwhile. */
#define HOME_AGAIN_NS 10000000ull

/* Threads use it without a lock. */
struct home_processor {
    atomic_int processor;       /* -1: none */
    cpu_set_t allowed;          /* that this process could use at the beginning */
    _Atomic uint64_t looked_ns; /* when a thread away from home wanted to move; 0: never */
};

/* The home of a rank among `local_size` ranks that share `processors`; -1: none. This process may
 * use `own`, the first process of the host or container `all`. */
int home_processor_choose(const cpu_set_t *own, const cpu_set_t *all, int processors,
                          int local_rank, int local_size);

/* True if the text of /sys/devices/system/node/online ("0", "0-1", "0,2") names one node. */
bool home_processor_is_one_node(const char *online);

/* Reads what this process may use. */
void home_processor_init(struct home_processor *home, int processors, int local_rank,
                         int local_size);

/* Moves the calling thread home, unless a thread has wanted to move less than HOME_AGAIN_NS ago. */
void home_processor_move(struct home_processor *home, uint64_t now_ns);

/* The calling thread waits for other ranks and holds no lock: it goes home if it is away. */
static inline void home_processor_return(struct home_processor *home)
{
    int processor = atomic_load_explicit(&home->processor, memory_order_relaxed);
    if (processor >= 0 && sched_getcpu() != processor)
        home_processor_move(home, monotonic_tick_ns());
}

#endif
