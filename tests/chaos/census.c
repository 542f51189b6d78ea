/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc; see census.h. A process that ends while it is looked at is left out. */
#include "tests/chaos/census.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 256 * 1024 };

/* Everything of a file of /proc that fits, ended by a zero; its length, or -1. */
static ssize_t read_file(int proc, const char *pid, const char *file, char *data, size_t size)
{
    char path[64];
    size_t used = 0;
    ssize_t n = 0;
    snprintf(path, sizeof path, "%.20s/%s", pid, file);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (used < size - 1 && (n = read(fd, data + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    data[used] = '\0';
    return n < 0 ? -1 : (ssize_t)used;
}

/* "PID (NAME) STATE PPID ...", the start time is field 22; NAME may hold anything. */
static bool read_stat(int proc, const char *pid, struct process *process, unsigned long long *start)
{
    char stat[1024];
    if (read_file(proc, pid, "stat", stat, sizeof stat) <= 0)
        return false;
    char *open = strchr(stat, '('), *close = strrchr(stat, ')');
    int parent;
    if (!open || !close ||
        sscanf(close + 1,
               " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &process->state, &parent, start) != 3)
        return false;
    *close = '\0';
    snprintf(process->name, sizeof process->name, "%s", open + 1);
    process->pid = (pid_t)atoi(pid);
    process->parent = parent;
    return true;
}

static unsigned long read_token(int proc, const char *pid)
{
    static char environment[ENVIRONMENT_MAX];
    static const char name[] = CHAOS_TOKEN "=";
    ssize_t length = read_file(proc, pid, "environ", environment, sizeof environment);
    for (const char *at = environment; at < environment + length; at += strlen(at) + 1)
        if (strncmp(at, name, sizeof name - 1) == 0)
            return strtoul(at + sizeof name - 1, NULL, 10);
    return 0;
}

unsigned long census_namespace(pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    return stat(path, &status) < 0 ? 0 : (unsigned long)status.st_ino;
}

static void add(struct census *census, const struct process *process)
{
    if (census->count == census->capacity) {
        census->capacity = census->capacity ? 2 * census->capacity : 256;
        census->list = realloc(census->list, census->capacity * sizeof *census->list);
        if (!census->list)
            abort();
    }
    census->list[census->count++] = *process;
}

static void check_process(struct census *census, int proc, const char *pid)
{
    struct process process = { 0 };
    unsigned long long start = 0;
    if (!read_stat(proc, pid, &process, &start) || start < census->since || process.state == 'Z' ||
        process.state == 'X')
        return;
    process.token = read_token(proc, pid);
    process.namespace = census_namespace(process.pid);
    add(census, &process);
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
    return (x > y) - (x < y);
}

void census_take(struct census *census)
{
    census->count = 0;
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (isdigit((unsigned char)entry->d_name[0]))
            check_process(census, dirfd(dir), entry->d_name);
    closedir(dir);
    if (census->count > 0)
        qsort(census->list, census->count, sizeof *census->list, by_pid);
}

void census_init(struct census *census)
{
    struct process self;
    char pid[20];
    *census = (struct census){ 0 };
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0 || !read_stat(proc, pid, &self, &census->since))
        census->since = 0;
    if (proc >= 0)
        close(proc);
}

void census_fini(struct census *census)
{
    free(census->list);
}

const struct process *census_find(const struct census *census, pid_t pid)
{
    struct process key = { .pid = pid };
    return census->count == 0
               ? NULL
               : bsearch(&key, census->list, census->count, sizeof *census->list, by_pid);
}
