/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduces and other collectives that GPUs do among themselves, with NCCL; allreduces of ranks on
 * one host also without it (ipc.h).
 *
 * A communicator takes long to make, and all ranks of a process set must come for that; functions
 * of the device's table may neither wait nor call the library. So each process set has a group: a
 * thread, with a stream, which takes requests in order.
 *
 *   allreduce(), collective() -> ticket in the queue of the group -> its thread launches it
 *   -> event passes
 *
 * When a group's first request comes, its thread asks all ranks of the set, by an allgather of the
 * library, for their NCCL and their GPU; the id of the communicator comes with it from rank 0. The
 * thread lets the library move the tensors through the host where NCCL cannot be used, because two
 * ranks share a GPU, or must not, because ranks are on different hosts and HVD_ENCRYPT wants
 * encryption; also a reduce-scatter with prescale where a GPU has no memory pool. With
 * HOROVOD_HIERARCHICAL_ALLREDUCE=1 NCCL reduces within each host, and the library between hosts
 * (hierarchy.h). All ranks learn the same, so they decide alike. Ranks with different versions of
 * NCCL, or values of that variable, fail, with one text. When the world has changed, or the number
 * is that of another set, the group agrees anew: on all ranks, for all know the set's serial. A set
 * that is removed takes its group with it.
 *
 * When the world breaks, a rank of the set has left, or NCCL has failed meanwhile, the thread
 * aborts its communicators, whose kernels would otherwise wait for the other ranks for ever.
 *
 * Communicators of different sets may be at work at once; NCCL needs the GPU to have room for
 * all. */
#ifndef LIB_CUDA_REDUCER_H
#define LIB_CUDA_REDUCER_H

#include "lib/cuda/cuda_device.h"

#include <stdbool.h>

struct cuda_reducer;

/* HVD_CUDA_NCCL=0 does without NCCL. NCCL that is not found is a failure if the variable is 1.
 * Without NCCL and with HVD_CUDA_IPC=0 there is no reducer: `*reducer` is NULL. */
int cuda_reducer_create(struct cuda_reducer **reducer, struct cuda_device *device,
                        const struct device_module_options *options, struct err *err);

/* Ends the threads. NULL is fine. */
void cuda_reducer_destroy(struct cuda_reducer *reducer);

/* The process set has been removed: its group ends, and gives back what it has, unless the number
 * is that of another set already, with requests of its own. The group's own memory is freed when
 * the other ranks have closed it, which they do at the same time. */
void cuda_reducer_set_removed(struct cuda_reducer *reducer, int set, int serial);

/* For the functions of the table, which are called one at a time. */
bool cuda_reducer_can(const struct cuda_reducer *reducer, enum hvd_dtype dtype, enum hvd_op op);
bool cuda_reducer_can_collective(const struct cuda_reducer *reducer,
                                 const struct hvd_device_collective *question);
int cuda_reducer_put(struct cuda_reducer *reducer, const struct hvd_device_allreduce *allreduce,
                     struct err *err);
int cuda_reducer_put_collective(struct cuda_reducer *reducer,
                                const struct hvd_device_collective *collective, struct err *err);

/* Lets the event pass behind the request that was put last. */
int cuda_reducer_record(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err);

/* 1: the driver is to be asked about the event; 0: its request has not been launched; or its
 * failure. When the driver says that the event has passed, cuda_reducer_passed() says whether that
 * was the end of the reduction, 1, or of an aborted communicator, which is a failure. */
int cuda_reducer_passed(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err);
int cuda_reducer_query(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err);

/* The event is destroyed. */
void cuda_reducer_forget(struct cuda_reducer *reducer, struct cuda_event *event);

#endif
