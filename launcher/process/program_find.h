/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a command's name stands for, as execvp() finds it, and whether it can be executed:
 * before a single rank is started. */
#ifndef LAUNCHER_PROCESS_PROGRAM_FIND_H
#define LAUNCHER_PROCESS_PROGRAM_FIND_H

#include "lib/base/status.h"

/* Looks `name` up in `path`, the value of PATH, or NULL for the system's own. 0 and its file, which
 * the caller frees; or STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE, and `err`. */
int program_find(const char *name, const char *path, char **file, struct err *err);

#endif
