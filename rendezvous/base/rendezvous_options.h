/* SPDX-License-Identifier: Apache-2.0 */
/* The one job of a launcher: the ranks that it plans, what it tells the rendezvous of them, and the
 * events that it hears. These are the values of rendezvous.h; the job table keeps them.
 *
 * A worker is one process. The launcher numbers the workers from 0 and never uses a number again.
 * In a job that is not elastic, the workers are the ranks. In an elastic job a worker has a rank
 * only within a world, and the launcher says which workers the next world is to have. */
#ifndef RENDEZVOUS_BASE_RENDEZVOUS_OPTIONS_H
#define RENDEZVOUS_BASE_RENDEZVOUS_OPTIONS_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/base/rank_end.h"
#include "lib/base/rank_info.h"
#include "lib/base/rank_waits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rank that is expected, in order of rank. */
struct rendezvous_slot {
    struct rank_info rank_info;
    const char *host; /* borrowed for the life of the rendezvous */
};

/* A worker that the next world of an elastic job is to have. */
struct rendezvous_member {
    int worker;
    const char *host; /* as the launcher names it; ranks with the same host share it */
};

/* The events for the launcher. Ranks are numbers of workers in all events, also those in a
 * struct rank_end (`rank`, `because_of`, `late`). All may call anything here, rendezvous_destroy()
 * too, except running the loop. */
struct rendezvous_events {
    /* The first world is complete: every rank has said HELLO. */
    void (*complete)(void *context);

    /* `start_timeout_ms` after the first HELLO for a world some ranks are still missing; never in
     * an elastic job. `text` is one line that names the missing ranks and their hosts; borrowed for
     * the call. Those that wait have been refused with HVD_ERR_TIMEOUT already. */
    void (*timed_out)(void *context, const char *text);

    /* A rank that meets the others by itself, as Horovod's own workers do, has failed before all
     * had come. `text` is one line that names the ranks that had not; borrowed for the call. May be
     * NULL. */
    void (*missing)(void *context, const char *text);

    /* rendezvous_ask(): what `rank` is doing, in its own words, printable lines of UTF-8; or why it
     * does not say so itself, one line that reads on after the rank's name. `waits_for` says what
     * the first line means. Once for each rank, in order of rank; borrowed for the call. */
    void (*report)(void *context, int rank, enum rank_waits_for waits_for, const char *text);

    /* A rank has said HELLO, whatever comes of it; in an elastic job: a worker waits for the next
     * world, maybe one that the launcher has not started. May be NULL. */
    void (*met)(void *context, int rank);

    /* The world of a rank is broken, or it has left because of a failure, or because another has
     * left: the end because of which, as it has said with BROKEN and GOODBYE. Borrowed for the
     * call. May be NULL. */
    void (*left)(void *context, int rank, const struct rank_end *said);

    /* The first failure, which has broken the world, is that of the rank `end->because_of`, which
     * is in the world: it was lost (HVD_ERR_PEER_LOST), has left before all had come
     * (HVD_ERR_PEER_LEFT), or has failed, as it has said itself or another has heard. Once for each
     * world. Borrowed for the call. May be NULL. */
    void (*origin)(void *context, const struct rank_end *end);

    /* The connection of a rank that was there has ended without GOODBYE; if its process has ended,
     * that is not known yet. May be NULL. */
    void (*disconnected)(void *context, int rank);

    /* Returns the last lines that `rank` has written to stdout or stderr, for a client: at most
     * `nbytes`, each line ended by a newline. The caller frees it; NULL: none. May be NULL. */
    char *(*output)(void *context, int rank, bool of_stderr, size_t nbytes);

    /* The next three are about Horovod's own workers in an elastic job; all may be NULL. The first
     * time that `worker` waits, just before `met`: it is one of them, and its first world must be
     * that for which it was started (rendezvous_place()). */
    void (*met_gloo)(void *context, int worker);

    /* `worker` takes notifications at the addresses in `text`, which is as it has sent it; borrowed
     * for the call. */
    void (*listens)(void *context, int worker, const char *text, size_t length);

    /* The members of the next world differ from those of the running world, whose rank 0 is
     * `worker`: it must be notified. */
    void (*hosts_updated)(void *context, int worker);

    /* A world is complete, the first or a later one: `workers` are its `size` members in order of
     * rank, borrowed for the call. A world of Horovod's own workers is complete when all have
     * left the former; they meet by themselves. May be NULL. */
    void (*world)(void *context, int epoch, const int *workers, int size);
};

struct rendezvous_options {
    const char *id;                      /* of the job (job_id.h); copied */
    bool elastic;                        /* no `slots`; rendezvous_intend() says who is to come */
    const struct rendezvous_slot *slots; /* `size` of them; copied */
    int size;
    const struct job_key *key; /* copied */
    uint64_t start_timeout_ms;
    struct rendezvous_events events;
    void *context;

    /* For status and JSON; copied. */
    const char *command, *user; /* NULL: not known */
    uint64_t started_ms;        /* when the launcher was started, since 1970 */
};

/* How the process of a rank has ended, for status and JSON. Borrowed for the call. */
struct rendezvous_end {
    struct rank_end_how how;
    bool terminated; /* after the launcher had told it to end */
};

/* The launcher's verdict on the job, for status and JSON. Borrowed for the call. */
struct rendezvous_verdict {
    const char *text; /* one line */
    int exit_status;  /* of the launcher */
    int rank;         /* whose failure it was; -1: no rank's */
};

#endif
