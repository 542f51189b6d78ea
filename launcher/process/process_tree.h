/* SPDX-License-Identifier: Apache-2.0 */
/* The descendants of this process, wherever they hide: a process that called setsid() or whose
 * parent has died is still one, because this process adopts orphans below it (process_tree_adopt).
 */
#ifndef LAUNCHER_PROCESS_PROCESS_TREE_H
#define LAUNCHER_PROCESS_PROCESS_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* A descendant that still exists. */
struct stuck_process {
    pid_t pid;
    char name[32];  /* of its program, printable */
    char where[64]; /* the kernel function in which it waits, or "state D" and the like */
};

/* A descendant that was stopped. A process with its pid and another start is another process. */
struct stopped_process {
    pid_t pid;
    uint64_t started; /* clock ticks since the machine was started */
};

/* From now on orphaned descendants become children of this process, which must wait for them. */
void process_tree_adopt(void);

/* The children that this process has now, including those from before its exec. Allocates
 * `*children`; returns their number. Call this before any thread is started. */
int process_tree_children(pid_t **children);

/* Sends `signum` to every descendant that is not a zombie and returns their number; 0 only counts
 * them. The `nspared` children in `spared`, and all below them, are left out. */
int process_tree_signal(int signum, const pid_t *spared, int nspared);

/* The same, but members of the `ngroups` process groups get no signal: kill(2) has sent it to their
 * groups. */
int process_tree_signal_outside(int signum, const pid_t *groups, int ngroups, const pid_t *spared,
                                int nspared);

/* Stops every running descendant that is not spared, as above, until no running one is found, and
 * adds them to the `count` processes of `*stopped`, which is NULL at first and which the caller
 * frees. Returns the new number. process_tree_continue() continues only these, not processes that
 * had been stopped before. */
int process_tree_stop(struct stopped_process **stopped, int count, const pid_t *spared,
                      int nspared);
void process_tree_continue(const struct stopped_process *stopped, int count);

/* Describes up to `max` of the descendants that are not zombies; returns their number. */
int process_tree_stuck(struct stuck_process *list, int max);

#endif
