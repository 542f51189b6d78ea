/* SPDX-License-Identifier: Apache-2.0 */
/* One job, as the rendezvous knows it: who belongs to it, where everybody is, and its key-value
 * store.
 *
 *   planned     by a launcher: places are known, membership from the beginning
 *   unplanned   of a service: workers gather in the lobby, then are given places, then membership
 *
 *   gathering -> running -> ended      all have left
 *   gathering, running -> failed       a rank was lost, or some did not come in time; or nobody at
 *                                      all, to one of a service's, for MEETING_LAPSE_MS or
 *                                      MEETING_LAPSE_TIMES its start timeout, what is longer
 *
 * Without I/O; the hub acts on what lobby and membership say. */
#ifndef RENDEZVOUS_WORLD_MEETING_H
#define RENDEZVOUS_WORLD_MEETING_H

#include "lib/base/job_id.h"
#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/base/wait_list.h"
#include "rendezvous/store/key_value.h"
#include "rendezvous/world/launch.h"
#include "rendezvous/world/membership.h"
#include "rendezvous/world/pending_workers.h"
#include "rendezvous/world/rank_query.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct rendezvous_connection;

enum { MEETING_LAPSE_MS = 3600 * 1000, MEETING_LAPSE_TIMES = 10 };

enum meeting_state { MEETING_GATHERING, MEETING_RUNNING, MEETING_ENDED, MEETING_FAILED };

/* What is known of a rank beside its membership. */
struct meeting_rank {
    struct rendezvous_connection *connection; /* NULL: none now; owned by the hub */
    int pid;                                  /* 0: not known */
    bool joined;                              /* has said HELLO */
    bool silent;                              /* did not answer when it was last asked */
    uint64_t joined_ms;                       /* when it did */
    uint64_t heard_ms;                        /* when it last said anything */
    char *report;            /* what it last said it is doing, lines; NULL: never asked; owned */
    struct wire_writer said; /* and rank_stats and rank_waits, encoded; empty: never asked; owned */
};

struct meeting {
    char id[JOB_ID_SIZE];
    bool planned;
    uint64_t since_ms; /* when it was made */
    uint64_t first_ms; /* when the first worker came */
    uint64_t ended_ms; /* when the last worker was gone; 0 while some are there */
    uint64_t lapse_ms; /* of an unplanned one: when it ends if nobody has come */
    int size;          /* 0: not known yet */
    int connected;     /* workers whose connection is open */

    struct lobby lobby;            /* of an unplanned one; guests' owners are connections */
    struct rendezvous_slot *slots; /* `size` of them once places are known, else NULL; owned */
    struct membership membership;  /* once `slots` are there */
    struct meeting_rank *ranks;    /* likewise */
    bool told_origin;              /* the launcher knows whose failure has broken the world */
    struct roll_call roll_call;
    uint64_t asked_ms;          /* when the last one began */
    bool asked_by_launcher;     /* the roll call is for it */
    bool ask_again;             /* the launcher asked while another one was under way */
    struct wait_list watchers;  /* requests that wait for a roll call to end */
    struct wait_list onlookers; /* requests that wait for its end */
    struct launch *launch;      /* of a planned one, else NULL; owned */
    struct key_value *store;    /* NULL once it is over */

    TAILQ_ENTRY(meeting) link;
};

/* A planned one: all is copied but the names of hosts. NULL and `err`. */
struct meeting *meeting_create_planned(const struct rendezvous_options *options, uint64_t now_ms,
                                       struct err *err);

/* An unplanned one; size 0: what the first worker says. */
struct meeting *meeting_create(const char *id, int size, uint64_t start_timeout_ms, uint64_t now_ms,
                               struct err *err);

/* It has been declared, maybe again: the time in which somebody must come begins anew. */
void meeting_declared(struct meeting *meeting, uint64_t now_ms);

/* Time has passed: if nobody has come for so long, ends its lobby. */
void meeting_lapse(struct meeting *meeting, uint64_t now_ms);

/* After meeting_close(), or when nothing waits any more. NULL is fine. */
void meeting_destroy(struct meeting *meeting);

/* The lobby is full: gives places, and joins every guest at its rank. HVD_ERR_NOMEM. */
int meeting_seat(struct meeting *meeting, uint64_t now_ms, struct err *err);

/* How many workers have still to come, as far as that is known. */
int meeting_expects(const struct meeting *meeting);

/* Which of its deadlines is the earliest, or MEMBERSHIP_NEVER. */
uint64_t meeting_deadline(const struct meeting *meeting);

/* An unmodified Horovod worker has put the address of `rank`. */
void meeting_saw_gloo(struct meeting *meeting, int rank);

/* `rank` has said what it is doing. */
void meeting_heard(struct meeting *meeting, int rank, const struct join_report *report,
                   uint64_t now_ms);

/* What `rank` had counted, or waited for, when it was last asked; false: it has never said. */
bool meeting_rank_stats(const struct meeting *meeting, int rank, struct rank_stats *stats);
bool meeting_rank_waits(const struct meeting *meeting, int rank, struct rank_waits *waits);

/* Nobody is connected any more and nobody is waited for: its store is freed, what wakes goes to
 * `woken`. */
bool meeting_is_over(const struct meeting *meeting);
void meeting_close(struct meeting *meeting, struct wait_list *woken, uint64_t now_ms);

/* What to tell people: the state, one word for it ("running"), and why it failed ("" if it has
 * not); returns `text`. */
enum { MEETING_CAUSE_SIZE = 1024 };
enum meeting_state meeting_state(const struct meeting *meeting);
const char *meeting_state_name(enum meeting_state state);
const char *meeting_cause(const struct meeting *meeting, char text[MEETING_CAUSE_SIZE]);

/* One word for a rank: "expected", "gloo" (an unmodified Horovod worker has put its address, no
 * HELLO), "waiting" (in hvd_init for the others), "running", "left", "lost". */
const char *meeting_rank_state(const struct meeting *meeting, int rank);

#endif
