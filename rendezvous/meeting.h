/* SPDX-License-Identifier: Apache-2.0 */
/* One job, as the rendezvous knows it: who belongs to it, where everybody is, and its key-value store.
 *
 *   planned     by a launcher: places are known, membership from the beginning
 *   unplanned   of a service: workers gather in the lobby, then are given places, then membership
 *
 *   gathering -> running -> ended      all have left
 *   gathering, running -> failed       a rank was lost, or some did not come in time
 *
 * Without I/O; the hub acts on what lobby and membership say. */
#ifndef RENDEZVOUS_MEETING_H
#define RENDEZVOUS_MEETING_H

#include "lib/base/job_id.h"
#include "rendezvous/key_value.h"
#include "rendezvous/lobby.h"
#include "rendezvous/membership.h"
#include "rendezvous/rendezvous.h"
#include "rendezvous/roll_call.h"
#include "rendezvous/wait_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct rendezvous_connection;

enum meeting_state { MEETING_GATHERING, MEETING_RUNNING, MEETING_ENDED, MEETING_FAILED };

/* What is known of a rank beside its membership. */
struct meeting_rank {
    struct rendezvous_connection *connection; /* NULL: none now; owned by the hub */
    int pid;                                  /* 0: has not said HELLO */
    uint64_t joined_ms;                       /* when it did */
    uint64_t heard_ms;                        /* when it last said anything, as far as that shows */
    char *report; /* what it last said it is doing, lines; NULL: never asked; owned */
};

struct meeting {
    char id[JOB_ID_SIZE];
    bool planned;
    uint64_t since_ms; /* when it was made */
    uint64_t ended_ms; /* when the last worker was gone; 0 while some are there */
    int size;          /* 0: not known yet */
    int connected;     /* workers whose connection is open */

    struct lobby lobby;            /* of an unplanned one; guests' owners are connections */
    struct rendezvous_slot *slots; /* `size` of them once places are known, else NULL; owned */
    struct membership membership;  /* once `slots` are there */
    struct meeting_rank *ranks;    /* likewise */
    struct roll_call roll_call;
    struct wait_list watchers; /* requests that wait for a roll call to end */
    struct key_value *store;

    TAILQ_ENTRY(meeting) link;
};

/* A planned one: `slots` are copied, their host names are not. NULL and `err`. */
struct meeting *meeting_create_planned(const char *id, const struct rendezvous_slot *slots,
                                       int size, uint64_t start_timeout_ms, uint64_t now_ms,
                                       struct err *err);

/* An unplanned one; size 0: what the first worker says. */
struct meeting *meeting_create(const char *id, int size, uint64_t start_timeout_ms, uint64_t now_ms,
                               struct err *err);
void meeting_destroy(struct meeting *meeting);

/* The lobby is full: gives places, and joins every guest at its rank. HVD_ERR_NOMEM. */
int meeting_seat(struct meeting *meeting, uint64_t now_ms, struct err *err);

/* What to tell people: the state, one word for it ("running"), and why it failed ("" if it has not). */
enum meeting_state meeting_state(const struct meeting *meeting);
const char *meeting_state_name(enum meeting_state state);
const char *meeting_cause(const struct meeting *meeting);

/* One word for a rank: "expected", "gloo" (an unmodified Horovod worker has put its address, no
 * HELLO), "waiting" (in hvd_init for the others), "running", "left", "lost". */
const char *meeting_rank_state(const struct meeting *meeting, int rank);

/* All jobs there are, oldest first. */
TAILQ_HEAD(meeting_list, meeting);

struct meetings {
    struct meeting_list list;
    int count, max;
    struct meeting *only;      /* the planned one, NULL in a service */
    uint64_t start_timeout_ms; /* of those that are made here */
};

void meetings_init(struct meetings *meetings, int max, uint64_t start_timeout_ms);
void meetings_fini(struct meetings *meetings);

/* NULL if there is none; "" names the only one. */
struct meeting *meetings_find(const struct meetings *meetings, const char *id);

/* Makes one, ending the memory of jobs that are over if there are too many; HVD_ERR_INVALID when all
 * of them are alive, HVD_ERR_NOMEM. A job that is over under the same id is forgotten. */
struct meeting *meetings_make(struct meetings *meetings, const char *id, int size,
                              uint64_t start_timeout_ms, uint64_t now_ms, struct err *err);

/* Over: nobody is connected, and nobody will be. Who is forgotten must be. */
bool meeting_is_over(const struct meeting *meeting);
void meetings_forget(struct meetings *meetings, struct meeting *meeting);

#endif
