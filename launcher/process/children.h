/* SPDX-License-Identifier: Apache-2.0 */
/* Reports when a child of this process ends. SIGCHLD and waitpid() belong to the whole process, so
 * only this module handles them. A watched child is reported; every other child, such as an orphan
 * that this process has adopted, is reaped without a report. */
#ifndef LAUNCHER_PROCESS_CHILDREN_H
#define LAUNCHER_PROCESS_CHILDREN_H

#include <sys/types.h>
#include <uv.h>

/* `wait_status` as waitpid() gave it. */
typedef void child_fn(void *context, pid_t pid, int wait_status);

struct children;

struct children *children_create(uv_loop_t *loop);

/* Call this in the same iteration of the loop in which the child was forked. `on_end` is called at
 * most once. */
void children_watch(struct children *children, pid_t pid, child_fn *on_end, void *context);

/* Stops watching the child. */
void children_forget(struct children *children, pid_t pid);

/* Appends the watched children to `*pids`, which has `count` and is reallocated. Returns the new
 * count. */
int children_append(const struct children *children, pid_t **pids, int count);

/* Freed when the loop has run on. NULL is fine. */
void children_destroy(struct children *children);

#endif
