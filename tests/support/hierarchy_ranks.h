/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks (nccl_ranks.h) that believe to be on several hosts: gethostname() is this file's, in place
 * of the C library's. */
#ifndef TESTS_SUPPORT_HIERARCHY_RANKS_H
#define TESTS_SUPPORT_HIERARCHY_RANKS_H

#include "lib/cuda/hierarchy.h"
#include "tests/support/nccl_ranks.h"

#include <string.h>
#include <unistd.h>

enum { HIERARCHY_GPUS = 6 };

/* A digit for each rank: the number of its host. */
static const char *hierarchy_layout;
static int hierarchy_rank;

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "host%c", hierarchy_layout[hierarchy_rank]);
    return 0;
}

static inline int hierarchy_size(void)
{
    return (int)strlen(hierarchy_layout);
}

/* The beginning of a body: each rank has a GPU, and the variable is as given, or not set (NULL). */
static inline void hierarchy_start(int rank, const char *hierarchical, const char *encrypt)
{
    hierarchy_rank = rank;
    if (hierarchical)
        setenv("HOROVOD_HIERARCHICAL_ALLREDUCE", hierarchical, 1);
    else
        unsetenv("HOROVOD_HIERARCHICAL_ALLREDUCE");
    setenv("HVD_ENCRYPT", encrypt, 1);
    nccl_start(rank, HIERARCHY_GPUS);
}

/* How many allreduces of all ranks, and how many steps within hosts were left to NCCL. */
static inline int hierarchy_flat(void)
{
    return stand_in_nccl_called(STAND_IN_NCCL_ALLREDUCE);
}

static inline int hierarchy_scattered(void)
{
    return stand_in_nccl_called(STAND_IN_NCCL_REDUCESCATTER) +
           stand_in_nccl_called(STAND_IN_NCCL_REDUCE);
}

static inline int hierarchy_collected(void)
{
    return stand_in_nccl_called(STAND_IN_NCCL_ALLGATHER) +
           stand_in_nccl_called(STAND_IN_NCCL_BROADCAST);
}

#endif
