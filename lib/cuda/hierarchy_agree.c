/* SPDX-License-Identifier: Apache-2.0 */
/* What an allreduce in two levels needs, and its end; see hierarchy.h.
 *
 *   the first rank of each host asks NCCL for the id of a communicator; an allgather tells it
 *   the ranks of each host make the communicator
 *   each rank makes its events; those that carry compile the kernels and allocate memory
 *
 * Fails in the words of NCCL or the driver, and with HVD_ERR_NOMEM. */
#include "lib/base/env_names.h"
#include "lib/cuda/reducer_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the communicator ---- */

static int hierarchy_gather_ids(struct cuda_group *group, struct nccl_id *ids, int rank,
                                struct err *err)
{
    struct nccl_id own = { 0 };
    const struct nccl *nccl = group->reducer->nccl;
    if (group->hierarchy.plan.leader == rank) {
        int result = nccl->get_id(&own);
        if (result != NCCL_OK)
            return nccl_fail(nccl, result, "ncclGetUniqueId", err);
    }
    return cuda_group_gather(group, "hvd_cuda.hierarchy", &own, ids, sizeof own, err);
}

static int hierarchy_connect(struct cuda_group *group, int rank, struct err *err)
{
    struct cuda_hierarchy *hierarchy = &group->hierarchy;
    const struct hierarchy_plan *plan = &hierarchy->plan;
    struct nccl_id *ids = calloc((size_t)group->size, sizeof *ids);
    if (!ids)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = hierarchy_gather_ids(group, ids, rank, err);
    if (rc == HVD_OK)
        rc = cuda_group_connect(group, &hierarchy->comm, &ids[plan->leader], plan->host_rank,
                                plan->host_size, err);
    free(ids);
    return rc;
}

/* ---- memory ---- */

static int slot_open_event(struct hierarchy_slot *slot, const struct cuda_driver *driver,
                           struct err *err)
{
    int result = driver->event_create(&slot->passed, CUDA_EVENT_DISABLE_TIMING);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuEventCreate", err);
}

static int slot_open_memory(struct hierarchy_slot *slot, const struct cuda_driver *driver,
                            struct err *err)
{
    int result = driver->host_alloc((void **)&slot->out, HIERARCHY_SHARE, CUDA_HOST_ALLOC_PORTABLE);
    if (result == CUDA_OK)
        result = driver->host_alloc((void **)&slot->in, HIERARCHY_SHARE, CUDA_HOST_ALLOC_PORTABLE);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuMemHostAlloc", err);
    result = driver->mem_alloc(&slot->memory, HIERARCHY_SHARE);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuMemAlloc", err);
}

static void slot_close(struct hierarchy_slot *slot, const struct cuda_device *device)
{
    const struct cuda_driver *driver = device->driver;
    if (slot->passed)
        driver->event_destroy(slot->passed);
    if (slot->out)
        driver->host_free(slot->out);
    if (slot->in)
        driver->host_free(slot->in);
    if (slot->memory)
        driver->mem_free(slot->memory);
}

static int hierarchy_open(struct cuda_group *group, struct err *err)
{
    struct cuda_hierarchy *hierarchy = &group->hierarchy;
    const struct cuda_device *device = group->reducer->device;
    bool carries = hierarchy_carries(&hierarchy->plan);
    int rc = carries ? cuda_kernels_load(&hierarchy->kernels, device, KERNEL_ACTS, err) : HVD_OK;
    for (int i = 0; i < HIERARCHY_SLOTS && rc == HVD_OK; i++) {
        rc = slot_open_event(&hierarchy->slots[i], device->driver, err);
        if (rc == HVD_OK && carries)
            rc = slot_open_memory(&hierarchy->slots[i], device->driver, err);
    }
    return rc;
}

static int hierarchy_open_in_context(struct cuda_group *group, struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = hierarchy_open(group, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

/* ---- the agreement ---- */

void cuda_hierarchy_tell(const struct cuda_group *group)
{
    char line[200];
    const struct hierarchy_plan *plan = &group->hierarchy.plan;
    if (group->hierarchy.is_too_large)
        snprintf(line, sizeof line,
                 "process set %d: %s=1 has no effect: the set has %d ranks, more than %d",
                 group->set, ENV_HIERARCHICAL_ALLREDUCE, group->size, HIERARCHY_MOST_RANKS);
    else if (group->hierarchy.chosen)
        snprintf(
            line, sizeof line,
            "process set %d: large allreduces of GPUs go through NCCL within each of %d hosts, and "
            "between hosts through the library, on %d of each host's ranks",
            group->set, plan->hosts, plan->carriers);
    else
        return;
    group->reducer->library->log_info(line);
}

int cuda_hierarchy_agree(struct cuda_group *group, const int *host_of, int rank, struct err *err)
{
    struct cuda_hierarchy *hierarchy = &group->hierarchy;
    hierarchy->splits = calloc((size_t)group->size, sizeof *hierarchy->splits);
    if (!hierarchy->splits || !hierarchy_plan_make(&hierarchy->plan, host_of, group->size, rank))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = hierarchy_connect(group, rank, err);
    if (rc == HVD_OK)
        rc = hierarchy_open_in_context(group, err);
    return rc;
}

void cuda_hierarchy_quit(struct cuda_group *group)
{
    struct hierarchy_slot *slots = group->hierarchy.slots;
    for (int i = 0; i < HIERARCHY_SLOTS; i++) {
        if (slots[i].exchanges)
            group->reducer->library->wait(slots[i].handle);
        slots[i].exchanges = false;
    }
}

/* What is at work for ever keeps its memory, and lets the driver wait in calls that free other
 * memory. */
void cuda_hierarchy_part(struct cuda_group *group)
{
    struct err err;
    struct cuda_hierarchy *hierarchy = &group->hierarchy;
    const struct cuda_device *device = group->reducer->device;
    if (hierarchy->splits && !cuda_reducer_is_stuck(group->reducer) &&
        cuda_device_enter(device, &err) == HVD_OK) {
        cuda_group_await(group, &err);
        for (int i = 0; i < HIERARCHY_SLOTS; i++)
            slot_close(&hierarchy->slots[i], device);
        cuda_kernels_unload(&hierarchy->kernels, device);
        cuda_device_leave(device);
    }
    hierarchy_plan_free(&hierarchy->plan);
    free(hierarchy->splits);
    *hierarchy = (struct cuda_hierarchy){ 0 };
}
