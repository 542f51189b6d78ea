/* SPDX-License-Identifier: Apache-2.0 */
/* Whether other processes still have a GPU's memory open: a shared lock on a file without a name.
 *
 *   owner: create; when the memory is to be freed: is_free?   others: share, open the memory, ...,
 *   close the memory, close
 *
 * The kernel takes the locks of a process that dies. Once the owner has found the lock free, nobody
 * can share it any more. Other processes open the file by the owner's /proc directory, so they need
 * its user and its PID namespace. A child of fork() keeps its parent's lock only until the parent
 * closes it, or, if the parent dies, until the child ends.
 *
 * Fails with HVD_ERR_SYSTEM and the system's words. */
#ifndef LIB_CUDA_IPC_LOCK_H
#define LIB_CUDA_IPC_LOCK_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ipc_lock_id {
    int32_t pid, fd;        /* of the owner */
    uint64_t device, inode; /* of the file: numbers of a process may be used again */
};

/* Both return a descriptor for ipc_lock_close(), or a negative status. */
int ipc_lock_create(struct ipc_lock_id *id, struct err *err);
int ipc_lock_share(const struct ipc_lock_id *id, struct err *err);

/* For the owner. */
bool ipc_lock_is_free(int fd);

/* -1 is fine. */
void ipc_lock_close(int fd);

#endif
