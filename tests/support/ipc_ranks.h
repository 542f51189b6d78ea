/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks (ranks.h) on the stand-in for the CUDA driver, without NCCL, that may read each other's GPU
 * memory. */
#ifndef TESTS_SUPPORT_IPC_RANKS_H
#define TESTS_SUPPORT_IPC_RANKS_H

#include "lib/cuda/ipc.h"
#include "tests/support/cuda_ranks.h"
#include "tests/support/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* The beginning of a body: joins the world, and opens one of the `gpus` of its host. Not all of the
 * memory of cuMemAlloc() is this rank's: memory that is a test's own comes from elsewhere. */
static inline void ipc_start(int rank, int gpus)
{
    char words[16];
    snprintf(words, sizeof words, "gpus=%d", gpus);
    stand_in_configure(words);
    unsetenv("HVD_CUDA_IPC");
    init_world();
    cuda_ordinal = rank % gpus;
    cuda_start();
}

/* The end, for the body to return: nothing of other ranks is open, and nothing is allocated. */
static inline int ipc_leave(void)
{
    int rc = leave_world();
    cuda_stop();
    struct stand_in_holdings left = stand_in_holdings();
    REQUIRE(left.imported == 0 && left.pieces == 0);
    return rc;
}

/* How many buffers of other ranks this one has open. */
static inline int ipc_opened(void)
{
    return stand_in_holdings().imported;
}

/* Elements of a tensor that is just large enough. */
static inline int64_t ipc_least(enum hvd_dtype dtype)
{
    return IPC_LEAST / (int64_t)hvd_dtype_size(dtype);
}

/* A large tensor of int32; the same on host and device. */
static inline void ipc_check_one(void)
{
    const struct trial trial = { COLLECTIVE_ALLREDUCE, HVD_INT32, HVD_SUM, .rows = IPC_LEAST / 4,
                                 .columns = 1 };
    trial_check(&trial);
}

/* The sum of one large tensor of int32, all 1 on each rank; its status. The memory is left. */
static inline int ipc_submit_one(int64_t *handle)
{
    static int32_t data[IPC_LEAST / 4];
    const int64_t count = IPC_LEAST / 4;
    for (int64_t i = 0; i < count; i++)
        data[i] = 1;
    return cuda_submit_sum("n", device_put(data, sizeof data), count, handle);
}

#endif
