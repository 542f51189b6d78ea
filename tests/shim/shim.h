/* SPDX-License-Identifier: Apache-2.0 */
/* What libshim and the program that drives it share: who may fail (roles), which calls, with which
 * faults, and the board: a file that every process of a job maps, named by HVD_SHIM_BOARD. It says
 * which call is to fail and counts those that could have. */
#ifndef TESTS_SHIM_SHIM_H
#define TESTS_SHIM_SHIM_H

#include <stdatomic.h>
#include <stdint.h>

#define SHIM_BOARD_ENV "HVD_SHIM_BOARD"

/* Told by the program's name, its arguments (hvdagent --supervise is a supervisor), HOROVOD_RANK,
 * and by fork(): what a process does between fork and exec is a role of its own. */
#define SHIM_ROLES(X)                                                                              \
    X(LAUNCHER, "launcher")                                                                        \
    X(LAUNCHER_CHILD, "launcher-child")                                                            \
    X(SUPERVISOR, "supervisor")                                                                    \
    X(AGENT, "agent")                                                                              \
    X(AGENT_CHILD, "agent-child")                                                                  \
    X(RANK0, "rank0")                                                                              \
    X(RANK1, "rank1")

#define SHIM_FAULTS(X)                                                                             \
    X(SHORT, 0) /* of what was asked for one byte is done */                                       \
    X(EINTR, EINTR)                                                                                \
    X(EAGAIN, EAGAIN)                                                                              \
    X(ENOMEM, ENOMEM)                                                                              \
    X(EMFILE, EMFILE)                                                                              \
    X(ENFILE, ENFILE)                                                                              \
    X(ENOSPC, ENOSPC)                                                                              \
    X(EPIPE, EPIPE)                                                                                \
    X(ECONNRESET, ECONNRESET)                                                                      \
    X(ECONNREFUSED, ECONNREFUSED)                                                                  \
    X(ECONNABORTED, ECONNABORTED)                                                                  \
    X(EADDRINUSE, EADDRINUSE)                                                                      \
    X(EACCES, EACCES)                                                                              \
    X(EPERM, EPERM)                                                                                \
    X(ENOSYS, ENOSYS)

/* Calls, and how they may fail: `F(x)` is a set of faults. What depends on the descriptor is in
 * shim.c, may_happen(): EAGAIN wants O_NONBLOCK where the call could wait, ENOSPC a file, and so
 * on.
 */
#define F(fault) (1U << SHIM_##fault)
#define SHIM_INPUT (F(SHORT) | F(EINTR) | F(EAGAIN) | F(ECONNRESET))
#define SHIM_OUTPUT (F(SHORT) | F(EINTR) | F(EAGAIN) | F(EPIPE) | F(ECONNRESET) | F(ENOSPC))
#define SHIM_OPENS (F(ENOMEM) | F(EMFILE) | F(ENFILE))
#define SHIM_CALLS(X)                                                                              \
    X(READ, "read", SHIM_INPUT)                                                                    \
    X(READV, "readv", SHIM_INPUT)                                                                  \
    X(PREAD, "pread", F(SHORT) | F(EINTR))                                                         \
    X(RECV, "recv", SHIM_INPUT)                                                                    \
    X(RECVMSG, "recvmsg", SHIM_INPUT | F(ENOMEM))                                                  \
    X(WRITE, "write", SHIM_OUTPUT)                                                                 \
    X(WRITEV, "writev", SHIM_OUTPUT)                                                               \
    X(PWRITE, "pwrite", F(SHORT) | F(EINTR) | F(ENOSPC))                                           \
    X(SEND, "send", SHIM_OUTPUT | F(ENOMEM))                                                       \
    X(SENDMSG, "sendmsg", SHIM_OUTPUT | F(ENOMEM))                                                 \
    X(SENDFILE, "sendfile", F(SHORT) | F(EINTR) | F(EAGAIN) | F(EPIPE) | F(ENOMEM))                \
    X(EVENTFD_READ, "eventfd_read", F(EINTR) | F(EAGAIN))                                          \
    X(EVENTFD_WRITE, "eventfd_write", F(EINTR))                                                    \
    X(OPEN, "open", SHIM_OPENS | F(EINTR) | F(ENOSPC) | F(EACCES))                                 \
    X(OPENDIR, "opendir", SHIM_OPENS | F(EACCES))                                                  \
    X(FOPEN, "fopen", SHIM_OPENS | F(EACCES))                                                      \
    X(SOCKET, "socket", SHIM_OPENS | F(EACCES))                                                    \
    X(SOCKETPAIR, "socketpair", SHIM_OPENS)                                                        \
    X(PIPE, "pipe", SHIM_OPENS)                                                                    \
    X(ACCEPT, "accept", SHIM_OPENS | F(EINTR) | F(EAGAIN) | F(ECONNABORTED) | F(EPERM))            \
    X(CONNECT, "connect", F(EINTR) | F(EAGAIN) | F(ECONNREFUSED) | F(EACCES))                      \
    X(BIND, "bind", F(EADDRINUSE) | F(EACCES) | F(ENOMEM))                                         \
    X(LISTEN, "listen", F(EADDRINUSE))                                                             \
    X(SETSOCKOPT, "setsockopt", F(ENOMEM) | F(EPERM))                                              \
    X(GETSOCKNAME, "getsockname", F(ENOMEM))                                                       \
    X(DUP, "dup", F(EMFILE) | F(EINTR))                                                            \
    X(DUPFD, "fcntl", F(EMFILE))                                                                   \
    X(EPOLL_CREATE, "epoll_create", SHIM_OPENS)                                                    \
    X(EPOLL_CTL, "epoll_ctl", F(ENOMEM) | F(ENOSPC))                                               \
    X(EPOLL_WAIT, "epoll_wait", F(EINTR))                                                          \
    X(POLL, "poll", F(EINTR) | F(ENOMEM))                                                          \
    X(EVENTFD, "eventfd", SHIM_OPENS)                                                              \
    X(TIMERFD, "timerfd_create", SHIM_OPENS)                                                       \
    X(SIGNALFD, "signalfd", SHIM_OPENS)                                                            \
    X(MEMFD, "memfd_create", SHIM_OPENS | F(EPERM) | F(ENOSYS))                                    \
    X(FTRUNCATE, "ftruncate", F(EINTR) | F(ENOSPC) | F(ENOMEM))                                    \
    X(FALLOCATE, "fallocate", F(EINTR) | F(ENOSPC) | F(ENOMEM))                                    \
    X(MMAP, "mmap", F(ENOMEM))                                                                     \
    X(FORK, "fork", F(EAGAIN) | F(ENOMEM))                                                         \
    X(EXECVE, "execve", F(ENOMEM) | F(EMFILE) | F(EAGAIN) | F(EACCES))                             \
    X(WAITPID, "waitpid", F(EINTR))                                                                \
    X(THREAD, "pthread_create", F(EAGAIN))                                                         \
    X(MALLOC, "malloc", F(ENOMEM))                                                                 \
    X(CALLOC, "calloc", F(ENOMEM))                                                                 \
    X(REALLOC, "realloc", F(ENOMEM))                                                               \
    X(GETRANDOM, "getrandom", F(EINTR) | F(ENOSYS))                                                \
    X(VM_READV, "process_vm_readv", F(SHORT) | F(EPERM) | F(ENOSYS) | F(ENOMEM))                   \
    X(FSTAT, "fstat", F(ENOMEM))                                                                   \
    X(GETADDRINFO, "getaddrinfo", F(EAGAIN) | F(ENOMEM))                                           \
    X(GETIFADDRS, "getifaddrs", F(ENOMEM) | F(EMFILE))                                             \
    X(CHDIR, "chdir", F(ENOMEM) | F(EACCES))                                                       \
    X(SLEEP, "nanosleep", F(EINTR))

#define SHIM_NAME_1(name, ...) SHIM_ROLE_##name,
enum shim_role { SHIM_ROLES(SHIM_NAME_1) SHIM_NROLES };
#undef SHIM_NAME_1
#define SHIM_NAME_1(name, ...) SHIM_##name,
enum shim_fault { SHIM_FAULTS(SHIM_NAME_1) SHIM_NFAULTS };
#undef SHIM_NAME_1
#define SHIM_NAME_1(name, ...) SHIM_CALL_##name,
enum shim_call { SHIM_CALLS(SHIM_NAME_1) SHIM_NCALLS };
#undef SHIM_NAME_1

/* One call of one role that fails: the k-th that could, or, k 0, all of them (all but every other
 * one where the call would be repeated for ever). A role of -1 only counts. */
struct shim_point {
    int32_t role, call, fault;
    uint32_t k;
};

struct shim_board {
    struct shim_point point; /* constant while a job runs */
    _Atomic uint32_t done;   /* how often it came to pass */
    _Atomic int32_t fd;      /* on this descriptor; -1 for none */
    _Atomic uint32_t counts[SHIM_NROLES][SHIM_NCALLS][SHIM_NFAULTS];
};

#endif
