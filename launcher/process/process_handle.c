/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/stat, and pidfds; see process_handle.h. */
#include "launcher/process/process_handle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* Flags of a thread: PF_EXITING, PF_DUMPCORE and PF_SIGNALED of the kernel (proc(5)). */
enum { ENDING_FLAGS = 0x4 | 0x200 | 0x400 };

#define PENDING_KILL (1ul << (SIGKILL - 1))

/* "PID (NAME) STATE PPID PGRP ..." with FLAGS as field 9, STARTTIME as 22, and pending signals as
 * 31; NAME may hold anything, also ") ". A thread has such a line, too. */
static bool parse_stat(struct process *process, const char *stat)
{
    const char *after_name = strrchr(stat, ')');
    char state;
    int parent, group;
    unsigned flags;
    unsigned long pending = 0;
    unsigned long long started;
    if (!after_name ||
        sscanf(after_name + 1,
               " %c %d %d %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu "
               "%*s %*s %*s %*s %*s %*s %*s %*s %lu",
               &state, &parent, &group, &flags, &started, &pending) < 5)
        return false;
    bool ending = (flags & ENDING_FLAGS) != 0 || (pending & PENDING_KILL) != 0;
    *process = (struct process){ atoi(stat), parent, group, state, started, ending, false };
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

/* The first thread may have ended alone. */
static bool all_threads_are_ending(DIR *tasks)
{
    struct process thread;
    for (struct dirent *entry; (entry = readdir(tasks));)
        if (isdigit((unsigned char)*entry->d_name) &&
            process_read(&thread, dirfd(tasks), entry->d_name) && !thread.ending)
            return false;
    return true;
}

bool process_is_ending(pid_t pid)
{
    struct process process;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (!process_read(&process, AT_FDCWD, path) || !process.ending)
        return false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    bool ending = !tasks || all_threads_are_ending(tasks);
    if (tasks)
        closedir(tasks);
    return ending;
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
