/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding the status of waitpid(), for verdicts and messages. Pure. */
#ifndef LAUNCHER_BASE_WAIT_STATUS_H
#define LAUNCHER_BASE_WAIT_STATUS_H

#include <stdbool.h>

/* "killed by signal 9 (SIGKILL)", "exited with status 3" or "stopped by signal 19 (SIGSTOP)". */
void wait_status_text(char *text, unsigned long size, int wait_status);

/* Can waitpid() return this status for a process that has ended? */
bool wait_status_is_end(int wait_status);

/* The exit status for a status of waitpid(): the process's own, or 128 + the signal that has killed
 * or stopped it. */
int wait_status_exit(int wait_status);

#endif
