/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libshim that make processes, threads and memory, and the rest. Memory comes from
 * libc's own names for it, because dlsym() may ask for some. */
#include <config.h>

#include "tests/shim/shim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

EXPORT void *malloc(size_t size)
{
    return shim_refuses(SHIM_CALL_MALLOC) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return shim_refuses(SHIM_CALL_CALLOC) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
    return shim_refuses(SHIM_CALL_REALLOC) ? NULL : __libc_realloc(old, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return shim_refuses(SHIM_CALL_MALLOC) ? NULL : __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *made = aligned_alloc(alignment, size);
    if (made)
        *memory = made;
    return made ? 0 : ENOMEM;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return shim_refuses(SHIM_CALL_MMAP) ? MAP_FAILED
                                        : NEXT(mmap)(address, size, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

EXPORT pid_t fork(void)
{
    pid_t pid = shim_refuses(SHIM_CALL_FORK) ? -1 : NEXT(fork)();
    if (pid == 0)
        shim_forked();
    return pid;
}

#ifdef HAVE__FORK
EXPORT pid_t _Fork(void)
{
    pid_t pid = shim_refuses(SHIM_CALL_FORK) ? -1 : NEXT(_Fork)();
    if (pid == 0)
        shim_forked();
    return pid;
}
#endif

/* A child of vfork() would return into our frame: it is a fork(), as it may be. */
EXPORT pid_t vfork(void)
{
    return fork();
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    return shim_refuses(SHIM_CALL_FORK)
               ? errno
               : NEXT(posix_spawn)(pid, path, actions, attributes, argv, envp);
}

/* Of bare system calls clone3, which is a fork, and those between fork and exec
 * (launcher/process/spawn_child.c). */
static bool bare_call_fails(long number, long command)
{
    switch (number) {
    case SYS_clone3:
        return shim_refuses(SHIM_CALL_FORK);
    case SYS_execve:
        return shim_is_child() && shim_refuses(SHIM_CALL_EXECVE);
    case SYS_dup3:
        return shim_is_child() && shim_refuses(SHIM_CALL_DUP);
    case SYS_fcntl:
        return shim_is_child() && command == F_DUPFD_CLOEXEC && shim_refuses(SHIM_CALL_DUPFD);
    default:
        return false;
    }
}

EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    bool forks = number == SYS_clone3;
    if (bare_call_fails(number, a[1]))
        return -1;
    long result = NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (forks && result == 0)
        shim_forked();
    return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return shim_refuses(SHIM_CALL_EXECVE) ? -1 : NEXT(execve)(path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int flags)
{
    bool waits = !(flags & WNOHANG);
    return waits && shim_refuses(SHIM_CALL_WAITPID) ? -1 : NEXT(waitpid)(pid, status, flags);
}

EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *info, int flags)
{
    bool waits = !(flags & WNOHANG);
    return waits && shim_refuses(SHIM_CALL_WAITPID) ? -1 : NEXT(waitid)(kind, id, info, flags);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument)
{
    return shim_refuses(SHIM_CALL_THREAD)
               ? errno
               : NEXT(pthread_create)(thread, attributes, body, argument);
}

EXPORT ssize_t getrandom(void *data, size_t size, unsigned flags)
{
    return shim_refuses(SHIM_CALL_GETRANDOM) ? -1 : NEXT(getrandom)(data, size, flags);
}

EXPORT int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **result)
{
    if (shim_refuses(SHIM_CALL_GETADDRINFO))
        return errno == ENOMEM ? EAI_MEMORY : EAI_AGAIN;
    shim_libc_enters();
    int rc = NEXT(getaddrinfo)(node, service, hints, result);
    shim_libc_returns();
    return rc;
}

EXPORT struct passwd *getpwuid(uid_t uid)
{
    shim_libc_enters();
    struct passwd *found = NEXT(getpwuid)(uid);
    shim_libc_returns();
    return found;
}

EXPORT int getpwuid_r(uid_t uid, struct passwd *entry, char *memory, size_t size,
                      struct passwd **found)
{
    shim_libc_enters();
    int rc = NEXT(getpwuid_r)(uid, entry, memory, size, found);
    shim_libc_returns();
    return rc;
}

EXPORT int getpwnam_r(const char *name, struct passwd *entry, char *memory, size_t size,
                      struct passwd **found)
{
    shim_libc_enters();
    int rc = NEXT(getpwnam_r)(name, entry, memory, size, found);
    shim_libc_returns();
    return rc;
}

EXPORT int getifaddrs(struct ifaddrs **list)
{
    return shim_refuses(SHIM_CALL_GETIFADDRS) ? -1 : NEXT(getifaddrs)(list);
}

EXPORT int chdir(const char *path)
{
    return shim_refuses(SHIM_CALL_CHDIR) ? -1 : NEXT(chdir)(path);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!shim_refuses(SHIM_CALL_SLEEP))
        return NEXT(nanosleep)(time, left);
    if (left)
        *left = *time;
    return -1;
}
