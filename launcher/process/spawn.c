/* SPDX-License-Identifier: Apache-2.0 */
/* fork and exec; see spawn.h. A failure after the fork is reported through a close-on-exec pipe as
 * an errno. spawn_child.c has what the child does, and how it shares memory; what it needs for that
 * is one block, which is kept until the pipe has ended. */
#include <config.h>

#include "launcher/process/spawn.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ThreadSanitizer must know of forks. */
#if !defined HAVE__FORK || defined __SANITIZE_THREAD__
#define _Fork fork
#endif

/* "/bin/sh path arguments...", for a script without "#!". */
static char **make_shell_argv(const struct spawn_request *request)
{
    size_t argc = 0;
    while (request->argv[argc])
        argc++;
    char **argv = xcalloc(argc + 3, sizeof *argv);
    argv[0] = (char *)(uintptr_t) "/bin/sh";
    argv[1] = (char *)(uintptr_t)request->path;
    size_t n = 2;
    for (size_t i = 1; i < argc; i++)
        argv[n++] = request->argv[i];
    return argv;
}

/* Neither clone3() nor _Fork() runs handlers of pthread_atfork(), so the child may only make
 * async-signal-safe calls. fork() would make libuv create pipes in the child, and abort if that
 * fails. */
static pid_t fork_into(int cgroup)
{
    struct clone_args arguments = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (unsigned)cgroup,
    };
    long pid = cgroup > 0 ? syscall(SYS_clone3, &arguments, sizeof arguments) : -1;
    return pid < 0 ? _Fork() : (pid_t)pid;
}

/* Returns the pid, or -1 and errno. */
static pid_t make_child(struct spawn_child *child)
{
    child->shares_memory = child->request.share_memory && spawn_child_can_share();
    pid_t pid = child->shares_memory ? spawn_child_clone(child) : -1;
    if (pid > 0)
        return pid;
    child->shares_memory = false;
    pid = fork_into(child->request.cgroup);
    if (pid == 0)
        spawn_child_run(child);
    return pid;
}

/* Explains EAGAIN, whose own text is misleading. */
static int fail_fork(struct err *err, int code)
{
    const char *limit =
        code == EAGAIN ? ": a limit on processes is reached (ulimit -u, or a cgroup's pids.max)"
                       : "";
    return fail(err, HVD_ERR_SYSTEM, "fork: %s%s", strerror(code), limit);
}

static void free_child(struct spawn_child *child)
{
    free(child->shell_argv);
    free(child);
}

int spawn_start(const struct spawn_request *request, struct spawned *spawned, struct err *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "pipe");
    struct spawn_child *child = xmalloc(sizeof *child); /* its stack need not be zeroed */
    child->request = *request;
    child->shell_argv = make_shell_argv(request);
    child->report = report[1];
    child->parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no handler of ours runs in the child */
    pid_t pid = make_child(child);
    int fork_errno = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (pid < 0) {
        free_child(child);
        close(report[0]);
        return fail_fork(err, fork_errno);
    }
    *spawned = (struct spawned){ pid, report[0], child };
    return HVD_OK;
}

/* Reads until the end of the pipe: only then the child has left the memory. */
int spawn_confirm(struct spawned *spawned)
{
    int code = 0, byte = 0;
    size_t length = 0;
    ssize_t n;
    do {
        char *to = length < sizeof code ? (char *)&code + length : (char *)&byte;
        n = read(spawned->report, to, length < sizeof code ? sizeof code - length : 1);
        length += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    close(spawned->report);
    spawned->report = -1;
    free_child(spawned->child);
    spawned->child = NULL;
    return length >= sizeof code ? code : 0;
}

void spawn_abandon(struct spawned *spawned)
{
    if (!spawned->child)
        return;
    if (spawned->child->shares_memory) {
        spawn_confirm(spawned);
        return;
    }
    close(spawned->report);
    free_child(spawned->child);
    *spawned = (struct spawned){ .pid = spawned->pid, .report = -1 };
}
