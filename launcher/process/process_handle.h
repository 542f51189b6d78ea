/* SPDX-License-Identifier: Apache-2.0 */
/* One process: its data in /proc, and a handle through which a signal reaches this process and no
 * later process with the same number.
 *
 * The handle is a pidfd. Where the kernel has none (before Linux 5.3), where a seccomp filter
 * refuses pidfd_open() (EPERM in old container runtimes), or where descriptors have run out, the
 * signal goes to the number: the caller has compared the start time a few microseconds before, and
 * within these the number would have to be freed and given away again. */
#ifndef LAUNCHER_PROCESS_PROCESS_HANDLE_H
#define LAUNCHER_PROCESS_PROCESS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat. `pid` and `started` together identify a process for as long as the
 * machine runs, unless a number comes round within one clock tick (10 ms). */
struct process {
    pid_t pid, parent, group;
    char state;
    uint64_t started; /* clock ticks since the machine was started */
    bool ending; /* it exits, dumps core, or has a SIGKILL to handle; or its first thread does */
    bool below;  /* for process_tree.c: a descendant of this process */
};

/* Reads the process whose number is `name`; `proc` is a descriptor of /proc. False if there is
 * none. */
bool process_read(struct process *process, int proc, const char *name);

/* The state of the process: 'R', 'S', 'D', 'T' and so on; 0 if unknown. */
char process_state(pid_t pid);

/* True if the process will end whatever happens to it: all its threads exit, or were killed. It may
 * take long until it can be waited for, for instance to free a GPU or to write a core file. False
 * if there is none, and where /proc does not tell (gVisor). */
bool process_is_ending(pid_t pid);

struct process_handle {
    pid_t pid;
    int fd; /* -1: signals go to the number */
};

/* Opens the process that has the number now: check its start time after the call. False if there is
 * none. */
bool process_handle_open(struct process_handle *handle, pid_t pid);

/* True if the signal was sent. */
bool process_handle_signal(const struct process_handle *handle, int signum);

void process_handle_close(struct process_handle *handle);

#endif
