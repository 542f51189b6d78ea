/* SPDX-License-Identifier: Apache-2.0 */
/* libshim, a library to be preloaded (LD_PRELOAD) into every process of a job: the k-th call of one
 * kind in one role fails with one fault, as the board says (shim.h); tests/shim/enumerate tries
 * every k. Without a board it does nothing.
 *
 * With HVD_SHIM_STOP in the environment the process stops there, so that a debugger can look. A
 * fault is put in only where the kernel could have: see may_happen(). The call that fails is not
 * made. Not seen are calls that libc makes for itself (stdio, users and addresses that it looks up,
 * what malloc asks the kernel for), a program that is linked statically (the hvdagent that is sent
 * to hosts: the tests link one with shared libraries), and, of bare system calls, all but clone3
 * and those of launcher/process/spawn_child.c that make a descriptor or a program: the failure of
 * the others changes nothing. kill() is left alone: a process that cannot be killed lives on by
 * right. */
#include "tests/shim/shim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct shim_board *board;
static bool stops;
static int role = -1;
static long (*system_call)(long number, ...);
static _Thread_local int in_libc __attribute__((tls_model("initial-exec")));

#define FAULT_ERRNO(name, number) [SHIM_##name] = number,
static const int errnos[SHIM_NFAULTS] = { SHIM_FAULTS(FAULT_ERRNO) };

#define CALL_FAULTS(name, text, faults) [SHIM_CALL_##name] = faults,
static const unsigned possible[SHIM_NCALLS] = { SHIM_CALLS(CALL_FAULTS) };

/* Anything else is a worker, if it has a rank. */
static int find_role(void)
{
    const char *name = program_invocation_short_name, *rank = getenv("HOROVOD_RANK");
    char arguments[256] = "";
    if (strncmp(name, "hvdrun", 6) == 0)
        return SHIM_ROLE_LAUNCHER;
    if (strcmp(name, "hvdagent") != 0)
        return rank && rank[0] >= '0' && rank[0] <= '1' && !rank[1]
                   ? SHIM_ROLE_RANK0 + rank[0] - '0'
                   : -1;
    long fd = system_call(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long length = fd >= 0 ? system_call(SYS_read, fd, arguments, sizeof arguments - 1) : 0;
    if (fd >= 0)
        system_call(SYS_close, fd);
    return length > 0 && memmem(arguments, (size_t)length, "\0--supervise", sizeof "\0--supervise")
               ? SHIM_ROLE_SUPERVISOR
               : SHIM_ROLE_AGENT;
}

void shim_forked(void)
{
    static const int children[SHIM_NROLES] = {
        [SHIM_ROLE_LAUNCHER] = SHIM_ROLE_LAUNCHER_CHILD,
        [SHIM_ROLE_LAUNCHER_CHILD] = SHIM_ROLE_LAUNCHER_CHILD,
        [SHIM_ROLE_SUPERVISOR] = SHIM_ROLE_AGENT,
        [SHIM_ROLE_AGENT] = SHIM_ROLE_AGENT_CHILD,
        [SHIM_ROLE_AGENT_CHILD] = SHIM_ROLE_AGENT_CHILD,
        [SHIM_ROLE_RANK0] = -1,
        [SHIM_ROLE_RANK1] = -1,
    };
    if (role >= 0)
        role = children[role];
}

bool shim_is_child(void)
{
    return role == SHIM_ROLE_LAUNCHER_CHILD || role == SHIM_ROLE_AGENT_CHILD;
}

__attribute__((constructor)) static void read_board(void)
{
    const char *path = getenv(SHIM_BOARD_ENV);
    system_call = (__typeof__(system_call))dlsym(RTLD_NEXT, "syscall");
    if (!path)
        return;
    long fd = system_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *mapped = (void *)system_call(SYS_mmap, NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                       MAP_SHARED, fd, 0L);
    system_call(SYS_close, fd);
    if (mapped == MAP_FAILED)
        return;
    role = find_role();
    stops = getenv("HVD_SHIM_STOP") != NULL;
    board = mapped;
}

/* The other ends, plus one, of the pipes that this process has made. */
enum { PIPES_MAX = 1024 };
static int other_ends[PIPES_MAX];

void shim_pipe_made(const int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] < PIPES_MAX)
            other_ends[pair[i]] = pair[1 - i] + 1;
}

static bool status_of(int fd, struct stat *status)
{
    return system_call(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH) == 0;
}

/* A pipe to this process itself, with which libuv wakes its loop: it is never full or broken, and
 * what is written at once is read at once. */
static bool is_own_pipe(int fd)
{
    struct stat one, other;
    return fd < PIPES_MAX && other_ends[fd] > 0 && status_of(fd, &one) &&
           status_of(other_ends[fd] - 1, &other) && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

static unsigned file_type(int fd)
{
    struct stat status;
    return status_of(fd, &status) ? status.st_mode & S_IFMT : 0;
}

static bool never_waits(int fd)
{
    return system_call(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK;
}

/* Can what is written to it meet a reader that is slow, or gone? */
static bool has_reader(int fd)
{
    unsigned type = file_type(fd);
    return type == S_IFSOCK || (type == S_IFIFO && !is_own_pipe(fd));
}

static bool is_stream_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return system_call(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_STREAM;
}

static bool writes(enum shim_call call)
{
    return possible[call] & F(EPIPE);
}

/* Less than was asked for: not by eventfd and its like, nor of a message, nor by a pipe that was
 * given what it takes as a whole. */
static bool may_be_short(enum shim_call call, int fd, size_t size)
{
    if (size <= 1)
        return false;
    switch (file_type(fd)) {
    case S_IFSOCK:
        return is_stream_socket(fd);
    case S_IFIFO:
        return !is_own_pipe(fd) && (!writes(call) || size > PIPE_BUF);
    case S_IFREG:
        return true;
    default:
        return call == SHIM_CALL_VM_READV;
    }
}

/* May this call on this descriptor meet this fault? Only of those that `possible` lists. */
static bool may_happen(enum shim_call call, enum shim_fault fault, int fd, size_t size,
                       bool nonblocking)
{
    if (fault == SHIM_SHORT)
        return may_be_short(call, fd, size);
    if (call == SHIM_CALL_OPEN && fault == SHIM_ENOSPC)
        return size > 0;
    if (fd < 0)
        return true;
    switch (fault) {
    case SHIM_EAGAIN:
        return (nonblocking || never_waits(fd)) && (!writes(call) || has_reader(fd));
    case SHIM_EINTR: /* of a call that waits */
        return call == SHIM_CALL_FTRUNCATE || call == SHIM_CALL_FALLOCATE ||
               !(nonblocking || never_waits(fd));
    case SHIM_ECONNRESET:
        return file_type(fd) == S_IFSOCK;
    case SHIM_EPIPE:
        return has_reader(fd);
    case SHIM_ENOSPC:
        return file_type(fd) == S_IFREG || call == SHIM_CALL_EPOLL_CTL;
    default:
        return true;
    }
}

/* Half of the numbers, without a rhythm that two callers in turn could fall into. */
static bool is_odd(uint32_t number)
{
    return number * UINT32_C(2654435761) >> 31;
}

/* It is counted; true if it is to happen now. */
static bool comes_to_pass(enum shim_call call, enum shim_fault fault, int fd)
{
    const struct shim_point *point = &board->point;
    uint32_t number = atomic_fetch_add(&board->counts[role][call][fault], 1) + 1;
    if (point->role != role || point->call != (int)call || point->fault != (int)fault)
        return false;
    bool again = fault == SHIM_EINTR || (fault == SHIM_EAGAIN && possible[call] & F(EINTR));
    bool now = point->k == 0 ? !again || is_odd(number) : number == point->k;
    if (now) {
        atomic_store(&board->fd, fd);
        atomic_fetch_add(&board->done, 1);
        if (stops)
            raise(SIGSTOP);
    }
    return now;
}

void shim_libc_enters(void)
{
    in_libc++;
}

void shim_libc_returns(void)
{
    in_libc--;
}

bool shim_fails(enum shim_call call, int fd, size_t *size, bool nonblocking)
{
    int saved = errno;
    bool fails = false;
    if (!board || in_libc || role < 0 || (board->point.role >= 0 && board->point.role != role))
        return false;
    for (int fault = 0; fault < SHIM_NFAULTS; fault++) {
        if (!(possible[call] & 1U << fault) ||
            !may_happen(call, (enum shim_fault)fault, fd, size ? *size : 0, nonblocking) ||
            !comes_to_pass(call, (enum shim_fault)fault, fd))
            continue;
        if (fault == SHIM_SHORT) {
            *size = 1;
            continue;
        }
        saved = errnos[fault];
        fails = true;
    }
    errno = saved;
    return fails;
}

bool shim_refuses(enum shim_call call)
{
    return shim_fails(call, -1, NULL, false);
}
