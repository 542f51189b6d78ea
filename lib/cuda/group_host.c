/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that GPUs cannot do among themselves after all, for the thread of a group: the
 * library's collective of the same kind moves them through the host; see reducer.h. */
#include "lib/cuda/reducer_impl.h"

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
static bool rows_fit(const struct cuda_group *group, const struct hvd_device_collective *collective)
{
    return cuda_group_rows_before(group, collective, collective->size) <= collective->output_size;
}

static int allgather_on_host(struct cuda_group *group,
                             const struct hvd_device_collective *collective,
                             const struct hvd_options *options)
{
    const int64_t dims[] = { collective->rows[collective->rank], (int64_t)collective->row_count };
    struct hvd_tensor tensor = collective_tensor(group, collective);
    bool fits = rows_fit(group, collective);
    tensor.ndims = 2;
    tensor.dims = dims;
    int rc = group->reducer->library->allgather(&tensor, options, NULL);
    return rc == HVD_ERR_INVALID && !fits ? HVD_OK : rc;
}

static int alltoall_on_host(struct cuda_group *group,
                            const struct hvd_device_collective *collective,
                            const struct hvd_options *options)
{
    int64_t dims[] = { 0, (int64_t)collective->row_count };
    struct hvd_tensor tensor = collective_tensor(group, collective);
    bool fits = rows_fit(group, collective);
    for (int rank = 0; rank < collective->size; rank++)
        dims[0] += collective->splits[rank];
    tensor.ndims = 2;
    tensor.dims = dims;
    int rc = group->reducer->library->alltoall(&tensor, collective->splits, collective->size,
                                               options, NULL);
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
    case HVD_DEVICE_ALLTOALL:
        rc = alltoall_on_host(group, collective, &options);
        break;
    case HVD_DEVICE_REDUCESCATTER:
        options.prescale = collective->prescale;
        options.postscale = collective->postscale;
        rc = reducescatter_on_host(group, collective, &options);
        break;
    default:
        rc = broadcast_on_host(group, collective, &options);
    }
    return rc < 0 ? fail(err, rc, "%s", group->reducer->library->last_error()) : HVD_OK;
}
