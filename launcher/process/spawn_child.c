/* SPDX-License-Identifier: Apache-2.0 */
/* A child between its birth and its program: session or group, death signal, processors,
 * descriptors, limits, signals, then execve(). What fails is written to a pipe as an errno, and the
 * child exits.
 *
 * A child is made in one of two ways:
 *   fork    it has a copy of the memory. To copy the tables of pages, and each page that the parent
 *           writes to afterwards, takes longer than all that the child does.
 *   shared  (CLONE_VM without CLONE_VFORK) it uses the memory of its parent until execve(), on a
 *           stack of its own, while the parent goes on. Several such children run at once.
 *
 * A child that shares memory has the parent's thread pointer, so errno, locks and the heap belong
 * to a thread of the parent that may be using them at that very moment. So what runs in the child,
 * all of this file from spawn_child_run() on, keeps to this:
 *   - it writes to its own stack, and to nothing else; it reads its request, which the parent leaves
 *     as it is until the pipe has ended;
 *   - it calls the kernel by the system call itself (child_call()), which leaves errno alone; it
 *     calls no function of libc, not even one that is async-signal-safe;
 *   - all signals are blocked until no handler of the parent's is left;
 *   - it never returns.
 * The kernel gives the child descriptors, signal dispositions, umask and limits of its own, and no
 * more than a fork does. It releases the memory before it closes the pipe, in execve() and in exit.
 *
 * Forks are for the rest: a processor for which clone_with_stack() has no text, a kernel or a
 * filter of system calls without clone3(), the sanitizers, which keep a state for each thread, and
 * a preloaded library (LD_PRELOAD: valgrind, tests/shim), which sees the calls of libc only. */
#include <config.h>

#include "launcher/process/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __has_feature /* clang; gcc defines __SANITIZE_ADDRESS__ and __SANITIZE_THREAD__ */
#define HAS_SANITIZER                                                                              \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                        \
     __has_feature(memory_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

#if defined __x86_64__ && !defined __ILP32__ && !HAS_SANITIZER
#define CAN_SHARE 1

/* A system call; a failure is minus its errno. */
static long bare_call(long number, long a, long b, long c, long d)
{
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

/* clone3() with a stack: the child begins in run(argument), and never comes back here. */
static long clone_with_stack(struct clone_args *arguments, void (*run)(struct spawn_child *),
                             struct spawn_child *argument)
{
    long result;
    register void (*function)(struct spawn_child *) __asm__("r8") = run;
    register struct spawn_child *first __asm__("r9") = argument;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t" /* the end of the chain of frames */
                     "movq %%r9, %%rdi\n\t"
                     "callq *%%r8\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(function),
                       "r"(first)
                     : "rcx", "r11", "memory", "cc");
    return result;
}
#else
#define CAN_SHARE 0

static long bare_call(long number, long a, long b, long c, long d)
{
    (void)number, (void)a, (void)b, (void)c, (void)d;
    return -ENOSYS;
}

static long clone_with_stack(struct clone_args *arguments, void (*run)(struct spawn_child *),
                             struct spawn_child *argument)
{
    (void)arguments, (void)run, (void)argument;
    return -ENOSYS;
}
#endif

bool spawn_child_can_share(void)
{
    return CAN_SHARE && !getenv("LD_PRELOAD");
}

static void run_on_own_stack(struct spawn_child *child)
{
    spawn_child_run(child);
}

pid_t spawn_child_clone(struct spawn_child *child)
{
    int cgroup = child->request.cgroup;
    struct clone_args arguments = {
        .flags = CLONE_VM | (cgroup > 0 ? CLONE_INTO_CGROUP : 0),
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)child->stack,
        .stack_size = sizeof child->stack,
        .cgroup = cgroup > 0 ? (unsigned)cgroup : 0,
    };
    long pid = clone_with_stack(&arguments, run_on_own_stack, child);
    if (pid < 0 && cgroup > 0) {
        arguments.flags = CLONE_VM;
        arguments.cgroup = 0;
        pid = clone_with_stack(&arguments, run_on_own_stack, child);
    }
    return (pid_t)pid;
}

/* ---- in the child ---- */

/* A failure is minus its errno. */
static long child_call(const struct spawn_child *child, long number, long a, long b, long c, long d)
{
    if (child->shares_memory)
        return bare_call(number, a, b, c, d);
    long result = syscall(number, a, b, c, d);
    return result < 0 ? -errno : result;
}

/* As the kernel takes it. There is no handler, so the rest of it, which differs between processors,
 * is zero. */
struct disposition {
    void (*handler)(int);
    unsigned long rest[15];
};

static void set_disposition(const struct spawn_child *child, int signum, void (*handler)(int))
{
    if (!child->shares_memory) {
        signal(signum, handler);
        return;
    }
    struct disposition disposition = { .handler = handler };
    child_call(child, SYS_rt_sigaction, signum, (intptr_t)&disposition, 0, _NSIG / 8);
}

static bool hup_is_ignored(const struct spawn_child *child)
{
    struct sigaction hup = { .sa_handler = SIG_DFL };
    if (!child->shares_memory) {
        sigaction(SIGHUP, NULL, &hup);
        return hup.sa_handler == SIG_IGN;
    }
    struct disposition disposition = { .handler = SIG_DFL };
    child_call(child, SYS_rt_sigaction, SIGHUP, 0, (intptr_t)&disposition, _NSIG / 8);
    return disposition.handler == SIG_IGN;
}

/* Sets and gets the limit on descriptors. libc knows how long a limit is for the kernel. */
static long child_limits(const struct spawn_child *child, const struct rlimit *set,
                         struct rlimit *get)
{
    if (child->shares_memory)
        return child_call(child, SYS_prlimit64, 0, RLIMIT_NOFILE, (intptr_t)set, (intptr_t)get);
    return prlimit(0, RLIMIT_NOFILE, set, get);
}

/* Every descriptor from 3 up is closed by exec, whoever opened it. */
static void close_on_exec_from(const struct spawn_child *child, int first)
{
    struct rlimit limit;
    if (child_call(child, SYS_close_range, first, (long)~0U, CLOSE_RANGE_CLOEXEC, 0) == 0)
        return;
    int end = 65536;
    if (child_limits(child, NULL, &limit) == 0 && limit.rlim_cur < 65536)
        end = (int)limit.rlim_cur;
    for (int fd = first; fd < end; fd++)
        child_call(child, SYS_fcntl, fd, F_SETFD, FD_CLOEXEC, 0);
}

/* A signal of the terminal to the caller's process group that came before this process left the
 * group is still pending. A stop signal would stop this process before exec, for which the caller
 * waits. SIGQUIT would dump core: a kernel before 5.16 then kills all that share the memory, the
 * caller too. SIG_IGN discards the signal; the caller has had it. */
static void reset_signals(const struct spawn_child *child, bool ignore_hup)
{
    static const unsigned long none[16];
    set_disposition(child, SIGTSTP, SIG_IGN);
    set_disposition(child, SIGTTIN, SIG_IGN);
    set_disposition(child, SIGTTOU, SIG_IGN);
    set_disposition(child, SIGQUIT, SIG_IGN);
    for (int signum = 1; signum < _NSIG; signum++)
        set_disposition(child, signum, signum == SIGHUP && ignore_hup ? SIG_IGN : SIG_DFL);
    child_call(child, SYS_rt_sigprocmask, SIG_SETMASK, (intptr_t)none, 0, _NSIG / 8);
}

/* The descriptors may be any numbers, also 0, 1 and 2 crosswise, so this moves them out of the way
 * first. Returns 0 or an errno. */
static int place_stdio(const struct spawn_child *child)
{
    long high[3], rc;
    for (int i = 0; i < 3; i++)
        if ((high[i] =
                 child_call(child, SYS_fcntl, child->request.stdio[i], F_DUPFD_CLOEXEC, 3, 0)) < 0)
            return (int)-high[i];
    for (int i = 0; i < 3; i++)
        if ((rc = child_call(child, SYS_dup3, high[i], i, 0, 0)) < 0)
            return (int)-rc;
    return 0;
}

static bool is_elf(const struct spawn_child *child)
{
    char magic[4] = "";
    long fd = child_call(child, SYS_openat, AT_FDCWD, (intptr_t)child->request.path,
                         O_RDONLY | O_CLOEXEC, 0);
    long n = fd >= 0 ? child_call(child, SYS_read, fd, (intptr_t)magic, sizeof magic, 0) : 0;
    if (fd >= 0)
        child_call(child, SYS_close, fd, 0, 0, 0);
    return n == sizeof magic && magic[0] == '\177' && magic[1] == 'E' && magic[2] == 'L' &&
           magic[3] == 'F';
}

/* A file that the kernel does not understand is a script for /bin/sh, unless it is a program for
 * another machine. Returns an errno. */
static int exec_program(const struct spawn_child *child)
{
    const struct spawn_request *request = &child->request;
    long rc = child_call(child, SYS_execve, (intptr_t)request->path, (intptr_t)request->argv,
                         (intptr_t)request->envp, 0);
    if (rc == -ENOEXEC && !is_elf(child))
        child_call(child, SYS_execve, (intptr_t) "/bin/sh", (intptr_t)child->shell_argv,
                   (intptr_t)request->envp, 0);
    return (int)-rc;
}

static long bind_child(const struct spawn_child *child)
{
    const struct cpu_mask *cpus = child->request.cpus;
    long rc = child_call(child, SYS_sched_setaffinity, 0,
                         (long)(cpus->nwords * sizeof *cpus->words), (intptr_t)cpus->words, 0);
    return rc < 0 ? rc : 0;
}

/* Applies the attributes of a rank, except its binding, which the caller has turned into `cpus`.
 * Returns whether SIGHUP is ignored. */
static bool apply_attributes(const struct spawn_child *child)
{
    const struct rank_attributes *attributes = child->request.attributes;
    if (!attributes)
        return hup_is_ignored(child);
    child_call(child, SYS_umask, (long)attributes->umask, 0, 0, 0);
    if (attributes->stack_traces) /* Yama lets a debugger of the agent's in; no Yama: EINVAL */
        child_call(child, SYS_prctl, PR_SET_PTRACER, child->parent, 0, 0);
    return attributes->ignore_hup;
}

static _Noreturn void exit_child(const struct spawn_child *child, int status)
{
    for (;;)
        child_call(child, SYS_exit_group, status, 0, 0, 0);
}

/* Returns the failure: an errno, or minus the errno of binding. */
static int become_program(const struct spawn_child *child)
{
    const struct spawn_request *request = &child->request;
    long rc;
    if (request->new_session)
        child_call(child, SYS_setsid, 0, 0, 0, 0);
    else
        child_call(child, SYS_setpgid, 0, 0, 0, 0);
    if (request->death_signal) {
        child_call(child, SYS_prctl, PR_SET_PDEATHSIG, request->death_signal, 0, 0);
        if (child_call(child, SYS_getppid, 0, 0, 0, 0) != child->parent)
            exit_child(child, 128 + request->death_signal);
    }
    if (request->cpus && (rc = bind_child(child)) < 0)
        return (int)rc;
    if ((rc = place_stdio(child)) != 0)
        return (int)rc;
    if (request->nofile) /* after the last descriptor above the limit was needed */
        child_limits(child, request->nofile, NULL);
    close_on_exec_from(child, 3);
    reset_signals(child, apply_attributes(child));
    return exec_program(child);
}

void spawn_child_run(struct spawn_child *child)
{
    int code = become_program(child);
    child_call(child, SYS_write, child->report, (intptr_t)&code, sizeof code, 0);
    exit_child(child, 127);
}
