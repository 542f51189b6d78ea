/* SPDX-License-Identifier: Apache-2.0 */
/* What waitpid() tells of a process that is no rank, for messages. Pure. */
#ifndef LAUNCHER_BASE_WAIT_STATUS_H
#define LAUNCHER_BASE_WAIT_STATUS_H

#include <stddef.h>

/* "killed by signal 9 (SIGKILL)" or "exited with status 3". */
void wait_status_text(char *text, size_t size, int wait_status);

#endif
