/* SPDX-License-Identifier: Apache-2.0 */
/* Finding descendants by the parents in /proc; see process_tree.h. A process that forks during the
 * search may be missed: the caller searches again until none is left. A process that ends during
 * the search may leave its number to another process, which gets no signal. */
#include "launcher/process/process_tree.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/process_handle.h"
#include "lib/base/text.h"

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

/* The number of descendants from which on they are stopped before they are killed; how often to
 * search for new ones. */
enum { FREEZE_FROM = 64, FREEZE_PASSES = 20 };

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

static void read_table(struct process_table *table)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !process_read(&process, dirfd(dir), entry->d_name))
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

static bool is_one_of(pid_t pid, const pid_t *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i] == pid)
            return true;
    return false;
}

static bool is_descendant(const struct process_table *table, pid_t parent, pid_t self)
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
            if (!table->list[i].below && !is_one_of(table->list[i].pid, spared, nspared) &&
                is_descendant(table, table->list[i].parent, self))
                table->list[i].below = changed = true;
    }
}

static bool is_alive(const struct process *process)
{
    return process->below && process->state != 'Z';
}

/* All processes, with the selected descendants marked; the caller frees the list. */
static struct process_table process_tree_look(const pid_t *spared, int nspared)
{
    struct process_table table = { 0 };
    read_table(&table);
    if (table.count > 0)
        mark_descendants(&table, spared, nspared);
    return table;
}

static int count_alive(const struct process_table *table)
{
    int count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += is_alive(&table->list[i]);
    return count;
}

/* Signals exactly this process: the number of `seen` may belong to another process by now, which is
 * not a descendant of ours. A descendant whose parent has ended meanwhile has another parent in our
 * tree. */
static void signal_seen(const struct process_table *table, const struct process *seen, int signum)
{
    struct process_handle handle;
    struct process now;
    char path[32];
    if (!process_handle_open(&handle, seen->pid))
        return;
    snprintf(path, sizeof path, "/proc/%d", (int)seen->pid);
    if (process_read(&now, AT_FDCWD, path) && now.started == seen->started &&
        is_descendant(table, now.parent, getpid()))
        process_handle_signal(&handle, signum);
    process_handle_close(&handle);
}

static bool moves(const struct process *process)
{
    return is_alive(process) && process->state != 'T' && process->state != 't';
}

/* Returns the number of processes that were still running. */
static int stop_all(const struct process_table *table)
{
    int count = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!moves(&table->list[i]))
            continue;
        signal_seen(table, &table->list[i], SIGSTOP);
        count++;
    }
    return count;
}

/* Stops the descendants first when there are so many that they may be forking: a killed process
 * makes room for another under a limit on processes. A stopped process makes none. */
static void freeze(struct process_table *table, const pid_t *spared, int nspared)
{
    for (int pass = 0; pass < FREEZE_PASSES && stop_all(table) > 0; pass++) {
        free(table->list);
        *table = process_tree_look(spared, nspared);
    }
}

static bool is_zombie(int proc, pid_t pid)
{
    char name[16];
    struct process process;
    snprintf(name, sizeof name, "%d", (int)pid);
    return !process_read(&process, proc, name) || process.state == 'Z';
}

/* A process that forks and ends at once is gone when a scan of all processes reaches it; but the
 * process, or its child, is our child then, and our children are listed in a moment. The number of
 * a child is not reused before we have waited for it, so it is signalled by number. Returns how
 * many were alive. */
static int kill_children(const pid_t *spared, int nspared)
{
    pid_t *children;
    int count = process_tree_children(&children), lived = 0;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < count; i++) {
        if (is_one_of(children[i], spared, nspared) || is_zombie(proc, children[i]))
            continue;
        kill(children[i], SIGKILL);
        lived++;
    }
    if (proc >= 0)
        close(proc);
    free(children);
    return lived;
}

int process_tree_signal(int signum, const pid_t *spared, int nspared)
{
    return process_tree_signal_outside(signum, NULL, 0, spared, nspared);
}

int process_tree_signal_outside(int signum, const pid_t *groups, int ngroups, const pid_t *spared,
                                int nspared)
{
    struct process_table table = process_tree_look(spared, nspared);
    int count = 0;
    if (signum == SIGKILL && count_alive(&table) >= FREEZE_FROM)
        freeze(&table, spared, nspared);
    for (size_t i = 0; i < table.count; i++) {
        if (!is_alive(&table.list[i]))
            continue;
        count++;
        if (signum != 0 && !is_one_of(table.list[i].group, groups, ngroups))
            signal_seen(&table, &table.list[i], signum);
    }
    free(table.list);
    int children = signum == SIGKILL ? kill_children(spared, nspared) : 0;
    return count > children ? count : children;
}

/* Compares by pid, then by start. */
static int by_identity(const void *a, const void *b)
{
    const struct stopped_process *x = a, *y = b;
    int order = (x->pid > y->pid) - (x->pid < y->pid);
    return order != 0 ? order : (x->started > y->started) - (x->started < y->started);
}

/* Adds the running processes, sorted and each once. Returns the new number. */
static int remember(struct stopped_process **list, int count, const struct process_table *table)
{
    int kept = 0;
    *list = xreallocarray(*list, (size_t)count + table->count + 1, sizeof **list);
    for (size_t i = 0; i < table->count; i++)
        if (moves(&table->list[i]))
            (*list)[count++] =
                (struct stopped_process){ table->list[i].pid, table->list[i].started };
    qsort(*list, (size_t)count, sizeof **list, by_identity);
    for (int i = 0; i < count; i++)
        if (kept == 0 || by_identity(&(*list)[i], &(*list)[kept - 1]) != 0)
            (*list)[kept++] = (*list)[i];
    return kept;
}

/* A stopped process may take a moment to stop, and have forked before: so the search is
 * repeated. */
int process_tree_stop(struct stopped_process **stopped, int count, const pid_t *spared, int nspared)
{
    struct process_table table = process_tree_look(spared, nspared);
    for (int pass = 0; pass < FREEZE_PASSES && stop_all(&table) > 0; pass++) {
        count = remember(stopped, count, &table);
        free(table.list);
        table = process_tree_look(spared, nspared);
    }
    free(table.list);
    return count;
}

static bool was_stopped(const struct process *process, const struct stopped_process *stopped,
                        int count)
{
    struct stopped_process key = { process->pid, process->started };
    return bsearch(&key, stopped, (size_t)count, sizeof *stopped, by_identity);
}

void process_tree_continue(const struct stopped_process *stopped, int count)
{
    struct process_table table = { 0 };
    if (count > 0)
        table = process_tree_look(NULL, 0);
    for (size_t i = 0; i < table.count; i++)
        if (is_alive(&table.list[i]) && was_stopped(&table.list[i], stopped, count))
            signal_seen(&table, &table.list[i], SIGCONT);
    free(table.list);
}

/* The first line of a small file of /proc, printable; "" if it cannot be read. */
static void process_tree_read_line(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    text_make_ascii(text);
}

static void process_tree_describe(const struct process *process, struct stuck_process *stuck)
{
    stuck->pid = process->pid;
    process_tree_read_line(process->pid, "comm", stuck->name, sizeof stuck->name);
    process_tree_read_line(process->pid, "wchan", stuck->where, sizeof stuck->where);
    if (*stuck->where == '\0' || strcmp(stuck->where, "0") == 0) /* the kernel hides it from us */
        snprintf(stuck->where, sizeof stuck->where, "state %c", process->state);
}

int process_tree_stuck(struct stuck_process *list, int max)
{
    struct process_table table = process_tree_look(NULL, 0);
    int count = 0;
    for (size_t i = 0; i < table.count && count < max; i++)
        if (is_alive(&table.list[i]))
            process_tree_describe(&table.list[i], &list[count++]);
    free(table.list);
    return count;
}
