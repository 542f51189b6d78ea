/* SPDX-License-Identifier: Apache-2.0 */
/* Processors of this host; see processors.h. A limit that cannot be read does not count. */
#include "lib/engine/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP_SIZE = 1024 };

static int size_min(int a, int b)
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

int processors_shared(int online, int all, int own, int quota)
{
    int count = online > 0 ? online : 1;
    if (all > 0)
        count = size_min(count, all);
    if (own > 1)
        count = size_min(count, own);
    return quota > 0 ? size_min(count, quota) : count;
}

/* ---- the quotas of control groups ---- */

static bool names(const char *list, size_t length, const char *controller)
{
    size_t size = strlen(controller);
    for (const char *end = list + length; list < end; list += strcspn(list, ",:") + 1)
        if (strcspn(list, ",:") == size && strncmp(list, controller, size) == 0)
            return true;
    return length == 0 && size == 0;
}

bool processors_group(char *path, size_t size, const char *text, const char *controller)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at || !names(list + 1, (size_t)(at - list - 1), controller))
            continue;
        int length = (int)strcspn(at + 1, "\n");
        return at[1] == '/' && snprintf(path, size, "%.*s", length, at + 1) < (int)size &&
               !strstr(path, "/..");
    }
    return false;
}

/* Appends a small file; appends nothing if the file cannot be read. */
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

static const struct version {
    const char *controller, *mount, *files[2];
} versions[] = {
    { "", "/sys/fs/cgroup", { "cpu.max", NULL } },
    { "cpu", "/sys/fs/cgroup/cpu", { "cpu.cfs_quota_us", "cpu.cfs_period_us" } },
};

static int quota_of(const struct version *version, const char *group)
{
    char text[128] = "", file[GROUP_SIZE + 64];
    for (int i = 0; i < 2 && version->files[i]; i++) {
        snprintf(file, sizeof file, "%s%s/%s", version->mount, group, version->files[i]);
        append_file(text, sizeof text, file);
    }
    return processors_of_quota(text);
}

/* The least quota of our group and its parents; 0: none. */
static int least_quota(const struct version *version, const char *groups)
{
    char group[GROUP_SIZE];
    int count = 0;
    if (!processors_group(group, sizeof group, groups, version->controller))
        *group = '\0';
    for (;;) {
        int quota = quota_of(version, group);
        count = quota > 0 && (count == 0 || quota < count) ? quota : count;
        if (!*group)
            return count;
        *strrchr(group, '/') = '\0';
    }
}

static int quota(void)
{
    char groups[4096] = "";
    int count = 0;
    append_file(groups, sizeof groups, "/proc/self/cgroup");
    for (size_t i = 0; i < sizeof versions / sizeof *versions && count == 0; i++)
        count = least_quota(&versions[i], groups);
    return count;
}

/* The number of processors that a process may run on; 0 if it is not known. */
static int allowed(pid_t pid)
{
    cpu_set_t set;
    return sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* Measured with 4 to 32 ranks on 2 processors: a fourth of this time is too short for 8 ranks on
 * each, and longer times change nothing. */
#define SPIN_NS 50000ull
#define SPIN_MOST_NS 1000000ull

uint64_t processors_spin_ns(int ranks, int processors)
{
    uint64_t sharing = ((uint64_t)ranks + (uint64_t)processors - 1) / (uint64_t)processors;
    uint64_t spin_ns = sharing * SPIN_NS;
    return spin_ns < SPIN_MOST_NS ? spin_ns : SPIN_MOST_NS;
}

int processors_count(int told)
{
    if (told > 0)
        return processors_shared(told, 0, 0, quota());
    return processors_shared((int)sysconf(_SC_NPROCESSORS_ONLN), allowed(1), allowed(0), quota());
}
