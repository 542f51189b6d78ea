/* SPDX-License-Identifier: Apache-2.0 */
/* Telling processes apart by name, parent and host; see members.h. Between fork and exec a process
 * has the name of its parent. */
#include "tests/chaos/members.h"

#include <signal.h>
#include <string.h>

#define WORKER_NAME "chaos_worker"

bool members_has(const struct members *members, const struct process *process)
{
    return process->token == members->token ||
           testbed_find_host(members->testbed, process->namespace) >= 0;
}

int members_host(const struct members *members, const struct process *process)
{
    int host = testbed_find_host(members->testbed, process->namespace);
    return host < 0 ? 0 : host;
}

/* How many guards stand above it, itself included: 1 for a supervisor, 2 for its agent. */
static int guard_depth(const struct members *members, const struct process *process)
{
    int depth = 0;
    while (process && strcmp(process->name, members->launcher->guard) == 0) {
        depth++;
        process = census_find(members->census, process->parent);
    }
    return depth;
}

static enum member_role guard_role(const struct members *members, const struct process *process)
{
    int depth = guard_depth(members, process);
    bool kept = members->launcher->ours && members_host(members, process) > 0;
    if (kept && depth == 1)
        return MEMBER_SUPERVISOR;
    return depth == 1 + kept ? MEMBER_AGENT : MEMBER_OTHER;
}

static bool is_worker(const struct members *members, const struct process *process)
{
    const struct process *parent = census_find(members->census, process->parent);
    return strcmp(process->name, WORKER_NAME) == 0 && parent &&
           (parent->pid == members->launcher_pid ||
            strcmp(parent->name, members->launcher->guard) == 0);
}

enum member_role members_role(const struct members *members, const struct process *process)
{
    if (process->pid == members->launcher_pid)
        return MEMBER_LAUNCHER;
    if (strcmp(process->name, members->launcher->guard) == 0)
        return guard_role(members, process);
    if (is_worker(members, process))
        return MEMBER_WORKER;
    if (strcmp(process->name, "sshd") == 0)
        return MEMBER_SESSION;
    if (strcmp(process->name, "ssh") == 0 && process->parent == members->launcher_pid)
        return MEMBER_CLIENT;
    return MEMBER_OTHER;
}

int members_list(const struct members *members, enum member_role role, int host, pid_t *pids,
                 int max)
{
    int count = 0;
    for (size_t i = 0; i < members->census->count && count < max; i++) {
        const struct process *process = &members->census->list[i];
        if (members_has(members, process) && members_role(members, process) == role &&
            (host < 0 || members_host(members, process) == host))
            pids[count++] = process->pid;
    }
    return count;
}

int members_left(const struct members *members)
{
    int count = 0;
    for (size_t i = 0; i < members->census->count; i++) {
        const struct process *process = &members->census->list[i];
        if (members_has(members, process) && members_role(members, process) != MEMBER_SESSION)
            count++;
    }
    return count;
}

void members_show(const struct members *members, FILE *log)
{
    static const char *const roles[] = { "other",   "launcher", "agent", "supervisor",
                                         "session", "client",   "worker" };
    for (size_t i = 0; i < members->census->count; i++) {
        const struct process *process = &members->census->list[i];
        if (members_has(members, process))
            fprintf(log, "# process %d, child of %d, %c: %s (%s)\n", (int)process->pid,
                    (int)process->parent, process->state, process->name,
                    roles[members_role(members, process)]);
    }
}

void members_kill(const struct members *members)
{
    for (size_t i = 0; i < members->census->count; i++)
        if (members_has(members, &members->census->list[i]))
            kill(members->census->list[i].pid, SIGKILL);
}
