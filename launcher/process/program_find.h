/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file of a command's name, as execvp() does, and checks that it can be executed, before
 * a single rank is started. */
#ifndef LAUNCHER_PROCESS_PROGRAM_FIND_H
#define LAUNCHER_PROCESS_PROGRAM_FIND_H

#include "lib/base/status.h"

/* Looks `name` up in `path`, the value of PATH, or NULL for the system's own. Returns 0 and the
 * file, which the caller frees; or STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE, and `err`. */
int program_find(const char *name, const char *path, char **file, struct err *err);

#endif
