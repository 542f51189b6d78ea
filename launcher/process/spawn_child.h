/* SPDX-License-Identifier: Apache-2.0 */
/* A child between its birth and its program; see spawn.h for what is asked of it. */
#ifndef LAUNCHER_PROCESS_SPAWN_CHILD_H
#define LAUNCHER_PROCESS_SPAWN_CHILD_H

#include "launcher/process/spawn.h"

/* All signals are blocked in the child, and it is alone on its stack. */
enum { SPAWN_CHILD_STACK = 16384 };

struct spawn_child {
    struct spawn_request request;
    char **shell_argv; /* "/bin/sh path arguments...", for a script without "#!" */
    pid_t parent;
    int report;         /* written: the failure, an errno or minus the errno of binding */
    bool shares_memory; /* with its parent, which goes on; else a copy of the memory */
    _Alignas(16) char stack[SPAWN_CHILD_STACK]; /* if it shares memory */
};

/* Can a child be made that shares memory, with this processor and in this environment? */
bool spawn_child_can_share(void);

/* Makes the child, in the cgroup of the request if that is possible, and runs it there. Returns its
 * pid, or minus an errno if it cannot be made so. Only after spawn_child_can_share(). */
pid_t spawn_child_clone(struct spawn_child *child);

/* In a child that fork() has made. */
_Noreturn void spawn_child_run(struct spawn_child *child);

#endif
