/* SPDX-License-Identifier: Apache-2.0 */
/* An allow list for libseccomp; see syscall_filter.h. Names that this machine's kernel does not have
 * are skipped. Fails when the kernel has no seccomp or refuses the filter. The list is for other C
 * libraries and kernels too: a stat is stat, newfstatat or statx. */
#include <config.h>

#include "src/service/syscall_filter.h"

#if defined HAVE_SECCOMP && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define HAVE_FILTER 1
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#endif

#ifdef HAVE_FILTER

/* Allowed with any arguments. */
static const char *const allowed[] = {
    /* connections */
    "accept", "accept4", "connect", "getpeername", "getsockname", "getsockopt", "recvfrom",
    "recvmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    /* descriptors */
    "close", "fcntl", "fcntl64", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "stat",
    "stat64", "lstat", "lstat64", "lseek", "_llseek", "read", "readv", "pread64", "write", "writev",
    "unlink", "unlinkat",
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
    "tgkill", "uname"
};

/* Allowed if an argument, under a mask, has a value. */
static const struct {
    const char *name;
    unsigned argument;
    scmp_datum_t mask, value;
} with_argument[] = {
    { "socket", 0, (scmp_datum_t)-1, AF_UNIX }, /* systemd's */
    { "openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "open", 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "mmap", 2, PROT_EXEC, 0 },
    { "mmap2", 2, PROT_EXEC, 0 },
    { "mprotect", 2, PROT_EXEC, 0 },
    { "ioctl", 1, (scmp_datum_t)-1, FIONBIO },
    { "prlimit64", 2, (scmp_datum_t)-1, 0 }, /* getrlimit() */
};

/* 0, or a negative errno. */
static int add_rules(scmp_filter_ctx filter)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed && rc == 0; i++) {
        int number = seccomp_syscall_resolve_name(allowed[i]);
        if (number >= 0)
            rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    }
    for (size_t i = 0; i < sizeof with_argument / sizeof *with_argument && rc == 0; i++) {
        int number = seccomp_syscall_resolve_name(with_argument[i].name);
        const struct scmp_arg_cmp compare = { with_argument[i].argument, SCMP_CMP_MASKED_EQ,
                                              with_argument[i].mask, with_argument[i].value };
        if (number >= 0)
            rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &compare);
    }
    return rc;
}

static int refuse_io_uring(scmp_filter_ctx filter)
{
    int number = seccomp_syscall_resolve_name("io_uring_setup");
    return number >= 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) : 0;
}

static int load_filter(uint32_t otherwise, int (*add)(scmp_filter_ctx filter), struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(otherwise);
    if (!filter)
        return fail(err, HVD_ERR_SYSTEM, "seccomp: no filter can be made");
    int rc = add(filter);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? HVD_OK : fail_errno(err, HVD_ERR_SYSTEM, -rc, "seccomp");
}

bool syscall_filter_exists(void)
{
    return true;
}

int syscall_filter_prepare(struct err *err)
{
    return load_filter(SCMP_ACT_ALLOW, refuse_io_uring, err);
}

int syscall_filter_apply(struct err *err)
{
    return load_filter(SCMP_ACT_ERRNO(EPERM), add_rules, err);
}

#else

bool syscall_filter_exists(void)
{
    return false;
}

int syscall_filter_prepare(struct err *err)
{
    return syscall_filter_apply(err);
}

int syscall_filter_apply(struct err *err)
{
    return fail(err, HVD_ERR_SYSTEM, "seccomp: built without it");
}

#endif
