/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives beside allreduce, for the thread of a group; see reducer.h. group_rows.c has
 * those whose output has rows of each rank.
 *
 *   broadcast: ncclBroadcast of bytes, in place
 *   reduce-scatter: ncclReduceScatter where all ranks have equal shares, else a reduction to each
 *     rank that has one; in place where NCCL can be: at this rank's share of the input, which is
 *     copied to the output then. Scaled behind it; before it in memory of the stream's order, or in
 *     place.
 *
 * All ranks of the set make the same calls of NCCL in the same order. */
#include "lib/cuda/reducer_impl.h"

size_t cuda_group_row_bytes(const struct cuda_group *group,
                            const struct hvd_device_collective *collective)
{
    return collective->row_count * group->reducer->library->dtype_size(collective->dtype);
}

static int collective_broadcast(struct cuda_group *group,
                                const struct hvd_device_collective *collective, struct err *err)
{
    size_t nbytes = collective->count * group->reducer->library->dtype_size(collective->dtype);
    int result =
        group->reducer->nccl->broadcast(collective->input, collective->output, nbytes, NCCL_UINT8,
                                        collective->root, group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclBroadcast", err);
}

/* ---- rows of each rank ---- */

size_t cuda_group_rows_before(const struct cuda_group *group,
                              const struct hvd_device_collective *collective, int rank)
{
    size_t rows = 0;
    for (int i = 0; i < rank; i++)
        rows += (size_t)collective->rows[i];
    return rows * cuda_group_row_bytes(group, collective);
}

bool cuda_group_rows_are_even(const struct hvd_device_collective *collective)
{
    for (int rank = 1; rank < collective->size; rank++)
        if (collective->rows[rank] != collective->rows[0])
            return false;
    return true;
}

int cuda_group_pool_get(struct cuda_group *group, uint64_t *memory, size_t nbytes, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    *memory = 0;
    int result = driver->mem_alloc_async(memory, nbytes, group->stream);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuMemAllocAsync", err);
}

int cuda_group_pool_put(struct cuda_group *group, uint64_t memory, int rc, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->mem_free_async(memory, group->stream);
    return rc == HVD_OK && result != CUDA_OK
               ? cuda_driver_fail(driver, result, "cuMemFreeAsync", err)
               : rc;
}

int cuda_group_end(struct cuda_group *group, int result, const char *call, struct err *err)
{
    int ended = group->reducer->nccl->group_end();
    group->at_work = true;
    return result == NCCL_OK ? cuda_group_complete(group, ended, "ncclGroupEnd", err)
                             : cuda_group_complete(group, result, call, err);
}

/* ---- reduce-scatter ---- */

static int scatter_uneven(struct cuda_group *group, const struct hvd_device_collective *collective,
                          void *share, int dtype, int op, struct err *err)
{
    const struct nccl *nccl = group->reducer->nccl;
    int result = nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int rank = 0; rank < collective->size && result == NCCL_OK; rank++) {
        size_t count = (size_t)collective->rows[rank] * collective->row_count;
        const unsigned char *input = collective->input;
        input += cuda_group_rows_before(group, collective, rank);
        if (count > 0)
            result = nccl->reduce(input, rank == collective->rank ? share : NULL, count, dtype, op,
                                  rank, group->comm, group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return cuda_group_end(group, result, "ncclReduce", err);
}

static int scatter_to(struct cuda_group *group, const struct hvd_device_collective *collective,
                      void *share, struct err *err)
{
    int dtype, op;
    nccl_numbers(collective->dtype, collective->op, &dtype, &op);
    if (!cuda_group_rows_are_even(collective))
        return scatter_uneven(group, collective, share, dtype, op, err);
    size_t count = (size_t)collective->rows[0] * collective->row_count;
    int result = group->reducer->nccl->reduce_scatter(collective->input, share, count, dtype, op,
                                                      group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclReduceScatter", err);
}

/* A share does not overlap the beginning of the input, for it is no longer than one before it. */
static int scatter_unscaled(struct cuda_group *group,
                            const struct hvd_device_collective *collective, struct err *err)
{
    const struct cuda_device *device = group->reducer->device;
    unsigned char *share = collective->output;
    size_t at = cuda_group_rows_before(group, collective, collective->rank);
    size_t nbytes = cuda_group_rows_before(group, collective, collective->rank + 1) - at;
    if (collective->input == collective->output)
        share += at;
    int rc = scatter_to(group, collective, share, err);
    if (rc == HVD_OK && share != collective->output && nbytes > 0) {
        int result = device->driver->copy((uintptr_t)collective->output, (uintptr_t)share, nbytes,
                                          group->stream);
        if (result != CUDA_OK)
            rc = cuda_driver_fail(device->driver, result, "cuMemcpyAsync", err);
    }
    if (rc < 0 || collective->postscale == 1)
        return rc;
    return cuda_kernels_scale(&group->reducer->kernels, device, group->stream, collective->dtype,
                              collective->output, collective->output,
                              nbytes / group->reducer->library->dtype_size(collective->dtype),
                              collective->postscale, err);
}

/* Reduces an input that is scaled in memory of the stream's order, because the caller's stays as it
 * is. */
static int scatter_scaled_aside(struct cuda_group *group,
                                const struct hvd_device_collective *collective, struct err *err)
{
    uint64_t memory;
    struct hvd_device_collective scaled = *collective;
    const struct cuda_device *device = group->reducer->device;
    size_t nbytes = cuda_group_rows_before(group, collective, collective->size);
    int rc = cuda_group_pool_get(group, &memory, nbytes, err);
    if (rc < 0)
        return rc;
    scaled.input = (const void *)(uintptr_t)memory;
    rc = cuda_kernels_scale(&group->reducer->kernels, device, group->stream, collective->dtype,
                            (void *)(uintptr_t)memory, collective->input, collective->count,
                            collective->prescale, err);
    if (rc == HVD_OK)
        rc = scatter_unscaled(group, &scaled, err);
    return cuda_group_pool_put(group, memory, rc, err);
}

static int collective_reducescatter(struct cuda_group *group,
                                    const struct hvd_device_collective *collective, struct err *err)
{
    if (collective->count == 0)
        return HVD_OK;
    if (collective->prescale == 1)
        return scatter_unscaled(group, collective, err);
    if (collective->input != collective->output)
        return scatter_scaled_aside(group, collective, err);
    int rc = cuda_kernels_scale(&group->reducer->kernels, group->reducer->device, group->stream,
                                collective->dtype, collective->output, collective->input,
                                collective->count, collective->prescale, err);
    return rc < 0 ? rc : scatter_unscaled(group, collective, err);
}

bool cuda_group_can_collective(const struct cuda_group *group,
                               const struct hvd_device_collective *collective)
{
    bool needs_memory = collective->kind == HVD_DEVICE_REDUCESCATTER
                            ? collective->prescale != 1
                            : collective->kind != HVD_DEVICE_BROADCAST;
    return group->path == GROUP_NCCL && (!needs_memory || group->has_pools);
}

int cuda_group_collective(struct cuda_group *group, const struct hvd_device_collective *collective,
                          struct err *err)
{
    switch (collective->kind) {
    case HVD_DEVICE_ALLGATHER:
        return cuda_group_allgather(group, collective, err);
    case HVD_DEVICE_ALLTOALL:
        return cuda_group_alltoall(group, collective, err);
    case HVD_DEVICE_REDUCESCATTER:
        return collective_reducescatter(group, collective, err);
    default:
        return collective_broadcast(group, collective, err);
    }
}
