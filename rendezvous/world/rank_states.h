/* SPDX-License-Identifier: Apache-2.0 */
/* The number of workers of a job in each state, for status and metrics. */
#ifndef RENDEZVOUS_WORLD_RANK_STATES_H
#define RENDEZVOUS_WORLD_RANK_STATES_H

struct rendezvous_job;

enum rank_state {
    RANK_EXPECTED, /* has not come */
    RANK_GLOO,     /* an unmodified Horovod worker, which has put its address and says no HELLO */
    RANK_WAITING,  /* in hvd_init for the other ranks */
    RANK_RUNNING,
    RANK_LEFT,
    RANK_LOST,
    RANK_STATES
};

/* "expected", "gloo", "waiting", "running", "left", "lost" */
const char *rank_state_name(enum rank_state state);

/* The state of a rank of a job whose places are known. */
enum rank_state rank_state_of(const struct rendezvous_job *job, int rank);

/* How many ranks a job has or will have; 0 while nobody has said it. */
int rank_states_size(const struct rendezvous_job *job);

/* Adds the workers of a job to `counts`. Pending workers are waiting; of the
 * others as many are expected as its size says, if that is known. */
void rank_states_count(const struct rendezvous_job *job, int counts[RANK_STATES]);

#endif
