/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes of one machine share; see stand_in.h. A handle names the file of a piece in
 * the process that exports it. Whoever opens it has a lock on the file until the end. A handle is
 * refused of memory that was freed, of a process that is gone, by the process that made it, and
 * between GPUs that cannot access each other.
 */
#include "tests/stand_in_cuda/stand_in.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct handle {
    int pid;
    struct stand_in_file file;
    ino_t inode;
};
_Static_assert(sizeof(struct handle) <= sizeof(struct cuda_ipc_handle), "a handle fits");

int stand_in_call_ipc_get_handle(struct cuda_ipc_handle *handle, uint64_t memory)
{
    struct stat status;
    int result = stand_in_enter("cuIpcGetMemHandle", true);
    if (result == CUDA_OK && stand_in_number("ipc", 0) == 0)
        result = CUDA_NOT_SUPPORTED;
    if (result != CUDA_OK)
        return result;
    struct handle ours = { .pid = getpid(), .file = stand_in_file_of(memory) };
    if (ours.file.fd < 0 || fstat(ours.file.fd, &status) < 0)
        return CUDA_INVALID_VALUE;
    ours.inode = status.st_ino;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &ours, sizeof ours);
    return CUDA_OK;
}

/* The exporter's file, locked; -1 if it is gone. */
static int open_file(const struct handle *handle)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->pid, handle->file.fd);
    if (stat(path, &status) < 0 || status.st_ino != handle->inode)
        return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_ino == handle->inode &&
        flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

int stand_in_call_ipc_open(uint64_t *memory, struct cuda_ipc_handle handle, unsigned flags)
{
    struct handle theirs;
    int result = stand_in_enter("cuIpcOpenMemHandle", true);
    memcpy(&theirs, &handle, sizeof theirs);
    if (result == CUDA_OK && flags != CUDA_IPC_LAZY_PEER_ACCESS)
        result = CUDA_INVALID_VALUE;
    if (result == CUDA_OK && theirs.pid == getpid())
        result = CUDA_INVALID_CONTEXT;
    if (result == CUDA_OK && theirs.file.ordinal != stand_in_current() &&
        stand_in_number("peers", 0) == 0)
        result = CUDA_PEER_ACCESS_UNSUPPORTED;
    if (result != CUDA_OK)
        return result;
    theirs.file.fd = open_file(&theirs);
    if (theirs.file.fd < 0)
        return CUDA_INVALID_VALUE;
    result = stand_in_import(&theirs.file, memory);
    if (result != CUDA_OK)
        close(theirs.file.fd);
    return result;
}

int stand_in_call_ipc_close(uint64_t memory)
{
    int result = stand_in_enter("cuIpcCloseMemHandle", true);
    return result == CUDA_OK ? stand_in_unimport(memory) : result;
}
