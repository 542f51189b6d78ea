/* SPDX-License-Identifier: Apache-2.0 */
/* The real rendezvous of a launcher's job, on a TCP port of this machine, in a process of its
 * own; the test is the launcher. The process carries out the test's requests in order, and
 * reports complete worlds. */
#ifndef TESTS_SUPPORT_LIVE_RENDEZVOUS_H
#define TESTS_SUPPORT_LIVE_RENDEZVOUS_H

#include "lib/base/late_ranks.h"
#include "tests/support/ranks.h"

enum { LIVE_WORKERS_MAX = 16 };

struct live_rendezvous {
    struct mini_rendezvous mini; /* its port, its key and its process: for ranks_start() */
    int commands, worlds, late;  /* descriptors */
};

struct live_world {
    int epoch, size;
    int workers[LIVE_WORKERS_MAX]; /* in order of rank */
};

/* `size` ranks on testhost; 0: an elastic job. */
void live_rendezvous_start(struct live_rendezvous *live, int size, uint64_t start_timeout_ms);
void live_rendezvous_stop(struct live_rendezvous *live);

/* The calls of the launcher of an elastic job; all workers are on testhost. */
void live_intend(const struct live_rendezvous *live, const int *workers, int count);
void live_remove(const struct live_rendezvous *live, int worker);

/* The process of a worker has ended, with status 0 or by SIGKILL. */
void live_ended(const struct live_rendezvous *live, int worker, bool killed);

/* Waits for the next world. */
struct live_world live_await_world(const struct live_rendezvous *live);

/* Waits until a rank of a world says that workers are late, and returns these. */
struct late_ranks live_await_late(const struct live_rendezvous *live);

/* Starts one more worker of an elastic job, whose number is `worker`. */
pid_t live_worker_start(const struct live_rendezvous *live, int worker, rank_fn *body);

#endif
