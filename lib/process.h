/* SPDX-License-Identifier: Apache-2.0 */
/* The world of this process, which the public calls use, and the last error of each thread. There
 * is one at a time.
 *
 *   never joined -> joined -> left -> joined, in another epoch
 *
 * A call enters the world and leaves the world when it returns; hvd_shutdown() waits until no call
 * is inside. A forked child compares its process id before it touches anything else. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include "lib/base/status.h"
#include "lib/world.h"

/* Enters the world, which stays until process_exit(). NULL and `err` when there is no world. */
struct world *process_enter(struct err *err);
void process_exit(void);

/* Joins, or leaves; see hvd_init() and hvd_shutdown(). `at_exit`: does nothing while a thread is
 * inside a call. */
int process_join(struct err *err);
void process_part(bool at_exit);

/* Fails in a forked child, and in a thread that is inside a function of a device. */
int process_check_caller(struct err *err);

/* Remembers a failure as this thread's last. Returns `rc`. */
int process_answer(int rc, const struct err *err);
const char *process_last_error(void);

#endif
