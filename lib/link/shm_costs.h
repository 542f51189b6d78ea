/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to move bytes to another rank of the host, measured as bytes move: the sender's
 * copy into the ring, the receiver's copy out of the ring, and the receiver's system call that
 * reads the sender's memory. Machines differ so much in the third that no table can choose: on an
 * Intel Xeon an alltoall of 256 KiB and 1 MiB of 2 ranks takes 0.6 of the time with system calls,
 * on other machines system calls lose at any size (bench/README.md).
 *
 * The costs depend on the size of the message as well, because larger ones leave the caches: on the
 * same Xeon a byte of a broadcast of 512 KiB takes 54 ps with system calls, of 1 MiB 89 and of 16
 * MiB 232; through the ring it takes 79, 86 and 94. So each class of messages has costs of its own:
 * the classes are powers of two of the size, once for messages that are exchanged and once for
 * messages that go one way. Of the latter, larger ones than the classes have are not measured.
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
    SHM_COST_LEAST = 32 * 1024, /* smaller messages and pieces are neither measured nor fetched */

    /* Sizes: of 32 to 64 KiB, of 64 to 128 KiB, ..., of 16 MiB and more. */
    SHM_COST_SIZES = 10,

    /* Of what goes one way, of 32 KiB to 1 MiB. On an Intel Xeon system calls were no faster at 1
     * MiB, and a broadcast of 16 MiB took 1.46 ms instead of 1.36 while they were tried. */
    SHM_COST_ONE_WAY_SIZES = 5,
    SHM_COST_CLASSES = 1 + SHM_COST_SIZES + SHM_COST_ONE_WAY_SIZES,
    SHM_COST_NONE = 0, /* the class of what is not measured */

    /* A trial of a method is so many of the least messages of the class, and at most so many
     * bytes. Copies are tried first, then system calls. The first system calls after copies cost
     * more, since the receiver's cache lacks what they read: a trial of 512 KiB made a broadcast of
     * 512 KiB take 37 us instead of 25. */
    SHM_COST_TRIAL_MESSAGES = 4,
    SHM_COST_TRIAL_MOST = 1024 * 1024,

    /* Both are tried again after so many bytes of the class; the first time already after so many
     * trials, because the first messages use pages and lines that nobody has touched. */
    SHM_COST_PERIOD = 64 * 1024 * 1024,
    SHM_COST_FIRST = 8,
    SHM_COST_FIRST_MESSAGES = 2, /* but not before so many of the least messages */

    /* A published choice counts the bytes that have moved in this unit. It is followed while the
     * other side moves so many bytes of the class without news. */
    SHM_COST_UNIT = 4 * 1024 * 1024,
    SHM_COST_FOLLOWED = 4 * SHM_COST_UNIT
};

/* Of a class of messages of a link. Zeros: nothing is known. */
struct shm_costs {
    uint32_t put, get, fetch; /* 0: not known; `get` and `fetch` are the receiver's */
    uint64_t moved;        /* bytes, ever, by either method, in pieces of at least SHM_COST_LEAST */
    uint32_t published;    /* by the peer, when it was last asked for; 0: nothing */
    uint64_t published_at; /* `moved` when that had changed */
};

/* The class of a message of `nbytes`. `exchanged`: the peer sends about as much at the same
 * time. */
unsigned shm_cost_class(size_t nbytes, bool exchanged);

/* True if messages of this class are exchanged. */
bool shm_cost_is_exchange(unsigned cost_class);

/* How many bytes of a class, which is not SHM_COST_NONE, try a method; and how many move until both
 * are tried for the second time. */
size_t shm_cost_trial(unsigned cost_class);
size_t shm_cost_first(unsigned cost_class);

/* The cost after a sample: `nbytes`, which are not 0, took `took_ns`. */
uint32_t shm_cost_sample(uint32_t cost, uint64_t took_ns, size_t nbytes);

/* True if a receiver that has published `before` should publish `after`: costs that differ little
 * choose alike, and each change takes a cache line from one processor to the other. */
bool shm_cost_differs(uint32_t before, uint32_t after);

/* True if the receiver should read the next bytes of a message of this class with a system call: if
 * that costs less than the copies, or to find out. Of an exchange both ranks send, so each
 * processor would make one copy of each kind, and the sum counts. Of a message that goes one way
 * each processor makes one of the copies, at the same time, and the dearer one counts.
 *
 * System calls are not tried while the costs of copies are not known: with nothing to compare, they
 * would be tried in vain. A sender asks again and again while the ring is full; only bytes that
 * have moved use up a trial. */
bool shm_costs_choose_fetch(const struct shm_costs *costs, unsigned cost_class);

/* One side of a link decides for both what is done with exchanges of a class, and publishes that.
 * If each side decided for its own bytes, one processor could have to read with system calls and to
 * copy into the ring, while the other one only copies out of the ring: an allgather of 16 MiB of 2
 * ranks took 3.3 ms, and 2.6 with either method alone.
 *
 * Returns what the deciding side publishes, which is never 0. It changes as bytes move. */
uint32_t shm_costs_publish(const struct shm_costs *costs, bool is_fetch);

/* True if that says that the receiver should read with a system call. Any number may come. */
bool shm_choice_is_fetch(uint32_t published);

/* True if the other side should do as `published` says. It decides for itself if nothing is
 * published, and when it has moved SHM_COST_FOLLOWED bytes without a change: the deciding side
 * sends no messages of this class, or has another way for them. */
bool shm_costs_follow(struct shm_costs *costs, uint32_t published);

#endif
