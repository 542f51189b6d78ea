/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's part in the negotiation of a process set: the ranks agree which tensors are ready on
 * all ranks, and in which order they are carried out. Events go in, messages and decisions come
 * out; no link, no thread, no clock.
 *
 *   a rank submits; once it and all ranks below it have submitted a name, it tells the name to its
 *   parent, in one message for all names that are ready (up); when the root knows that all ranks
 *   have, it decides, and the same message goes down to all ranks, which all apply it alike.
 *
 * A name that was agreed on before is one bit of the message up, and a slot number down. The data
 * of a small tensor travels with both, so that the tensor is done when it is agreed on. Ranks that
 * have joined count as ready for allreduce and barrier. A mismatch is also a decision: the name
 * fails on all ranks.
 *
 * Fails (HVD_ERR_PROTOCOL) on messages that are malformed or impossible in the state they meet,
 * and with HVD_ERR_NOMEM. */
#ifndef LIB_NEGOTIATION_NEGOTIATION_H
#define LIB_NEGOTIATION_NEGOTIATION_H

#include "lib/base/status.h"
#include "lib/base/topology.h"
#include "lib/base/wire.h"
#include "lib/collective/algorithm.h"
#include "lib/negotiation/description.h"
#include "lib/negotiation/fusion_plan.h"
#include "lib/negotiation/schedule_plan.h"
#include "lib/negotiation/variants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct negotiation;

struct negotiation_settings {
    struct fusion_limits fusion; /* the root's count; 0 together: nothing is fused */
    size_t inline_max;           /* the largest tensor whose data travel with the messages */
    int cache_capacity;          /* names remembered at most; 0 for none */
    bool group_fusion;           /* false: groups are not fused with tensors outside of them */
    int star;                    /* of the tree (topology.h) */
};

/* The settings must be the same on every rank of the set, except where noted. `world_ranks`
 * (copied) are the set's ranks in the world, for texts. NULL and `err` when out of memory. */
struct negotiation *negotiation_create(int rank, int size, const int *world_ranks,
                                       const struct negotiation_settings *settings,
                                       struct err *err);
void negotiation_destroy(struct negotiation *negotiation);

/* The offer of a rank: a name and its contribution.
 *
 * `data` is used in one of two ways. For allreduce (except Adasum) and reduce-scatter `data` is the
 * whole input, already scaled, or nothing: contributions are reduced on the way up, in order of
 * rank. For all other kinds the contributions form a list, in order of rank, that comes down to
 * all. Of an allgather the first 8 bytes are dims[0], i64 little-endian, and the rest is the input;
 * of an alltoall the first 8 bytes for each rank are the rows that go to that rank, likewise, and
 * the rest is the input; or, in large sets, it is nothing; of a broadcast it is the root's tensor
 * and nothing on other ranks; of Adasum it is nothing; of ADD_SET it is anything.
 *
 * `complete`: `data` is all that the collective needs from this rank. If all ranks set `complete`,
 * and the data are not too large, the decision is DONE, otherwise RUN. Of an allgather or alltoall
 * only the numbers of rows of each rank come with RUN; of others nothing. A rank must set
 * `complete` for exactly the allreduces, reduce-scatters and broadcasts that
 * negotiation_is_inline() names, for every barrier, join, ADD_SET and REMOVE_SET, never for Adasum,
 * and may for an allgather or alltoall. */
struct offer {
    const char *name; /* terminated, not empty, at most HVD_NAME_MAX bytes; copied */
    struct description description;
    const void *data; /* copied */
    size_t nbytes;
    bool complete;
    void *owner; /* comes back with the decision */
};

bool negotiation_is_inline(const struct negotiation *negotiation,
                           const struct description *description);

/* HVD_ERR_INVALID if the name is in flight on this rank ("allreduce 'x': ... "). A group is
 * submitted tensor by tensor; the caller asks first whether every name is free. */
int negotiation_submit(struct negotiation *negotiation, const struct offer *offer, uint64_t now_ns,
                       struct err *err);
/* The error of a name that is in flight. */
int negotiation_refuse_name(enum collective_kind kind, const char *name, struct err *err);
bool negotiation_in_flight(const struct negotiation *negotiation, const char *name);

/* True if there is something to report to the parent. False at the root. */
bool negotiation_has_report(const struct negotiation *negotiation);

/* If so, appends the body of one message of about 1 MiB at most; the caller repeats the call until
 * it returns false. */
bool negotiation_report(struct negotiation *negotiation, struct wire_writer *body);

/* A message has come from child `index` (of topology.h's order). */
int negotiation_receive(struct negotiation *negotiation, int index, const void *body, size_t nbytes,
                        uint64_t now_ns, struct err *err);

/* At the root: if something can be decided, appends the body of one message for all ranks; the
 * caller repeats the call until it returns false. With `data` false it decides only tensors that
 * need no data transfer of their own, so that the others accumulate and can be fused. Each message
 * must be applied before the next one is made: until then the call returns false. */
bool negotiation_decide(struct negotiation *negotiation, bool data, struct wire_writer *body);

/* Takes effect from the next decision on. */
void negotiation_limit_fusion(struct negotiation *negotiation, struct fusion_limits limits);

/* True if anything could be decided, with or without data. */
bool negotiation_has_decision(const struct negotiation *negotiation);

/* True if there are tensors whose data negotiation_decide() would let move. */
bool negotiation_has_data(const struct negotiation *negotiation);

/* Applies a message for all ranks that was made here, or came from the parent. Then the caller
 * takes decisions from it, in order, until there are none. `body` is borrowed until then, and
 * meanwhile the caller must not receive, report or decide (it may submit). */
int negotiation_apply(struct negotiation *negotiation, const void *body, size_t nbytes,
                      struct err *err);

enum decision_kind {
    DECISION_BATCH,  /* the data has still to be moved, of all `count` tensors at once */
    DECISION_DONE,   /* nothing has to be moved any more */
    DECISION_FAILED, /* with `status` and `text` */
    DECISION_STEADY  /* the steady state begins, with `schedule` */
};

/* A tensor that has been decided on. */
struct agreed {
    void *owner;      /* of the own offer; NULL if this rank has joined and contributes zeros */
    const char *name; /* terminated */
    struct description description; /* of allgather and alltoall, dims[0] is that of any rank */
    const unsigned char
        *data; /* DONE: the reduced tensor (an average is divided already); or the list */
    size_t nbytes;
    const size_t
        *offsets;  /* of a list: rank r's bytes are data[offsets[r], offsets[r + 1]); size + 1
                              of them; NULL if there is no list, as only reductions, barrier,
                              REMOVE_SET and a broadcast that is RUN have none */
    int last_rank; /* of a join: the last rank of the set to join */
    bool absent;   /* MEMORY_DEVICE_REDUCES: a rank has joined, so the devices cannot reduce */
};

struct decision {
    enum decision_kind kind;
    int count; /* above 1 only for RUN, with fused allreduces: same dtype, op and factors */
    struct algorithm_choice choice; /* RUN: a suitable one, the same on all ranks */
    const struct agreed *tensors;
    int status;
    const char *text;
    const struct schedule *schedule; /* of slots in use */
};

/* 1 and the next decision, whose memory is borrowed until the next call; 0 when there are no more;
 * or a negative status. Leaves out decisions on names that this rank has not submitted and need not
 * know. */
int negotiation_next(struct negotiation *negotiation, struct decision *decision, struct err *err);

/* The name in a cache slot that a schedule contains, and its description. Borrowed until the next
 * decision is applied. */
struct remembered {
    const char *name;
    const struct description *description;
};
struct remembered negotiation_remembered(const struct negotiation *negotiation, int slot);

/* The slot in which a name is remembered, -1 if there is none. */
int negotiation_slot(const struct negotiation *negotiation, const char *name);

/* True if a tensor repeats what is remembered in a slot. */
bool negotiation_repeats(const struct negotiation *negotiation, int slot, const char *name,
                         const struct description *description);

/* At the root: whether it looks for a schedule (schedule.h). At first it does not. */
void negotiation_learn(struct negotiation *negotiation, bool learns);

/* At the root: which tensors of a schedule come with the commitment although the agreement does not
 * carry them; at first none. */
void negotiation_send_up_to(struct negotiation *negotiation, const struct schedule_sent *sent);

/* True if a steady state can carry out a tensor as SCHEDULED_SENT; the rows of an allgather or
 * alltoall may be too many all the same. */
enum { SENT_GREATEST = 128 << 10 }; /* bytes to one rank */
bool negotiation_can_send(const struct description *description, int size);

/* At the root: whether the program waits for tensors, at the next decision. */
void negotiation_awaited(struct negotiation *negotiation, bool is_awaited);

/* At the root: a steady state is over, after `done` tensors. */
void negotiation_steady_ended(struct negotiation *negotiation, uint64_t done);

/* Tensors that are to be carried out together, as the root knows them. */
struct negotiation_work {
    const struct description *first;
    int count;
    size_t nbytes; /* in all; allgather: of all ranks; alltoall: not known */
    void *owner;   /* of the root's own offer of the first; NULL: there is none */
};

/* At the root: the function that chooses how a RUN is carried out. Without a function, or with
 * NULL, the algorithm is one that needs no knowledge of the ranks' hosts. */
typedef struct algorithm_choice negotiation_choose_fn(void *arg,
                                                      const struct negotiation_work *work);
void negotiation_choose_with(struct negotiation *negotiation, negotiation_choose_fn *choose,
                             void *arg);

/* A name that waits here, for people and the stall inspector. */
struct waiting {
    const char *name; /* borrowed until the negotiation changes */
    enum collective_kind kind;
    uint64_t since_ns;          /* when this rank first learnt of the name */
    bool own;                   /* this rank has submitted the name */
    struct rank_ranges missing; /* of the set: have not submitted the name, as far as is known
                                 * here */
    struct rank_ranges unsure;  /* in each of these ranges below this rank at least one rank has
                                 * not; which one is not known here */
    struct rank_ranges unheard; /* of the set: may have submitted the name */
};                              /* all empty: the ranks above are waited for */

/* 1 and number `index`, from 0 on in no particular order; 0 beyond the last. */
int negotiation_waiting(const struct negotiation *negotiation, int index, struct waiting *waiting);
int negotiation_waiting_count(const struct negotiation *negotiation);

/* An observer of the progress of names. Called at the root only, with `arg`. */
struct negotiation_observer {
    void (*ready)(void *arg, const char *name, enum collective_kind kind, int first, int end);
    void (*decided)(void *arg, const char *name, enum collective_kind kind);
    void *arg;
};
/* NULL: no observer. Borrowed. */
void negotiation_observe(struct negotiation *negotiation,
                         const struct negotiation_observer *observer);

#endif
