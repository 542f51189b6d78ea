/* SPDX-License-Identifier: Apache-2.0 */
/* Processors of this host; see processors.h. What cannot be read is no limit. */
#include "lib/engine/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

int processors_of_quota(const char *text)
{
    char *end;
    long quota = strtol(text, &end, 10);
    if (end == text || quota <= 0)
        return 0;
    long period = strtol(text = end, &end, 10);
    if (end == text || period <= 0)
        return 0;
    long count = quota / period + (quota % period > 0);
    return count < 1 << 20 ? (int)count : 0;
}

int processors_shared(int online, int own, int quota)
{
    int count = online > 0 ? online : 1;
    if (own > 1)
        count = least(count, own);
    return quota > 0 ? least(count, quota) : count;
}

/* Appends a small file; nothing if it cannot be read. */
static void append_file(char *text, size_t size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    size_t length = strlen(text);
    ssize_t nbytes = read(fd, text + length, size - length - 1);
    text[length + (nbytes > 0 ? (size_t)nbytes : 0)] = '\0';
    close(fd);
}

/* Of control groups of version 2, or 1. */
static int quota(void)
{
    char text[128] = "";
    append_file(text, sizeof text, "/sys/fs/cgroup/cpu.max");
    if (*text)
        return processors_of_quota(text);
    append_file(text, sizeof text, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    append_file(text, sizeof text, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    return processors_of_quota(text);
}

int processors_count(void)
{
    cpu_set_t own;
    int count = sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 0;
    return processors_shared((int)sysconf(_SC_NPROCESSORS_ONLN), count, quota());
}
