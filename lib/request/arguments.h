/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of public calls judged by themselves, when a call has failed: hvd.h promises that what
 * is wrong with them is told before the state of the world, and the state before what only a world
 * can judge. The world judges both at once, after its state; so a call that fails looks at its
 * arguments again, and one that succeeds pays nothing.
 *
 * Each takes what the call is about to return, and its text. When that is a failure and the
 * arguments are wrong by themselves it returns HVD_ERR_INVALID and their text instead. */
#ifndef LIB_REQUEST_ARGUMENTS_H
#define LIB_REQUEST_ARGUMENTS_H

#include "lib/base/status.h"
#include "lib/request/submission.h"

#include <stdint.h>

int arguments_first(int rc, const struct submission *submission, struct err *err);
int arguments_first_handle(int rc, int64_t handle, struct err *err);
int arguments_first_set(int rc, int process_set, struct err *err);
int arguments_first_ranks(int rc, const int *ranks, int count, struct err *err);

#endif
