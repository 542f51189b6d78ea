/* SPDX-License-Identifier: Apache-2.0 */
/* A control group (cgroup v2) for the ranks of one agent, below the group that the agent is in.
 * All processes in the group can be killed in one stroke, however they hide and as fast as they
 * fork. The group is an addition only: where none can be made (cgroup v1, not delegated to the
 * user, Linux before 5.14), nothing is reported, and the descendants in /proc must do
 * (process_tree.h). */
#ifndef LAUNCHER_PROCESS_CGROUP_H
#define LAUNCHER_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* All zero means no group; the calls below do nothing then. */
struct cgroup {
    int directory; /* for spawn_request.cgroup; 0: there is none */
    int parent;
    unsigned number; /* random */
    char name[64];
};

/* Makes a group "hvd-PID-NAMESPACE-RANDOM", or leaves `group` without one. */
void cgroup_make(struct cgroup *group);

/* Sends SIGKILL to all processes in the group. */
void cgroup_kill(const struct cgroup *group);

/* Removes the group, if it is empty, and such groups of agents that have ended; on a machine with
 * many groups only some calls look for those. */
void cgroup_remove(struct cgroup *group);

/* For a process that survives a killed agent: kills the processes in that agent's groups and
 * removes the groups, if they are empty. */
void cgroup_kill_of(pid_t agent);
void cgroup_remove_of(pid_t agent);

/* A text of /proc, or NULL if it cannot be read. The kernel makes such a text anew for each read
 * from its beginning, so it is read once, here, and the stream is in memory. The caller closes
 * it. */
FILE *cgroup_open_text(const char *path);

/* The path of this process's own group, from the texts of /proc/self/mountinfo and
 * /proc/self/cgroup. False if the path cannot be found. */
bool cgroup_find(char *path, size_t size, FILE *mountinfo, FILE *membership);

/* As cgroup_find() for a controller of cgroup v1, such as "memory"; NULL: of cgroup v2. */
bool cgroup_find_controller(char *path, size_t size, FILE *mountinfo, FILE *membership,
                            const char *controller);

#endif
