/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the world in virtual time; see steady_world.h. */
#ifndef TESTS_SUPPORT_STEADY_WORLD_IMPL_H
#define TESTS_SUPPORT_STEADY_WORLD_IMPL_H

#include "lib/negotiation/negotiation.h"
#include "lib/negotiation/steady.h"
#include "lib/negotiation/steady_round.h"
#include "tests/support/steady_world.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { QUEUE = 512, KEPT_MAX = 16, BATCHES = 4000, LOG = 8000 };

#define PATIENCE_US 1000000u
#define POLLED_US 1000u
#define NEVER UINT64_MAX

/* As in lib/engine/tree_link.h. */
enum message_kind { MESSAGE_REPORT, MESSAGE_DECISION, MESSAGE_LEFT, MESSAGE_COMMIT, MESSAGE_LEAVE };

struct sim_message {
    enum message_kind kind;
    uint64_t at_us; /* arrival */
    uint32_t epoch, number, digest;
    int who;                /* LEFT */
    int64_t data[KEPT_MAX]; /* COMMIT: of the tensors of an operation */
    struct wire_writer body;
};

struct sim_link {
    struct sim_message queue[QUEUE];
    unsigned first, end;
};

struct sim_tensor {
    int name, instance;
    bool in_flight, awaited, odd;
    uint64_t since_us;
};

struct sim_kept {
    uint32_t digest;
    int64_t data[KEPT_MAX];
};

struct sim_rank {
    int rank;
    struct negotiation *negotiation;
    struct steady steady;
    struct steady_round round;
    uint32_t digests[SCHEDULE_MAX];
    struct sim_kept kept[WORLD_RANKS][STEADY_KEPT];
    struct sim_tensor tensors[WORLD_NAMES], join;
    int next; /* action */
    uint64_t wake_us;
    bool gone, ended, has_end, wants_join, is_done;
    int who; /* of the end */
    int batches;
    uint64_t log[LOG]; /* what was done, in order */
    int nlog;
};

/* The contents of batch number n. */
struct sim_batch {
    int algorithm, piece, count;
    int names[WORLD_NAMES];
};

struct sim {
    struct steady_world *world;
    struct sim_rank ranks[WORLD_RANKS];
    struct sim_link links[WORLD_RANKS][WORLD_RANKS];
    struct sim_batch batches[BATCHES];
    int nbatches;
    int nchoices;                 /* of pieces */
    bool has_joined[WORLD_RANKS]; /* at any time */
    uint64_t random, now_us, seed;
};
extern struct sim sim;

#define SIM_CHECK(condition, ...)                                                                  \
    do {                                                                                           \
        char text[700];                                                                            \
        if (condition)                                                                             \
            break;                                                                                 \
        snprintf(text, sizeof text, __VA_ARGS__);                                                  \
        ck_abort_msg("seed %llu, %llu us: %s", (unsigned long long)sim.seed,                       \
                     (unsigned long long)sim.now_us, text);                                        \
    } while (0)

/* steady_world_steady.c: links; tensors that are done; the steady state, as in set_steady*.c */
struct sim_message *sim_send(int from, int to, enum message_kind kind);
void sim_note(struct sim_rank *rank, uint64_t what);
void sim_finish_tensor(struct sim_rank *rank, struct sim_tensor *tensor);
void sim_finish_done(struct sim_rank *rank, struct sim_tensor *tensor, int64_t sum);
/* Batch number `rank->batches` moves these tensors. */
void sim_finish_batch(struct sim_rank *rank, struct schedule_choice choice, int count,
                      const int *names);
void sim_begin(struct sim_rank *rank, const struct schedule *schedule);
void sim_submit(struct sim_rank *rank, struct sim_tensor *tensor);
void sim_complete(struct sim_rank *rank, uint32_t number);
void sim_commit_complete(struct sim_rank *rank);
/* True if the program waits for a held tensor, or for `polled`. */
bool sim_is_stuck(const struct sim_rank *rank, const struct sim_tensor *polled);
void sim_leave(struct sim_rank *rank);
void sim_send_leave(struct sim_rank *rank, uint32_t epoch, uint32_t number);

/* steady_world_set.c: the set, as in set.c, and what comes over the links */
/* One pass, until nothing moves. */
void sim_move(struct sim_rank *rank);
/* The next message of a link. */
void sim_deliver(int from, int to);

#endif
