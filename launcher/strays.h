/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that have lost whoever watched over them, and are known by nothing but their
 * environment. */
#ifndef LAUNCHER_STRAYS_H
#define LAUNCHER_STRAYS_H

#include "launcher/string_list.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether `pid` is a process of this user that has "NAME=VALUE" in the environment with which its
 * program was started. */
bool strays_has(pid_t pid, const char *variable);

/* Sends `signum` to every process of this user that has all of `variables`, texts "NAME=VALUE", in
 * the environment with which its program was started, but for this process and zombies. Returns how
 * many there were; 0 only counts them. None if there are no variables. */
int strays_signal(int signum, const struct string_list *variables);

#endif
