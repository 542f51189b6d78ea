/* SPDX-License-Identifier: Apache-2.0 */
/* Why the world does not go on.
 *
 * A rank that was lost breaks the world; the first cause that is recorded is the answer to every
 * call from then on. That a rank has left is only noted: it explains why a link to it ended, and
 * what can be finished without it still is. */
#ifndef LIB_JOIN_FAILURE_H
#define LIB_JOIN_FAILURE_H

#include "lib/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Written by the news thread and by whoever drives. */
struct failure {
    atomic_bool broken;
    pthread_mutex_t lock; /* guards what follows */
    struct err err;       /* why it is broken */
    struct err departure; /* HVD_ERR_PEER_LEFT and who left first, or HVD_OK */
};

void failure_init(struct failure *failure);
void failure_fini(struct failure *failure);

/* Records why the world is broken, unless it is already; or, with HVD_ERR_PEER_LEFT, who has left. */
void failure_record(struct failure *failure, int code, const char *text);

/* HVD_OK while the world is not broken, else why (`err` may be NULL). One atomic load when it is not. */
int failure_check(struct failure *failure, struct err *err);

/* HVD_OK or HVD_ERR_PEER_LEFT and who has left first. */
int failure_departure(struct failure *failure, struct err *err);

#endif
