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
    int stdio[3];     /* become 0, 1 and 2; stay the caller's */
    bool new_session; /* a session of its own, else a process group of its own */
    int death_signal; /* sent to it when the calling thread dies; 0 for none */
    int cgroup;       /* directory of the cgroup v2 that it is born into if it can be; 0 for none */
    const struct rlimit *nofile; /* limit on descriptors to set, or NULL */
    const struct cpu_mask *cpus; /* processors that it may use, of ours; or NULL */
    const struct rank_attributes
        *attributes; /* of a rank; NULL: SIGHUP is ignored if it is so here,
                                                 and the umask is ours */
};

struct spawned {
    pid_t pid;
    int report; /* from the child: what spawn_confirm() returns, or nothing */
};

/* Forks. The child has only descriptors 0, 1 and 2, and starts with an empty signal mask and the
 * default of every signal but SIGHUP.
 * HVD_ERR_SYSTEM when the process cannot be made. Each success must be followed by spawn_confirm().
 */
int spawn_start(const struct spawn_request *request, struct spawned *spawned, struct err *err);

/* Waits until the child runs its program: 0; or the errno with which it could not; or that with
 * which it could not be bound to `cpus`, times -1. Unless it is 0 the child has exited, and is still
 * to be waited for. */
int spawn_confirm(struct spawned *spawned);

#endif
