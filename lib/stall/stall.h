/* SPDX-License-Identifier: Apache-2.0 */
/* The stall inspector of a process set on one rank: some ranks wait for a tensor that others do not
 * submit. Decisions only: the time and the waiting names go in, messages and texts come out.
 *
 *   a rank on which a name has waited for the check time tells its parent (ALERT, with the names);
 *   a parent passes on names that it has not passed on in the last check time;
 *   the root, once it knows of a name, asks all ranks (PROBE: do you miss these names?);
 *   answers are gathered on the way up (PROBED: which ranks miss what, and some status texts);
 *   the root warns, and asks again after the check time as long as ranks miss names.
 *
 * A deadlock is aborted early: where each rank's program can do nothing but wait in this set
 * (struct stall_view.stuck), no rank will ever submit the missing names. A rank that is stuck
 * reports its names after a second. The root asks all ranks whether they are stuck (a PROBE whose
 * id has its highest bit set; a rank that is not stuck counts as silent), asks once more, and
 * aborts if both times all were stuck and nothing was decided in between.
 *
 * There is at most one warning in each check time, a few lines long, and no message when the stall
 * has ended. When a name has waited for the shutdown time, the warning is an abort instead. If none
 * of the ranks that seem late then was so in the round before, the root asks once more and aborts
 * after that. A rank does not miss allreduces and barriers once it has joined. A join counts as
 * stalled only while nothing is decided in the set.
 *
 * A rank that does not answer (stopped, its host swapping) does not stop the others: a node of the
 * tree waits for its children for a part of its own time, and then names the ranks below them as
 * silent. A rank below a silent one may be well. When the root sends nothing for twice the check
 * time, rank 1 warns and aborts instead.
 *
 * Fails with HVD_ERR_PROTOCOL on malformed messages. A message for which there is no memory is
 * dropped, and the next round sends it again.
 *
 * A question for a person uses rounds of its own (a PROBE whose id has its second highest bit set):
 * each rank answers itself whether it has submitted a name. The negotiation does not know this: a
 * node reports a name only when all ranks below it have submitted the name, so its parent cannot
 * tell which of them have not.
 *
 * How the engine uses it, for each set of which this rank is a member, under the engine's lock:
 *
 *   stall_create() when the set has its links, stall_destroy() with the set; no calls any more
 *   once the set has ended.
 *   Before the engine blocks: poll() no longer than until stall_deadline(). At that time, or
 *   earlier: stall_tick().
 *   On a frame TREE_ALERT or TREE_PROBED of child i, or TREE_PROBE of the parent: stall_receive().
 *   After each stall_tick() and stall_receive():
 *       while (stall_take(stall, &message, &body, &nbytes))
 *           STALL_PROBE: to every child; STALL_ALERT, STALL_PROBED: to the parent
 *       switch (stall_act(stall, &text))
 *           STALL_WARN: log_line(LOG_WARNING, rank in the world, "%s", text)
 *           STALL_ABORT: the world ends with HVD_ERR_TIMEOUT and this text; an elastic one that
 *               knows its late ranks with HVD_ERR_PEER_LOST, as if they had been lost
 *
 * On each link these frames must stay in order with those of the negotiation. Then a name that
 * was decided before a PROBE came is no longer in flight on any rank below when the PROBE is
 * answered. */
#ifndef LIB_STALL_STALL_H
#define LIB_STALL_STALL_H

#include "lib/base/late_ranks.h"
#include "lib/base/status.h"
#include "lib/negotiation/negotiation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stall;

/* How long the answers to a person's question may take. */
enum { STALL_PERSON_MS = 500 };

/* The stall inspector's view of the set; nothing in it changes during a call of stall_*(). */
struct stall_view {
    /* negotiation_waiting() and negotiation_waiting_count(). */
    int (*waiting)(void *arg, int index, struct waiting *waiting);
    int (*waiting_count)(void *arg);

    /* The time of the last decision in this set; 0: never. It may be a tick of the clock too early;
     * the number of decisions shows whether there was one meanwhile. */
    uint64_t (*decided_ns)(void *arg);

    /* The status of this rank's program, as seen here: one short line (160 bytes are plenty), e.g.
     * "in no collective, last finished 'grad/6' 60 s ago". */
    void (*status_text)(void *arg, char *text, size_t size);

    /* True if something that this rank has submitted, in this set or in another one, waits for
     * other ranks. */
    bool (*waits)(void *arg);

    void *arg;

    /* True if this rank's program can do nothing until something is decided in this set, and this
     * rank can decide nothing. May take as long as a system call or two. NULL: never. */
    bool (*stuck)(void *arg);

    /* With `stuck`: the number of decisions in this set. */
    uint64_t (*decisions)(void *arg);
};

struct stall_options {
    int rank, size, star;   /* of the set; the star of its tree (topology.h) */
    const int *world_ranks; /* borrowed; NULL: the same as in the set */
    const char *host;       /* of this rank; borrowed */
    uint64_t check_ns;      /* 0: this rank checks nothing, but passes on and answers */
    uint64_t shutdown_ns;   /* 0: never; else at least check_ns */
    struct stall_view view;
};

/* NULL and `err` when out of memory. */
struct stall *stall_create(const struct stall_options *options, struct err *err);
void stall_destroy(struct stall *stall); /* NULL is fine */

/* The latest time for stall_tick(); UINT64_MAX as long as nothing waits. All times are of the clock
 * of struct waiting, and positive. Cheap. */
uint64_t stall_deadline(struct stall *stall, uint64_t now_ns);
void stall_tick(struct stall *stall, uint64_t now_ns);

enum stall_message { STALL_ALERT, STALL_PROBE, STALL_PROBED, STALL_MESSAGES };

/* `child`: index of topology.h's order; not used for STALL_PROBE, which comes from the parent. */
int stall_receive(struct stall *stall, enum stall_message message, int child, const void *body,
                  size_t nbytes, uint64_t now_ns, struct err *err);

/* True and a message to be sent, its body borrowed until the next call; false if there is none. */
bool stall_take(struct stall *stall, enum stall_message *message, const void **body,
                size_t *nbytes);

enum stall_action { STALL_NOTHING, STALL_WARN, STALL_ABORT };

/* For a person who asks what the set waits for (SIGUSR2 to hvdrun, --timeout, the status page):
 * asks all ranks which of them miss the names that wait here. Returns false, and asks nothing, on
 * ranks other than the root, and when no name waits. */
bool stall_ask(struct stall *stall, uint64_t now_ns);

/* True while answers may still come: for STALL_PERSON_MS at most. */
bool stall_is_asked(const struct stall *stall);

/* The result for one of the names, once all have answered or time is up. */
struct stall_told {
    const char *name; /* borrowed until the next question */
    enum collective_kind kind;
    uint32_t age_ms;                   /* the longest wait on any rank; 0: no rank waits */
    const struct rank_ranges *missing; /* of the set: have answered that they miss it */
    const struct rank_ranges *silent;  /* nothing is known of them */
};

/* True and number `index`; false beyond the last. */
bool stall_told(const struct stall *stall, int index, struct stall_told *told);

/* The action to take now, once; `*text` is borrowed until the next call. The text of STALL_ABORT
 * fits into the words of struct rank_end. */
enum stall_action stall_act(struct stall *stall, const char **text);

/* After STALL_ABORT: the ranks of the world that keep the others waiting. They have not submitted
 * the name and wait for no rank themselves, now and when the root asked before, or do not answer
 * now and did not then. If there is no such rank, they are those that wait for no rank now; if
 * there is none, it is the first that does not answer; none: the ranks wait for each other.
 * Borrowed from `stall`. */
const struct late_ranks *stall_late_ranks(const struct stall *stall);

#endif
