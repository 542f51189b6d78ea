/* SPDX-License-Identifier: Apache-2.0 */
/* eu-stack or gdb, which stops a process for as long as it reads; see agent_trace.h. */
#include "launcher/agent/agent_trace.h"

#include "launcher/process/process_tree.h"
#include "launcher/process/program_find.h"
#include "launcher/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The words of a debugger. `room` holds the number of the process. Returns NULL if this host has
 * none. */
static char *find_debugger(char **words, char *room, size_t size, pid_t pid)
{
    static char *const gdb[] = { "gdb",
                                 "-nx",
                                 "-batch",
                                 "-iex",
                                 "set debuginfod enabled off",
                                 "-ex",
                                 "thread apply all -ascending backtrace 32",
                                 "-p" };
    static char *const stack[] = { "eu-stack", "-n", "32", "-p" };
    const char *path = getenv("PATH");
    char *program = NULL;
    snprintf(room, size, "%d", (int)pid);
    if (program_find("eu-stack", path, &program, NULL) == 0)
        memcpy(words, stack, sizeof stack);
    else if (program_find("gdb", path, &program, NULL) == 0)
        memcpy(words, gdb, sizeof gdb);
    while (program && *words)
        words++;
    *words = room;
    return program;
}

int agent_trace_start_debugger(struct agent_trace *trace)
{
    char *words[16] = { NULL }, number[16], variable[4096];
    char *environment[] = { variable, "LC_ALL=C", "DEBUGINFOD_URLS=", NULL };
    struct spawned spawned = { .pid = 0 };
    struct err err = { 0 };
    int fds[2];
    char *program = find_debugger(words, number, sizeof number, trace->pid);
    if (!program) {
        snprintf(trace->problem, sizeof trace->problem, "this host has no eu-stack and no gdb");
        return -1;
    }
    const char *path = getenv("PATH");
    snprintf(variable, sizeof variable, "PATH=%s", path ? path : "/usr/bin:/bin");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), rc = -1;
    if (null >= 0 && pipe2(fds, O_CLOEXEC) == 0) {
        const struct spawn_request request = { .path = program,
                                               .argv = words,
                                               .envp = environment,
                                               .stdio = { null, fds[1], fds[1] },
                                               .death_signal = SIGKILL };
        rc = spawn_start(&request, &spawned, &err);
        spawn_abandon(&spawned);
        close(fds[1]);
        if (rc < 0)
            close(fds[0]);
    }
    if (null >= 0)
        close(null);
    free(program);
    if (rc < 0)
        snprintf(trace->problem, sizeof trace->problem, "no debugger can be started");
    trace->debugger = rc < 0 ? 0 : spawned.pid;
    return rc < 0 ? -1 : fds[0];
}

/* Has the debugger left processes of its group behind? This agent adopts them, and as long as there
 * is one no other process gets the number of the group. */
static bool debugger_has_orphans(const struct agent_trace *trace)
{
    pid_t *children;
    int count = process_tree_children(&children);
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = getpgid(children[i]) == trace->debugger;
    free(children);
    return found;
}

void agent_trace_signal_debugger(const struct agent_trace *trace)
{
    if (trace->reaped && !debugger_has_orphans(trace))
        return;
    if (kill(-trace->debugger, SIGKILL) < 0 && !trace->reaped)
        kill(trace->debugger, SIGKILL); /* it has no process group of its own yet */
}
