/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and a list of system calls; see ssh_confine.h. The list is for libuv's loop on descriptors
 * that are open already, for memory, time and random numbers. */
#include "launcher/ssh/ssh_confine.h"

#include "launcher/base/syscall_filter.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Allowed with any arguments. */
static const char *const confined_calls[] = {
    /* descriptors that are open */
    "close", "getsockopt", "read", "readv", "recv", "recvfrom", "send", "shutdown", "write",
    "writev",
    /* the loop */
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "pipe2",
    "poll", "ppoll",
    /* time */
    "clock_getres", "clock_gettime", "clock_gettime64", "clock_nanosleep", "gettimeofday",
    "nanosleep", "restart_syscall", "time",
    /* memory */
    "brk", "madvise", "mremap", "munlock", "munmap",
    /* this process */
    "exit", "exit_group", "futex", "futex_time64", "getegid", "geteuid", "getgid", "getpid",
    "getrandom", "gettid", "getuid", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "sched_yield", "sigaltstack"
};

/* Not fcntl(F_SETOWN), by which the kernel would send a signal to another process.
 *
 * Not sendto() with an address, nor sendmsg(), whose address a filter cannot see: with MSG_FASTOPEN
 * they connect a TCP socket that its host has reset to any other address.
 *
 * TCP_QUICKACK is the only option of a socket that ssh_session.c sets. At the other levels that
 * these sockets have, its number means a priority (SOL_SOCKET) or the TTL of datagrams
 * (IPPROTO_IP). */
static const struct syscall_argument confined_arguments[] = {
    { "fcntl", 1, UINT32_MAX, F_GETFD },   { "fcntl", 1, UINT32_MAX, F_SETFD },
    { "fcntl", 1, UINT32_MAX, F_GETFL },   { "fcntl", 1, UINT32_MAX, F_SETFL },
    { "fcntl64", 1, UINT32_MAX, F_GETFD }, { "fcntl64", 1, UINT32_MAX, F_SETFD },
    { "fcntl64", 1, UINT32_MAX, F_GETFL }, { "fcntl64", 1, UINT32_MAX, F_SETFL },
    { "ioctl", 1, UINT32_MAX, FIONBIO },   { "setsockopt", 2, UINT32_MAX, TCP_QUICKACK },
    { "sendto", 4, UINT64_MAX, 0 },        { "mmap", 2, PROT_EXEC, 0 },
    { "mmap2", 2, PROT_EXEC, 0 },          { "mprotect", 2, PROT_EXEC, 0 },
};

/* abort() sends SIGABRT with tgkill(), in musl with tkill(). The kernel looks for the thread in the
 * process that tgkill() names. The number in tkill() is that of the first thread of this process,
 * which has no other. */
static const char *const confined_to_self[] = { "tgkill", "tkill" };

static void limit(enum __rlimit_resource what, rlim_t most)
{
    struct rlimit before, limits = { most, most };
    if (getrlimit(what, &before) == 0 && before.rlim_max < most)
        limits = (struct rlimit){ before.rlim_max, before.rlim_max };
    setrlimit(what, &limits);
}

bool ssh_confine(void)
{
    static const struct syscall_list list = {
        .allowed = confined_calls,
        .count = sizeof confined_calls / sizeof *confined_calls,
        .with_argument = confined_arguments,
        .with_argument_count = sizeof confined_arguments / sizeof *confined_arguments,
        .to_self = confined_to_self,
        .to_self_count = sizeof confined_to_self / sizeof *confined_to_self,
    };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_NOFILE, SSH_CONFINE_DESCRIPTORS);
    if (!syscall_filter_exists())
        return false;
    limit(RLIMIT_FSIZE, 0);                     /* a sanitizer may write its report to a file */
    limit(RLIMIT_DATA, SSH_CONFINE_DATA_BYTES); /* and reserves terabytes */
    return syscall_filter_apply(&list, NULL) == HVD_OK;
}
