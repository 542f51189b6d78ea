/* SPDX-License-Identifier: Apache-2.0 */
/* All jobs there are: the planned one, or those of a service. Jobs that are over stay a while for
 * people to look at: MEETINGS_OVER_MAX of them, or until there is no room, or a job of the same id
 * comes. */
#ifndef RENDEZVOUS_WORLD_MEETINGS_H
#define RENDEZVOUS_WORLD_MEETINGS_H

#include "rendezvous/world/rendezvous_job.h"

TAILQ_HEAD(meeting_list, meeting);

enum { MEETINGS_OVER_MAX = 64 };

struct meetings {
    struct meeting_list list; /* oldest first; owned */
    int count, max;
    struct meeting *only;        /* the planned one; NULL in a service */
    uint64_t start_timeout_ms;   /* of those that are made without one of their own */
    struct memory_budget values; /* of the stores of all that a service has */
};

/* A service's, empty; `only` is set and put into the list by meetings_add_planned(). */
void meetings_init(struct meetings *meetings, int max, uint64_t start_timeout_ms);
void meetings_add_planned(struct meetings *meetings, struct meeting *planned);
void meetings_fini(struct meetings *meetings);

/* NULL if there is none; "" names the only one. */
struct meeting *meetings_find(const struct meetings *meetings, const char *id);

/* Makes one in a service; a job that is over and has the same id is forgotten. `size` 0: what the
 * first worker says; `start_timeout_ms` 0: the usual. HVD_ERR_INVALID when there are too many,
 * HVD_ERR_NOMEM. */
struct meeting *meetings_make(struct meetings *meetings, const char *id, int size,
                              uint64_t start_timeout_ms, uint64_t now_ms, struct err *err);

/* Forgets jobs that are over as far as the limits say. */
void meetings_trim(struct meetings *meetings);

#endif
