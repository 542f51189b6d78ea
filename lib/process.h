/* SPDX-License-Identifier: Apache-2.0 */
/* The one world of this process, which the public calls use, and the last error of each thread.
 *
 *   never joined -> joined -> left
 *
 * A call enters the world and leaves the world when it returns; hvd_shutdown() waits until no call
 * is inside. A forked child compares its process id before it touches anything else. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include "lib/base/status.h"
#include "lib/world.h"

/* The world, which stays until process_exit(); or NULL and `err`, when there is none. */
struct world *process_enter(struct err *err);
void process_exit(void);

/* Joins, or leaves; see hvd_init() and hvd_shutdown(). `at_exit`: not while a thread is inside. */
int process_join(struct err *err);
void process_part(bool at_exit);

/* Refuses a forked child, and who is in a function of a device. */
int process_check_caller(struct err *err);

/* Remembers a failure as this thread's last. Returns `rc`. */
int process_answer(int rc, const struct err *err);
const char *process_last_error(void);

#endif
