/* SPDX-License-Identifier: Apache-2.0 */
/* The children of hvdrun that no rank has started. hvdrun adopts orphans, so the processes that an
 * agent of this machine leaves behind become its children. Not every child of hvdrun is such an
 * orphan:
 *
 *   - the program that executed hvdrun may have had children before, and they may leave orphans;
 *   - a command that connects to another machine may leave one that must stay: a master of ssh. */
#ifndef LAUNCHER_CLEANUP_ADOPTED_H
#define LAUNCHER_CLEANUP_ADOPTED_H

#include <sys/types.h>

struct adopted {
    pid_t *earlier; /* children from before the job */
    int nearlier;
};

/* From now on orphans become children of this process. `agent` is a child already, and none from
 * before the job; 0: there is no such child. Call this before any thread is started. */
void adopted_start(struct adopted *adopted, pid_t agent);
void adopted_fini(struct adopted *adopted);

/* Appends the children that no rank has started to `*pids`, which has `count` and is reallocated.
 * `job_id` is the value of ENV_COMMAND_OF for commands of this job. Returns the new count. */
int adopted_append_not_ours(const struct adopted *adopted, const char *job_id, pid_t **pids,
                            int count);

#endif
