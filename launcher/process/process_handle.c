/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/stat, and pidfds; see process_handle.h. */
#include "launcher/process/process_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* "PID (NAME) STATE PPID PGRP ..." and STARTTIME as field 22; NAME may hold anything, also ") ". */
static bool parse_stat(struct process *process, const char *stat)
{
    const char *after_name = strrchr(stat, ')');
    char state;
    int parent, group;
    unsigned long long started;
    if (!after_name || sscanf(after_name + 1,
                              " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                              "%*s %*s %llu",
                              &state, &parent, &group, &started) != 4)
        return false;
    *process = (struct process){ atoi(stat), parent, group, state, started, false };
    return true;
}

bool process_read(struct process *process, int proc, const char *name)
{
    char path[64], stat[512];
    snprintf(path, sizeof path, "%.20s/stat", name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, stat, sizeof stat - 1);
    close(fd);
    stat[n > 0 ? n : 0] = '\0';
    return parse_stat(process, stat);
}

char process_state(pid_t pid)
{
    struct process process;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return (char)(process_read(&process, AT_FDCWD, path) ? process.state : 0);
}

bool process_handle_open(struct process_handle *handle, pid_t pid)
{
    *handle = (struct process_handle){ pid, pidfd_open(pid, 0) };
    return handle->fd >= 0 || (errno != ESRCH && errno != EINVAL);
}

bool process_handle_signal(const struct process_handle *handle, int signum)
{
    if (handle->fd < 0)
        return kill(handle->pid, signum) == 0;
    return pidfd_send_signal(handle->fd, signum, NULL, 0) == 0;
}

void process_handle_close(struct process_handle *handle)
{
    if (handle->fd >= 0)
        close(handle->fd);
    handle->fd = -1;
}
