/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets and their events; see reducer.h. */
#include "lib/base/env_names.h"
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
    return text && *text && strcmp(text, "off") != 0;
}

/* What a variable is: 0, 1, or -1 if it is not set. */
static int read_switch(const struct device_module_options *options, const char *name,
                       struct err *err)
{
    char quoted[QUOTED_SIZE];
    const char *text = options->get(name);
    if (!text)
        return -1;
    if (strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
        return *text == '1';
    fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not 0 or 1", name,
         quote_token(quoted, sizeof quoted, text, strlen(text)));
    return HVD_ERR_ENVIRONMENT;
}

/* `*nccl` is NULL if it is not wanted, or not found and not demanded. */
static int find_nccl(int wanted, const struct nccl **nccl, struct err *err)
{
    *nccl = wanted == 0 ? NULL : nccl_open(err);
    return *nccl || wanted != 1 ? HVD_OK : fail_context(err, "%s=1", CUDA_ENV_NCCL);
}

int cuda_reducer_create(struct cuda_reducer **reducer, struct cuda_device *device,
                        const struct device_module_options *options, struct err *err)
{
    const struct nccl *nccl;
    int with_nccl = read_switch(options, CUDA_ENV_NCCL, err);
    int with_ipc = with_nccl < -1 ? with_nccl : read_switch(options, CUDA_ENV_IPC, err);
    *reducer = NULL;
    if (with_ipc < -1)
        return err->code;
    int rc = find_nccl(with_nccl, &nccl, err);
    if (rc < 0 || (!nccl && with_ipc == 0))
        return rc;
    struct cuda_reducer *made = calloc(1, sizeof *made);
    if (!made)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    made->device = device;
    made->library = options->library;
    made->nccl = nccl;
    made->ipc = with_ipc == 0 ? IPC_NEVER : with_ipc == 1 ? IPC_WANTED : IPC_IF_POSSIBLE;
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
        if (!reducer->is_stuck)
            cuda_kernels_unload(&reducer->kernels, reducer->device);
        cuda_device_leave(reducer->device);
    }
    ipc_buffers_leave(reducer);
    pthread_mutex_destroy(&reducer->lock);
    free(reducer);
}

/* ---- requests ---- */

bool cuda_reducer_can(const struct cuda_reducer *reducer, enum hvd_dtype dtype, enum hvd_op op)
{
    int nccl_dtype, nccl_op;
    return reducer && reducer->nccl && !cuda_group_is_calling() &&
           nccl_numbers(dtype, op, &nccl_dtype, &nccl_op);
}

/* Called under the lock: the link to the set's group, or to NULL. */
static struct cuda_group **reducer_find(struct cuda_reducer *reducer, int set)
{
    struct cuda_group **link = &reducer->groups;
    while (*link && (*link)->set != set)
        link = &(*link)->next;
    return link;
}

/* The group of the set, with one more request that it does not end without; NULL and `err` on
 * failure. */
static struct cuda_group *reducer_group(struct cuda_reducer *reducer, int set, struct err *err)
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

static void reducer_let(struct cuda_reducer *reducer, struct cuda_group *group)
{
    pthread_mutex_lock(&reducer->lock);
    group->pending--;
    pthread_mutex_unlock(&reducer->lock);
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

/* A ticket with room for rows, which is not queued yet; NULL and `err` on failure. */
static struct cuda_ticket *ticket_create(struct cuda_reducer *reducer, int set, int nrows,
                                         struct err *err)
{
    struct cuda_group *group = reducer_group(reducer, set, err);
    struct cuda_ticket *ticket =
        group ? calloc(1, sizeof *ticket + (size_t)nrows * sizeof *ticket->rows) : NULL;
    if (ticket) {
        ticket->group = group;
    } else if (group) {
        reducer_let(reducer, group);
        fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    return ticket;
}

static void ticket_queue(struct cuda_reducer *reducer, struct cuda_ticket *ticket)
{
    struct cuda_group *group = ticket->group;
    pthread_mutex_lock(&reducer->lock);
    ticket->next = reducer->tickets;
    reducer->tickets = reducer->newest = ticket;
    *group->last = ticket;
    group->last = &ticket->next_queued;
    pthread_cond_signal(&group->wanted);
    pthread_mutex_unlock(&reducer->lock);
}

int cuda_reducer_put(struct cuda_reducer *reducer, const struct hvd_device_allreduce *allreduce,
                     struct err *err)
{
    struct cuda_ticket *ticket = ticket_create(reducer, allreduce->process_set, 0, err);
    if (!ticket)
        return err->code;
    ticket->allreduce = *allreduce;
    ticket_queue(reducer, ticket);
    return HVD_OK;
}

int cuda_reducer_put_collective(struct cuda_reducer *reducer,
                                const struct hvd_device_collective *collective, struct err *err)
{
    int nrows = collective->rows ? collective->size : 0;
    int nsplits = collective->splits ? collective->size : 0;
    struct cuda_ticket *ticket =
        ticket_create(reducer, collective->process_set, nrows + nsplits, err);
    if (!ticket)
        return err->code;
    ticket->is_collective = true;
    ticket->collective = *collective;
    ticket->collective.rows = ticket->rows;
    ticket->collective.splits = ticket->rows + nrows;
    for (int rank = 0; rank < nrows; rank++)
        ticket->rows[rank] = collective->rows[rank];
    for (int rank = 0; rank < nsplits; rank++)
        ticket->rows[nrows + rank] = collective->splits[rank];
    ticket_queue(reducer, ticket);
    return HVD_OK;
}

/* Called under the lock. */
static void ticket_free(struct cuda_reducer *reducer, struct cuda_ticket *ticket)
{
    struct cuda_ticket **link = &reducer->tickets;
    while (*link != ticket)
        link = &(*link)->next;
    *link = ticket->next;
    free(ticket);
}

static int ticket_record(struct cuda_ticket *ticket, struct err *err)
{
    const struct cuda_device *device = ticket->group->reducer->device;
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    int result = device->driver->event_record(ticket->event, ticket->group->stream);
    cuda_device_leave(device);
    return result == CUDA_OK ? HVD_OK
                             : cuda_driver_fail(device->driver, result, "cuEventRecord", err);
}

void cuda_ticket_done(struct cuda_ticket *ticket, int rc, const struct err *err)
{
    struct cuda_reducer *reducer = ticket->group->reducer;
    pthread_mutex_lock(&reducer->lock);
    if (rc < 0)
        ticket->err = *err;
    else if (ticket->event)
        rc = ticket_record(ticket, &ticket->err);
    ticket->state = rc < 0 ? TICKET_FAILED : TICKET_LAUNCHED;
    ticket->group->pending--;
    if (ticket->forgotten)
        ticket_free(reducer, ticket);
    pthread_mutex_unlock(&reducer->lock);
}

int cuda_reducer_record(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    int rc = HVD_OK;
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = reducer->newest;
    reducer->newest = NULL;
    if (!ticket) {
        rc = fail(err, HVD_ERR_INVALID, "nothing was put on the queue");
    } else {
        ticket->event = event;
        if (ticket->state == TICKET_LAUNCHED)
            rc = ticket_record(ticket, err);
    }
    pthread_mutex_unlock(&reducer->lock);
    return rc;
}

/* ---- a set that was removed ---- */

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

/* Nobody will ask for them: the collectives of the set are over. */
static void tickets_drop(struct cuda_reducer *reducer, const struct cuda_group *group)
{
    pthread_mutex_lock(&reducer->lock);
    for (struct cuda_ticket *next, *ticket = reducer->tickets; ticket; ticket = next) {
        next = ticket->next;
        if (ticket->group == group)
            ticket_free(reducer, ticket);
    }
    pthread_mutex_unlock(&reducer->lock);
}

void cuda_reducer_set_removed(struct cuda_reducer *reducer, int set, int serial)
{
    struct err err;
    struct cuda_group *group = reducer_take(reducer, set, serial);
    if (!group)
        return;
    tickets_drop(reducer, group);
    cuda_group_destroy(group);
    if (cuda_device_enter(reducer->device, &err) < 0)
        return;
    ipc_buffers_free(reducer, IPC_LINGER_MS);
    cuda_device_leave(reducer->device);
}

/* ---- events ---- */

/* Called under the lock: the ticket of an event, or NULL. */
static struct cuda_ticket *ticket_of(const struct cuda_reducer *reducer,
                                     const struct cuda_event *event)
{
    struct cuda_ticket *ticket = reducer->tickets;
    while (ticket && (ticket->event != event || ticket->forgotten))
        ticket = ticket->next;
    return ticket;
}

/* The ticket goes when it has failed, or `passed`. */
static int reducer_answer(struct cuda_reducer *reducer, struct cuda_event *event, bool passed,
                          struct err *err)
{
    int rc = 1;
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = ticket_of(reducer, event);
    if (ticket && ticket->state == TICKET_WAITING) {
        rc = 0;
    } else if (ticket) {
        bool failed = ticket->state == TICKET_FAILED;
        if (failed)
            rc = (*err = ticket->err).code;
        if (failed || passed)
            ticket_free(reducer, ticket);
    }
    pthread_mutex_unlock(&reducer->lock);
    return rc;
}

int cuda_reducer_query(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    return reducer_answer(reducer, event, false, err);
}

int cuda_reducer_passed(struct cuda_reducer *reducer, struct cuda_event *event, struct err *err)
{
    return reducer_answer(reducer, event, true, err);
}

void cuda_tickets_fail(struct cuda_group *group, const struct err *why)
{
    struct cuda_reducer *reducer = group->reducer;
    pthread_mutex_lock(&reducer->lock);
    for (struct cuda_ticket *ticket = reducer->tickets; ticket; ticket = ticket->next) {
        if (ticket->group != group || ticket->state != TICKET_LAUNCHED)
            continue;
        ticket->state = TICKET_FAILED;
        if (why)
            ticket->err = *why;
        else
            fail(&ticket->err, HVD_ERR_SYSTEM, "the world ended before NCCL was done");
    }
    pthread_mutex_unlock(&reducer->lock);
}

void cuda_reducer_forget(struct cuda_reducer *reducer, struct cuda_event *event)
{
    pthread_mutex_lock(&reducer->lock);
    struct cuda_ticket *ticket = ticket_of(reducer, event);
    if (ticket && ticket->state != TICKET_WAITING) {
        ticket_free(reducer, ticket);
    } else if (ticket) {
        ticket->event = NULL;
        ticket->forgotten = true;
    }
    pthread_mutex_unlock(&reducer->lock);
}
