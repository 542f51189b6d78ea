/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/{stat,maps} and task/TID/{comm,stack,wchan,syscall,children}; see
 * process_place.h. */
#include "launcher/process/process_place.h"

#include "launcher/process/process_handle.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Threads that are described; descendants that are looked at for libhvd; kernel frames shown. */
enum { THREADS_SHOWN = 8, PROCESSES_MAX = 64, KERNEL_FRAMES = 3 };

/* Reads a file of /proc as a string. False if it is not there or empty. */
static bool process_place_read(char *text, size_t size, const char *format, int a, int b)
{
    char path[80];
    snprintf(path, sizeof path, format, a, b);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static char thread_state(pid_t pid, pid_t tid)
{
    char stat[512];
    if (!process_place_read(stat, sizeof stat, "/proc/%d/task/%d/stat", pid, tid))
        return 0;
    const char *end = strrchr(stat, ')'); /* the name may have blanks */
    return end && end[1] == ' ' ? end[2] : 0;
}

void process_thread_name(pid_t pid, pid_t tid, char *name, size_t size)
{
    if (process_place_read(name, size, "/proc/%d/task/%d/comm", pid, tid))
        name[strcspn(name, "\n")] = '\0';
}

/* ---- where a thread waits ---- */

/* "[<0>] futex_wait_queue+0x60/0x90": the names of the first functions. For root only. */
static bool kernel_stack(pid_t pid, pid_t tid, char *text, size_t size)
{
    char stack[2048], name[64];
    size_t used = 0;
    if (!process_place_read(stack, sizeof stack, "/proc/%d/task/%d/stack", pid, tid))
        return false;
    const char *line = stack;
    for (int i = 0; i < KERNEL_FRAMES && line && *line; i++) {
        if (sscanf(line, "[<%*[^>]>] %63[^+\n]", name) == 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " <- " : "", name);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return used > 0;
}

static void thread_place(pid_t pid, pid_t tid, char *text, size_t size)
{
    char kernel[256], number[64];
    char state = thread_state(pid, tid);
    if (state == 'R')
        snprintf(text, size, "runs");
    else if (kernel_stack(pid, tid, kernel, sizeof kernel))
        snprintf(text, size, "%.200s in the kernel, state %c", kernel, state);
    else if (process_place_read(kernel, sizeof kernel, "/proc/%d/task/%d/wchan", pid, tid) &&
             strcmp(kernel, "0") != 0)
        snprintf(text, size, "%.200s in the kernel, state %c", kernel, state);
    else if (process_place_read(number, sizeof number, "/proc/%d/task/%d/syscall", pid, tid))
        snprintf(text, size, "system call %d, state %c", atoi(number), state);
    else
        snprintf(text, size, "state %c", state ? state : '?');
}

void process_place_text(pid_t pid, char *text, size_t size)
{
    char place[320], name[32];
    text[0] = '\0';
    if (!process_state(pid))
        return;
    thread_place(pid, pid, text, size);
    snprintf(place, sizeof place, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(place);
    int shown = 1;
    for (struct dirent *entry;
         directory && shown < THREADS_SHOWN && (entry = readdir(directory));) {
        pid_t tid = atoi(entry->d_name);
        if (tid <= 0 || tid == pid)
            continue;
        process_thread_name(pid, tid, name, sizeof name);
        if (!*name || strncmp(name, "hvd", 3) == 0)
            continue;
        thread_place(pid, tid, place, sizeof place);
        size_t used = strlen(text);
        snprintf(text + used, size - used, "; thread %s: %s", name, place);
        shown++;
    }
    if (directory)
        closedir(directory);
}

/* ---- the process of a rank ---- */

static bool has_libhvd(pid_t pid)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "/libhvd.so") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* Appends the children of the main thread to `list`. Returns their number. */
static size_t add_children(pid_t pid, pid_t *list, size_t room)
{
    char text[1024];
    size_t count = 0;
    if (!process_place_read(text, sizeof text, "/proc/%d/task/%d/children", pid, pid))
        return 0;
    for (char *at = text, *end; count < room; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            break;
        list[count++] = (pid_t)child;
    }
    return count;
}

pid_t process_of_rank(pid_t pid)
{
    pid_t list[PROCESSES_MAX] = { pid }, last = pid;
    size_t count = 1;
    bool chain = true;
    for (size_t i = 0; i < count; i++) {
        if (process_state(list[i]) == 'D' || has_libhvd(list[i]))
            return list[i]; /* in state D it may hold what reading its maps would wait for */
        size_t added = add_children(list[i], list + count, PROCESSES_MAX - count);
        chain = chain && added == 1;
        if (chain)
            last = list[count];
        count += added;
    }
    return last;
}
