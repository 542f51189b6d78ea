/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of public calls judged by themselves, when a call has failed. hvd.h promises an order
 * of errors: first wrong arguments, then the state of the world, then arguments that only a world
 * can judge. The world checks its state first and then all arguments at once. So a call that fails
 * checks its arguments again here, and a call that succeeds pays nothing.
 *
 * Each function takes the status that the call is about to return, and its text. If the status is a
 * failure and the arguments are wrong by themselves, the function returns HVD_ERR_INVALID and the
 * text about the arguments instead. */
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
