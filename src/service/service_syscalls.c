/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of hvdrendezvousd; see service_syscalls.h. The list is for other C libraries and
 * kernels too: a stat is stat, newfstatat or statx. */
#include "src/service/service_syscalls.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Allowed with any arguments. */
static const char *const allowed[] = {
    /* connections */
    "accept", "accept4", "connect", "getpeername", "getsockname", "getsockopt", "recvfrom",
    "recvmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    /* descriptors */
    "close", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "stat", "stat64", "lstat",
    "lstat64", "lseek", "_llseek", "read", "readv", "pread64", "write", "writev", "unlink",
    "unlinkat",
    /* the loop */
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "pipe2",
    "poll", "ppoll",
    /* time */
    "clock_getres", "clock_gettime", "clock_gettime64", "clock_nanosleep", "gettimeofday",
    "nanosleep", "restart_syscall", "time",
    /* memory */
    "brk", "madvise", "mremap", "munlock", "munmap",
    /* this process and its threads */
    "exit", "exit_group", "futex", "futex_time64", "getegid", "geteuid", "getgid", "getpid",
    "getrandom", "getrlimit", "getrusage", "gettid", "getuid", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack", "sysinfo",
    "uname"
};

/* Allowed if an argument, under a mask, has a value. Not fcntl(F_SETOWN), by which the kernel would
 * send a signal to another process. */
static const struct syscall_argument with_argument[] = {
    { "socket", 0, UINT64_MAX, AF_UNIX }, /* systemd's */
    { "openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "open", 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "mmap", 2, PROT_EXEC, 0 },
    { "mmap2", 2, PROT_EXEC, 0 },
    { "mprotect", 2, PROT_EXEC, 0 },
    { "fcntl", 1, UINT32_MAX, F_GETFD },
    { "fcntl", 1, UINT32_MAX, F_SETFD },
    { "fcntl", 1, UINT32_MAX, F_GETFL },
    { "fcntl", 1, UINT32_MAX, F_SETFL },
    { "fcntl", 1, UINT32_MAX, F_DUPFD_CLOEXEC },
    { "fcntl64", 1, UINT32_MAX, F_GETFD },
    { "fcntl64", 1, UINT32_MAX, F_SETFD },
    { "fcntl64", 1, UINT32_MAX, F_GETFL },
    { "fcntl64", 1, UINT32_MAX, F_SETFL },
    { "fcntl64", 1, UINT32_MAX, F_DUPFD_CLOEXEC },
    { "ioctl", 1, UINT64_MAX, FIONBIO },
    { "prlimit64", 2, UINT64_MAX, 0 }, /* getrlimit() */
};

/* abort() sends SIGABRT with tgkill(), in musl with tkill(). */
static const char *const to_self[] = { "tgkill", "tkill" };

const struct syscall_list service_syscalls = {
    .allowed = allowed,
    .count = sizeof allowed / sizeof *allowed,
    .with_argument = with_argument,
    .with_argument_count = sizeof with_argument / sizeof *with_argument,
    .to_self = to_self,
    .to_self_count = sizeof to_self / sizeof *to_self,
};
