/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that can only be found by their environment, because the process that watched over them
 * has died. */
#ifndef LAUNCHER_CLEANUP_ORPHANS_H
#define LAUNCHER_CLEANUP_ORPHANS_H

#include "launcher/base/string_list.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether `pid` is a process of this user that has "NAME=VALUE" in the environment with which its
 * program was started. */
bool orphans_has(pid_t pid, const char *variable);

/* Sends `signum` to every process of this user whose program was started with all of `variables`,
 * texts "NAME=VALUE", in its environment, except this process and zombies. `signum` 0 only counts.
 * Returns their number; 0 if there are no variables. */
int orphans_signal(int signum, const struct string_list *variables);

#endif
