/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's process as a script around the library's deciding parts:
 *
 *   starting -> joining -> waiting -> running -> leaving -> (exit 0)
 *   joining, waiting, running -> failed -> (exit 1)
 *
 * It dials the rendezvous through its host's agent, speaks the join protocol, links up with its
 * parent in the tree, negotiates its tensors in an order of its own, prints, asks the key-value
 * store, says GOODBYE and ends. A loss that it hears of while something is in flight fails it, as
 * hvd.h promises. What faults make of it is in the flags. */
#ifndef TESTS_SIMULATOR_WORKER_H
#define TESTS_SIMULATOR_WORKER_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/base/topology.h"
#include "lib/join/join_retry.h"
#include "lib/negotiation/negotiation.h"
#include "tests/simulator/process.h"
#include "tests/simulator/stream.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_NAMES_MAX = 8, SIM_DECISIONS_MAX = 4 * SIM_NAMES_MAX };

enum sim_worker_state {
    WORKER_STARTING,
    WORKER_JOINING,
    WORKER_WAITING,
    WORKER_RUNNING,
    WORKER_LEAVING,
    WORKER_FAILED
};

/* A link to another rank. */
struct sim_link {
    struct sim_worker *worker;
    struct sim_end *end;  /* NULL: none yet */
    int rank, index;      /* of the peer; among our children, -1: the parent */
    unsigned char *bytes; /* of messages that have not come whole */
    size_t length, room;
};

/* stdout or stderr. */
struct sim_voice {
    struct sim_end *end;
    char *said; /* everything that was given to write() */
    size_t length, room;
    size_t heard; /* how much of it was in the pipe when the process ended */
};

/* Asks the key-value store, one request after the other (worker_store.c). */
struct sim_asker;

struct sim_worker {
    struct sim_process *process;
    int rank, size, port;
    enum sim_worker_state state;
    uint64_t begun_us;

    bool never_joins, ignores_term, lingers; /* lingers: takes its time to end when it has failed */
    int name_withheld;                       /* -1, or the tensor that it never submits */

    struct sim_end *rendezvous;
    struct frame_reader reader;
    struct seal seal;
    unsigned char nonce[NONCE_SIZE];
    struct join_retry retry;
    bool said_hello, told_to_wait;
    struct sim_recording { /* of what it said first, for worker_again.c */
        unsigned char *bytes;
        size_t length;
    } hello;
    struct rank_info rank_info; /* of WELCOME */

    struct negotiation *negotiation;
    struct tree_position tree;
    struct sim_link parent, children[TREE_CHILDREN_MAX];
    int order[SIM_NAMES_MAX]; /* in which its tensors are submitted */
    int nsubmitted, nflying, ndecided;
    bool flying[SIM_NAMES_MAX];
    uint64_t decisions[SIM_DECISIONS_MAX]; /* digests, in order */
    int ndecisions;

    struct sim_voice voices[2];
    struct sim_asker *asker;

    int failure; /* enum hvd_status */
    uint64_t failed_us;
    struct sim_event *doubt;    /* a link has ended: until news explain it */
    bool host_is_silent;        /* a link has ended because the other side does not acknowledge */
    struct rank_end *departure; /* of who has left first, as the rendezvous says; NULL */
};

/* What all ranks of the job do; drawn from the seed. */
struct sim_work {
    int nnames;
    int64_t counts[SIM_NAMES_MAX];
    int wrong_name, odd_rank; /* -1, or the tensor that a rank gives another shape */
    struct negotiation_settings settings;
    bool again; /* what ranks say comes twice, or late: in each sixth job */
};
extern struct sim_work work;
void sim_work_draw(int nranks);

/* ---- between the worker's files ---- */

/* worker.c */
void sim_worker_fail(struct sim_worker *worker, const struct rank_end *why);
void sim_worker_fail_by(struct sim_worker *worker, enum rank_end_kind kind, int status,
                        const char *words);                   /* nobody's failure */
void sim_worker_leave(struct sim_worker *worker, int status); /* GOODBYE, and the end */
void sim_worker_end(struct sim_worker *worker, int status, uint64_t in_us);
bool sim_worker_waits(const struct sim_worker *worker); /* for others */

/* worker_join.c */
void sim_join_begin(struct sim_worker *worker);
void sim_join_broken(struct sim_worker *worker, const struct rank_end *why);
void sim_join_goodbye(struct sim_worker *worker, const struct rank_end *why);

void sim_join_send_open(struct sim_end *end, unsigned char nonce[NONCE_SIZE]);
struct sim_recording sim_join_send_hello(struct sim_end *end, struct seal *seal,
                                         const struct sim_worker *worker);

/* worker_again.c */

/* A second connection that says it is the rank; what came of it is judged. `replayed`: in the words
 * of the first. */
void sim_join_again(struct sim_worker *worker, bool replayed);
void sim_again_begin(struct sim_worker *worker); /* it has said HELLO, in a job of that kind */

/* worker_links.c */
void sim_links_init(struct sim_worker *worker);
void sim_links_begin(struct sim_worker *worker); /* the world is complete */
void sim_links_fini(struct sim_worker *worker);

/* worker_voice.c */
void sim_voice_begin(struct sim_worker *worker, int which, struct sim_end *end);
void sim_voice_say(struct sim_worker *worker, int which);
void sim_voice_end(struct sim_worker *worker); /* it has died */

/* worker_store.c */
void sim_store_begin(struct sim_worker *worker);
void sim_store_reset(void);
void sim_store_check(void); /* is what everybody saw that of one register per key? */

#endif
