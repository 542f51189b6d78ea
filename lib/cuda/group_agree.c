/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks of a group agree; see reducer.h. Each gives a record (group_records.c), and all
 * judge the records alike; then they make the communicators that they need. */
#include "lib/cuda/reducer_impl.h"

#include <stdlib.h>

/* Kernels that wait for other ranks may do so for ever: nothing may wait for them. */
static void group_stick(struct cuda_group *group)
{
    pthread_mutex_lock(&group->reducer->lock);
    group->is_stuck = group->reducer->is_stuck = true;
    pthread_mutex_unlock(&group->reducer->lock);
}

/* NCCL leaves the thread the context that it had. Without one it would make one on GPU 0. */
static void group_abort(struct cuda_group *group, struct nccl_comm *comm)
{
    struct err err;
    if (!comm)
        return;
    const struct cuda_device *device = group->reducer->device;
    bool entered = cuda_device_enter(device, &err) == HVD_OK;
    int result = group->reducer->nccl->comm_abort(comm);
    if (group->at_work && result != NCCL_OK && result != NCCL_IN_PROGRESS)
        group_stick(group);
    if (entered)
        cuda_device_leave(device);
}

void cuda_group_part(struct cuda_group *group, const struct err *why)
{
    if (group->comm || group->hierarchy.comm)
        cuda_tickets_fail(group, why);
    cuda_hierarchy_quit(group);
    group_abort(group, group->comm);
    group_abort(group, group->hierarchy.comm);
    group->comm = NULL;
    group->at_work = false;
    cuda_hierarchy_part(group);
    cuda_ipc_part(group);
    group->path = GROUP_UNKNOWN;
}

/* ---- who is in the set ---- */

static int group_read_members(struct cuda_group *group, int **ranks, struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    int size = library->process_set_ranks(group->set, NULL, 0);
    if (size < 0)
        return fail(err, size, "%s", library->last_error());
    *ranks = malloc(((size_t)size + 1) * sizeof **ranks);
    if (!*ranks)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    library->process_set_ranks(group->set, *ranks, size);
    return size;
}

/* 1 if the agreement holds for the set as it is now, else 0, and the members are noted. Another set
 * of this number may have the same ranks, of which some have agreed for one between: only the
 * serial tells all ranks the same. */
static int agreement_holds(struct cuda_group *group, struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    int *ranks, epoch = library->epoch(), serial = library->process_set_serial(group->set);
    if (serial < 0)
        return fail(err, serial, "%s", library->last_error());
    if (group->path != GROUP_UNKNOWN && group->epoch == epoch && group->serial == serial)
        return 1;
    int size = group_read_members(group, &ranks, err);
    if (size < 0)
        return size;
    cuda_group_part(group, NULL);
    free(group->ranks);
    group->ranks = ranks;
    group->size = size;
    group->epoch = epoch;
    group->serial = serial;
    group->left_at = (struct timespec){ 0 };
    return 0;
}

/* ---- what they say ---- */

int cuda_group_gather(const struct cuda_group *group, const char *name, const void *own,
                      void *records, size_t nbytes, struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    const int64_t dims[] = { 1, (int64_t)nbytes };
    const struct hvd_options options = { .process_set = group->set };
    const struct hvd_tensor tensor = { .name = name,
                                       .input = own,
                                       .output = records,
                                       .output_size = (size_t)group->size * nbytes,
                                       .dtype = HVD_UINT8,
                                       .ndims = 2,
                                       .dims = dims };
    int rc = library->allgather(&tensor, &options, NULL);
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}

/* ---- the communicator ---- */

int cuda_group_connect(struct cuda_group *group, struct nccl_comm **comm, const struct nccl_id *id,
                       int rank, int size, struct err *err)
{
    struct nccl_config config = { .size = sizeof config,
                                  .magic = NCCL_CONFIG_MAGIC,
                                  .version = NCCL_CONFIG_VERSION,
                                  .blocking = 0 };
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    int result = group->reducer->nccl->comm_init(comm, size, *id, rank, &config);
    rc = cuda_group_complete(group, result, "ncclCommInitRankConfig", err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

/* `records` and `host_of` have room for what there is of each rank. */
static int agree_anew(struct cuda_group *group, int rank, struct group_record *records,
                      int *host_of, struct err *err)
{
    struct group_record own;
    int rc = cuda_group_make_record(group, rank == 0, &own, err);
    if (rc == HVD_OK)
        rc = cuda_group_gather(group, "hvd_cuda.agree", &own, records, sizeof own, err);
    if (rc == HVD_OK)
        rc = cuda_group_judge(group, records, host_of, err);
    if (rc == HVD_OK && group->path == GROUP_NCCL)
        rc = cuda_group_connect(group, &group->comm, &records[0].id, rank, group->size, err);
    if (rc == HVD_OK && group->hierarchy.chosen)
        rc = cuda_hierarchy_agree(group, host_of, rank, err);
    if (rc == HVD_OK && rank == 0)
        cuda_hierarchy_tell(group);
    return rc;
}

int cuda_group_agree(struct cuda_group *group, struct err *err)
{
    if (group->is_stuck)
        return fail(err, HVD_ERR_SYSTEM, "NCCL has failed, and could not be aborted");
    int rc = agreement_holds(group, err);
    if (rc != 0)
        return rc < 0 ? rc : HVD_OK;
    struct group_record *records = calloc((size_t)group->size + 1, sizeof *records);
    int *host_of = calloc((size_t)group->size + 1, sizeof *host_of);
    int rank = group->reducer->library->process_set_rank(group->set);
    if (!records || !host_of)
        rc = fail(err, HVD_ERR_NOMEM, "out of memory");
    else if (rank < 0)
        rc = fail(err, rank, "%s", group->reducer->library->last_error());
    else
        rc = agree_anew(group, rank, records, host_of, err);
    free(host_of);
    free(records);
    if (rc < 0)
        cuda_group_part(group, NULL);
    return rc;
}
