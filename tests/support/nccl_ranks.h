/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks with a GPU each of the stand-in for the CUDA driver (cuda_ranks.h), and the stand-in for
 * NCCL. */
#ifndef TESTS_SUPPORT_NCCL_RANKS_H
#define TESTS_SUPPORT_NCCL_RANKS_H

#include "tests/stand_in_cuda/stand_in_nccl.h"
#include "tests/support/cuda_ranks.h"
#include "tests/support/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* The beginning of a body: joins the world, and opens one of the `gpus` of its host. */
static inline void nccl_start(int rank, int gpus)
{
    char words[16];
    snprintf(words, sizeof words, "gpus=%d", gpus);
    stand_in_configure(words);
    setenv("HVD_CUDA_NCCL", "1", 1);
    init_world();
    cuda_ordinal = rank % gpus;
    cuda_start();
}

/* The end, for the body to return: nothing is left of NCCL either. */
static inline int nccl_leave(void)
{
    int rc = leave_world();
    cuda_stop();
    REQUIRE(stand_in_nccl_communicators() == 0);
    return rc;
}

/* No rank leaves before all have heard why the world has ended. */
static inline void nccl_leave_together(int size)
{
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(0, size);
}

/* How many operations were left to NCCL. */
static inline int nccl_called(void)
{
    int count = 0;
    for (int call = 0; call < STAND_IN_NCCL_CALLS; call++)
        count += stand_in_nccl_called((enum stand_in_nccl_call)call);
    return count;
}

#endif
