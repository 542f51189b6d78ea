/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_ranks.h. */
#include "tests/support/cuda_ranks.h"

#include "lib/cuda/cuda_module.h"
#include "lib/device/device_load.h"
#include "lib/hvd_cuda.h"
#include "tests/support/ranks.h"

#include <stdlib.h>
#include <string.h>

int cuda_ordinal;

static void *cuda_ranks_alloc(size_t nbytes)
{
    return stand_in_alloc(cuda_ordinal, false, nbytes);
}

static void cuda_ranks_free(void *memory)
{
    stand_in_release(memory);
}

static void cuda_ranks_write(void *memory, const void *host, size_t nbytes)
{
    void *there = stand_in_pointer((uintptr_t)memory, nbytes);
    REQUIRE(there != NULL);
    memcpy(there, host, nbytes);
}

static void cuda_ranks_read(void *host, const void *memory, size_t nbytes)
{
    const void *there = stand_in_pointer((uintptr_t)memory, nbytes);
    REQUIRE(there != NULL);
    memcpy(host, there, nbytes);
}

void cuda_prepare(void)
{
    static const struct device_memory memory = { cuda_ranks_alloc, cuda_ranks_free,
                                                 cuda_ranks_write, cuda_ranks_read };
    setenv("HVD_CUDA_NCCL", "0", 1); /* this machine may have it */
    setenv("HVD_CUDA_IPC", "0", 1);
    device_memory = &memory;
    device_load_use(hvd_device_module());
}

void cuda_start(void)
{
    REQUIRE_STATUS(hvd_cuda_open(cuda_ordinal, &device), HVD_OK);
    REQUIRE(device > 0);
}

void cuda_stop(void)
{
    REQUIRE_STATUS(hvd_cuda_close(device), HVD_OK);
    struct stand_in_holdings left = stand_in_holdings();
    REQUIRE(left.contexts == 0 && left.pushed == 0);
    REQUIRE(left.streams == 0 && left.events == 0);
    REQUIRE(left.pinned == 0 && left.images == 0);
}
