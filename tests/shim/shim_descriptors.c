/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libshim that make descriptors, and those that wait for them. What libc has under two
 * names (open64) has them here. */
#include "tests/shim/shim_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

/* One that exists takes no space. */
static bool open_fails(int flags)
{
    size_t size = flags & O_CREAT ? 1 : 0;
    return shim_fails(SHIM_CALL_OPEN, -1, &size, false);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_fails(flags) ? -1 : NEXT(open)(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));

EXPORT int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_fails(flags) ? -1 : NEXT(openat)(folder, path, flags, mode);
}

EXPORT int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

/* What _FORTIFY_SOURCE makes of open(). */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open_2(const char *path, int flags)
{
    return open_fails(flags) ? -1 : NEXT(open)(path, flags);
}

EXPORT int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));

EXPORT DIR *opendir(const char *path)
{
    return shim_refuses(SHIM_CALL_OPENDIR) ? NULL : NEXT(opendir)(path);
}

EXPORT DIR *fdopendir(int fd)
{
    return shim_refuses(SHIM_CALL_OPENDIR) ? NULL : NEXT(fdopendir)(fd);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return shim_refuses(SHIM_CALL_FOPEN) ? NULL : NEXT(fopen)(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

EXPORT int socket(int domain, int type, int protocol)
{
    return shim_refuses(SHIM_CALL_SOCKET) ? -1 : NEXT(socket)(domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int pair[2])
{
    return shim_refuses(SHIM_CALL_SOCKETPAIR) ? -1 : NEXT(socketpair)(domain, type, protocol, pair);
}

EXPORT int pipe2(int pair[2], int flags)
{
    if (shim_refuses(SHIM_CALL_PIPE) || NEXT(pipe2)(pair, flags) < 0)
        return -1;
    shim_pipe_made(pair);
    return 0;
}

EXPORT int pipe(int pair[2])
{
    return pipe2(pair, 0);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return shim_fails(SHIM_CALL_ACCEPT, fd, NULL, false)
               ? -1
               : NEXT(accept4)(fd, address, length, flags);
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    return shim_fails(SHIM_CALL_ACCEPT, fd, NULL, false) ? -1 : NEXT(accept)(fd, address, length);
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return shim_fails(SHIM_CALL_CONNECT, fd, NULL, false) ? -1 : NEXT(connect)(fd, address, length);
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return shim_refuses(SHIM_CALL_BIND) ? -1 : NEXT(bind)(fd, address, length);
}

EXPORT int listen(int fd, int backlog)
{
    return shim_refuses(SHIM_CALL_LISTEN) ? -1 : NEXT(listen)(fd, backlog);
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    return shim_refuses(SHIM_CALL_SETSOCKOPT) ? -1
                                              : NEXT(setsockopt)(fd, level, name, value, length);
}

EXPORT int getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    return shim_refuses(SHIM_CALL_GETSOCKNAME) ? -1 : NEXT(getsockname)(fd, address, length);
}

EXPORT int dup(int fd)
{
    return shim_refuses(SHIM_CALL_DUP) ? -1 : NEXT(dup)(fd);
}

EXPORT int dup2(int from, int to)
{
    return shim_refuses(SHIM_CALL_DUP) ? -1 : NEXT(dup2)(from, to);
}

EXPORT int dup3(int from, int to, int flags)
{
    return shim_refuses(SHIM_CALL_DUP) ? -1 : NEXT(dup3)(from, to, flags);
}

/* Only what makes a descriptor can fail. */
EXPORT int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    bool makes = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return makes && shim_refuses(SHIM_CALL_DUPFD) ? -1 : NEXT(fcntl)(fd, command, argument);
}

EXPORT int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

EXPORT int epoll_create1(int flags)
{
    return shim_refuses(SHIM_CALL_EPOLL_CREATE) ? -1 : NEXT(epoll_create1)(flags);
}

/* What is given up needs no memory. */
EXPORT int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    bool adds = what == EPOLL_CTL_ADD;
    return adds && shim_refuses(SHIM_CALL_EPOLL_CTL) ? -1 : NEXT(epoll_ctl)(set, what, fd, event);
}

EXPORT int epoll_wait(int set, struct epoll_event *events, int count, int timeout_ms)
{
    return shim_refuses(SHIM_CALL_EPOLL_WAIT) ? -1
                                              : NEXT(epoll_wait)(set, events, count, timeout_ms);
}

EXPORT int epoll_pwait(int set, struct epoll_event *events, int count, int timeout_ms,
                       const sigset_t *signals)
{
    return shim_refuses(SHIM_CALL_EPOLL_WAIT)
               ? -1
               : NEXT(epoll_pwait)(set, events, count, timeout_ms, signals);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    return shim_refuses(SHIM_CALL_POLL) ? -1 : NEXT(poll)(fds, count, timeout_ms);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *signals)
{
    return shim_refuses(SHIM_CALL_POLL) ? -1 : NEXT(ppoll)(fds, count, timeout, signals);
}

EXPORT int eventfd(unsigned value, int flags)
{
    return shim_refuses(SHIM_CALL_EVENTFD) ? -1 : NEXT(eventfd)(value, flags);
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
    return shim_refuses(SHIM_CALL_TIMERFD) ? -1 : NEXT(timerfd_create)(clock, flags);
}

EXPORT int signalfd(int fd, const sigset_t *signals, int flags)
{
    return shim_refuses(SHIM_CALL_SIGNALFD) ? -1 : NEXT(signalfd)(fd, signals, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    return shim_refuses(SHIM_CALL_MEMFD) ? -1 : NEXT(memfd_create)(name, flags);
}

EXPORT int ftruncate(int fd, off_t length)
{
    return shim_fails(SHIM_CALL_FTRUNCATE, fd, NULL, false) ? -1 : NEXT(ftruncate)(fd, length);
}

EXPORT int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));

EXPORT int fallocate(int fd, int mode, off_t offset, off_t length)
{
    return shim_fails(SHIM_CALL_FALLOCATE, fd, NULL, false)
               ? -1
               : NEXT(fallocate)(fd, mode, offset, length);
}

EXPORT int fallocate64(int fd, int mode, off_t offset, off_t length)
    __attribute__((alias("fallocate")));

EXPORT int fstat(int fd, struct stat *status)
{
    return shim_refuses(SHIM_CALL_FSTAT) ? -1 : NEXT(fstat)(fd, status);
}

EXPORT int fstat64(int fd, struct stat64 *status)
{
    return shim_refuses(SHIM_CALL_FSTAT) ? -1 : NEXT(fstat64)(fd, status);
}
