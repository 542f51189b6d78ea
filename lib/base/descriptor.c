/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of the library; see descriptor.h. A lock protects opening and closing, and fork()
 * takes the same lock, so that a child knows exactly which descriptors to close. */
#include "lib/base/descriptor.h"

#include "lib/base/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    int count, capacity;
    int *fds; /* never freed: room for the most open at once */
} ours = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void lock(void)
{
    pthread_mutex_lock(&ours.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&ours.lock);
}

static void close_copies(void)
{
    while (ours.count > 0)
        close(ours.fds[--ours.count]);
    unlock();
}

static void watch_forks(void)
{
    pthread_atfork(lock, unlock, close_copies);
}

static void descriptor_begin(struct standard_streams *held)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    lock();
    standard_streams_hold(held);
}

static void descriptor_end(struct standard_streams *held)
{
    standard_streams_release(held);
    unlock();
}

/* Closes `fd` and fails with `error`. */
static int discard(int fd, int error)
{
    close(fd);
    errno = error;
    return -1;
}

static bool descriptor_grow(void)
{
    int capacity = ours.capacity ? 2 * ours.capacity : 64;
    int *fds = realloc(ours.fds, (size_t)capacity * sizeof *fds);
    if (!fds)
        return false;
    ours.fds = fds;
    ours.capacity = capacity;
    return true;
}

/* Called under the lock. */
static int descriptor_keep(int fd)
{
    fd = standard_streams_lift(fd);
    if (fd < 0)
        return fd;
    if (ours.count == ours.capacity && !descriptor_grow())
        return discard(fd, ENOMEM);
    ours.fds[ours.count++] = fd;
    return fd;
}

int descriptor_socket(int family)
{
    struct standard_streams held;
    descriptor_begin(&held);
    int fd = descriptor_keep(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    descriptor_end(&held);
    return fd;
}

int descriptor_accept(int listener)
{
    struct standard_streams held;
    descriptor_begin(&held);
    int fd = descriptor_keep(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
    descriptor_end(&held);
    return fd;
}

int descriptor_event(void)
{
    struct standard_streams held;
    descriptor_begin(&held);
    int fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    descriptor_end(&held);
    return fd;
}

/* The kernel reports no file type for a descriptor without a file system. */
bool descriptor_is_event(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0;
}

int descriptor_epoll(void)
{
    struct standard_streams held;
    descriptor_begin(&held);
    int fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
    descriptor_end(&held);
    return fd;
}

int descriptor_file(const char *name)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct standard_streams held;
    descriptor_begin(&held);
    int fd = descriptor_keep(open(name, flags, 0666));
    descriptor_end(&held);
    return fd;
}

void descriptor_close(int fd)
{
    if (fd < 0)
        return;
    lock();
    for (int i = ours.count - 1; i >= 0; i--)
        if (ours.fds[i] == fd) {
            ours.fds[i] = ours.fds[--ours.count];
            break;
        }
    close(fd);
    unlock();
}
