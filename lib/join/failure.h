/* SPDX-License-Identifier: Apache-2.0 */
/* Why the world does not go on.
 *
 * A rank that was lost breaks the world; the first cause that is recorded is the answer to every
 * call from then on, and stays with the rank that it comes from (join_protocol.h). Whoever listens
 * is told before any call has that answer. That a rank has left is only noted: it explains why a
 * link to it ended, and what can be finished without it still is. */
#ifndef LIB_JOIN_FAILURE_H
#define LIB_JOIN_FAILURE_H

#include "lib/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Is told why the world is broken, by the thread that has recorded it. */
typedef void failure_told_fn(void *arg, const struct err *reason, int origin);

/* Written by the news thread and by whoever drives. */
struct failure {
    atomic_bool broken;
    pthread_mutex_t recording; /* one records at a time; guards the listener */
    failure_told_fn *told;     /* NULL: nobody listens */
    void *told_arg;
    pthread_mutex_t lock; /* guards what follows */
    struct err err;       /* why it is broken */
    int origin;           /* whose failure that is: a rank, or ORIGIN_UNKNOWN */
    struct err departure; /* HVD_ERR_PEER_LEFT and who left first, or HVD_OK */
    struct err stranded;  /* the same and the first of our collectives that failed for it */
};

void failure_init(struct failure *failure);
void failure_fini(struct failure *failure);

/* Nobody listens (`told` NULL) from the return on. */
void failure_listen(struct failure *failure, failure_told_fn *told, void *arg);

/* Records why the world is broken and whose failure that is, a rank or ORIGIN_UNKNOWN, unless it is
 * broken already; or, with HVD_ERR_PEER_LEFT, who has left. */
void failure_record(struct failure *failure, int origin, int code, const char *text);

/* Why the world is broken; HVD_OK while it is not. `err` may be NULL. */
int failure_reason(struct failure *failure, struct err *err);

/* Whose failure it is that has broken the world: a rank, or ORIGIN_UNKNOWN. */
int failure_origin(struct failure *failure);

static inline bool failure_is_there(const struct failure *failure)
{
    return atomic_load_explicit(&failure->broken, memory_order_acquire);
}

/* The same, and one load while it is not. */
static inline int failure_check(struct failure *failure, struct err *err)
{
    return failure_is_there(failure) ? failure_reason(failure, err) : HVD_OK;
}

/* HVD_OK or HVD_ERR_PEER_LEFT and who has left first. */
int failure_departure(struct failure *failure, struct err *err);

/* A collective of this rank failed because another had left: the first is kept. */
void failure_strand(struct failure *failure, const struct err *err);

/* Why this rank leaves, if not because it wants to: what has broken the world, else the collective
 * that failed because another had left, else HVD_OK. */
int failure_parting(struct failure *failure, struct err *err);

#endif
