/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of an elastic job: which workers run on which hosts, and which of them are the next
 * world. Pure: events and the time come as arguments, actions are taken from a queue.
 *
 *   hosts are found, workers wait, end or form a world  ->  START  INTEND  REMOVE  STOP  WARN
 *   nothing is left to do, or nothing can be done       ->  FINISH or FAIL, the last action
 *
 * Start. The first world is intended as soon as the hosts have `np` slots, with a worker in every
 * slot, but not more than `max`. Workers that fail before it are replaced; it waits for those that
 * replace them only if the others are too few.
 *
 * Failure. A member that fails breaks its world. Its host is avoided, and the other workers of the
 * host are removed, if the workers of other hosts are still a world (at least one member, and
 * `min`); else only the slot of the failed worker is given up. Host or slot come back after the
 * cool-down: `cooldown_low_ms` after the first failure of the host, twice as long after each
 * further one, at most `cooldown_high_ms`; never without a cool-down. What is left is intended at
 * once if it is at least `min`. Else workers are started in free slots and intended with the rest.
 *
 * Members that do not submit a tensor within the time that the user has set fail together. Their
 * processes still run, so they are given up, removed and stopped at once. A host stays in use while
 * another of its workers is well: this worker has submitted the tensor, so the host works, and only
 * the slots of the late workers are given up. A host whose members are all late is avoided like one
 * that has a failure. Members that do not come to the next world, though another one has waited for
 * them for this time, are given up in the same way; see elastic_plan_absent.c.
 *
 * Growth. A worker is started in each free slot while the world runs on. When all of these workers
 * wait at the rendezvous, or a second after the first of them, the members and those that wait are
 * intended. Workers that fail before that do not disturb the world, but count for their host.
 *
 * Shrinking. Workers on a host that is no longer found, or in slots that it no longer has, the
 * youngest first, or on a host that is drained, which is avoided as after a failure, are removed as
 * soon as the other members are still a world; until then they stay. A removed worker gets time to
 * leave by itself, and is then stopped.
 *
 * Order of ranks. Workers of a host by the world in which they came first, then by age; hosts by
 * their first worker. So rank 0 is one of those that have been members for the longest time, and
 * holds the state, if anybody does.
 *
 * Horovod's own workers learn the place in their first world when they are started. So new ones are
 * started together and join together; if the members change meanwhile, those whose places are wrong
 * by then are removed and stopped at once, and replaced when all of them have ended.
 *
 * Missing ranks. When the next world has waited for `warning_ms`, a line names the ranks that have
 * not come, and likewise while slots are missing the members that will be given up; see
 * elastic_plan_missing.c. A worker that was started for growth and does not come is
 * named too, and is given up as failed after `timeout_ms`; see elastic_plan_joining.c.
 *
 * End. A worker that exits with status 0 has finished: from then on nothing is started, and it
 * still counts for `min`. When no worker of the world is left, the job is done if `min` workers
 * have finished.
 *
 * FAIL, each with one line: the slots stay too few for `timeout_ms`, or can never be enough; the
 * world does not come together within `timeout_ms`; a further world is necessary after
 * `reset_limit` resets; no member of the last world is left, and the state with it.
 *
 * All times are of a clock that stands still while hvdrun is stopped by Ctrl-Z.
 *
 * Worker numbers ascend from 0 in order of start, and are never used again. */
#ifndef LAUNCHER_ELASTIC_ELASTIC_PLAN_H
#define LAUNCHER_ELASTIC_ELASTIC_PLAN_H

#include "launcher/hosts/host_list.h"
#include "lib/base/rank_end.h"
#include "lib/base/rank_info.h"

#include <stdbool.h>
#include <stdint.h>

/* A removed worker has this long to leave by itself, counted from the next world, or from its
 * removal if its world is broken: enough for an iteration and for Python to exit. */
enum { ELASTIC_LEAVE_MS = 30000 };

/* New workers of several hosts arrive at different times. A world grows once for all those that
 * come within this time after the first. */
enum { ELASTIC_GATHER_MS = 1000 };

/* Ranks leave their world when another has failed. How that one has ended is known a moment later,
 * through its agent. */
enum { ELASTIC_HEAR_MS = 200 };

/* The same ranks are named again after so many times `warning_ms`. */
enum { ELASTIC_WARN_AGAIN = 5 };

/* A line that the plan makes; the longest line, which are the words of a rank. */
enum { ELASTIC_TEXT_SIZE = 300, ELASTIC_LINE_SIZE = RANK_END_WORDS_SIZE };

#define ELASTIC_NEVER UINT64_MAX

struct elastic_options {
    int np, min, max;                           /* 1 <= min <= np <= max <= WORLD_SIZE_MAX */
    bool np_is_min;                             /* -np was not given */
    bool min_is_np;                             /* --min-np was not given */
    uint64_t timeout_ms;                        /* --elastic-timeout */
    uint64_t warning_ms;                        /* 0: missing ranks are not named before */
    uint64_t shutdown_ms;                       /* of the stall check; 0: ranks may hang */
    int reset_limit;                            /* of worlds after the first; 0: no limit */
    uint64_t cooldown_low_ms, cooldown_high_ms; /* 0: a host that failed is avoided for ever */
    bool hosts_are_fixed; /* the hosts of the first elastic_plan_on_hosts() are all there will be */
};

enum elastic_action_kind {
    ELASTIC_START,   /* start `count` workers, `worker` and the numbers after it, on `host` */
    ELASTIC_INTEND,  /* tell the rendezvous the next world: `count` `members` */
    ELASTIC_REMOVE,  /* tell the rendezvous that `worker` is in no next world */
    ELASTIC_STOP,    /* end the process of the removed `worker` */
    ELASTIC_WARN,    /* print `text`, one line for people */
    ELASTIC_GIVE_UP, /* `worker` is lost because of `text`; REMOVE and STOP follow */
    ELASTIC_FINISH,  /* the job is done; nothing follows */
    ELASTIC_FAIL     /* the job has failed because of `failure`; nothing follows */
};

enum elastic_failure {
    ELASTIC_TOO_FEW_SLOTS, /* for `timeout_ms` */
    ELASTIC_NO_MORE_SLOTS, /* too few, and no more can come */
    ELASTIC_NO_WORLD,      /* within `timeout_ms` */
    ELASTIC_RESET_LIMIT,
    ELASTIC_STATE_LOST, /* no member of the last world is left */
    ELASTIC_UNFINISHED  /* all workers have ended, and too few of them have finished */
};

struct elastic_member {
    int worker;
    const char *host; /* borrowed from the plan, which keeps it until its end */
};

struct elastic_action {
    enum elastic_action_kind kind;
    int worker;                     /* FAIL: the worker whose failure led to it, or -1 */
    int count;                      /* of START and INTEND */
    const struct host_slots *host;  /* START; name and user are kept until the plan ends */
    const struct rank_info *places; /* START: of each worker, in the world it is started for */
    const struct elastic_member *members; /* INTEND: in order of rank */
    enum elastic_failure failure;
    char text[ELASTIC_LINE_SIZE]; /* FAIL, WARN: one line; GIVE_UP: what it has done; else "" */
};

struct elastic_plan;

struct elastic_plan *elastic_plan_create(const struct elastic_options *options, uint64_t now_ms);

/* The hosts have been found; also when they are the same as before. No name appears twice. Copied.
 */
void elastic_plan_on_hosts(struct elastic_plan *plan, const struct host_list *hosts,
                           uint64_t now_ms);

/* A worker is Horovod's own, not libhvd's, as all workers of the job are then: only a world that
 * gives it the place with which it was started can be its first. To be called before
 * elastic_plan_on_waiting(). */
void elastic_plan_on_fixed_place(struct elastic_plan *plan, int worker);

/* A worker says HELLO to the rendezvous. If it is a member of the last world, it has left this
 * world: the same members are intended again, unless others are to come or go. */
void elastic_plan_on_waiting(struct elastic_plan *plan, int worker, uint64_t now_ms);

/* The rendezvous has given the workers of the intended world their ranks. */
void elastic_plan_on_world(struct elastic_plan *plan, int epoch, const int *workers, int size,
                           uint64_t now_ms);

/* A worker has ended: its process has exited, with status 0 or otherwise; or its host is lost; or
 * it could not be started. The plan also hears of the ends that it has asked for. */
void elastic_plan_on_ended(struct elastic_plan *plan, int worker, bool finished, uint64_t now_ms);

/* Ranks of the last world have not submitted a tensor within the time that the user has set, which
 * has broken this world: `why`, one line. Each other rank may say so, and the roots of two process
 * sets may name different ranks. Those that are named first are given up together, unless a member
 * has failed before: a world breaks once, and other ranks may have waited for those that are lost
 * already. One that waits for the next world meanwhile does not hang any more, and stays. */
void elastic_plan_on_late(struct elastic_plan *plan, const int *workers, int count, const char *why,
                          uint64_t now_ms);

/* The host of a worker is to be left. */
void elastic_plan_on_drained(struct elastic_plan *plan, int worker, uint64_t now_ms);

/* The deadline of elastic_plan_next_ms() has passed; earlier and later is fine. */
void elastic_plan_on_time(struct elastic_plan *plan, uint64_t now_ms);

/* Takes the next action. What it points to is valid until the next call of any function here,
 * except names of hosts. False: nothing to do until the next event. */
bool elastic_plan_next(struct elastic_plan *plan, struct elastic_action *action);

/* When to call elastic_plan_on_time(), or ELASTIC_NEVER. */
uint64_t elastic_plan_next_ms(const struct elastic_plan *plan);

/* One line for people about the slots that the job waits for, "waiting for slots: 1 slot on 1 host,
 * 2 needed (--min-np)", also if ranks go on without slots meanwhile; NULL: there are enough.
 * Borrowed until the next call. */
const char *elastic_plan_waits_for(struct elastic_plan *plan);

/* A world runs, and some of its ranks have lost their slots: the others would be too few. */
bool elastic_plan_ranks_stay(const struct elastic_plan *plan);

/* NULL is fine. */
void elastic_plan_destroy(struct elastic_plan *plan);

#endif
