/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls in the form that lib/training uses: blocking, in a process set, over bytes or a few
 * numbers. The error is in an err instead of the thread's last error. */
#ifndef LIB_TRAINING_CALL_H
#define LIB_TRAINING_CALL_H

#include "lib/base/status.h"
#include "lib/hvd.h"

#include <stddef.h>

/* The result of the public call that this thread has just made: `rc`, and `err` when it is
 * negative. */
int call_answer(int rc, struct err *err);

/* Like call_answer(); but when the call has failed and `own` is this rank's own mistake, returns
 * `own`: hvd.h promises this order whatever the state of the world. Other failures in `own` have no
 * priority. */
int call_own_mistake_first(int rc, const struct err *own, struct err *err);

/* The set's lowest rank, as a rank of the world; or a negative status. */
int call_first_rank(int process_set, struct err *err);

/* HVD_ERR_INVALID if `root`, a rank of the world, is not in the set. */
int call_check_root(int process_set, int root, struct err *err);

/* Collectives: `root` is a rank of the world, `name` may be NULL. */
int call_broadcast_bytes(const char *name, int process_set, void *data, size_t size, int root,
                         struct err *err);
int call_max(const char *name, int process_set, void *data, size_t count, enum hvd_dtype dtype,
             struct err *err);

/* `result` has the bytes of all ranks, one after the other, and how many came from each; the caller
 * frees it on success. */
int call_gather_bytes(const char *name, int process_set, const void *data, size_t size,
                      struct hvd_result *result, struct err *err);

#endif
