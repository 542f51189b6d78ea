/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as child processes of a test, with the environment that a launcher would give them. */
#ifndef TESTS_SUPPORT_RANKS_H
#define TESTS_SUPPORT_RANKS_H

#include "tests/support/mini_rendezvous.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { RANKS_MAX = 16 };

/* The body of a rank; its result is the process's exit status. */
typedef int rank_fn(int rank);

struct ranks {
    int size;
    pid_t pids[RANKS_MAX];
};

/* Memory that all ranks of the test share; zero at the start of each. */
struct shared {
    atomic_int counters[8];
};
extern struct shared *shared;

void ranks_start(struct ranks *ranks, int size, const struct mini_rendezvous *mini, rank_fn *body);

/* Waits for one rank: its exit status, or 128 + its signal. */
int ranks_wait(struct ranks *ranks, int rank);

/* A whole world: every rank must return 0. */
void ranks_run(const struct mini_options *options, rank_fn *body);

/* For a rank: ends the process with status 1, and says where, unless `condition` holds. */
#define REQUIRE(condition) rank_require(condition, #condition, __FILE__, __LINE__)
void rank_require(int condition, const char *text, const char *file, int line);

/* Likewise, unless `rc` is `expected`; tells the last error. */
#define REQUIRE_STATUS(rc, expected) rank_require_status(rc, expected, #rc, __FILE__, __LINE__)
void rank_require_status(int rc, int expected, const char *text, const char *file, int line);

/* Waits until a shared counter has reached `value`. */
void wait_for(int counter, int value);

#endif
