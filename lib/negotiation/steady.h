/* SPDX-License-Identifier: Apache-2.0 */
/* The steady state of a process set: the ranks have learnt a schedule of operations
 * (schedule_plan.h) and carry it out without asking the root. Numbers only; no data, no link, no
 * clock.
 *
 *   off -> on        the root has decided on a schedule (steady_begin)
 *   on -> leaving    this rank deviates, or has heard that another rank does (steady_leave)
 *   leaving -> off   every rank has left (steady_finish)
 *
 * Operations are numbered from 0 in each steady state, which the epoch tells apart. A rank commits
 * to operation n when all of its tensors are there (steady_round.h): it sends n and its data to
 * every other rank, and never takes them back. An operation is done on a rank when every rank has
 * committed to it. A rank that deviates sends its leave instead, which tells how many operations it
 * has committed to. Everybody who hears that leaves as well.
 *
 * Why all ranks agree on what was done. Let F be the least number of operations that any rank has
 * committed to when it leaves.
 *   1. Only operations below F are ever done: the rank that left at F has not sent operation F, and
 *      a rank that has no data of it cannot finish it.
 *   2. All operations below F are done on every rank: every rank has committed to them, and the
 *      links, which keep the order, deliver these commitments before the leaves.
 *   3. Every rank learns F when it has heard every leave. It then offers its operations from F on
 *      to the agreement (negotiation.h), as if they had never been committed to.
 * Until then the rank neither reports to the root nor decides. tests/unit/lib/negotiation/
 * steady_test.c goes through every order of events of small worlds.
 *
 * A frame may come before this rank has begun: another rank got the root's decision earlier. Such a
 * frame belongs to the next epoch. Frames of two epochs never mix: the root decides on the next
 * schedule only after every rank has left and has then taken part in other decisions.
 *
 * A rank that ends in no steady state declines the next one: it sends a leave of the next epoch,
 * after no operation. The root may have decided to begin that epoch already, and the others would
 * wait for the leave.
 *
 * Fails with HVD_ERR_PROTOCOL when a frame is out of order, or of another epoch. */
#ifndef LIB_NEGOTIATION_STEADY_H
#define LIB_NEGOTIATION_STEADY_H

#include "lib/base/status.h"
#include "lib/base/topology.h"

#include <stdbool.h>
#include <stdint.h>

/* STEADY_RANKS_MAX: ranks whose tree is a star, so that a sum has the same order with and without
 * the root. STEADY_AHEAD: operations that a rank may commit to before the first of them is done. */
enum { STEADY_RANKS_MAX = TOPOLOGY_MESH_MAX, STEADY_AHEAD = 4 };

/* Operations of one steady state: numbers do not wrap around. */
#define STEADY_MOST (UINT32_MAX / 2)

/* A rank that is STEADY_AHEAD operations ahead of one that is as many ahead of what is done. */
enum { STEADY_KEPT = 2 * STEADY_AHEAD };

enum steady_phase { STEADY_OFF, STEADY_ON, STEADY_LEAVING };

struct steady {
    int rank, size;
    enum steady_phase phase;
    uint32_t epoch;     /* of this steady state, or of the last one */
    uint32_t committed; /* operations that this rank has committed to */
    uint32_t done;

    /* Of each rank, in the epoch that is on, or else in the next one. */
    uint32_t received[STEADY_RANKS_MAX]; /* operations that the rank has committed to */
    bool has_left[STEADY_RANKS_MAX];

    bool declines[STEADY_RANKS_MAX]; /* ranks that have left, and will not begin the next epoch */
};

/* `size` is at most STEADY_RANKS_MAX. */
void steady_init(struct steady *steady, int rank, int size);

/* The root's decision. True if the rank must leave at once: another rank has left already. */
bool steady_begin(struct steady *steady);

bool steady_may_commit(const struct steady *steady);

/* True if this rank can commit to nothing more in this steady state: it must leave. */
bool steady_is_exhausted(const struct steady *steady);

/* Commits to an operation. Returns its number. */
uint32_t steady_commit(struct steady *steady);

/* Rank `from` has committed to operation `number`. */
int steady_receive(struct steady *steady, int from, uint32_t epoch, uint32_t number,
                   struct err *err);

/* Rank `from` has left after `number` operations. 1 if this rank must leave now, 0, or a status. */
int steady_receive_leave(struct steady *steady, int from, uint32_t epoch, uint32_t number,
                         struct err *err);

/* True if operation `done` is done now; it is counted. */
bool steady_next(struct steady *steady);

/* This rank leaves, after `committed` operations. The caller tells every other rank. */
void steady_leave(struct steady *steady);

/* This rank will not begin another steady state. Returns the epoch that it leaves after no
 * operation; the caller tells every other rank. In no steady state only. */
uint32_t steady_decline(const struct steady *steady);

/* When every rank has left and everything that can be done is done: true, and the steady state is
 * off. The operations from `done` to `committed` are to be offered to the agreement. */
bool steady_finish(struct steady *steady);

#endif
