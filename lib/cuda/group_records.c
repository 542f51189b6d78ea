/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a group tell each other, and what they conclude from it; see reducer.h.
 *
 *   NCCL of all ranks       if all have it, no two share a GPU, and none has to encrypt what goes
 *                           to another host
 *   in two levels           allreduces of ranks on several hosts (hierarchy.h), if
 *                           HOROVOD_HIERARCHICAL_ALLREDUCE is 1, all have NCCL, no two share a
 *                           GPU, and there are at most HIERARCHY_MOST_RANKS
 *   memory of other ranks   ipc.h
 *   through the host        else
 *
 * Fails if versions of NCCL differ, or values of that variable where it has an effect, with both in
 * the text. */
#include "lib/base/env_names.h"
#include "lib/cuda/reducer_impl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void record_read_boot(char *boot, size_t size)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return;
    if (!fgets(boot, (int)size, file))
        *boot = '\0';
    fclose(file);
}

int cuda_group_make_record(const struct cuda_group *group, bool first, struct group_record *record,
                           struct err *err)
{
    const struct cuda_reducer *reducer = group->reducer;
    *record = (struct group_record){ .version = reducer->nccl ? reducer->nccl->version : 0,
                                     .ipc = (int32_t)reducer->ipc,
                                     .encrypts = reducer->encrypts,
                                     .hierarchical = reducer->hierarchical };
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

static bool is_one_host(const struct group_record *record, const struct group_record *other)
{
    return strcmp(record->host, other->host) == 0 && strcmp(record->boot, other->boot) == 0;
}

/* "22803"; "missing". */
static const char *version_text(char text[16], int version)
{
    snprintf(text, 16, version ? "%d" : "missing", version);
    return text;
}

static int judge_versions(const struct cuda_group *group, const struct group_record *records,
                          struct err *err)
{
    char first[16], other[16];
    for (int i = 1; i < group->size; i++)
        if (records[i].version != records[0].version)
            return fail(err, HVD_ERR_SYSTEM,
                        "NCCL is version %s on rank %d (%s), %s on rank %d (%s); %s=0 does without",
                        version_text(first, records[0].version), group->ranks[0], records[0].host,
                        version_text(other, records[i].version), group->ranks[i], records[i].host,
                        ENV_CUDA_NCCL);
    return HVD_OK;
}

/* Whether the rank can read the memory of the first one, as far as records tell, or why not. */
static int judge_ipc_of(const struct cuda_group *group, const struct group_record *records, int i,
                        struct err *why)
{
    const struct group_record *first = &records[0], *other = &records[i];
    if (other->ipc == IPC_NEVER)
        return fail(why, HVD_ERR_SYSTEM, "rank %d (%s) has %s=0", group->ranks[i], other->host,
                    ENV_CUDA_IPC);
    return is_one_host(first, other)
               ? HVD_OK
               : fail(why, HVD_ERR_SYSTEM, "rank %d (%s) and rank %d (%s) are on different hosts%s",
                      group->ranks[0], first->host, group->ranks[i], other->host,
                      strcmp(first->host, other->host) == 0 ? ", as their boot ids say" : "");
}

static void judge_ipc(struct cuda_group *group, const struct group_record *records)
{
    group->may_ipc = true;
    group->wants_ipc = false;
    for (int i = 0; i < group->size; i++) {
        group->wants_ipc = group->wants_ipc || records[i].ipc == IPC_WANTED;
        group->may_ipc =
            group->may_ipc && judge_ipc_of(group, records, i, &group->no_ipc) == HVD_OK;
    }
}

static int judge_wishes(const struct cuda_group *group, const struct group_record *records,
                        struct err *err)
{
    for (int i = 1; i < group->size; i++)
        if (records[i].hierarchical != records[0].hierarchical)
            return fail(err, HVD_ERR_SYSTEM, "%s is %d on rank %d (%s), %d on rank %d (%s)",
                        ENV_HIERARCHICAL_ALLREDUCE, records[0].hierarchical, group->ranks[0],
                        records[0].host, records[i].hierarchical, group->ranks[i], records[i].host);
    return HVD_OK;
}

static void find_hosts(const struct cuda_group *group, const struct group_record *records,
                       int *host_of)
{
    for (int i = 0; i < group->size; i++) {
        host_of[i] = 0;
        while (!is_one_host(&records[host_of[i]], &records[i]))
            host_of[i]++;
    }
}

/* Two ranks cannot share a GPU in NCCL. */
static bool ranks_share_a_gpu(const struct cuda_group *group, const struct group_record *records)
{
    for (int i = 0; i < group->size; i++)
        for (int k = 0; k < i; k++)
            if (is_one_host(&records[i], &records[k]) &&
                memcmp(&records[i].gpu, &records[k].gpu, sizeof records[i].gpu) == 0)
                return true;
    return false;
}

/* What NCCL sends to another host is not encrypted. */
static bool hosts_encrypt(const struct cuda_group *group, const struct group_record *records,
                          const int *host_of)
{
    bool several = false, encrypts = false;
    for (int i = 0; i < group->size; i++) {
        several = several || host_of[i] != 0;
        encrypts = encrypts || records[i].encrypts;
    }
    return several && encrypts;
}

static int judge_path(struct cuda_group *group, const struct group_record *records,
                      const int *host_of, struct err *err)
{
    bool nccl = records[0].version != 0 && !ranks_share_a_gpu(group, records);
    bool encrypts = hosts_encrypt(group, records, host_of);
    group->path = nccl && !encrypts ? GROUP_NCCL : GROUP_HOST;
    if (!nccl || !hierarchy_exists(host_of, group->size))
        return HVD_OK;
    group->hierarchy.is_too_large = records[0].hierarchical && group->size > HIERARCHY_MOST_RANKS;
    group->hierarchy.chosen = records[0].hierarchical && !group->hierarchy.is_too_large;
    return judge_wishes(group, records, err);
}

int cuda_group_judge(struct cuda_group *group, struct group_record *records, int *host_of,
                     struct err *err)
{
    for (int i = 0; i < group->size; i++) {
        records[i].host[sizeof records[i].host - 1] = '\0';
        records[i].boot[sizeof records[i].boot - 1] = '\0';
    }
    int rc = judge_versions(group, records, err);
    if (rc < 0)
        return rc;
    group->has_pools = true;
    for (int i = 0; i < group->size; i++)
        group->has_pools = group->has_pools && records[i].pools;
    judge_ipc(group, records);
    find_hosts(group, records, host_of);
    return judge_path(group, records, host_of, err);
}
