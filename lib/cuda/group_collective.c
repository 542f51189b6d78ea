/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives beside allreduce, for the thread of a group; see reducer.h.
 *
 *   broadcast: ncclBroadcast of bytes, in place
 *   allgather: ncclAllGather of bytes where all ranks have as many rows; else a broadcast from each
 *     rank that has rows, all in one group of NCCL's. Where the output cannot take the result,
 *     memory of the stream's order does.
 *   reduce-scatter: ncclReduceScatter where all ranks have equal shares, else a reduction to each
 *     rank that has one; in place where NCCL can be: at this rank's share of the input, which is
 *     copied to the output then. Scaled behind it.
 *   through the host: the library's collective of the same kind
 *
 * All ranks of the set make the same calls of NCCL in the same order: what a rank lacks alone, room
 * in its output, changes no call. */
#include "lib/cuda/reducer_impl.h"

static size_t element_bytes(const struct cuda_group *group,
                            const struct hvd_device_collective *collective)
{
    return group->reducer->library->dtype_size(collective->dtype);
}

static int collective_broadcast(struct cuda_group *group,
                                const struct hvd_device_collective *collective, struct err *err)
{
    size_t nbytes = collective->count * element_bytes(group, collective);
    int result =
        group->reducer->nccl->broadcast(collective->input, collective->output, nbytes, NCCL_UINT8,
                                        collective->root, group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclBroadcast", err);
}

/* ---- rows of each rank ---- */

/* In bytes. */
static size_t rows_before(const struct cuda_group *group,
                          const struct hvd_device_collective *collective, int rank)
{
    size_t rows = 0;
    for (int i = 0; i < rank; i++)
        rows += (size_t)collective->rows[i];
    return rows * collective->row_count * element_bytes(group, collective);
}

static bool are_even(const struct hvd_device_collective *collective)
{
    for (int rank = 1; rank < collective->size; rank++)
        if (collective->rows[rank] != collective->rows[0])
            return false;
    return true;
}

/* Ends what group_start() has begun: `result` is that of the calls between, the first that failed.
 * NCCL wants the end in any case. */
static int collective_group_end(struct cuda_group *group, int result, const char *call,
                                struct err *err)
{
    int ended = group->reducer->nccl->group_end();
    group->at_work = true;
    return result == NCCL_OK ? cuda_group_complete(group, ended, "ncclGroupEnd", err)
                             : cuda_group_complete(group, result, call, err);
}

/* ---- allgather ---- */

static int gather_uneven(struct cuda_group *group, const struct hvd_device_collective *collective,
                         unsigned char *output, struct err *err)
{
    const struct nccl *nccl = group->reducer->nccl;
    int result = nccl->group_start();
    if (result != NCCL_OK)
        return cuda_group_complete(group, result, "ncclGroupStart", err);
    for (int rank = 0; rank < collective->size && result == NCCL_OK; rank++) {
        size_t at = rows_before(group, collective, rank);
        size_t nbytes = rows_before(group, collective, rank + 1) - at;
        const void *input = rank == collective->rank ? collective->input : output + at;
        if (nbytes > 0)
            result = nccl->broadcast(input, output + at, nbytes, NCCL_UINT8, rank, group->comm,
                                     group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return collective_group_end(group, result, "ncclBroadcast", err);
}

static int gather_into(struct cuda_group *group, const struct hvd_device_collective *collective,
                       void *output, struct err *err)
{
    if (!are_even(collective))
        return gather_uneven(group, collective, output, err);
    size_t nbytes = rows_before(group, collective, 1);
    int result = group->reducer->nccl->allgather(collective->input, output, nbytes, NCCL_UINT8,
                                                 group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclAllGather", err);
}

/* True if the input lies in the output, but not in its place. */
static bool gather_is_misplaced(const struct cuda_group *group,
                                const struct hvd_device_collective *collective)
{
    uintptr_t input = (uintptr_t)collective->input, output = (uintptr_t)collective->output;
    size_t at = rows_before(group, collective, collective->rank);
    size_t nbytes = rows_before(group, collective, collective->rank + 1) - at;
    return nbytes > 0 && input + nbytes > output &&
           input < output + rows_before(group, collective, collective->size) &&
           input != output + at;
}

/* Gathers elsewhere, and copies to the output if that has room. */
static int gather_aside(struct cuda_group *group, const struct hvd_device_collective *collective,
                        size_t nbytes, struct err *err)
{
    uint64_t memory = 0;
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->mem_alloc_async(&memory, nbytes, group->stream);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuMemAllocAsync", err);
    int rc = gather_into(group, collective, (void *)(uintptr_t)memory, err);
    if (rc == HVD_OK && nbytes <= collective->output_size) {
        result = driver->copy((uintptr_t)collective->output, memory, nbytes, group->stream);
        if (result != CUDA_OK)
            rc = cuda_driver_fail(driver, result, "cuMemcpyAsync", err);
    }
    result = driver->mem_free_async(memory, group->stream);
    return rc == HVD_OK && result != CUDA_OK
               ? cuda_driver_fail(driver, result, "cuMemFreeAsync", err)
               : rc;
}

static int collective_allgather(struct cuda_group *group,
                                const struct hvd_device_collective *collective, struct err *err)
{
    size_t nbytes = rows_before(group, collective, collective->size);
    if (nbytes == 0)
        return HVD_OK;
    if (nbytes > collective->output_size || gather_is_misplaced(group, collective))
        return gather_aside(group, collective, nbytes, err);
    return gather_into(group, collective, collective->output, err);
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
        input += rows_before(group, collective, rank);
        if (count > 0)
            result = nccl->reduce(input, rank == collective->rank ? share : NULL, count, dtype, op,
                                  rank, group->comm, group->stream);
        if (result == NCCL_IN_PROGRESS)
            result = NCCL_OK;
    }
    return collective_group_end(group, result, "ncclReduce", err);
}

static int scatter_to(struct cuda_group *group, const struct hvd_device_collective *collective,
                      void *share, struct err *err)
{
    int dtype, op;
    nccl_numbers(collective->dtype, collective->op, &dtype, &op);
    if (!are_even(collective))
        return scatter_uneven(group, collective, share, dtype, op, err);
    size_t count = (size_t)collective->rows[0] * collective->row_count;
    int result = group->reducer->nccl->reduce_scatter(collective->input, share, count, dtype, op,
                                                      group->comm, group->stream);
    group->at_work = true;
    return cuda_group_complete(group, result, "ncclReduceScatter", err);
}

/* A share does not overlap the beginning of the input, for it is no longer than one before it. */
static int collective_reducescatter(struct cuda_group *group,
                                    const struct hvd_device_collective *collective, struct err *err)
{
    const struct cuda_device *device = group->reducer->device;
    unsigned char *share = collective->output;
    size_t at = rows_before(group, collective, collective->rank);
    size_t nbytes = rows_before(group, collective, collective->rank + 1) - at;
    if (collective->count == 0)
        return HVD_OK;
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
    return cuda_kernels_scale(
        &group->reducer->kernels, device, group->stream, collective->dtype, collective->output,
        collective->output, nbytes / element_bytes(group, collective), collective->postscale, err);
}

bool cuda_group_can_collective(const struct cuda_group *group,
                               const struct hvd_device_collective *collective)
{
    return group->path == GROUP_NCCL &&
           (collective->kind != HVD_DEVICE_ALLGATHER || group->has_pools);
}

int cuda_group_collective(struct cuda_group *group, const struct hvd_device_collective *collective,
                          struct err *err)
{
    switch (collective->kind) {
    case HVD_DEVICE_ALLGATHER:
        return collective_allgather(group, collective, err);
    case HVD_DEVICE_REDUCESCATTER:
        return collective_reducescatter(group, collective, err);
    default:
        return collective_broadcast(group, collective, err);
    }
}

/* ---- through the host ---- */

static struct hvd_tensor collective_tensor(const struct cuda_group *group,
                                           const struct hvd_device_collective *collective)
{
    return (struct hvd_tensor){ .name = "hvd_cuda.host",
                                .input = collective->input,
                                .output = collective->output,
                                .output_size = collective->output_size,
                                .dtype = collective->dtype,
                                .device = group->reducer->device->number };
}

static int broadcast_on_host(struct cuda_group *group,
                             const struct hvd_device_collective *collective,
                             const struct hvd_options *options)
{
    const int64_t count = (int64_t)collective->count;
    struct hvd_tensor tensor = collective_tensor(group, collective);
    tensor.ndims = 1;
    tensor.dims = &count;
    return group->reducer->library->broadcast(&tensor, group->ranks[collective->root], options);
}

/* A result for which the output is too small has its error from the caller of collective(). */
static int allgather_on_host(struct cuda_group *group,
                             const struct hvd_device_collective *collective,
                             const struct hvd_options *options)
{
    const int64_t dims[] = { collective->rows[collective->rank], (int64_t)collective->row_count };
    struct hvd_tensor tensor = collective_tensor(group, collective);
    bool fits = rows_before(group, collective, collective->size) <= collective->output_size;
    tensor.ndims = 2;
    tensor.dims = dims;
    int rc = group->reducer->library->allgather(&tensor, options, NULL);
    return rc == HVD_ERR_INVALID && !fits ? HVD_OK : rc;
}

static int reducescatter_on_host(struct cuda_group *group,
                                 const struct hvd_device_collective *collective,
                                 const struct hvd_options *options)
{
    int64_t dims[] = { 0, (int64_t)collective->row_count };
    struct hvd_tensor tensor = collective_tensor(group, collective);
    for (int rank = 0; rank < collective->size; rank++)
        dims[0] += collective->rows[rank];
    tensor.ndims = 2;
    tensor.dims = dims;
    return group->reducer->library->reducescatter(&tensor, collective->op, options);
}

int cuda_group_collective_on_host(struct cuda_group *group,
                                  const struct hvd_device_collective *collective, struct err *err)
{
    int rc;
    struct hvd_options options = { .process_set = collective->process_set };
    switch (collective->kind) {
    case HVD_DEVICE_ALLGATHER:
        rc = allgather_on_host(group, collective, &options);
        break;
    case HVD_DEVICE_REDUCESCATTER:
        options.postscale = collective->postscale;
        rc = reducescatter_on_host(group, collective, &options);
        break;
    default:
        rc = broadcast_on_host(group, collective, &options);
    }
    return rc < 0 ? fail(err, rc, "%s", group->reducer->library->last_error()) : HVD_OK;
}
