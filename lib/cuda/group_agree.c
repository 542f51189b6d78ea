/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks of a group agree; see reducer.h. Each gives a record, in this process's own layout:
 * all ranks have the same library. */
#include "lib/cuda/reducer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
    int32_t version;  /* of NCCL; 0: there is none */
    int32_t ipc;      /* enum ipc_wish */
    int32_t encrypts; /* 1: what goes to other hosts has to be encrypted, as HVD_ENCRYPT says */
    int32_t pools;    /* 1: the GPU has memory pools, which cuMemAllocAsync() needs */
    struct cuda_uuid gpu;
    struct nccl_id id; /* of the set's first rank */
    char host[64];
    char boot[40]; /* of its kernel: hosts may have one name; "" if not known */
};

/* Kernels that wait for other ranks may do so for ever: nothing may wait for them. */
static void group_stick(struct cuda_group *group)
{
    pthread_mutex_lock(&group->reducer->lock);
    group->is_stuck = group->reducer->is_stuck = true;
    pthread_mutex_unlock(&group->reducer->lock);
}

/* NCCL leaves the thread the context that it had. Without one it would make one on GPU 0. */
static void group_abort(struct cuda_group *group)
{
    struct err err;
    const struct cuda_device *device = group->reducer->device;
    bool entered = cuda_device_enter(device, &err) == HVD_OK;
    int result = group->reducer->nccl->comm_abort(group->comm);
    if (group->at_work && result != NCCL_OK && result != NCCL_IN_PROGRESS)
        group_stick(group);
    if (entered)
        cuda_device_leave(device);
}

void cuda_group_part(struct cuda_group *group, const struct err *why)
{
    if (group->comm) {
        cuda_tickets_fail(group, why);
        group_abort(group);
    }
    group->comm = NULL;
    cuda_ipc_part(group);
    group->path = GROUP_UNKNOWN;
    group->at_work = false;
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
    return 0;
}

/* ---- what they say ---- */

static void record_read_boot(char *boot, size_t size)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return;
    if (!fgets(boot, (int)size, file))
        *boot = '\0';
    fclose(file);
}

static int make_record(const struct cuda_group *group, bool first, struct record *record,
                       struct err *err)
{
    const struct cuda_reducer *reducer = group->reducer;
    *record = (struct record){ .version = reducer->nccl ? reducer->nccl->version : 0,
                               .ipc = (int32_t)reducer->ipc,
                               .encrypts = reducer->encrypts };
    gethostname(record->host, sizeof record->host - 1);
    record_read_boot(record->boot, sizeof record->boot);
    const struct cuda_driver *driver = reducer->device->driver;
    int result = driver->device_get_uuid(&record->gpu, reducer->device->gpu);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuDeviceGetUuid", err);
    result = driver->device_get_attribute(&record->pools, CUDA_ATTRIBUTE_MEMORY_POOLS,
                                          reducer->device->gpu);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuDeviceGetAttribute", err);
    result = first && reducer->nccl ? reducer->nccl->get_id(&record->id) : NCCL_OK;
    return result == NCCL_OK ? HVD_OK : nccl_fail(reducer->nccl, result, "ncclGetUniqueId", err);
}

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

static bool is_one_host(const struct record *record, const struct record *other)
{
    return strcmp(record->host, other->host) == 0 && strcmp(record->boot, other->boot) == 0;
}

/* Two ranks cannot share a GPU in NCCL, and what it sends to another host is not encrypted. */
static bool is_beyond_nccl(const struct record *record, const struct record *other)
{
    if (!is_one_host(record, other))
        return record->encrypts || other->encrypts;
    return memcmp(&record->gpu, &other->gpu, sizeof record->gpu) == 0;
}

/* "22803"; "missing". */
static const char *version_text(char text[16], int version)
{
    snprintf(text, 16, version ? "%d" : "missing", version);
    return text;
}

static int judge_versions(const struct cuda_group *group, const struct record *records,
                          struct err *err)
{
    char first[16], other[16];
    for (int i = 1; i < group->size; i++)
        if (records[i].version != records[0].version)
            return fail(err, HVD_ERR_SYSTEM,
                        "NCCL is version %s on rank %d (%s), %s on rank %d (%s); %s=0 does without",
                        version_text(first, records[0].version), group->ranks[0], records[0].host,
                        version_text(other, records[i].version), group->ranks[i], records[i].host,
                        CUDA_ENV_NCCL);
    return HVD_OK;
}

/* Whether the rank can read the memory of the first one, as far as records tell, or why not. */
static int judge_ipc_of(const struct cuda_group *group, const struct record *records, int i,
                        struct err *why)
{
    const struct record *first = &records[0], *other = &records[i];
    if (other->ipc == IPC_NEVER)
        return fail(why, HVD_ERR_SYSTEM, "rank %d (%s) has %s=0", group->ranks[i], other->host,
                    CUDA_ENV_IPC);
    return is_one_host(first, other)
               ? HVD_OK
               : fail(why, HVD_ERR_SYSTEM, "rank %d (%s) and rank %d (%s) are on different hosts%s",
                      group->ranks[0], first->host, group->ranks[i], other->host,
                      strcmp(first->host, other->host) == 0 ? ", as their boot ids say" : "");
}

static void judge_ipc(struct cuda_group *group, const struct record *records)
{
    group->may_ipc = true;
    group->wants_ipc = false;
    for (int i = 0; i < group->size; i++) {
        group->wants_ipc = group->wants_ipc || records[i].ipc == IPC_WANTED;
        group->may_ipc =
            group->may_ipc && judge_ipc_of(group, records, i, &group->no_ipc) == HVD_OK;
    }
}

/* Every rank has the same records, and comes to the same result. */
static int judge_records(struct cuda_group *group, struct record *records, struct err *err)
{
    for (int i = 0; i < group->size; i++) {
        records[i].host[sizeof records[i].host - 1] = '\0';
        records[i].boot[sizeof records[i].boot - 1] = '\0';
    }
    int rc = judge_versions(group, records, err);
    if (rc < 0)
        return rc;
    group->path = records[0].version ? GROUP_NCCL : GROUP_HOST;
    group->has_pools = true;
    for (int i = 0; i < group->size; i++)
        group->has_pools = group->has_pools && records[i].pools;
    judge_ipc(group, records);
    for (int i = 0; i < group->size; i++)
        for (int k = 0; k < i; k++)
            if (is_beyond_nccl(&records[i], &records[k]))
                group->path = GROUP_HOST;
    return HVD_OK;
}

/* ---- the communicator ---- */

static int make_communicator(struct cuda_group *group, const struct nccl_id *id, int rank,
                             struct err *err)
{
    struct nccl_config config = { .size = sizeof config,
                                  .magic = NCCL_CONFIG_MAGIC,
                                  .version = NCCL_CONFIG_VERSION,
                                  .blocking = 0 };
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    int result = group->reducer->nccl->comm_init(&group->comm, group->size, *id, rank, &config);
    rc = cuda_group_complete(group, result, "ncclCommInitRankConfig", err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

static int agree_anew(struct cuda_group *group, int rank, struct record *records, struct err *err)
{
    struct record own;
    int rc = make_record(group, rank == 0, &own, err);
    if (rc == HVD_OK)
        rc = cuda_group_gather(group, "hvd_cuda.agree", &own, records, sizeof own, err);
    if (rc == HVD_OK)
        rc = judge_records(group, records, err);
    if (rc == HVD_OK && group->path == GROUP_NCCL)
        rc = make_communicator(group, &records[0].id, rank, err);
    return rc;
}

int cuda_group_agree(struct cuda_group *group, struct err *err)
{
    if (group->is_stuck)
        return fail(err, HVD_ERR_SYSTEM, "NCCL has failed, and could not be aborted");
    int rc = agreement_holds(group, err);
    if (rc != 0)
        return rc < 0 ? rc : HVD_OK;
    struct record *records = calloc((size_t)group->size + 1, sizeof *records);
    if (!records)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rank = group->reducer->library->process_set_rank(group->set);
    rc = rank < 0 ? fail(err, rank, "%s", group->reducer->library->last_error())
                  : agree_anew(group, rank, records, err);
    free(records);
    if (rc < 0)
        cuda_group_part(group, NULL);
    return rc;
}
