/* SPDX-License-Identifier: Apache-2.0 */
/* What waitpid() tells of a process that is no rank, for messages. Pure. */
#ifndef LAUNCHER_BASE_WAIT_STATUS_H
#define LAUNCHER_BASE_WAIT_STATUS_H

#include <stddef.h>

<<<<<<< HEAD
/* "killed by signal 9 (SIGKILL)", "exited with status 3" or "stopped by signal 19 (SIGSTOP)". */
void wait_status_text(char *text, unsigned long size, int wait_status);

/* Can waitpid() return this status for a process that has ended? */
bool wait_status_is_end(int wait_status);

/* The exit status for a status of waitpid(): the process's own, or 128 + the signal that has killed
 * or stopped it. */
int wait_status_exit(int wait_status);
=======
/* "killed by signal 9 (SIGKILL)" or "exited with status 3". */
void wait_status_text(char *text, size_t size, int wait_status);
>>>>>>> c922321 (launcher: the end of a rank is one record from waitpid() to the last line)

#endif
