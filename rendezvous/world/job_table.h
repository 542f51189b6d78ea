/* SPDX-License-Identifier: Apache-2.0 */
/* All jobs: the planned one, or those of a service. Jobs that are over stay a while for people
 * to look at: JOB_TABLE_OVER_MAX of them, or until there is no room, or a job of the same id
 * comes. */
#ifndef RENDEZVOUS_WORLD_JOB_TABLE_H
#define RENDEZVOUS_WORLD_JOB_TABLE_H

#include "rendezvous/world/rendezvous_job.h"

TAILQ_HEAD(rendezvous_job_list, rendezvous_job);

enum { JOB_TABLE_OVER_MAX = 64 };

struct job_table {
    struct rendezvous_job_list list; /* oldest first; owned */
    int count, max;
    struct rendezvous_job *only; /* the planned one; NULL in a service */
    uint64_t start_timeout_ms;   /* of those that are made without one of their own */
    struct memory_budget values; /* of the stores of all that a service has */
};

/* A service's, empty; `only` is set and put into the list by job_table_add_planned(). */
void job_table_init(struct job_table *job_table, int max, uint64_t start_timeout_ms);
void job_table_add_planned(struct job_table *job_table, struct rendezvous_job *planned);
void job_table_fini(struct job_table *job_table);

/* Finds the job with this id, or with "" the planned one; NULL if there is none. */
struct rendezvous_job *job_table_find(const struct job_table *job_table, const char *id);

/* Makes one in a service; a job that is over and has the same id is forgotten. `size` 0: what the
 * first worker says; `start_timeout_ms` 0: the usual. HVD_ERR_INVALID when there are too many,
 * HVD_ERR_NOMEM. */
struct rendezvous_job *job_table_make(struct job_table *job_table, const char *id, int size,
                                      uint64_t start_timeout_ms, uint64_t now_ms, struct err *err);

/* Likewise an elastic one. */
struct rendezvous_job *job_table_make_elastic(struct job_table *job_table, const char *id, int min,
                                              int max, uint64_t start_timeout_ms, uint64_t now_ms,
                                              struct err *err);

/* Forgets jobs that are over as far as the limits say. */
void job_table_trim(struct job_table *job_table);

#endif
