/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces of the ranks of one host that read each other's GPU memory, without NCCL.
 *
 * Each rank has a buffer of the library's own in its GPU's memory, which the driver lets the other
 * ranks open (cuIpcOpenMemHandle). A buffer has two halves, which take turns. A piece of a tensor
 * that fits into half a buffer is reduced so:
 *
 *   each rank copies its piece into its half; waits for its GPU; meets the others (an allreduce of
 *     one number on the host)
 *   rank r combines part r of all halves in its own half; waits for its GPU; meets the others
 *   each rank copies all parts to its output, while the next piece begins in the other half
 *
 * No rank writes to another's memory, and no GPU waits for another rank: what is on a stream always
 * ends, also when a rank is lost. When a rank has met the others for a piece, it has read all of
 * the piece before, so their halves may be written again.
 *
 * ipc_agree.c says how the ranks find out whether they can, and what happens if not. A call of the
 * driver that fails later fails the request, and with it the world.
 *
 * All functions are for the thread of a group. */
#ifndef LIB_CUDA_IPC_H
#define LIB_CUDA_IPC_H

#include "lib/cuda/ipc_lock.h"
#include "lib/cuda/kernels.h"

/* Smaller tensors go through the host: two copies are expected to cost less than two small
 * collectives. Not measured on a GPU. A half is a multiple of every element's size. */
enum { IPC_LEAST = 256 << 10, IPC_HALF = 4 << 20 };

/* How long a device that is closed waits for ranks that have its memory open. Their threads see
 * within IPC_POLL_MS that the world has ended, and close it. */
enum { IPC_LINGER_MS = 2000, IPC_POLL_MS = 100 };

struct cuda_group;
struct cuda_reducer;

/* A rank's own memory that others open. */
struct ipc_buffer {
    uint64_t memory; /* two halves */
    int lock;
    struct ipc_lock_id id;
    struct cuda_ipc_handle handle;
    struct ipc_buffer *next;
};

/* unknown -> open or impossible -> unknown, when the group agrees anew */
enum ipc_state { IPC_UNKNOWN, IPC_OPEN, IPC_IMPOSSIBLE };

struct cuda_ipc {
    enum ipc_state state;
    struct cuda_kernels kernels;
    struct ipc_buffer *own;
    struct ipc_peer {
        uint64_t memory; /* of each rank's buffer, here; this rank's own, too */
        int lock;        /* -1: this rank's own, or not open */
    } * peers;
    int rank, size;
    unsigned turn; /* of the halves */
};

/* Whether tensors of this kind are to go this way, the same on all ranks of a host. */
bool ipc_takes(enum hvd_dtype dtype, enum hvd_op op, size_t count);

/* Makes sure that the state is known. A failure is that of the world, or, with HVD_CUDA_IPC=1, that
 * ranks cannot. */
int cuda_ipc_agree(struct cuda_group *group, struct err *err);

/* The state is open. */
int cuda_ipc_allreduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                       struct err *err);

/* Closes the memory of others. */
void cuda_ipc_part(struct cuda_group *group);

/* ipc_buffer.c, in the GPU's context, as what follows. NULL and `err` on failure. */
struct ipc_buffer *ipc_buffer_create(const struct cuda_device *device, struct err *err);

/* The reducer frees the buffer when no other process has it open any more. NULL is fine. */
void ipc_buffer_retire(struct cuda_reducer *reducer, struct ipc_buffer *buffer);

/* Frees retired buffers that no other process has open, for which it waits `wait_ms` at most. */
void ipc_buffers_free(struct cuda_reducer *reducer, int wait_ms);

/* Leaves those that are left to the driver; without a context, too. */
void ipc_buffers_leave(struct cuda_reducer *reducer);

#endif
