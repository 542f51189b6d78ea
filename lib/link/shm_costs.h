/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to move bytes to another rank of the host, measured as bytes move: the sender's
 * copy into the ring, the receiver's copy out of the ring, and the receiver's system call that
 * reads the sender's memory. Machines differ so much in the third that no table can choose: on an
 * Intel Xeon an alltoall of 256 KiB and 1 MiB of 2 ranks takes 0.6 of the time with system calls,
 * on other machines system calls lose at any size (bench/README.md).
 *
 * A cost is in picoseconds for a byte, and is close to the least that was seen lately: a lower
 * sample counts at once, a higher one raises the cost by a quarter at most, since a process that
 * was interrupted says nothing about copies. Pure, and cannot fail. A wrong cost, which a peer may
 * report, loses speed and nothing else. */
#ifndef LIB_LINK_SHM_COSTS_H
#define LIB_LINK_SHM_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHM_COST_LEAST = 32 * 1024,         /* smaller pieces are neither measured nor fetched */
    SHM_COST_TRIAL = 1024 * 1024,       /* bytes that try copies; then as many try system calls */
    SHM_COST_PERIOD = 64 * 1024 * 1024, /* bytes until both are tried again */

    /* Of a vector that goes one way: larger ones are not fetched. On an Intel Xeon 64 and 256 KiB
     * take 0.6 of the time when they are, 1 MiB the same, and 4 MiB 1.4: one processor alone waits
     * for memory then. */
    SHM_ONE_WAY_MOST = 256 * 1024
};

/* Of a link. Zeros: nothing is known. */
struct shm_costs {
    uint32_t put, get, fetch; /* 0: not known; `get` and `fetch` are the receiver's */
    uint64_t moved; /* bytes, ever, by either method, in pieces of at least SHM_COST_LEAST */
};

/* The cost after a sample: `nbytes`, which are not 0, took `took_ns`. */
uint32_t shm_cost_sample(uint32_t cost, uint64_t took_ns, size_t nbytes);

/* True if the receiver should read the next bytes with a system call: if that costs less than both
 * copies, or to find out. Both ranks send, so each processor would make one copy of each kind.
 * System calls are not tried while the costs of copies are not known: with nothing to compare, they
 * would be tried in vain. A sender asks again and again while the ring is full; only bytes that
 * have moved use up a trial. */
bool shm_costs_choose_fetch(const struct shm_costs *costs);

/* The same for bytes that go one way: each processor makes one of the copies, at the same time, so
 * the system call has to cost less than the dearer of the two. */
bool shm_costs_choose_one_way(const struct shm_costs *costs);

#endif
