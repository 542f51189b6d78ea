/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of ranks with stall inspectors in memory, and a clock that jumps from deadline to
 * deadline. A test says what each rank has submitted, runs the clock, and looks at what was said
 * when. A failure ends the test. */
#ifndef TESTS_SUPPORT_STALL_WORLD_H
#define TESTS_SUPPORT_STALL_WORLD_H

#include "lib/stall/stall.h"
#include "lib/stall/stall_message.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STALL_WORLD_SIZE_MAX = 64,
    STALL_WORLD_SUBMITTED_MAX = 100,
    STALL_WORLD_LETTERS_MAX = 4096,
    STALL_WORLD_SPOKEN_MAX = 64
};

#define STALL_WORLD_SECOND_NS 1000000000ull
#define STALL_WORLD_CHECK_NS (60 * STALL_WORLD_SECOND_NS) /* the check time of stall_world_make() */

struct stall_world_submitted {
    char name[32];
    enum collective_kind kind;
    uint64_t since_ns;
    bool own;
};

struct stall_world_rank {
    struct stall *stall;
    int count;
    struct stall_world_submitted submitted[STALL_WORLD_SUBMITTED_MAX];
    uint64_t decided_ns, decisions;
    bool stopped, stuck;
    bool waits_elsewhere; /* in another set */
    char host[20];
    int alerts;
};

/* A message under way; to a stopped rank it stays so. */
struct stall_world_letter {
    int from, to;
    enum stall_message message;
    unsigned char *body; /* ours; of just this size */
    size_t nbytes;
};

struct stall_world_spoken {
    int rank;
    uint64_t at_ns;
    enum stall_action action;
    char text[4000];
};

/* The state that a test may read and change between two steps. */
extern struct stall_world {
    struct stall_world_rank ranks[STALL_WORLD_SIZE_MAX];
    int size;
    uint64_t now_ns;
    struct stall_world_letter letters[STALL_WORLD_LETTERS_MAX];
    int nletters;
    struct stall_world_spoken spoken[STALL_WORLD_SPOKEN_MAX];
    int nspoken;
    int star; /* of the tree (topology.h) of the world that is made next */
    int world_ranks[STALL_WORLD_SIZE_MAX];
} stall_world;

/* A world of `count` ranks, whose clock is at one second. */
void stall_world_make(int count);
void stall_world_make_with(int count, uint64_t check_ns, uint64_t shutdown_ns);
void stall_world_end(void);

/* Drops what was said, and the messages under way. */
void stall_world_forget(void);

/* One rank submits a name; every rank but `missing`; what was submitted is done on all ranks. */
void stall_world_submit(int rank, const char *name, enum collective_kind kind);
void stall_world_submit_but(int missing, const char *name);
void stall_world_finish_all(void);

/* Runs the clock for `seconds`, as an engine that sleeps between events. */
void stall_world_run(uint64_t seconds);

/* The steps of stall_world_run(): the time of the next deadline; the checks that are due; the
 * texts and messages of a rank, as the engine sends them after each call; the arrival of all
 * messages. */
uint64_t stall_world_deadline(void);
void stall_world_tick_all(void);
void stall_world_take(int rank);
void stall_world_deliver(void);

/* How many of the spoken texts have this word. */
int stall_world_times_said(const char *word);

#define ck_assert_stall_said(word)                                                                 \
    ck_assert_msg(stall_world_times_said(word) > 0, "%d said, last: %s", stall_world.nspoken,      \
                  stall_world.nspoken ? stall_world.spoken[stall_world.nspoken - 1].text : "")

#endif
