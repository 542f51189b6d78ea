/* SPDX-License-Identifier: Apache-2.0 */
/* The failure that has broken the world.
 *
 * A rank that was lost breaks the world; the first end that is recorded (rank_end.h) is the answer
 * to every call from then on. The listener is called before any call returns this answer. When a
 * rank has left, its end is only noted: the end explains why a link to that rank ended, and
 * collectives that can finish without that rank still do. */
#ifndef LIB_JOIN_FAILURE_H
#define LIB_JOIN_FAILURE_H

#include "lib/base/rank_end.h"
#include "lib/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The listener: receives why the world is broken, in the thread that has recorded it. */
typedef void failure_told_fn(void *arg, const struct rank_end *end);

/* Written by the news thread and by the driver of the progress engine. */
struct failure {
    atomic_bool broken;
    pthread_mutex_t recording; /* one records at a time; guards the listener */
    failure_told_fn *told;     /* NULL: no listener */
    void *told_arg;
    pthread_mutex_t lock;      /* guards the members below; status HVD_OK: no end */
    struct rank_end end;       /* why the world is broken */
    struct rank_end departure; /* HVD_ERR_PEER_LEFT: the rank that left first */
    struct rank_end stranded; /* the first of our collectives that failed because a rank had left */
};

void failure_init(struct failure *failure);
void failure_fini(struct failure *failure);

/* Sets the listener; NULL removes it. After the call the former listener is not called. */
void failure_listen(struct failure *failure, failure_told_fn *told, void *arg);

/* Records why the world is broken, unless it is broken already; or, with HVD_ERR_PEER_LEFT, which
 * rank has left. */
void failure_record(struct failure *failure, const struct rank_end *end);

/* Why the world is broken, and its status; HVD_OK while it is not. `end` may be NULL. */
int failure_reason(struct failure *failure, struct rank_end *end);

static inline bool failure_is_there(const struct failure *failure)
{
    return atomic_load_explicit(&failure->broken, memory_order_acquire);
}

/* As failure_reason(), with a text for the caller of the library. */
int failure_say(struct failure *failure, struct err *err);

/* As failure_say(), but only one load while the world is not broken. `err` may be NULL. */
static inline int failure_check(struct failure *failure, struct err *err)
{
    return failure_is_there(failure) ? failure_say(failure, err) : HVD_OK;
}

/* HVD_OK, or HVD_ERR_PEER_LEFT and the rank that has left first. */
int failure_departure(struct failure *failure, struct rank_end *end);

/* The collective of `end` failed on this rank because the rank of `end` had left: the first is
 * kept. It is no failure of the rank that left. */
void failure_strand(struct failure *failure, const struct rank_end *end);

/* Why this rank leaves: the end that has broken the world, else the collective that failed because
 * another rank had left, else HVD_OK. */
int failure_parting(struct failure *failure, struct rank_end *end);

#endif
