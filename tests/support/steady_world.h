/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a small process set in virtual time: their programs, their part in the negotiation and
 * in the steady state, and the links between each two of them, which keep the order and delay each
 * message at random. What lib/engine/set.c, set_tree.c and set_steady*.c do with a real set is done
 * here without data links and threads: data to be moved are moved at once. Failures end the test.
 *
 * Checked all the time:
 *   a tensor is done once, with the data of the same instance on all ranks that have not joined;
 *   batch number n of the set has the same tensors, algorithm and pieces on all ranks, although
 *   the root chooses other pieces each time;
 *   a name fails on all ranks alike, with words that name it and a rank;
 *   no rank waits until it loses patience, unless a rank is late.
 * steady_world_run() ends when nothing can happen any more. */
#ifndef TESTS_SUPPORT_STEADY_WORLD_H
#define TESTS_SUPPORT_STEADY_WORLD_H

#include <stdbool.h>
#include <stdint.h>

enum { WORLD_RANKS = 5, WORLD_NAMES = 12, WORLD_ACTIONS = 2000 };

/* Names from WORLD_LARGE on are moved alone, from WORLD_MEDIUM on fused and moved. */
enum { WORLD_BARRIER = WORLD_NAMES - 1, WORLD_MEDIUM = 5, WORLD_LARGE = 7 };

enum action_kind {
    ACTION_SUBMIT, /* `name`, as `instance`, from 1 on */
    ACTION_WAIT,   /* for `name` */
    ACTION_POLL,   /* until `name` is done */
    ACTION_SLEEP,  /* for `us` */
    ACTION_JOIN,   /* and wait until all have joined */
    ACTION_LEAVE
};

struct action {
    enum action_kind kind;
    int name, instance;
    bool odd; /* another shape than other ranks have */
    uint32_t us;
};

/* The programs, which the caller fills in, and what came of them. */
struct steady_world_program {
    struct action actions[WORLD_ACTIONS];
    int count;
};
struct steady_world {
    int size, cache_capacity;
    uint32_t delay_us, pause_us; /* at most: of a message, between two actions */
    bool may_be_late;            /* a rank may make others wait until they lose patience */
    struct steady_world_program programs[WORLD_RANKS];

    uint32_t steady_states, operations, fused; /* of rank 0: operations done in steady states */
};

/* Below `bound`, from the state of a seed. */
uint32_t steady_world_random(uint64_t *state, uint32_t bound);

/* Runs the programs; `seed` chooses delays. Each rank must come to the end of its program, or, when
 * a rank has left, to an error. */
void steady_world_run(struct steady_world *world, uint64_t seed);

#endif
