/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps descriptors 0 to 2 occupied; see standard_streams.h. The code uses bare system calls,
 * because ThreadSanitizer tracks descriptors and would report the program's own writes to them as a
 * race. */
#include "lib/base/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool are_open(void)
{
    bool open_all = true;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        open_all &= fcntl(fd, F_GETFD) >= 0;
    return open_all;
}

static void fill_gaps(struct standard_streams *held)
{
    while (held->count <= STDERR_FILENO) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
        if (fd > STDERR_FILENO)
            syscall(SYS_close, fd);
        if (fd < 0 || fd > STDERR_FILENO)
            return;
        held->fds[held->count++] = fd;
    }
}

void standard_streams_hold(struct standard_streams *held)
{
    int error = errno;
    held->count = 0;
    if (!are_open())
        fill_gaps(held);
    errno = error;
}

void standard_streams_release(struct standard_streams *held)
{
    int error = errno;
    while (held->count > 0)
        syscall(SYS_close, held->fds[--held->count]);
    errno = error;
}

int standard_streams_lift(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return lifted;
}
