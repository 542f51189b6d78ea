/* SPDX-License-Identifier: Apache-2.0 */
/* Why the world does not go on, and from which collective.
 *
 * A rank that was lost ends everything (from collective 0). A rank that has left took part in some
 * collectives, which can still be finished; the first without it cannot, for the same reason for
 * which it left, if it left because of one. Of several failures the one that strikes earliest
 * counts (and that a rank has left explains less than anything else), until one has been returned
 * to the caller: from then on it is the answer to every call. */
#ifndef LIB_JOIN_FAILURE_H
#define LIB_JOIN_FAILURE_H

#include "lib/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Written by the news thread and by whoever drives. */
struct failure {
    _Atomic uint64_t from; /* the first collective that fails; UINT64_MAX while nothing has */
    pthread_mutex_t lock;  /* guards what follows */
    struct err err;
    bool final;
};

void failure_init(struct failure *failure);
void failure_fini(struct failure *failure);

/* Notes that collectives numbered `from` and above fail with `code` and `text`. */
void failure_record(struct failure *failure, uint64_t from, int code, const char *text);

/* HVD_OK, or the failure that has been returned to the caller. */
int failure_returned(struct failure *failure, struct err *err);

/* 0 if collective `number` may go on; else the status, which from now on is final. */
int failure_check(struct failure *failure, uint64_t number, struct err *err);

#endif
