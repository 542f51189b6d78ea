/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a program's loop. */
#ifndef SRC_HVDRUN_LOOP_LEAVE_H
#define SRC_HVDRUN_LOOP_LEAVE_H

#include <uv.h>

/* Runs the loop, whose handles are all being closed, until nothing is active, but no longer than
 * half a second: hvdssh, for example, may take longer to end.
 *
 * The loop must be static. Until the process exits, SIGCHLD may come for hvdssh, and libuv's
 * handler writes to the loop then, be it open or not. */
void loop_leave(uv_loop_t *loop);

/* Closes the loop. Call this after loop_leave(), when the loop has run. */
void loop_close(uv_loop_t *loop);

#endif
