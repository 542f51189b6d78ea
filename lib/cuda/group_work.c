/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL has at work for a group, for its thread; see reducer.h.
 *
 *   a call that has begun: until NCCL says that it is done, the group is over, or NCCL has failed
 *   what is on the stream: has it passed? has NCCL failed, or is the group over, because the world
 *     has broken or a rank of the set has left? then the communicators are aborted, whose kernels
 *     would wait for that rank for ever */
#include "lib/cuda/reducer_impl.h"

#include <time.h>

enum { WORK_POLL_NS = 100000 };

/* What NCCL says of the group's communicators; a failure of one comes first. */
static int group_ask_nccl(const struct cuda_group *group)
{
    const struct nccl *nccl = group->reducer->nccl;
    struct nccl_comm *const comms[] = { group->comm, group->hierarchy.comm };
    int answer = NCCL_OK;
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        int result = NCCL_OK, rc = comms[i] ? nccl->comm_error(comms[i], &result) : NCCL_OK;
        result = rc == NCCL_OK ? result : rc;
        if (result != NCCL_OK && result != NCCL_IN_PROGRESS)
            return result;
        answer = result == NCCL_OK ? answer : result;
    }
    return answer;
}

static int group_await_nccl(struct cuda_group *group, int result, const char *call, struct err *err)
{
    while (result == NCCL_IN_PROGRESS) {
        if (cuda_group_is_over(group))
            return fail(err, HVD_ERR_SYSTEM, "%s: the world ended before it was done", call);
        nanosleep(&(struct timespec){ .tv_nsec = WORK_POLL_NS }, NULL);
        result = group_ask_nccl(group);
    }
    return result == NCCL_OK ? HVD_OK : nccl_fail(group->reducer->nccl, result, call, err);
}

int cuda_group_complete(struct cuda_group *group, int result, const char *call, struct err *err)
{
    int rc = group_await_nccl(group, result, call, err);
    if (rc < 0)
        cuda_group_part(group, err);
    return rc;
}

int cuda_group_check_nccl(const struct cuda_group *group, struct err *err)
{
    int result = group_ask_nccl(group);
    return result == NCCL_OK || result == NCCL_IN_PROGRESS
               ? HVD_OK
               : nccl_fail(group->reducer->nccl, result, "ncclCommGetAsyncError", err);
}

void cuda_group_check_work(struct cuda_group *group)
{
    struct err err;
    const struct cuda_device *device = group->reducer->device;
    if (cuda_device_enter(device, &err) < 0)
        return;
    if (device->driver->event_query(group->launched) != CUDA_NOT_READY)
        group->at_work = false;
    cuda_device_leave(device);
    if (group->at_work && cuda_group_is_over(group))
        cuda_group_part(group, NULL);
    else if (group->at_work && cuda_group_check_nccl(group, &err) < 0)
        cuda_group_part(group, &err);
}

int cuda_group_finish_nccl(struct cuda_group *group, struct err *err)
{
    while (group->at_work) {
        cuda_group_check_work(group);
        if (group->path == GROUP_UNKNOWN)
            return fail(err, HVD_ERR_SYSTEM, "the world ended before NCCL was done");
        if (group->at_work)
            nanosleep(&(struct timespec){ .tv_nsec = WORK_POLL_NS }, NULL);
    }
    return HVD_OK;
}
