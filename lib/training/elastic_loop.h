/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop of an elastic job: what follows what; without I/O.
 *
 *   join -> begin -> train -> done
 *
 *   a peer is lost in begin or train      restore, leave, join, begin ...
 *   hosts are updated, says train         keep, leave, join, begin ...
 *   a peer is lost while the ranks join   leave, join ... (so often in a row at most)
 *   anything else                         the loop ends with it
 *
 * What a reset is not for is up to `may_reset`: a static job, a limit that is reached. */
#ifndef LIB_TRAINING_ELASTIC_LOOP_H
#define LIB_TRAINING_ELASTIC_LOOP_H

#include "lib/base/status.h"

/* Attempts to join in a row that end because a peer was lost meanwhile. A worker that is lost while
 * links are made costs one attempt. The rendezvous counts as a peer: where nobody answers, each
 * attempt takes HOROVOD_START_TIMEOUT, so this bounds the wait for a launcher that is gone. */
enum { ELASTIC_JOINS_MAX = 10 };

/* What the loop does, in the world that there is. Each function returns HVD_OK or fails. */
struct elastic_steps {
    void *arg;
    int (*join)(void *arg, struct err *err);  /* a world; changes nothing if there is one */
    int (*begin)(void *arg, struct err *err); /* all ranks have the same state */
    int (*train)(void *arg, struct err *err); /* may return any other number, too */
    int (*may_reset)(void *arg, const struct err *why, struct err *err); /* fails: ends with that */
    int (*restore)(void *arg, struct err *err); /* the last commit is the state */
    int (*keep)(void *arg, struct err *err);    /* the state is the last commit */
    void (*leave)(void *arg);                   /* the world */
};

/* Joins, as the loop does. */
int elastic_join(const struct elastic_steps *steps, struct err *err);

/* Returns what ended the loop: HVD_OK when training is done. */
int elastic_loop(const struct elastic_steps *steps, struct err *err);

#endif
