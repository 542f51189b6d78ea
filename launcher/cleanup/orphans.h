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

/* Sends `signum` to every process of this user that has all of `variables`, texts "NAME=VALUE", in
 * the environment with which its program was started, but for this process and zombies. Returns how
 * many there were; 0 only counts them. None if there are no variables. */
int orphans_signal(int signum, const struct string_list *variables);

#endif
