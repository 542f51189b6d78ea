/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives beside allreduce, for the thread of a group; see reducer.h.
 *
 *   broadcast: ncclBroadcast of bytes, in place
 *   through the host: the library's collective of the same kind
 *
 * All ranks of the set make the same calls of NCCL in the same order. */
#include "lib/cuda/reducer_impl.h"

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

int cuda_group_collective(struct cuda_group *group, const struct hvd_device_collective *collective,
                          struct err *err)
{
    return collective_broadcast(group, collective, err);
}

int cuda_group_collective_on_host(struct cuda_group *group,
                                  const struct hvd_device_collective *collective, struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    const int64_t count = (int64_t)collective->count;
    const struct hvd_options options = { .process_set = collective->process_set };
    const struct hvd_tensor tensor = { .name = "hvd_cuda.host",
                                       .output = collective->output,
                                       .dtype = collective->dtype,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = group->reducer->device->number };
    int rc = library->broadcast(&tensor, group->ranks[collective->root], &options);
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}
