/* SPDX-License-Identifier: Apache-2.0 */
/* Finding descendants by the parents that /proc tells; see process_tree.h.
 * A process that forks while we look may be missed: the caller looks again until none is left. */
#include "launcher/process_tree.h"

#include "launcher/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    bool zombie, below; /* below: a descendant of this process */
};

struct process_table {
    struct process *list;
    size_t count, capacity;
};

void process_tree_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int process_tree_children(pid_t **children)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int count = 0;
    *children = NULL;
    for (int pid; file && fscanf(file, "%d", &pid) == 1;) {
        *children = xreallocarray(*children, (size_t)count + 1, sizeof **children);
        (*children)[count++] = pid;
    }
    if (file)
        fclose(file);
    return count;
}

/* "PID (NAME) STATE PPID ...", where NAME may hold anything, also ") ". */
static bool read_process(int proc, const char *name, struct process *process)
{
    char path[64], stat[512];
    snprintf(path, sizeof path, "%.20s/stat", name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (n <= 0)
        return false;
    stat[n] = '\0';
    const char *after_name = strrchr(stat, ')');
    char state;
    int parent;
    if (!after_name || sscanf(after_name + 1, " %c %d", &state, &parent) != 2)
        return false;
    *process =
        (struct process){ .pid = (pid_t)atoi(name), .parent = parent, .zombie = state == 'Z' };
    return true;
}

static void read_table(struct process_table *table)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !read_process(dirfd(dir), entry->d_name, &process))
            continue;
        if (table->count == table->capacity) {
            table->capacity = table->capacity ? 2 * table->capacity : 256;
            table->list = xrealloc(table->list, table->capacity * sizeof *table->list);
        }
        table->list[table->count++] = process;
    }
    closedir(dir);
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
    return (x > y) - (x < y);
}

static bool is_spared(pid_t pid, const pid_t *spared, int nspared)
{
    for (int i = 0; i < nspared; i++)
        if (spared[i] == pid)
            return true;
    return false;
}

static bool is_below(const struct process_table *table, pid_t parent, pid_t self)
{
    if (parent == self)
        return true;
    struct process key = { .pid = parent };
    const struct process *found =
        bsearch(&key, table->list, table->count, sizeof *table->list, by_pid);
    return found && found->below;
}

/* Marks descendants until nothing changes: as many rounds as the tree is deep. */
static void mark_descendants(struct process_table *table, const pid_t *spared, int nspared)
{
    pid_t self = getpid();
    qsort(table->list, table->count, sizeof *table->list, by_pid);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < table->count; i++)
            if (!table->list[i].below && !is_spared(table->list[i].pid, spared, nspared) &&
                is_below(table, table->list[i].parent, self))
                table->list[i].below = changed = true;
    }
}

int process_tree_signal(int signum, const pid_t *spared, int nspared)
{
    struct process_table table = { 0 };
    int count = 0;
    read_table(&table);
    if (table.count > 0)
        mark_descendants(&table, spared, nspared);
    for (size_t i = 0; i < table.count; i++) {
        const struct process *process = &table.list[i];
        if (!process->below || process->zombie)
            continue;
        count++;
        if (signum != 0)
            kill(process->pid, signum);
    }
    free(table.list);
    return count;
}
