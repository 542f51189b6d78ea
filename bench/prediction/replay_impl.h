/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a replay (replay.h).
 *
 *   replay.c            the world, a step, a rank's progress engine
 *   replay_agreement.c  reports up and decisions down the tree
 *   replay_data.c       batches, the window of operations, and their frames */
#ifndef BENCH_PREDICTION_REPLAY_IMPL_H
#define BENCH_PREDICTION_REPLAY_IMPL_H

#include "bench/prediction/replay.h"
#include "lib/base/topology.h"
#include "lib/collective/operation.h"
#include "lib/collective/placing.h"
#include "lib/engine/channel.h"
#include "lib/engine/fusion_limits.h"
#include "lib/negotiation/negotiation.h"

enum replay_frame_kind { REPLAY_REPORT, REPLAY_DECISION, REPLAY_DATA };

/* The body of a report or decision. Decisions go to several ranks as they are. */
struct message {
    int references;
    size_t length;
    unsigned char bytes[];
};

struct replay_frame {
    struct packet packet;
    struct replay_frame *next;
    struct replay_rank *from, *to;
    enum replay_frame_kind kind;
    struct message *message; /* unless data */
    uint32_t number;         /* data: of the operation */
    size_t nbytes;           /* data, without a header */
};

struct frame_list {
    struct replay_frame *first, *last;
};

/* What is to be moved by one operation. */
struct replay_batch {
    struct replay_batch *next;
    struct algorithm_choice choice;
    size_t count;
    int tensors;
};

/* An operation under way. */
struct replay_slot {
    struct replay_batch *batch;
    int *peers, npeers;
    int turn; /* the peer that is asked first whether there is something to send */
};

struct replay_rank {
    struct replay *replay;
    int number, host;
    struct negotiation *negotiation;
    struct tree_position tree;
    int child_index; /* among the children of its parent */

    bool busy, has_received;                 /* the last work: data were received, not sent */
    double extra_ns;                         /* of work that belongs to the next piece */
    struct frame_list agreement, data, held; /* that have come; held: of operations not started */
    struct frame_list leaving;               /* leave when the present work is done */

    struct replay_batch *queue, **queue_end;
    int queued;
    struct operation_window window;
    struct replay_slot slots[WINDOW_SIZE];
    uint32_t *in_flight; /* bytes to each rank that it has not taken yet */

    int tensors_left;
    bool has_computed;
    uint64_t ended_ns; /* the step */
};

/* The event that a tensor is ready on a rank. */
struct submission {
    struct replay_rank *rank;
    const struct replay_tensor *tensor; /* NULL: all has been computed */
};

struct replay {
    struct replay_options options;
    struct event_queue queue;
    struct cluster cluster;
    struct placing *placing;
    struct operation_store *store;
    struct replay_rank *ranks;
    uint32_t *in_flight;
    unsigned char *memory; /* of all tensors of all ranks: never read */
    size_t memory_size;
    struct submission *submissions;
    bool dry;
    uint64_t random; /* the state of replay_normal() */
    struct replay_step step;
};

/* Ends the program unless rc >= 0: the library's code must not fail here. */
void replay_must(int rc, const struct err *err);
void *replay_alloc(size_t nbytes);

/* Lets the rank work, if it is idle and there is something to do. */
void replay_rank_wake(struct replay_rank *rank);

/* The frame leaves when the rank's present work is done. Returns the work of sending it. */
double replay_send(struct replay_frame *frame);
struct replay_frame *frame_list_take(struct frame_list *list);
void frame_list_add(struct frame_list *list, struct replay_frame *frame);

/* Each does one piece of work, if there is one, and returns its nanoseconds; or -1. */
double replay_agree(struct replay_rank *rank);
double replay_start_batch(struct replay_rank *rank);
double replay_receive_data(struct replay_rank *rank);
double replay_send_data(struct replay_rank *rank);

/* An operation may be done: ends those that are. */
void replay_finish_operations(struct replay_rank *rank);

void replay_queue(struct replay_rank *rank, struct algorithm_choice choice, size_t count,
                  int tensors);
void replay_tensors_done(struct replay_rank *rank, int count);

/* negotiation_choose_fn */
struct algorithm_choice replay_choose(void *arg, const struct negotiation_work *work);

#endif
