/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an elastic plan. For elastic_plan*.c and elastic_hosts.c only. */
#ifndef LAUNCHER_ELASTIC_ELASTIC_PLAN_IMPL_H
#define LAUNCHER_ELASTIC_ELASTIC_PLAN_IMPL_H

#include "launcher/elastic/elastic_hosts.h"
#include "launcher/elastic/elastic_plan.h"

#include <limits.h>

/* alive -> removed -> ended;  alive -> finished, ended */
enum plan_worker_state {
    PLAN_ALIVE,    /* its process runs, or is about to */
    PLAN_REMOVED,  /* the same, but no next world has it */
    PLAN_FINISHED, /* exited with status 0 */
    PLAN_ENDED     /* ended otherwise, or after it was removed */
};

enum { PLAN_NO_WORLD = INT_MAX };

struct plan_worker {
    int host; /* index */
    enum plan_worker_state state;
    bool member;   /* of the last world */
    bool waiting;  /* has said HELLO, and has not been in a world since */
    bool intended; /* for the next world */
    bool stopped;  /* STOP was asked for */
    bool placed;   /* has not been in a world yet: `rank` and `size` are its place from its start */
    bool misplaced; /* REMOVED because it cannot have that place */
    bool late;      /* was started after others had failed before the first world */
    int since;      /* the epoch of its first world; PLAN_NO_WORLD: it has not been in one */
    int rank, size;
    uint64_t stop_ms;    /* of REMOVED: when to stop it; ELASTIC_NEVER: not known yet */
    uint64_t started_ms; /* when START was asked for */
    uint64_t waiting_ms; /* of `waiting`: since when */
    uint64_t warn_ms;    /* when it is named next, if it has not come by then */
};

struct plan_action {
    struct elastic_action action;
    struct rank_info *places;       /* owned */
    struct elastic_member *members; /* owned */
};

struct elastic_plan {
    struct elastic_options options;
    struct elastic_hosts hosts;
    struct plan_worker *workers; /* by number */
    int worker_count, worker_capacity;
    int first_living; /* all workers before have ended */

    bool started; /* the slots were enough for the first world once */
    int epoch;    /* of the last world; -1: there was none */
    int *world;   /* its workers, in order of rank */
    int world_size;
    bool whole;    /* none of its members has failed */
    int *intended; /* the next world, in order of rank */
    int intended_count;
    bool open;            /* `intended` is not a world yet */
    bool starts_again;    /* misplaced workers were to be the first world: others replace them */
    bool places_fixed;    /* the workers are Horovod's own: the first world of each gives it the
                             * place with which it was started */
    int finished;         /* workers */
    int failed;           /* the last worker that failed; -1: none */
    uint64_t short_since; /* the slots are too few since then; ELASTIC_NEVER: they are enough */
    uint64_t left_since; /* one of its members waits for the next world; ELASTIC_NEVER: none does */
    uint64_t forming_since; /* ranks wait for the next world since then; or ELASTIC_NEVER */
    uint64_t gather_since;  /* a new worker waits while others are to come; or ELASTIC_NEVER */
    uint64_t warned_ms;     /* the last WARN of this wait; ELASTIC_NEVER: there was none */
    uint64_t warn_ms;       /* when the next WARN is due; ELASTIC_NEVER: no rank is missing */
    int *warned;            /* the workers that the last WARN has named, in order of rank */
    int warned_count;
    uint64_t cool_ms; /* when the next host or slot comes back; or ELASTIC_NEVER */

    struct plan_action *queue; /* those from `queue_first` on are still to be taken */
    int queue_first, queue_count, queue_capacity;
    bool over; /* FINISH or FAIL is in the queue, or was taken */
    char waits_for[ELASTIC_TEXT_SIZE];
};

/* What is alive, counted once for each decision. */
struct plan_count {
    int members; /* of the last world; before the first one all that are alive */
    int fresh;   /* that are no members */
    int ready;   /* those of `fresh` that wait at the rendezvous, and are not intended yet */
    int coming;  /* those of `fresh` that have not come to it */
};

struct plan_count elastic_plan_count(const struct elastic_plan *plan);

/* Brings all actions up to date with what has happened. */
void elastic_plan_decide(struct elastic_plan *plan, uint64_t now_ms);

/* Takes an alive worker out of all next worlds. */
void elastic_plan_remove(struct elastic_plan *plan, int worker, uint64_t now_ms);

/* The world is broken: removed workers have nothing to wait for any more. */
void elastic_plan_break(struct elastic_plan *plan, uint64_t now_ms);

/* The process of an alive worker does not go on: stops it now. GIVE_UP with the reason is queued
 * just before. */
void elastic_plan_give_up(struct elastic_plan *plan, int worker, uint64_t now_ms);

/* Blames the hosts of those that were given up since the queue had `first` actions. The job leaves
 * a host, or one slot of it, until the cool-down has passed. */
void elastic_plan_blame_hosts(struct elastic_plan *plan, int first, uint64_t now_ms);

/* Appends an action. FINISH and FAIL are the last. */
struct plan_action *elastic_plan_queue(struct elastic_plan *plan, enum elastic_action_kind kind,
                                       int worker);

/* The alive workers that `wanted` accepts, or all if it is NULL, in order of rank; the caller frees
 * them. */
typedef bool plan_worker_fn(const struct plan_worker *worker);
int *elastic_plan_order(const struct elastic_plan *plan, plan_worker_fn *wanted, int *count);

/* Adds workers in free slots, and asks for them. */
void elastic_plan_start(struct elastic_plan *plan, uint64_t now_ms);

/* ---- elastic_plan_missing.c: ranks for which the next world waits ---- */

/* Whose ranks may be missing: those of the next world, or while slots are missing, the members of
 * the last one. */
struct elastic_missing {
    const int *workers; /* borrowed; in order of rank */
    int count;          /* 0: nobody is missed */
    bool members;
    uint64_t since_ms; /* others wait for them since then */
};

struct elastic_missing elastic_plan_missing(const struct elastic_plan *plan);
bool elastic_is_missing(const struct elastic_missing *of, const struct plan_worker *worker);

void elastic_check_missing(struct elastic_plan *plan, uint64_t now_ms); /* WARN, if it is due */

/* ---- elastic_plan_joining.c: workers that do not join the world that runs ---- */

void elastic_give_up_late(struct elastic_plan *plan, uint64_t now_ms); /* GIVE_UP, if it is time */
void elastic_warn_late(struct elastic_plan *plan, uint64_t now_ms);    /* WARN, if it is due */
uint64_t elastic_late_next_ms(const struct elastic_plan *plan); /* when one is; ELASTIC_NEVER */

/* ---- elastic_plan_absent.c: members of the last world that do not come to the next ---- */

void elastic_give_up_absent(struct elastic_plan *plan,
                            uint64_t now_ms);                     /* GIVE_UP, if it is time */
uint64_t elastic_absent_next_ms(const struct elastic_plan *plan); /* when; ELASTIC_NEVER */
bool worker_is_absent(const struct plan_worker *worker);

/* Since when the first of the members that wait now has waited; ELASTIC_NEVER: none waits. */
uint64_t elastic_waited_since(const struct elastic_plan *plan);

/* ---- elastic_plan_text.c: FAIL, WARN and GIVE_UP with their lines ---- */

void elastic_fail_short(struct elastic_plan *plan, bool for_ever); /* too few slots */
void elastic_fail_resets(struct elastic_plan *plan);               /* the limit of resets */
void elastic_fail_over(struct elastic_plan *plan);                 /* nobody is left */
void elastic_fail_forming(struct elastic_plan *plan);              /* no world in time */
void elastic_warn_missing(struct elastic_plan *plan, const struct elastic_missing *of,
                          uint64_t now_ms);
void elastic_say_given_up(struct elastic_plan *plan, int worker);
void elastic_say_absent(struct elastic_plan *plan, int worker, uint64_t waited_ms);
void elastic_say_too_late(struct elastic_plan *plan, int worker, const char *why);

/* Those of the workers `first` to `end` - 1, of one host, that `wanted` accepts: at least one. */
void elastic_say_late(struct elastic_plan *plan, int first, int end, plan_worker_fn *wanted,
                      uint64_t now_ms);

/* The slots that the next world needs. */
int elastic_needed(const struct elastic_plan *plan);

static inline struct elastic_host *elastic_plan_host(const struct elastic_plan *plan, int worker)
{
    return plan->hosts.hosts[plan->workers[worker].host];
}

#endif
