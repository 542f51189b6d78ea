/* SPDX-License-Identifier: Apache-2.0 */
/* fork and exec; see spawn.h. A failure after the fork is reported through a close-on-exec pipe as
 * an errno. Between fork and exec the child makes only async-signal-safe calls. */
#include <config.h>

#include "launcher/process/spawn.h"

#include "launcher/base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ThreadSanitizer must know of forks. */
#if !defined HAVE__FORK || defined __SANITIZE_THREAD__
#define _Fork fork
#endif

/* Every descriptor from 3 up is closed by exec, whoever opened it. */
static void close_on_exec_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    struct rlimit limit;
    int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur
                                                                              : 65536;
    for (int fd = first; fd < end; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* A stop signal to the caller's process group that came before this process left the group is
 * still pending, and would stop it before exec, for which the caller waits. SIG_IGN discards the
 * signal. */
static void reset_signals(bool ignore_hup)
{
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    for (int signum = 1; signum < NSIG; signum++)
        signal(signum, signum == SIGHUP && ignore_hup ? SIG_IGN : SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The descriptors may be any numbers, also 0, 1 and 2 crosswise, so this moves them out of the way
 * first. */
static int place_stdio(const int stdio[3])
{
    int high[3];
    for (int i = 0; i < 3; i++)
        if ((high[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3)) < 0)
            return -1;
    for (int i = 0; i < 3; i++)
        if (dup2(high[i], i) < 0)
            return -1;
    return 0;
}

static bool is_elf(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, magic, sizeof magic) : 0;
    if (fd >= 0)
        close(fd);
    return n == sizeof magic && memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* A file that the kernel does not understand is a script for /bin/sh, unless it is a program for
 * another machine. */
static void exec_program(const struct spawn_request *request, char **shell_argv)
{
    execve(request->path, request->argv, request->envp);
    if (errno != ENOEXEC)
        return;
    if (!is_elf(request->path))
        execve("/bin/sh", shell_argv, request->envp);
    errno = ENOEXEC;
}

static int bind(const struct cpu_mask *cpus)
{
    return sched_setaffinity(0, cpus->nwords * sizeof *cpus->words, (cpu_set_t *)cpus->words);
}

/* Applies the attributes of a rank, except its binding, which the caller has turned into `cpus`.
 * Returns whether SIGHUP is ignored. */
static bool apply_attributes(const struct rank_attributes *attributes)
{
    struct sigaction hup;
    if (!attributes) {
        sigaction(SIGHUP, NULL, &hup);
        return hup.sa_handler == SIG_IGN;
    }
    umask(attributes->umask);
    return attributes->ignore_hup;
}

/* Returns the failure: an errno, or minus the errno of binding. */
static int run_child(const struct spawn_request *request, char **shell_argv, pid_t parent)
{
    if (request->new_session)
        setsid();
    else
        setpgid(0, 0);
    if (request->death_signal) {
        prctl(PR_SET_PDEATHSIG, request->death_signal);
        if (getppid() != parent)
            _exit(128 + request->death_signal);
    }
    if (request->cpus && bind(request->cpus) < 0)
        return -errno;
    if (place_stdio(request->stdio) < 0)
        return errno;
    if (request->nofile) /* after the last descriptor above the limit was needed */
        setrlimit(RLIMIT_NOFILE, request->nofile);
    close_on_exec_from(3);
    reset_signals(apply_attributes(request->attributes));
    exec_program(request, shell_argv);
    return errno;
}

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

/* Explains EAGAIN, whose own text is misleading. */
static int fail_fork(struct err *err, int code)
{
    const char *limit =
        code == EAGAIN ? ": a limit on processes is reached (ulimit -u, or a cgroup's pids.max)"
                       : "";
    return fail(err, HVD_ERR_SYSTEM, "fork: %s%s", strerror(code), limit);
}

int spawn_start(const struct spawn_request *request, struct spawned *spawned, struct err *err)
{
    int report[2];
    char **shell_argv = make_shell_argv(request);
    if (pipe2(report, O_CLOEXEC) < 0) {
        free(shell_argv);
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "pipe");
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no handler of ours runs in the child */
    pid_t parent = getpid();
    pid_t pid = fork_into(request->cgroup);
    int fork_errno = errno;
    if (pid == 0) {
        int code = run_child(request, shell_argv, parent);
        ssize_t ignored = write(report[1], &code, sizeof code);
        (void)ignored;
        _exit(127);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(shell_argv);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        return fail_fork(err, fork_errno);
    }
    *spawned = (struct spawned){ pid, report[0] };
    return HVD_OK;
}

int spawn_confirm(struct spawned *spawned)
{
    int code = 0;
    size_t length = 0;
    ssize_t n;
    do {
        n = read(spawned->report, (char *)&code + length, sizeof code - length);
        length += n > 0 ? (size_t)n : 0;
    } while (n > 0 ? length < sizeof code : n < 0 && errno == EINTR);
    close(spawned->report);
    spawned->report = -1;
    return length == sizeof code ? code : 0;
}
