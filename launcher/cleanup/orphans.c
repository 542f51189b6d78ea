/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/environ; see orphans.h. A zombie has no environment. A process whose
 * environment cannot be read is not ours. A handle keeps the process while its environment is read,
 * so that no signal reaches another process that has got its number in between. */
#include "launcher/cleanup/orphans.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/process_handle.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROW = 64 * 1024 };

/* The environment of one process at a time. */
struct environment {
    char *data;
    size_t length, capacity;
};

static bool orphans_read_environment(struct environment *environment, int proc, const char *pid)
{
    char path[64];
    ssize_t n;
    snprintf(path, sizeof path, "%.20s/environ", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    environment->length = 0;
    do {
        if (environment->capacity - environment->length < GROW) {
            environment->capacity += GROW;
            environment->data = xrealloc(environment->data, environment->capacity);
        }
        n = read(fd, environment->data + environment->length, GROW - 1);
        environment->length += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    close(fd);
    environment->data[environment->length] = '\0';
    return n == 0;
}

static bool environment_has(const struct environment *environment, const char *variable)
{
    const char *end = environment->data + environment->length;
    for (const char *at = environment->data; at < end; at += strlen(at) + 1)
        if (strcmp(at, variable) == 0)
            return true;
    return false;
}

bool orphans_has(pid_t pid, const char *variable)
{
    char path[32];
    struct environment environment = { 0 };
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    bool found = orphans_read_environment(&environment, AT_FDCWD, path) &&
                 environment_has(&environment, variable);
    free(environment.data);
    return found;
}

static bool environment_has_all(const struct environment *environment,
                                const struct string_list *variables)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!environment_has(environment, variables->items[i]))
            return false;
    return true;
}

static bool signal_if_orphan(struct environment *environment, int proc, const char *name,
                             int signum, const struct string_list *variables)
{
    struct process_handle handle;
    if (!process_handle_open(&handle, (pid_t)atoi(name)))
        return false;
    bool is_orphan = orphans_read_environment(environment, proc, name) &&
                     environment_has_all(environment, variables);
    if (is_orphan && signum != 0)
        process_handle_signal(&handle, signum);
    process_handle_close(&handle);
    return is_orphan;
}

int orphans_signal(int signum, const struct string_list *variables)
{
    struct environment environment = { 0 };
    int count = 0;
    DIR *dir = variables->count > 0 ? opendir("/proc") : NULL;
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        bool is_process =
            isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid();
        count += is_process &&
                 signal_if_orphan(&environment, dirfd(dir), entry->d_name, signum, variables);
    }
    closedir(dir);
    free(environment.data);
    return count;
}
