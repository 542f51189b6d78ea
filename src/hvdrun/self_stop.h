/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stops itself some time after SIGTSTP has come, once it has told others, and
 * loses no SIGCONT meanwhile.
 *
 *   SIGTSTP is pending -> on_asked() -> self_stop_now() -> stopped -> SIGCONT
 *
 * SIGTSTP is blocked and stays pending until the stop. The kernel removes SIGTSTP when SIGCONT
 * is sent, so a SIGTSTP that is still pending is younger than every SIGCONT, whether the loop
 * has read the SIGCONT or not. self_stop_now() unblocks SIGTSTP for a moment: the kernel then
 * stops the process or finds nothing to do. The parent sees a stop by SIGTSTP. In an orphaned
 * process group, where no shell waits, the kernel drops SIGTSTP. There self_stop_now() raises
 * SIGSTOP; only a SIGCONT that is sent within the microsecond before is lost.
 *
 * All other threads must block SIGTSTP and SIGCONT. One thread; at most one instance per
 * process. */
#ifndef SRC_HVDRUN_SELF_STOP_H
#define SRC_HVDRUN_SELF_STOP_H

#include <uv.h>

struct self_stop {
    uv_poll_t poll;
    int fd; /* a signalfd: readable while SIGTSTP is pending */
    void (*on_asked)(void *context);
    void *context;
};

/* From now on SIGTSTP calls `on_asked`, once for each stop. Ends the process if no descriptors are
 * left (uv_must.h). */
void self_stop_open(struct self_stop *stop, uv_loop_t *loop, void (*on_asked)(void *context),
                    void *context);

/* Stops this process unless SIGCONT or self_stop_drop() came since SIGTSTP did. */
void self_stop_now(struct self_stop *stop);

/* Drops a pending SIGTSTP. */
void self_stop_drop(struct self_stop *stop);

/* Call this when SIGCONT was read: calls on_asked() again if a younger SIGTSTP is pending. */
void self_stop_listen(struct self_stop *stop);

/* Drops a pending SIGTSTP; the next one stops this process at once. */
void self_stop_close(struct self_stop *stop);

#endif
