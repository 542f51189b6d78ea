/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a process with a signal for its parent's death, a process group and clean signal handling,
 * for which uv_spawn has no hook. */
#ifndef LAUNCHER_PROCESS_SPAWN_H
#define LAUNCHER_PROCESS_SPAWN_H

#include "launcher/base/cpu_mask.h"
#include "launcher/base/rank_attributes.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct spawn_request {
    const char *path; /* as execve() takes it; a script without "#!" is given to /bin/sh */
    char *const *argv;
    char *const *envp;
    int stdio[3];     /* become 0, 1 and 2; owned by the caller */
    bool new_session; /* a session of its own, else a process group of its own */
    int death_signal; /* sent to the child when the calling thread dies; 0 for none */
    int cgroup;       /* directory of the cgroup v2 into which the child is born if possible; 0 for
                       * none */
    const struct rlimit *nofile; /* limit on descriptors to set, or NULL */
    const struct cpu_mask *cpus; /* processors that it may use, of ours; or NULL */
    const struct rank_attributes
        *attributes;   /* of a rank; NULL: SIGHUP and umask as in this process */
    bool share_memory; /* until it runs its program, where that is possible: takes less time. All
                        * that the request points to must stay as it is until spawn_confirm() */
};

struct spawn_child;

struct spawned {
    pid_t pid;
    int report; /* from the child: the result of spawn_confirm(), or nothing */
    struct spawn_child *child;
};

/* Forks. The child has only descriptors 0, 1 and 2, and starts with an empty signal mask and the
 * default of every signal but SIGHUP. The descriptors of the request can be closed at once.
 * HVD_ERR_SYSTEM when the process cannot be made. Each success must be followed by spawn_confirm()
 * or spawn_abandon(). */
int spawn_start(const struct spawn_request *request, struct spawned *spawned, struct err *err);

/* Waits until the child runs its program, or has exited. Returns 0; or the errno with which exec
 * failed; or minus the errno with which binding to `cpus` failed. Unless 0 is returned the child
 * has exited, and the caller must still wait for it. */
int spawn_confirm(struct spawned *spawned);

/* Instead of spawn_confirm(), when nobody needs the answer; afterwards it does nothing. */
void spawn_abandon(struct spawned *spawned);

#endif
