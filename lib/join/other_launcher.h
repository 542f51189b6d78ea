/* SPDX-License-Identifier: Apache-2.0 */
/* Detects that a process without a job was started as one of several.
 *
 * torchrun, jsrun and others start many processes; so do mpirun and mpiexec where they offer no
 * process manager (bootstrap_choice.h). When only these launchers' variables are
 * set, each process is a world of its own: nothing is averaged, and all processes write the same
 * files. The variables of each launcher are a row of a table. A count of 1 is no sign, nor are the
 * variables of a batch system in a script that runs once. */
#ifndef LIB_JOIN_OTHER_LAUNCHER_H
#define LIB_JOIN_OTHER_LAUNCHER_H

#include "lib/base/env_names.h"

#include <stdbool.h>
#include <stddef.h>

enum { OTHER_LAUNCHER_TEXT = 320 };

/* Writes one line that names the launcher, the variable that shows it, and what to do. False,
 * writing nothing, when no variable shows more than one process, or HOROVOD_SIZE or a rendezvous is
 * set. */
bool other_launcher_text(char text[OTHER_LAUNCHER_TEXT], environment_get_fn *get);

#endif
