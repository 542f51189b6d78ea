/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as child processes of a test, with the environment that a launcher would give them. */
#ifndef TESTS_SUPPORT_RANKS_H
#define TESTS_SUPPORT_RANKS_H

#include "lib/hvd.h"
#include "tests/support/mini_rendezvous.h"

#include <check.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
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

/* Waits for all ranks: each must return 0, and rank `odd` must end with `status`. Names every rank
 * that ends otherwise, after the last one has ended. */
void ranks_wait_all_but(struct ranks *ranks, int odd, int status);
void ranks_wait_all(struct ranks *ranks);

/* A whole world: every rank must return 0. */
void ranks_run(const struct mini_options *options, rank_fn *body);

/* Likewise, but for rank `killed`, which must end by SIGKILL. */
void ranks_run_but(const struct mini_options *options, rank_fn *body, int killed);

/* Adds a test of worlds of `smallest` to `largest` ranks, which has the size as _i.
 * ThreadSanitizer, which is ten times as slow, gets the smallest and the largest of them: it
 * compares the threads of one process, and a process has every place that there is in one of these
 * two. */
void ranks_add_test(TCase *tcase, const TTest *test, int smallest, int largest);

/* For a rank: ends the process with status 1, and says where, unless `condition` holds. */
#define REQUIRE(condition) ((condition) ? (void)0 : rank_refuse(#condition, __FILE__, __LINE__))
_Noreturn void rank_refuse(const char *text, const char *file, int line);

/* Likewise, unless `rc` is `expected`; tells the last error. */
#define REQUIRE_STATUS(rc, expected) rank_require_status(rc, expected, #rc, __FILE__, __LINE__)
void rank_require_status(int rc, int expected, const char *text, const char *file, int line);

/* Likewise, unless the last error tells `part`. */
void require_text(const char *part);

/* The beginning and the end of a body: hvd_init(), which must succeed; hvd_shutdown(), likewise,
 * and 0 for the body to return. */
void init_world(void);
int leave_world(void);

/* An allreduce of one element, the number of the rank; its status. */
int sum_of_ranks(const char *name, int32_t *sum);

/* The sum of the numbers of all ranks. */
int sum_of_numbers(void);

/* Calls sum_of_ranks() `rounds` times; each sum must be right. */
void sum_rounds(const char *name, int rounds);

/* An allreduce of floats in place; its status. */
int sum_floats(const char *name, float *data, size_t count, enum hvd_op op);

/* The blocking collectives over `count` elements each, with the right results. */
void check_collectives(size_t count);

/* Waits until a shared counter has reached `value`; until a thread (of any process) sleeps in the
 * kernel. */
void wait_for(int counter, int value);
void wait_until_asleep(int thread);

#endif
