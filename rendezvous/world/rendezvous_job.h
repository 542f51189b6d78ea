/* SPDX-License-Identifier: Apache-2.0 */
/* One job, as the rendezvous knows it: who belongs to it, where everybody is, and its key-value
 * store.
 *
 *   planned     by a launcher: places are known, membership from the beginning
 *   unplanned   of a service: workers are pending, then are given places, then membership
 *   elastic     of either: workers wait until they are a world (elastic.h), then membership
 *
 * When the ranks of a job that is not elastic have left a world that is not broken, they may come
 * again: the next epoch has the same ranks. It gathers beside the world that they leave, and takes
 * its place when it is complete. A world of an elastic job takes the place of the former, which may
 * have broken, when it is made.
 *
 *   gathering -> running -> ended      all have left
 *   gathering, running -> failed       a rank was lost, or some did not come in time; or nobody at
 *                                      all, to one of a service's, for RENDEZVOUS_JOB_LAPSE_MS or
 *                                      RENDEZVOUS_JOB_LAPSE_TIMES its start timeout, what is longer
 *
 * Without I/O; the server acts on what pending workers and membership say. */
#ifndef RENDEZVOUS_WORLD_RENDEZVOUS_JOB_H
#define RENDEZVOUS_WORLD_RENDEZVOUS_JOB_H

#include "lib/base/auth.h"
#include "lib/base/job_id.h"
#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/base/wait_list.h"
#include "rendezvous/store/key_value.h"
#include "rendezvous/world/elastic.h"
#include "rendezvous/world/elastic_service.h"
#include "rendezvous/world/launcher_view.h"
#include "rendezvous/world/membership.h"
#include "rendezvous/world/pending_workers.h"
#include "rendezvous/world/rank_query.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct rendezvous_connection;

enum { RENDEZVOUS_JOB_LAPSE_MS = 3600 * 1000, RENDEZVOUS_JOB_LAPSE_TIMES = 10 };

enum rendezvous_job_state {
    RENDEZVOUS_JOB_GATHERING,
    RENDEZVOUS_JOB_RUNNING,
    RENDEZVOUS_JOB_ENDED,
    RENDEZVOUS_JOB_FAILED
};

/* The state of a rank, except its membership. */
struct rendezvous_job_rank {
    int worker;
    struct rendezvous_connection *connection; /* NULL: none now; owned by the server */
    int pid;                                  /* 0: not known */
    bool joined;                              /* has said HELLO */
    bool silent;                              /* did not answer when it was last asked */
    uint64_t joined_ms;                       /* when it did */
    uint64_t heard_ms;                        /* when it last said anything */
    uint64_t back_by_ms;                      /* it has left, and is to come again by then; 0: it
                                               * has not left, or need not come */
    char *report;            /* what it last said it is doing, lines; NULL: never asked; owned */
    struct wire_writer said; /* and rank_stats and rank_waits, encoded; empty: never asked; owned */
};

/* The epoch that gathers beside the world, whose places it has. */
struct rendezvous_next {
    struct membership membership;
    struct rendezvous_job_rank *ranks; /* owned */
    bool told_origin;
};

struct rendezvous_job {
    char id[JOB_ID_SIZE];
    bool planned;
    bool keeps_key; /* the key of the service has been changed since: `key` is this job's */
    struct job_key key;
    uint64_t since_ms; /* when it was made */
    uint64_t first_ms; /* when the first worker came */
    uint64_t ended_ms; /* when the last worker was gone; 0 while some are there */
    uint64_t lapse_ms; /* of an unplanned one: when it ends if nobody has come */
    int size;          /* 0: not known yet */
    int connected;     /* workers whose connection is open */

    struct pending_workers pending;    /* of an unplanned one; their owners are connections */
    struct rendezvous_slot *slots;     /* `size` of them once places are known, else NULL; owned */
    struct membership membership;      /* once `slots` are there */
    struct rendezvous_job_rank *ranks; /* likewise */
    bool told_origin;                  /* the launcher knows whose failure has broken the world */
    bool was_complete;                 /* a world was complete, the first or a later one */
    struct rendezvous_next *next;      /* NULL: nobody has come again; owned */
    struct elastic *elastic;           /* NULL: it is not; owned */
    char *slot_hosts;                  /* elastic: the names that `slots` borrow; owned */
    struct elastic_service elastic_service; /* elastic and unplanned */
    uint64_t decide_ms;                     /* likewise: when rendezvous_job_decide() is wanted */
    uint64_t away_ms;     /* likewise: since when nobody is connected; 0: somebody is */
    bool lapsed;          /* likewise: for too long */
    uint32_t first_epoch; /* of an unplanned one: the next of those that came */
    struct rank_query rank_query;
    uint64_t asked_ms;            /* when the last one began */
    bool asked_by_launcher;       /* the rank query is for it */
    bool ask_again;               /* the launcher asked while another one was under way */
    struct wait_list watchers;    /* requests that wait for a rank query to end */
    struct wait_list onlookers;   /* requests that wait for its end */
    struct wait_list comers;      /* requests of Horovod's own workers that wait for the next world
                                   * of an elastic job */
    struct launcher_view *launch; /* of a planned one, else NULL; owned */
    struct key_value *store;      /* NULL once it is over */

    TAILQ_ENTRY(rendezvous_job) link;
};

/* A planned one: all is copied but the names of hosts. NULL and `err`. */
struct rendezvous_job *rendezvous_job_create_planned(const struct rendezvous_options *options,
                                                     uint64_t now_ms, struct err *err);

/* An unplanned one; size 0: what the first worker says. */
struct rendezvous_job *rendezvous_job_create(const char *id, int size, uint64_t start_timeout_ms,
                                             uint64_t now_ms, struct err *err);

/* An unplanned elastic one. */
struct rendezvous_job *rendezvous_job_create_elastic(const char *id,
                                                     const struct elastic_service *service,
                                                     uint64_t now_ms, struct err *err);

/* It has been declared, maybe again: the time in which somebody must come begins anew. */
void rendezvous_job_declared(struct rendezvous_job *job, uint64_t now_ms);

/* Time has passed: if nobody has come for so long, ends it. */
void rendezvous_job_lapse(struct rendezvous_job *job, uint64_t now_ms);

/* After rendezvous_job_close(), or when nothing waits any more. NULL is fine. */
void rendezvous_job_destroy(struct rendezvous_job *job);

/* All have come: gives places, and joins every pending worker at its rank. HVD_ERR_NOMEM. */
int rendezvous_job_assign(struct rendezvous_job *job, uint64_t now_ms, struct err *err);

/* HELLO of a worker that has left the world of a job that is not elastic: joins it to the next
 * epoch, and gives its rank. HVD_OK, or the status and text with which it must be refused. */
int rendezvous_job_come_again(struct rendezvous_job *job, const struct join_hello *hello,
                              struct rendezvous_connection *connection, uint64_t now_ms, int *rank,
                              struct err *err);

/* The next epoch is complete: it takes the place of the world. The caller has taken leave of the
 * connections of the former. */
void rendezvous_job_advance(struct rendezvous_job *job);

/* All members of the next world of an elastic job wait: makes it, in the place of the former, whose
 * connections the caller has taken leave of. HVD_ERR_NOMEM. */
int rendezvous_job_make_world(struct rendezvous_job *job, uint64_t now_ms, struct err *err);

/* Is `text` HOST:LOCAL_RANK of the slot, written as the launcher writes it? */
bool rendezvous_slot_is(const struct rendezvous_slot *slot, const char *text, size_t length);

/* The worker of an elastic job that has the place HOST:LOCAL_RANK in the last world, and is one of
 * the `count` from `first` on if `count` is not 0; -1: none. */
int rendezvous_job_worker_at(const struct rendezvous_job *job, int first, int count,
                             const char *text, size_t length);

/* The rank of a worker in the world; -1: none. */
int rendezvous_job_rank_of(const struct rendezvous_job *job, int worker);

/* `rank` has said GOODBYE. If it leaves because the world of an unplanned elastic job has broken,
 * or is to change, it is to come again within the start timeout. */
void rendezvous_job_left(struct rendezvous_job *job, int rank, const struct rank_end *goodbye,
                         uint64_t now_ms);

/* An unplanned elastic one: decides anew who is to be in the next world. HVD_ERR_NOMEM. */
int rendezvous_job_decide(struct rendezvous_job *job, uint64_t now_ms, struct err *err);

/* Likewise: time has passed. True if all that wait must be refused; `text` says why. Notices that
 * nobody was connected for the start timeout. */
bool rendezvous_job_timed_out(struct rendezvous_job *job, uint64_t now_ms,
                              char text[JOIN_TEXT_MAX]);

/* How many workers have still to come, as far as that is known. */
int rendezvous_job_expects(const struct rendezvous_job *job);

/* Which of its deadlines is the earliest, or MEMBERSHIP_NEVER. */
uint64_t rendezvous_job_deadline(const struct rendezvous_job *job);

/* An unmodified Horovod worker has put the address of `rank`. */
void rendezvous_job_saw_gloo(struct rendezvous_job *job, int rank);

/* `rank` has said what it is doing. */
void rendezvous_job_heard(struct rendezvous_job *job, int rank, const struct join_report *report,
                          uint64_t now_ms);

/* The counters of `rank`, or what it waits for, as of its last answer. Returns false if it has
 * never answered. */
bool rendezvous_job_rank_stats(const struct rendezvous_job *job, int rank,
                               struct rank_stats *stats);
bool rendezvous_job_rank_waits(const struct rendezvous_job *job, int rank,
                               struct rank_waits *waits);

/* Nobody is connected any more and nobody is waited for: its store is freed, what wakes goes to
 * `woken`. */
bool rendezvous_job_is_over(const struct rendezvous_job *job);
void rendezvous_job_close(struct rendezvous_job *job, struct wait_list *woken, uint64_t now_ms);

/* The state in one word ("running"), and the cause of the failure ("" if there is none); returns
 * `text`. */
enum { RENDEZVOUS_JOB_CAUSE_SIZE = 1024 };
enum rendezvous_job_state rendezvous_job_state(const struct rendezvous_job *job);
const char *rendezvous_job_state_name(enum rendezvous_job_state state);
const char *rendezvous_job_cause(const struct rendezvous_job *job,
                                 char text[RENDEZVOUS_JOB_CAUSE_SIZE]);

#endif
