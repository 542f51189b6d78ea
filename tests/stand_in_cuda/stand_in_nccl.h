/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NCCL, libnccl.so.2, beside that for the driver (stand_in.h): communicators are
 * memory that the processes share, and an operation is work on a stream that waits for all ranks.
 * It reduces int32, float32 and float64, and moves bytes, too. Ranks that call for different
 * operations abort, for NCCL would hang; input and output that overlap are refused, unless the
 * operation is in place as NCCL has it. Sends and receives are in groups only; a group ends when
 * its messages have been taken. Calls do not block: a communicator is in progress until all ranks
 * have come. An abort wants a current context: NCCL would otherwise make one on GPU 0.
 *
 * fail=ncclCommGetAsyncError:N:R in STAND_IN_CUDA is a communicator that has failed (stand_in.h);
 * ncclGetUniqueId, ncclCommInitRankConfig, ncclCommAbort and the operations fail likewise, at
 * once; what was to be aborted goes on.
 * STAND_IN_NCCL_VERSION in the environment is its version (22803). */
#ifndef TESTS_STAND_IN_CUDA_STAND_IN_NCCL_H
#define TESTS_STAND_IN_CUDA_STAND_IN_NCCL_H

#include "lib/cuda/nccl_abi.h"
#include "tests/stand_in_cuda/stand_in.h"

#define STAND_IN_NCCL_PROTOTYPE(member, name, parameters)                                          \
    STAND_IN_API int stand_in_nccl_##member parameters __asm__(#name);
NCCL_CALLS(STAND_IN_NCCL_PROTOTYPE)
STAND_IN_API const char *stand_in_nccl_get_error_string(int result) __asm__("ncclGetErrorString");

/* How many operations of a kind were put on streams, and communicators there are. */
enum stand_in_nccl_call {
    STAND_IN_NCCL_ALLREDUCE,
    STAND_IN_NCCL_BROADCAST,
    STAND_IN_NCCL_ALLGATHER,
    STAND_IN_NCCL_REDUCESCATTER,
    STAND_IN_NCCL_REDUCE,
    STAND_IN_NCCL_SEND,
    STAND_IN_NCCL_RECEIVE,
    STAND_IN_NCCL_CALLS
};
STAND_IN_API int stand_in_nccl_called(enum stand_in_nccl_call call);
STAND_IN_API int stand_in_nccl_communicators(void);

#endif
