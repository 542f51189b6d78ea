/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL of a device, and the groups of its process sets; see reducer.h. Requests: ticket.c. */
#include "lib/base/cuda_settings.h"
#include "lib/base/encryption.h"
#include "lib/cuda/reducer_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

/* Loads the kernels that scale before and behind a call of NCCL. */
static int reducer_start(struct cuda_reducer *reducer, struct err *err)
{
    int rc = reducer->nccl ? cuda_device_enter(reducer->device, err) : HVD_OK;
    if (rc < 0 || !reducer->nccl)
        return rc;
    rc = cuda_kernels_load(&reducer->kernels, reducer->device, KERNEL_SCALE + 1, err);
    cuda_device_leave(reducer->device);
    return rc;
}

/* hvd_init() refuses a value that is none. */
static bool encrypts(const char *text)
{
    enum encryption encryption;
    return text && encryption_parse(text, &encryption) && encryption != ENCRYPTION_OFF;
}

/* `*nccl` is NULL if it is not wanted, or not found and not demanded. */
static int find_nccl(enum cuda_switch wanted, const struct nccl **nccl, struct err *err)
{
    *nccl = wanted == CUDA_SWITCH_OFF ? NULL : nccl_open(err);
    return *nccl || wanted != CUDA_SWITCH_ON ? HVD_OK : fail_context(err, "%s=1", ENV_CUDA_NCCL);
}

static enum ipc_wish ipc_wish_of(enum cuda_switch ipc)
{
    if (ipc == CUDA_SWITCH_UNSET)
        return IPC_IF_POSSIBLE;
    return ipc == CUDA_SWITCH_ON ? IPC_WANTED : IPC_NEVER;
}

int cuda_reducer_create(struct cuda_reducer **reducer, struct cuda_device *device,
                        const struct device_module_options *options, struct err *err)
{
    const struct nccl *nccl;
    struct cuda_settings settings;
    int rc;
    *reducer = NULL;
    if ((rc = cuda_settings_read(&settings, options->get, err)) < 0 ||
        (rc = find_nccl(settings.nccl, &nccl, err)) < 0)
        return rc;
    if (!nccl && settings.ipc == CUDA_SWITCH_OFF)
        return HVD_OK;
    struct cuda_reducer *made = calloc(1, sizeof *made);
    if (!made)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    made->device = device;
    made->library = options->library;
    made->nccl = nccl;
    made->ipc = ipc_wish_of(settings.ipc);
    made->hierarchical = settings.hierarchical;
    made->encrypts = encrypts(options->get(ENV_ENCRYPT));
    pthread_mutex_init(&made->lock, NULL);
    rc = reducer_start(made, err);
    if (rc < 0) {
        cuda_reducer_destroy(made);
        return rc;
    }
    *reducer = made;
    return HVD_OK;
}

void cuda_reducer_destroy(struct cuda_reducer *reducer)
{
    struct err err;
    if (!reducer)
        return;
    for (struct cuda_group *next, *group = reducer->groups; group; group = next) {
        next = group->next;
        cuda_group_destroy(group);
    }
    for (struct cuda_ticket *next, *ticket = reducer->tickets; ticket; ticket = next) {
        next = ticket->next;
        free(ticket);
    }
    if (cuda_device_enter(reducer->device, &err) == HVD_OK) {
        ipc_buffers_free(reducer, IPC_LINGER_MS);
        if (!cuda_reducer_is_stuck(reducer))
            cuda_kernels_unload(&reducer->kernels, reducer->device);
        cuda_device_leave(reducer->device);
    }
    ipc_buffers_leave(reducer);
    pthread_mutex_destroy(&reducer->lock);
    free(reducer);
}

/* ---- what it can ---- */

bool cuda_reducer_can(const struct cuda_reducer *reducer, enum hvd_dtype dtype, enum hvd_op op)
{
    int nccl_dtype, nccl_op;
    return reducer && reducer->nccl && !cuda_group_is_calling() &&
           nccl_numbers(dtype, op, &nccl_dtype, &nccl_op);
}

/* With HVD_CUDA_IPC=1 also an allreduce of ranks on several hosts, which fails with their names if
 * those of its set are. */
bool cuda_reducer_can_collective(const struct cuda_reducer *reducer,
                                 const struct hvd_device_collective *question)
{
    int dtype, op;
    if (!reducer || cuda_group_is_calling())
        return false;
    if (question->kind == HVD_DEVICE_ALLREDUCE)
        return (question->one_host ? reducer->ipc != IPC_NEVER : reducer->ipc == IPC_WANTED) &&
               question->size > 1 && ipc_takes(question->dtype, question->op, question->count);
    if (!reducer->nccl)
        return false;
    if (question->kind == HVD_DEVICE_REDUCESCATTER)
        return nccl_numbers(question->dtype, question->op, &dtype, &op);
    return question->kind == HVD_DEVICE_BROADCAST || question->kind == HVD_DEVICE_ALLGATHER ||
           question->kind == HVD_DEVICE_ALLTOALL;
}

/* ---- groups ---- */

bool cuda_reducer_is_stuck(struct cuda_reducer *reducer)
{
    pthread_mutex_lock(&reducer->lock);
    bool is_stuck = reducer->is_stuck;
    pthread_mutex_unlock(&reducer->lock);
    return is_stuck;
}

/* Called under the lock: the link to the set's group, or to NULL. */
static struct cuda_group **reducer_find(struct cuda_reducer *reducer, int set)
{
    struct cuda_group **link = &reducer->groups;
    while (*link && (*link)->set != set)
        link = &(*link)->next;
    return link;
}

struct cuda_group *cuda_reducer_group(struct cuda_reducer *reducer, int set, struct err *err)
{
    pthread_mutex_lock(&reducer->lock);
    struct cuda_group *group = *reducer_find(reducer, set);
    if (group)
        group->pending++;
    pthread_mutex_unlock(&reducer->lock);
    if (group || !(group = cuda_group_create(reducer, set, err)))
        return group;
    pthread_mutex_lock(&reducer->lock);
    group->pending = 1;
    group->next = reducer->groups;
    reducer->groups = group;
    pthread_mutex_unlock(&reducer->lock);
    return group;
}

void cuda_reducer_let(struct cuda_reducer *reducer, struct cuda_group *group)
{
    pthread_mutex_lock(&reducer->lock);
    group->pending--;
    pthread_mutex_unlock(&reducer->lock);
}

/* Takes the group of the set out of the list; NULL if it is at work for another one. */
static struct cuda_group *reducer_take(struct cuda_reducer *reducer, int set, int serial)
{
    pthread_mutex_lock(&reducer->lock);
    struct cuda_group **link = reducer_find(reducer, set), *group = *link;
    if (group && group->pending == 0 && group->serial == serial)
        *link = group->next;
    else
        group = NULL;
    pthread_mutex_unlock(&reducer->lock);
    return group;
}

void cuda_reducer_set_removed(struct cuda_reducer *reducer, int set, int serial)
{
    struct err err;
    struct cuda_group *group = reducer_take(reducer, set, serial);
    if (!group)
        return;
    cuda_tickets_drop(group);
    cuda_group_destroy(group);
    if (cuda_device_enter(reducer->device, &err) < 0)
        return;
    ipc_buffers_free(reducer, IPC_LINGER_MS);
    cuda_device_leave(reducer->device);
}
