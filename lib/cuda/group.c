/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a group; see reducer.h.
 *
 *   waits for a request, or, while a communicator is at work, for a millisecond; while the memory
 *     of other ranks is open, for a tenth of a second
 *   request: agree, if need be; prescale, reduce, postscale on the stream, out of the memory of the
 *     other ranks (ipc.h), in two levels (hierarchy.h), or through the library; group_collective.c,
 *     group_rows.c and group_host.c have the collectives beside allreduce
 *   at work: group_work.c
 *
 * What fails, fails the request. */
#include "lib/base/quiet_thread.h"
#include "lib/cuda/reducer_impl.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { POLL_NS = 1000000 };

/* How a thread waits for its GPU: it yields at first, then it naps. */
enum { AWAIT_YIELDS = 200, AWAIT_NAP_NS = 20000 };

static _Thread_local bool calling;

bool cuda_group_is_calling(void)
{
    return calling;
}

/* A rank has left, and what the others have begun with it has not passed within the time. */
static bool group_is_left(struct cuda_group *group)
{
    struct timespec now;
    if (!group->reducer->library->process_set_has_ended(group->set, group->serial))
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (group->left_at.tv_sec == 0)
        group->left_at = now;
    return now.tv_sec - group->left_at.tv_sec > GROUP_LEFT_S;
}

bool cuda_group_is_over(struct cuda_group *group)
{
    pthread_mutex_lock(&group->reducer->lock);
    bool stops = group->stops;
    pthread_mutex_unlock(&group->reducer->lock);
    return stops || group->reducer->library->world_is_broken() || group_is_left(group);
}

int cuda_group_record(struct cuda_group *group, struct cuda_event *event, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->event_record(event, group->stream);
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuEventRecord", err);
}

static int await_is_in_vain(struct cuda_group *group, struct err *err)
{
    if (cuda_group_is_over(group))
        return fail(err, HVD_ERR_SYSTEM, "the world ended before NCCL was done");
    return cuda_group_check_nccl(group, err);
}

int cuda_group_await_event(struct cuda_group *group, struct cuda_event *event, bool behind_nccl,
                           struct err *err)
{
    int result, rc = HVD_OK;
    const struct cuda_driver *driver = group->reducer->device->driver;
    for (int polls = 0; (result = driver->event_query(event)) == CUDA_NOT_READY; polls++) {
        if (polls < AWAIT_YIELDS) {
            sched_yield();
            continue;
        }
        if (behind_nccl && (rc = await_is_in_vain(group, err)) < 0)
            return rc;
        nanosleep(&(struct timespec){ .tv_nsec = AWAIT_NAP_NS }, NULL);
    }
    return result == CUDA_OK ? HVD_OK : cuda_driver_fail(driver, result, "cuEventQuery", err);
}

int cuda_group_await(struct cuda_group *group, struct err *err)
{
    int rc = cuda_group_record(group, group->launched, err);
    return rc == HVD_OK ? cuda_group_await_event(group, group->launched, false, err) : rc;
}

/* ---- a request ---- */

static int reduce_on_host(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                          struct err *err)
{
    const struct device_module_library *library = group->reducer->library;
    const int64_t count = (int64_t)allreduce->count;
    const struct hvd_options options = { .process_set = allreduce->process_set,
                                         .prescale = allreduce->prescale,
                                         .postscale = allreduce->postscale };
    const struct hvd_tensor tensor = { .name = "hvd_cuda.host",
                                       .input = allreduce->input,
                                       .output = allreduce->output,
                                       .dtype = allreduce->dtype,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = group->reducer->device->number };
    int rc = library->allreduce(&tensor, allreduce->op, &options);
    return rc < 0 ? fail(err, rc, "%s", library->last_error()) : HVD_OK;
}

static int group_scale(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                       const void *input, double factor, struct err *err)
{
    return cuda_kernels_scale(&group->reducer->kernels, group->reducer->device, group->stream,
                              allreduce->dtype, allreduce->output, input, allreduce->count, factor,
                              err);
}

int cuda_group_mark_launched(struct cuda_group *group, struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = cuda_group_record(group, group->launched, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

int cuda_group_prescale(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                        struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = group_scale(group, allreduce, allreduce->input, allreduce->prescale, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

static int group_allreduce(struct cuda_group *group, const struct hvd_device_allreduce *allreduce,
                           struct err *err)
{
    int dtype, op, rc = HVD_OK;
    const void *input = allreduce->input;
    nccl_numbers(allreduce->dtype, allreduce->op, &dtype, &op);
    if (allreduce->prescale != 1) {
        rc = group_scale(group, allreduce, input, allreduce->prescale, err);
        input = allreduce->output;
    }
    if (rc < 0)
        return rc;
    int result = group->reducer->nccl->allreduce(input, allreduce->output, allreduce->count, dtype,
                                                 op, group->comm, group->stream);
    group->at_work = true;
    rc = cuda_group_complete(group, result, "ncclAllReduce", err);
    if (rc == HVD_OK && allreduce->postscale != 1)
        rc = group_scale(group, allreduce, allreduce->output, allreduce->postscale, err);
    return rc;
}

/* In the GPU's context. */
static int group_launch(struct cuda_group *group, const struct cuda_ticket *ticket, struct err *err)
{
    int rc = ticket->is_collective ? cuda_group_collective(group, &ticket->collective, err)
                                   : group_allreduce(group, &ticket->allreduce, err);
    return rc == HVD_OK ? cuda_group_record(group, group->launched, err) : rc;
}

static int group_launch_in_context(struct cuda_group *group, const struct cuda_ticket *ticket,
                                   struct err *err)
{
    int rc = cuda_device_enter(group->reducer->device, err);
    if (rc < 0)
        return rc;
    rc = group_launch(group, ticket, err);
    cuda_device_leave(group->reducer->device);
    return rc;
}

/* An allreduce that NCCL does not take. */
static int reduce_without_nccl(struct cuda_group *group,
                               const struct hvd_device_allreduce *allreduce, struct err *err)
{
    if (group->size == 1 || !ipc_takes(allreduce->dtype, allreduce->op, allreduce->count))
        return reduce_on_host(group, allreduce, err);
    int rc = cuda_group_finish_nccl(group, err);
    if (rc == HVD_OK)
        rc = cuda_ipc_agree(group, err);
    if (rc < 0)
        return rc;
    return group->ipc.state == IPC_OPEN ? cuda_ipc_allreduce(group, allreduce, err)
                                        : reduce_on_host(group, allreduce, err);
}

static int group_carry_out(struct cuda_group *group, const struct cuda_ticket *ticket,
                           struct err *err)
{
    int dtype, op, rc = cuda_group_agree(group, err);
    if (rc < 0)
        return rc;
    if (ticket->is_collective)
        return cuda_group_can_collective(group, &ticket->collective)
                   ? group_launch_in_context(group, ticket, err)
                   : cuda_group_collective_on_host(group, &ticket->collective, err);
    if (cuda_hierarchy_takes(group, &ticket->allreduce))
        return cuda_hierarchy_allreduce(group, &ticket->allreduce, err);
    return group->path == GROUP_NCCL &&
                   nccl_numbers(ticket->allreduce.dtype, ticket->allreduce.op, &dtype, &op)
               ? group_launch_in_context(group, ticket, err)
               : reduce_without_nccl(group, &ticket->allreduce, err);
}

/* ---- the thread ---- */

/* The next request; NULL when there is none now, or none will come (`stops`). */
static struct cuda_ticket *group_take(struct cuda_group *group, bool *stops)
{
    struct timespec until;
    bool polls = group->at_work || group->ipc.state == IPC_OPEN;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += group->at_work ? POLL_NS : IPC_POLL_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&group->reducer->lock);
    if (polls && !group->first && !group->stops)
        pthread_cond_timedwait(&group->wanted, &group->reducer->lock, &until);
    while (!polls && !group->first && !group->stops)
        pthread_cond_wait(&group->wanted, &group->reducer->lock);
    struct cuda_ticket *ticket = group->first;
    if (ticket)
        group->first = ticket->next_queued;
    if (!group->first)
        group->last = &group->first;
    *stops = group->stops;
    pthread_mutex_unlock(&group->reducer->lock);
    return ticket;
}

static void *group_run(void *arg)
{
    struct cuda_group *group = arg;
    bool stops = false;
    calling = true;
    while (!stops) {
        struct err err = { .code = HVD_OK };
        struct cuda_ticket *ticket = group_take(group, &stops);
        if (ticket)
            cuda_ticket_done(ticket, group_carry_out(group, ticket, &err), &err);
        else if (group->at_work)
            cuda_group_check_work(group);
        else if (group->ipc.state == IPC_OPEN && group->reducer->library->world_is_broken())
            cuda_group_part(group, NULL);
    }
    cuda_group_part(group, NULL);
    return NULL;
}

static int group_open(struct cuda_group *group, struct err *err)
{
    const struct cuda_driver *driver = group->reducer->device->driver;
    int result = driver->stream_create(&group->stream, CUDA_STREAM_NON_BLOCKING);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuStreamCreate", err);
    result = driver->event_create(&group->launched, CUDA_EVENT_DISABLE_TIMING);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuEventCreate", err);
    return quiet_thread_start(&group->thread, "hvd-cuda", group_run, group) == 0
               ? HVD_OK
               : fail(err, HVD_ERR_NOMEM, "there is no thread left");
}

static void group_close(struct cuda_group *group)
{
    struct err err;
    const struct cuda_device *device = group->reducer->device;
    if (!group->is_stuck && cuda_device_enter(device, &err) == HVD_OK) {
        if (group->launched)
            device->driver->event_destroy(group->launched);
        if (group->stream)
            device->driver->stream_destroy(group->stream);
        cuda_device_leave(device);
    }
    pthread_cond_destroy(&group->wanted);
    free(group->ranks);
    free(group);
}

struct cuda_group *cuda_group_create(struct cuda_reducer *reducer, int set, struct err *err)
{
    struct cuda_group *group = calloc(1, sizeof *group);
    if (!group) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    group->reducer = reducer;
    group->set = set;
    group->last = &group->first;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&group->wanted, &attributes);
    pthread_condattr_destroy(&attributes);
    int rc = cuda_device_enter(reducer->device, err);
    if (rc == HVD_OK) {
        rc = group_open(group, err);
        cuda_device_leave(reducer->device);
    }
    if (rc == HVD_OK)
        return group;
    group_close(group);
    return NULL;
}

void cuda_group_destroy(struct cuda_group *group)
{
    pthread_mutex_lock(&group->reducer->lock);
    group->stops = true;
    pthread_cond_signal(&group->wanted);
    pthread_mutex_unlock(&group->reducer->lock);
    pthread_join(group->thread, NULL);
    group_close(group);
}
