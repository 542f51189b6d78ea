/* SPDX-License-Identifier: Apache-2.0 */
/* The binary interface of NCCL (libnccl.so.2), as far as this folder uses it, as driver_abi.h has
 * that of the driver. tests/program/cuda_toolkit_test.sh compares it with nccl.h. */
#ifndef LIB_CUDA_NCCL_ABI_H
#define LIB_CUDA_NCCL_ABI_H

#include "lib/cuda/driver_abi.h"

enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7 }; /* ncclResult_t */

enum { /* ncclDataType_t */
       NCCL_INT8 = 0,
       NCCL_UINT8 = 1,
       NCCL_INT32 = 2,
       NCCL_INT64 = 4,
       NCCL_FLOAT16 = 6,
       NCCL_FLOAT32 = 7,
       NCCL_FLOAT64 = 8,
       NCCL_BFLOAT16 = 9
};

enum { NCCL_SUM = 0, NCCL_PRODUCT = 1, NCCL_MAX = 2, NCCL_MIN = 3, NCCL_AVERAGE = 4 };

struct nccl_comm;

struct nccl_id { /* ncclUniqueId, passed by value */
    char bytes[128];
};

/* The beginning of ncclConfig_t, as of version 2.14: NCCL takes it with that version in it. */
enum { NCCL_CONFIG_MAGIC = 0xcafebeef, NCCL_CONFIG_VERSION = 21400 };
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

/* CALL(member, symbol, parameters), each of which returns an int. */
#define NCCL_CALLS(CALL)                                                                           \
    CALL(get_version, ncclGetVersion, (int *version))                                              \
    CALL(get_id, ncclGetUniqueId, (struct nccl_id * id))                                           \
    CALL(comm_init, ncclCommInitRankConfig,                                                        \
         (struct nccl_comm * *comm, int size, struct nccl_id id, int rank,                         \
          struct nccl_config *config))                                                             \
    CALL(comm_abort, ncclCommAbort, (struct nccl_comm * comm))                                     \
    CALL(comm_error, ncclCommGetAsyncError, (struct nccl_comm * comm, int *result))                \
    CALL(allreduce, ncclAllReduce,                                                                 \
         (const void *input, void *output, size_t count, int dtype, int op,                        \
          struct nccl_comm *comm, struct cuda_stream *stream))                                     \
    CALL(broadcast, ncclBroadcast,                                                                 \
         (const void *input, void *output, size_t count, int dtype, int root,                      \
          struct nccl_comm *comm, struct cuda_stream *stream))                                     \
    CALL(allgather, ncclAllGather,                                                                 \
         (const void *input, void *output, size_t count, int dtype, struct nccl_comm *comm,        \
          struct cuda_stream *stream))                                                             \
    CALL(reduce_scatter, ncclReduceScatter,                                                        \
         (const void *input, void *output, size_t count, int dtype, int op,                        \
          struct nccl_comm *comm, struct cuda_stream *stream))                                     \
    CALL(reduce, ncclReduce,                                                                       \
         (const void *input, void *output, size_t count, int dtype, int op, int root,              \
          struct nccl_comm *comm, struct cuda_stream *stream))                                     \
    CALL(send, ncclSend,                                                                           \
         (const void *input, size_t count, int dtype, int peer, struct nccl_comm *comm,            \
          struct cuda_stream *stream))                                                             \
    CALL(receive, ncclRecv,                                                                        \
         (void *output, size_t count, int dtype, int peer, struct nccl_comm *comm,                 \
          struct cuda_stream *stream))                                                             \
    CALL(group_start, ncclGroupStart, (void))                                                      \
    CALL(group_end, ncclGroupEnd, (void))

#endif
