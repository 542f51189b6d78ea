/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of execve() on this machine: for one text of an argument or NAME=VALUE, and for all of
 * them together. They are checked before anything is started, so that one message names the long
 * variable and its host, instead of "Argument list too long" from each rank. */
#ifndef LAUNCHER_PROCESS_EXEC_LIMITS_H
#define LAUNCHER_PROCESS_EXEC_LIMITS_H

#include "lib/base/status.h"

#include <stddef.h>

struct exec_limits {
    size_t text;  /* bytes of one text, including its NUL */
    size_t total; /* bytes of all texts, including a pointer for each */
};

/* Reads the kernel's limits for a process with this one's limit on stack size. */
void exec_limits_read(struct exec_limits *limits);

/* HVD_ERR_INVALID and the limit, with the variable or argument that is too long, or the largest one
 * if all together are too long. `argv` and `envp` are ended by NULL. Pure. */
int exec_limits_check(const struct exec_limits *limits, const char *path, char *const *argv,
                      char *const *envp, struct err *err);

#endif
