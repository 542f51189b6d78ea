/* SPDX-License-Identifier: Apache-2.0 */
/* See ipc_lock.h. */
#include "lib/cuda/ipc_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int ipc_lock_create(struct ipc_lock_id *id, struct err *err)
{
    struct stat status;
    int fd = memfd_create("hvd-cuda-ipc", MFD_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "a file for the lock");
        ipc_lock_close(fd);
        return err->code;
    }
    *id = (struct ipc_lock_id){
        .pid = (int32_t)getpid(), .fd = fd, .device = status.st_dev, .inode = status.st_ino
    };
    return fd;
}

static bool is_file_of(const struct ipc_lock_id *id, const struct stat *status)
{
    return status->st_dev == id->device && status->st_ino == id->inode;
}

/* In another PID namespace the path may name any file: it is looked at before it is opened. */
int ipc_lock_share(const struct ipc_lock_id *id, struct err *err)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)id->pid, (int)id->fd);
    if (stat(path, &status) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "%s", path);
    if (!is_file_of(id, &status))
        return fail(err, HVD_ERR_SYSTEM, "%s is another file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "%s", path);
    if (fstat(fd, &status) == 0 && is_file_of(id, &status) && flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    ipc_lock_close(fd);
    return fail(err, HVD_ERR_SYSTEM, "%s was given up", path);
}

bool ipc_lock_is_free(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void ipc_lock_close(int fd)
{
    if (fd < 0)
        return;
    flock(fd, LOCK_UN); /* a child of fork() may have the descriptor, too */
    close(fd);
}
