/* SPDX-License-Identifier: Apache-2.0 */
/* A job from inside: what rendezvous_job.c, rendezvous_job_next.c (the next epoch of the same
 * ranks) and rendezvous_job_elastic.c (worlds of an elastic job) share. */
#ifndef RENDEZVOUS_WORLD_RENDEZVOUS_JOB_IMPL_H
#define RENDEZVOUS_WORLD_RENDEZVOUS_JOB_IMPL_H

#include "rendezvous/world/rendezvous_job.h"

/* A membership and its ranks. Nothing has to be undone when it fails. */
int rendezvous_job_membership(struct membership *membership, struct rendezvous_job_rank **ranks,
                              const struct rendezvous_slot *slots, int size,
                              uint64_t start_timeout_ms, struct err *err);

void rendezvous_job_ranks_free(struct rendezvous_job_rank *ranks, int size);

/* Frees what is known of the world, but not its slots. */
void rendezvous_job_forget_world(struct rendezvous_job *job);

/* NULL is fine. */
void rendezvous_next_destroy(struct rendezvous_next *next);

#endif
