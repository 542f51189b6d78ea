/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a program's loop. */
#ifndef SRC_HVDRUN_LOOP_LEAVE_H
#define SRC_HVDRUN_LOOP_LEAVE_H

#include <uv.h>

/* Runs the loop, whose handles are all closed, until nothing is active, but no longer than half a
 * second. A name lookup cannot be cancelled, and a dead name server takes long. */
void loop_leave(uv_loop_t *loop);

/* Closes the loop. Call this after loop_leave(), when the loop has run. */
void loop_close(uv_loop_t *loop);

#endif
